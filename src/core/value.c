/* Values as canonical bytes: read, added, compared and printed, exactly. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include "decimal.h"
#include "must.h"
#include "number.h"

__extension__ typedef __int128 rr_i128;
__extension__ typedef unsigned __int128 rr_u128;

enum { INT_MAX_BYTES = 19, DOUBLE_BYTES = 8, INT_HELD_BITS = 100 };

static size_t type_need(rr_measure_type type)
{
    switch (type) {
    case RR_MEASURE_INT64: return INT_MAX_BYTES;
    case RR_MEASURE_DECIMAL: return 1 + RR_DECIMAL_TEXT_MAX;
    case RR_MEASURE_DOUBLE: return DOUBLE_BYTES;
    }
    return 0;
}

size_t rr_values_need(const rr_contract *contract)
{
    size_t need = 0;

    for (size_t k = 0; k < contract->measure_count; k++) {
        need += type_need(contract->measures[k].type);
    }
    return need;
}

/* Zigzag keeps small negative numbers short. For numbers beyond 64 bits, which are rare. */
static void put_wide(char **at, rr_i128 number)
{
    rr_u128 zigzag = ((rr_u128)number << 1) ^ (rr_u128)(number >> 127);

    for (; zigzag >= 0x80; zigzag >>= 7) {
        *(*at)++ = (char)((uint8_t)zigzag | 0x80);
    }
    *(*at)++ = (char)zigzag;
}

static inline void put_int(char **at, rr_i128 number)
{
    uint64_t zigzag = ((uint64_t)number << 1) ^ (uint64_t)((int64_t)number >> 63);
    char *to = *at;

    if (number != (int64_t)number) {
        put_wide(at, number);
        return;
    }
    for (; zigzag >= 0x80; zigzag >>= 7) {
        *to++ = (char)((uint8_t)zigzag | 0x80);
    }
    *to++ = (char)zigzag;
    *at = to;
}

static bool get_wide(rr_slice *in, rr_i128 *number)
{
    rr_u128 zigzag = 0;

    for (size_t at = 0; at < in->len && at < INT_MAX_BYTES; at++) {
        uint8_t byte = (uint8_t)in->data[at];

        if (at == INT_MAX_BYTES - 1 && byte > 3) {
            return false;
        }
        zigzag |= (rr_u128)(byte & 0x7f) << (7 * at);
        if (byte < 0x80) {
            *in = (rr_slice){in->data + at + 1, in->len - at - 1};
            *number = (rr_i128)(zigzag >> 1) ^ -(rr_i128)(zigzag & 1);
            return byte != 0 || at == 0;
        }
    }
    return false;
}

/* False: not a canonical one. */
static inline bool get_int(rr_slice *in, rr_i128 *number)
{
    uint64_t zigzag = 0;
    size_t most = in->len < 9 ? in->len : 9;

    for (size_t at = 0; at < most; at++) {
        uint8_t byte = (uint8_t)in->data[at];

        zigzag |= (uint64_t)(byte & 0x7f) << (7 * at);
        if (byte < 0x80) {
            *in = (rr_slice){in->data + at + 1, in->len - at - 1};
            *number = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
            return byte != 0 || at == 0;
        }
    }
    return get_wide(in, number);
}

static inline rr_i128 take_int(rr_slice *in)
{
    rr_i128 number;

    RR_MUST(get_int(in, &number));
    return number;
}

static bool get_decimal(rr_slice *in, rr_slice *text)
{
    size_t len = in->len == 0 ? 0 : (uint8_t)in->data[0];

    if (len == 0 || len > in->len - 1) {
        return false;
    }
    *text = (rr_slice){in->data + 1, len};
    *in = (rr_slice){in->data + 1 + len, in->len - 1 - len};
    return true;
}

static rr_slice take_decimal(rr_slice *in)
{
    rr_slice text;

    RR_MUST(get_decimal(in, &text));
    return text;
}

