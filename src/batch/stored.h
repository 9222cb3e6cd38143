/* Units as a store keeps them: one JSON value that answers readers, with the facts and the token behind it.
 *
 *   a cell      {"state":…,"conflicts":[…],"updated_at":…,"stream":…,"sequence":…,"format":1,"facts":"…","token":"…"}
 *   sessions    {"windows":[{"start":…,"end":…,"state":…},…],"updated_at":…, and so on
 *   a session   the same as a cell, without facts: they are in the group's value
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORED_H
#define RR_STORED_H

#include <rr/error.h>
#include <rr/store.h>

#include "buf.h"
#include "facts.h"

enum { RR_STORED_FORMAT = 1 };

/* Where tokens come from: one a program, never two with the same state. */
typedef struct rr_tokens {
    uint64_t random; /* of a small generator, for births */
    uint64_t counter;
    char process[11];
} rr_tokens;

/* Draws the process's part from the system's entropy. False: there is none. */
bool rr_tokens_init(rr_tokens *tokens);

/* The next token, of the birth that `before` has, or of a new one where it is empty. to: RR_TOKEN_LEN bytes. */
void rr_tokens_next(rr_tokens *tokens, rr_slice before, char *to);

/* Reads the facts of a unit out of its value. INPUT: the value is not one of ours, is broken, or is of a newer format;
 * the error says which. MEMORY: the arena is exhausted. An empty value is an empty unit. */
rr_status rr_stored_read(rr_unit *unit, const rr_contract *contract, rr_slice value, rr_arena *arena, rr_error *error);

/* Puts the unit's value. May spill its parts (facts.h). facts_room: the arena where the facts are laid out. */
void rr_stored_write(rr_buf *out, rr_unit *unit, int64_t now_us, const char *token, rr_arena *facts_room);

/* Puts what readers are shown in front of all that: the value from its brace to `,"updated_at":`. A unit that is no
 * group of sessions has a cell; of a session, that of one window. */
void rr_stored_put_shown(rr_buf *out, const rr_unit *unit);
void rr_stored_put_shown_session(rr_buf *out, const rr_unit *unit, const rr_cell *cell);

/* Puts the value of one window of a session group. */
void rr_stored_write_session(rr_buf *out, const rr_unit *unit, const rr_cell *cell, int64_t now_us, const char *token);

#endif
