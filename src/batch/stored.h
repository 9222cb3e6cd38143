/* Units as a store keeps them: one JSON value that answers readers, followed by the facts and the token.
 *
 *   a cell      {"state":…,"conflicts":[…],"updated_at":…,"stream":…,"sequence":…,"format":1,"facts":"…","token":"…"}
 *   sessions    {"windows":[{"start":…,"end":…,"state":…},…],"updated_at":…, and so on
 *   a session   the same as a cell, without facts: the value of its group holds them
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORED_H
#define RR_STORED_H

#include <rr/error.h>
#include <rr/store.h>

#include "buf.h"
#include "facts.h"

enum { RR_STORED_FORMAT = 1 };

/* Makes tokens that no other process makes. Two of them must never have the same state: do not copy one. */
typedef struct rr_tokens {
    uint64_t random; /* state of a generator, for births */
    uint64_t counter;
    char process[11];
} rr_tokens;

/* Draws this process's part of its tokens from the system's entropy. False: the system gives none. */
bool rr_tokens_init(rr_tokens *tokens);

/* Writes the next token, RR_TOKEN_LEN bytes. It has the birth of the token `before`, or a new birth where `before`
 * is empty. */
void rr_tokens_next(rr_tokens *tokens, rr_slice before, char *to);

/* Reads the facts of a unit out of its value. An empty value gives an empty unit. INPUT: the value was not written
 * by this program, is broken, or has a newer format; the error says which. MEMORY: the arena is exhausted. */
rr_status rr_stored_read(rr_unit *unit, const rr_contract *contract, rr_slice value, rr_arena *arena, rr_error *error);

/* Reads a part that stands beside the value into the unit (facts.h). *is_good: its bytes are not broken. False:
 * memory ran out. */
bool rr_stored_read_part(rr_unit *unit, rr_slice id, rr_slice bytes, rr_arena *arena, bool *is_good);

/* Appends the unit's value. May spill its parts (facts.h). facts_room: scratch memory for the facts. */
void rr_stored_write(rr_buf *out, rr_unit *unit, int64_t now_us, const char *token, rr_arena *facts_room);

/* Appends what readers see: the value from its opening brace to before `,"updated_at":`. The second function does it
 * for one window of a session group; the unit of the first is a session group, or has one cell. */
void rr_stored_put_shown(rr_buf *out, const rr_unit *unit);
void rr_stored_put_shown_session(rr_buf *out, const rr_unit *unit, const rr_cell *cell);

/* Appends the value of one window of a session group. */
void rr_stored_write_session(rr_buf *out, const rr_unit *unit, const rr_cell *cell, int64_t now_us, const char *token);

#endif