static void put_double(char **at, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    for (size_t byte = 0; byte < DOUBLE_BYTES; byte++) {
        *(*at)++ = (char)(bits >> (8 * byte));
    }
}

static bool get_double(rr_slice *in, double *number)
{
    uint64_t bits = 0;

    if (in->len < DOUBLE_BYTES) {
        return false;
    }
    for (size_t byte = 0; byte < DOUBLE_BYTES; byte++) {
        bits |= (uint64_t)(uint8_t)in->data[byte] << (8 * byte);
    }
    memcpy(number, &bits, sizeof bits);
    *in = (rr_slice){in->data + DOUBLE_BYTES, in->len - DOUBLE_BYTES};
    return true;
}

static double take_double(rr_slice *in)
{
    double number;

    RR_MUST(get_double(in, &number));
    return number;
}

static char *begin(const rr_contract *contract, rr_arena *arena)
{
    char *from = rr_arena_take(arena, rr_values_need(contract));

    RR_MUST(from != NULL);
    return from;
}

/* Returns the unused rest of the worst case to the arena. */
static rr_slice finish(rr_arena *arena, char *from, char *at)
{
    size_t len = (size_t)(at - from);

    arena->at = from + ((len + 15) & ~(size_t)15);
    return (rr_slice){from, len};
}

rr_slice rr_values_zero(const rr_contract *contract, rr_arena *arena)
{
    char *from = begin(contract, arena), *at = from;

    for (size_t k = 0; k < contract->measure_count; k++) {
        switch (contract->measures[k].type) {
        case RR_MEASURE_INT64: put_int(&at, 0); break;
        case RR_MEASURE_DECIMAL:
            *at++ = 1;
            *at++ = '0';
            break;
        case RR_MEASURE_DOUBLE: put_double(&at, 0); break;
        }
    }
    return finish(arena, from, at);
}

static void add_int(char **at, rr_i128 a, rr_i128 b, bool subtract)
{
    rr_i128 sum;

    RR_MUST(subtract ? !__builtin_sub_overflow(a, b, &sum) : !__builtin_add_overflow(a, b, &sum));
    put_int(at, sum);
}

static void add_decimal(char **at, rr_slice a, rr_slice b, bool subtract)
{
    size_t len = rr_decimal_add(a, b, subtract, *at + 1);

    **at = (char)len;
    *at += 1 + len;
}

static rr_slice combine(const rr_contract *contract, rr_slice a, rr_slice b, bool subtract, rr_arena *arena)
{
    char *from = begin(contract, arena), *at = from;

    for (size_t k = 0; k < contract->measure_count; k++) {
        RR_MUST(contract->measures[k].type != RR_MEASURE_DOUBLE);
        if (contract->measures[k].type == RR_MEASURE_INT64) {
            rr_i128 first = take_int(&a);

            add_int(&at, first, take_int(&b), subtract);
        } else {
            rr_slice first = take_decimal(&a);

            add_decimal(&at, first, take_decimal(&b), subtract);
        }
    }
    return finish(arena, from, at);
}

rr_slice rr_values_add(const rr_contract *contract, rr_slice a, rr_slice b, rr_arena *arena)
{
    return combine(contract, a, b, false, arena);
}

rr_slice rr_values_subtract(const rr_contract *contract, rr_slice a, rr_slice b, rr_arena *arena)
{
    return combine(contract, a, b, true, arena);
}

/* The order of one measure in two sets of values; both move behind it. */
static bool is_lower(rr_measure_type type, rr_slice *now, rr_slice *before)
{
    if (type == RR_MEASURE_INT64) {
        rr_i128 number = take_int(now);

        return number < take_int(before);
    }
    if (type == RR_MEASURE_DECIMAL) {
        rr_slice text = take_decimal(now);

        return rr_decimal_compare(text, take_decimal(before)) < 0;
    }
    double real = take_double(now);

    return real < take_double(before);
}

