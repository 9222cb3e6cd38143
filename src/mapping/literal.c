/* Targets, their words, and values that a mapping itself holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decimal.h"
#include "number.h"
#include "program.h"
#include "time.h"

static const struct {
    const char *name;
    rr_target_kind kind;
} targets[] = {
#define RR_X(id, name, kind) {name, RR_TAKES_##kind},
    RR_TARGET_TABLE(RR_X)
#undef RR_X
};

const char *rr_target_name(rr_target target)
{
    return targets[target].name;
}

rr_target_kind rr_target_kind_of(rr_target target)
{
    return targets[target].kind;
}

static const char *read_word(rr_target target, rr_slice text, int *row)
{
    const char *wanted;

    switch (target) {
    case RR_TARGET_MODE:
        *row = rr_mode_parse(text);
        wanted = "CUMULATIVE, DELTA or RETRACTION";
        break;
    case RR_TARGET_OP:
        *row = rr_op_parse(text);
        wanted = "ASSERT or RETRACT";
        break;
    case RR_TARGET_ORIGIN:
        *row = rr_origin_parse(text);
        wanted = "LIVE or CORRECTION";
        break;
    case RR_TARGET_STATUS:
        *row = rr_result_parse(text);
        wanted = "PROVISIONAL, STREAM_CLOSED or RECONCILED";
        break;
    default:
        *row = rr_cause_parse(text);
        wanted = "EARLY, ON_TIME, LATE, CORRECTION, BACKFILL, RECOMPUTE, SESSION_MERGE or RETRACTION";
    }
    return *row < 0 ? wanted : NULL;
}

static bool read_time(rr_slice text, int64_t *us)
{
    return rr_number_i64(text, us) || rr_time_parse(text, us);
}

const char *rr_literal_read(rr_target target, rr_slice text, rr_literal *literal)
{
    rr_number_parts parts;
    bool good = true;
    const char *wanted = "";

    *literal = (rr_literal){.text = text, .value.text = text};
    switch (rr_target_kind_of(target)) {
    case RR_TAKES_WORD:
        literal->skip = target == RR_TARGET_OP && rr_slice_equal(text, RR_SLICE("SKIP"));
        return literal->skip ? NULL : read_word(target, text, &literal->value.row);
    case RR_TAKES_COUNT:
        good = rr_number_u64(text, &literal->value.count);
        wanted = "an integer from 0 to 18446744073709551615";
        break;
    case RR_TAKES_TIME:
        good = read_time(text, &literal->value.us);
        wanted = "an RFC 3339 time, or an integer of microseconds";
        break;
    case RR_TAKES_DURATION:
        good = rr_duration_parse(text, false, &literal->value.us);
        wanted = "a duration like 90s, 10m or 7d";
        break;
    case RR_TAKES_NUMBER:
        good = rr_number_scan(text, &parts);
        wanted = "a number";
        break;
    default: break;
    }
    return good ? NULL : wanted;
}

/* Digits without the exponent, and the exponent that they then need: rr_decimal_read does the rest, exactly. */
size_t rr_number_shift(rr_slice number, int64_t places, char *text)
{
    enum { DIGITS_MAX = 1024 };
    char shifted[DIGITS_MAX + 24];
    const char *mark;
    rr_number_parts parts;
    size_t len;

    if (!rr_number_scan(number, &parts)) {
        return 0;
    }
    mark = memchr(number.data, 'e', number.len);
    mark = mark == NULL ? memchr(number.data, 'E', number.len) : mark;
    len = mark == NULL ? number.len : (size_t)(mark - number.data);
    if (len > DIGITS_MAX) {
        return 0;
    }
    memcpy(shifted, number.data, len);
    shifted[len++] = 'e';
    len += rr_i64_print(rr_add_held(parts.exponent, places), shifted + len);
    return rr_decimal_read((rr_slice){shifted, len}, text);
}
