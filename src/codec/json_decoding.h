/* rr_json_decoding: one line of JSON on its way to a record, shared by the sources of record_json.h.
 *
 *   record_json.c         the steps: check the bytes, parse, keep what the record needs
 *   record_json_tokens.c  yajl, which finds the tokens, in memory that was taken beforehand
 *   record_json_fields.c  what names and values mean
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JSON_DECODING_H
#define RR_JSON_DECODING_H

#include <yajl/yajl_parse.h>

#include "json_text.h"
#include "keep.h"
#include "limits.h"
#include "record_json.h"

/* The objects that a record consists of, and the members of those inside. */
typedef enum rr_json_level {
    RR_JSON_AT_TOP,
    RR_JSON_AT_RECORD,
    RR_JSON_AT_WINDOW,
    RR_JSON_AT_VERSION,
    RR_JSON_AT_INCLUDES,
    RR_JSON_AT_MEASURES,
    RR_JSON_AT_END
} rr_json_level;

enum { RR_JSON_LEVELS_MAX = 4 };

/* One line that is being decoded. */
typedef struct rr_json_decoding {
    rr_slice line;
    yajl_handle yajl;
    rr_json_memory memory; /* yajl's */
    rr_keep keep;
    rr_record *record;
    rr_text *why;
    rr_decoded decoded;

    rr_json_level levels[RR_JSON_LEVELS_MAX];
    size_t depth;
    size_t skipped;       /* depth inside a measure's value that is no number; 0: not inside one */
    unsigned field;       /* the field of the record that was named last */
    unsigned member;      /* the member of the inner object that was named last */
    size_t column;        /* of the name that was read last, from 1 */
    uint32_t fields_seen; /* a bit for each field */
    unsigned members_seen[RR_JSON_AT_END];
    bool has_start, has_end;  /* of the window */
    rr_version version;       /* being read, member by member */
    bool has_number;          /* of that version */
    unsigned includes_member; /* the member of includes_correction that was named last */
    bool has_value, has_measures;
    bool has_clock;
    int64_t clock_us;
    rr_slice name; /* of the measure that is being read */
    rr_measure measures[RR_LIMIT_MEASURES];
    size_t measure_count;
    rr_slice names[RR_LIMIT_MEASURES]; /* of all measures that were named, also of absent ones */
    size_t name_count;
} rr_json_decoding;

/* A value that is neither object nor list. */
typedef enum rr_json_scalar_kind { RR_JSON_ABSENT, RR_JSON_BOOL, RR_JSON_NUMBER, RR_JSON_STRING } rr_json_scalar_kind;

typedef struct rr_json_scalar {
    rr_json_scalar_kind kind;
    rr_slice text;
} rr_json_scalar;

/* Appends the rest of the sentence and makes the record malformed. Returns 0, by which yajl stops. */
static inline int rr_json_malformed(rr_json_decoding *r, const char *what)
{
    rr_text_put(r->why, what);
    r->decoded = RR_DECODED_MALFORMED;
    return 0;
}

/* Appends " (column N) ". Columns count bytes from 1. */
static inline void rr_json_explain_column(rr_json_decoding *r, size_t column)
{
    rr_text_put(r->why, " (column ");
    rr_text_u64(r->why, column);
    rr_text_put(r->why, ") ");
}

/* What the tokens mean, in the order they come. 0: stop, r->decoded says why. */
int rr_json_on_scalar(rr_json_decoding *r, rr_json_scalar value);
int rr_json_on_name(rr_json_decoding *r, rr_slice name);
int rr_json_on_open(rr_json_decoding *r, bool is_object);
int rr_json_on_close(rr_json_decoding *r);

/* After the last token: is the line a record, or does it set the clock? */
void rr_json_finish(rr_json_decoding *r, int64_t *clock_us);

/* Parses r->line. r->memory must have rr_json_need(r->line.len) bytes. */
void rr_json_parse(rr_json_decoding *r);

#endif