bool rr_values_fell(const rr_contract *contract, rr_slice before, rr_slice now)
{
    for (size_t k = 0; k < contract->measure_count; k++) {
        if (is_lower(contract->measures[k].type, &now, &before) && contract->measures[k].never_falls) {
            return true;
        }
    }
    return false;
}

static size_t print_int(rr_i128 number, char *text)
{
    rr_u128 size = number < 0 ? 0 - (rr_u128)number : (rr_u128)number;
    char digits[40];
    size_t at = sizeof digits, sign = number < 0 ? 1 : 0;

    if (number == (int64_t)number) {
        return rr_i64_print((int64_t)number, text);
    }
    do {
        digits[--at] = (char)('0' + (int)(size % 10));
        size /= 10;
    } while (size != 0);
    text[0] = '-';
    memcpy(text + sign, digits + at, sizeof digits - at);
    return sign + sizeof digits - at;
}

size_t rr_values_print(const rr_contract *contract, size_t measure, rr_slice *values, char *text)
{
    rr_slice digits;

    switch (contract->measures[measure].type) {
    case RR_MEASURE_INT64: return print_int(take_int(values), text);
    case RR_MEASURE_DOUBLE: return rr_double_print(take_double(values), text);
    case RR_MEASURE_DECIMAL: break;
    }
    digits = take_decimal(values);
    memcpy(text, digits.data, digits.len);
    return digits.len;
}

static bool check_one(rr_measure_type type, rr_slice *values)
{
    const rr_i128 bound = (rr_i128)1 << INT_HELD_BITS;
    rr_i128 number;
    rr_slice text;
    double real;

    switch (type) {
    case RR_MEASURE_INT64: return get_int(values, &number) && number < bound && number > -bound;
    case RR_MEASURE_DECIMAL: return get_decimal(values, &text) && rr_decimal_check(text);
    case RR_MEASURE_DOUBLE: return get_double(values, &real) && __builtin_isfinite(real);
    }
    return false;
}

bool rr_values_check(const rr_contract *contract, rr_slice values)
{
    for (size_t k = 0; k < contract->measure_count; k++) {
        if (!check_one(contract->measures[k].type, &values)) {
            return false;
        }
    }
    return values.len == 0;
}

static bool read_int(const rr_measure *measure, char **at)
{
    int64_t number = measure->integer;

    if (measure->kind == RR_NUMBER_TEXT ? !rr_number_i64(measure->text, &number) : measure->kind != RR_NUMBER_INT64) {
        return false;
    }
    put_int(at, number);
    return true;
}

/* A double has no exact decimal value, so it is refused as a decimal. */
static bool read_decimal(const rr_measure *measure, char **at)
{
    size_t len = 0;

    if (measure->kind == RR_NUMBER_TEXT) {
        len = rr_decimal_read(measure->text, *at + 1);
    } else if (measure->kind == RR_NUMBER_INT64) {
        len = rr_i64_print(measure->integer, *at + 1);
    }
    **at = (char)len;
    *at += len == 0 ? 0 : 1 + len;
    return len != 0;
}

static bool read_double(const rr_measure *measure, char **at)
{
    double number = measure->real;

    switch (measure->kind) {
    case RR_NUMBER_TEXT:
        if (!rr_number_double(measure->text, &number)) {
            return false;
        }
        break;
    case RR_NUMBER_INT64: number = (double)measure->integer; break;
    case RR_NUMBER_DOUBLE: break;
    case RR_NUMBER_NONE: return false;
    }
    if (!__builtin_isfinite(number)) {
        return false;
    }
    put_double(at, number);
    return true;
}

bool rr_value_read(rr_measure_type type, const rr_measure *measure, char **at)
{
    switch (type) {
    case RR_MEASURE_INT64: return read_int(measure, at);
    case RR_MEASURE_DECIMAL: return read_decimal(measure, at);
    case RR_MEASURE_DOUBLE: return read_double(measure, at);
    }
    return false;
}
