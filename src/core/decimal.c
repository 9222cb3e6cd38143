/* Exact decimals by digits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decimal.h"

#include "must.h"
#include "number.h"

/* The parts of a canonical text. */
typedef struct parts {
    bool negative;
    rr_slice whole, fraction;
} parts;

static parts split(rr_slice text)
{
    parts p = {.negative = text.data[0] == '-'};
    const char *from = text.data + p.negative, *end = text.data + text.len;
    const char *point = memchr(from, '.', (size_t)(end - from));

    p.whole = (rr_slice){from, (size_t)((point == NULL ? end : point) - from)};
    p.fraction = point == NULL ? (rr_slice){end, 0} : (rr_slice){point + 1, (size_t)(end - point - 1)};
    return p;
}

/* The digits of a number as it came, without its point. */
typedef struct digit_row {
    rr_slice whole, fraction;
    int64_t first, last; /* those that are not 0; first == len: none */
    int64_t point;       /* the point stands before this one; may lie outside */
} digit_row;

static char digit_at(const digit_row *row, int64_t at)
{
    if (at < row->first || at > row->last) {
        return '0';
    }
    return at < (int64_t)row->whole.len ? row->whole.data[at] : row->fraction.data[at - (int64_t)row->whole.len];
}

static digit_row row_of(const rr_number_parts *number)
{
    int64_t len = (int64_t)(number->whole.len + number->fraction.len);
    digit_row row = {number->whole, number->fraction, 0, len - 1, (int64_t)number->whole.len + number->exponent};

    while (row.first < len && digit_at(&row, row.first) == '0') {
        row.first++;
    }
    while (row.last > row.first && digit_at(&row, row.last) == '0') {
        row.last--;
    }
    return row;
}

size_t rr_decimal_read(rr_slice number, char *text)
{
    rr_number_parts scanned;
    digit_row row;
    char *at = text;

    if (!rr_number_scan(number, &scanned)) {
        return 0;
    }
    row = row_of(&scanned);
    if (row.first > row.last) {
        *text = '0';
        return 1;
    }
    if (row.point - row.first > RR_LIMIT_DECIMAL_DIGITS || row.last + 1 - row.point > RR_LIMIT_DECIMAL_DIGITS) {
        return 0;
    }
    if (scanned.negative) {
        *at++ = '-';
    }
    if (row.first >= row.point) {
        *at++ = '0';
    }
    for (int64_t digit = row.first; digit < row.point; digit++) {
        *at++ = digit_at(&row, digit);
    }
    if (row.last >= row.point) {
        *at++ = '.';
    }
    for (int64_t digit = row.point; digit <= row.last; digit++) {
        *at++ = digit_at(&row, digit);
    }
    return (size_t)(at - text);
}

bool rr_decimal_check(rr_slice text)
{
    rr_number_parts scanned;

    return text.len != 0 && text.len <= RR_DECIMAL_TEXT_MAX && rr_number_scan(text, &scanned) &&
           scanned.whole.len <= RR_DECIMAL_WHOLE_HELD && scanned.fraction.len <= RR_DECIMAL_FRACTION_MAX &&
           memchr(text.data, 'e', text.len) == NULL && memchr(text.data, 'E', text.len) == NULL &&
           (scanned.fraction.len == 0 || text.data[text.len - 1] != '0') && !rr_slice_equal(text, RR_SLICE("-0"));
}

static int compare_sizes(const parts *a, const parts *b)
{
    if (a->whole.len != b->whole.len) {
        return a->whole.len > b->whole.len ? 1 : -1;
    }
    if (!rr_slice_equal(a->whole, b->whole)) {
        return rr_slice_compare(a->whole, b->whole);
    }
    return rr_slice_compare(a->fraction, b->fraction);
}

int rr_decimal_compare(rr_slice a, rr_slice b)
{
    parts pa = split(a), pb = split(b);

    if (pa.negative != pb.negative) {
        return pa.negative ? -1 : 1;
    }
    return pa.negative ? compare_sizes(&pb, &pa) : compare_sizes(&pa, &pb);
}

/* Digits in fixed places: the point stands before [RR_DECIMAL_WHOLE_MAX]. */
typedef struct places {
    int8_t digit[RR_DECIMAL_WHOLE_MAX + RR_DECIMAL_FRACTION_MAX];
    size_t from, to; /* all others are 0 */
} places;

static void lay_out(const parts *p, places *out)
{
    RR_MUST(p->whole.len <= RR_DECIMAL_WHOLE_MAX && p->fraction.len <= RR_DECIMAL_FRACTION_MAX);
    memset(out->digit, 0, sizeof out->digit);
    out->from = RR_DECIMAL_WHOLE_MAX - p->whole.len;
    out->to = RR_DECIMAL_WHOLE_MAX + p->fraction.len;
    for (size_t i = 0; i < p->whole.len; i++) {
        out->digit[out->from + i] = (int8_t)(p->whole.data[i] - '0');
    }
    for (size_t i = 0; i < p->fraction.len; i++) {
        out->digit[RR_DECIMAL_WHOLE_MAX + i] = (int8_t)(p->fraction.data[i] - '0');
    }
}

/* a += sign * b; the result is not negative. */
static void accumulate(places *a, const places *b, int sign)
{
    int carry = 0;

    a->from = a->from < b->from ? a->from : b->from;
    a->to = a->to > b->to ? a->to : b->to;
    for (size_t at = a->to; at-- > a->from;) {
        int digit = a->digit[at] + sign * b->digit[at] + carry;

        carry = digit > 9 ? 1 : digit < 0 ? -1 : 0;
        a->digit[at] = (int8_t)(digit - 10 * carry);
    }
    if (carry != 0) {
        RR_MUST(carry > 0 && a->from > 0);
        a->digit[--a->from] = 1;
    }
}

static size_t print(const places *p, bool negative, char *text)
{
    size_t from = p->from, to = p->to;
    char *at = text;

    while (from < RR_DECIMAL_WHOLE_MAX - 1 && p->digit[from] == 0) {
        from++;
    }
    while (to > RR_DECIMAL_WHOLE_MAX && p->digit[to - 1] == 0) {
        to--;
    }
    if (negative) {
        *at++ = '-';
    }
    for (size_t place = from; place < to; place++) {
        if (place == RR_DECIMAL_WHOLE_MAX) {
            *at++ = '.';
        }
        *at++ = (char)('0' + p->digit[place]);
    }
    return (size_t)(at - text);
}

size_t rr_decimal_add(rr_slice a, rr_slice b, bool subtract, char *text)
{
    parts pa = split(a), pb = split(b);
    places greater, smaller;
    int order = compare_sizes(&pa, &pb);
    bool b_negative = pb.negative != subtract;

    if (order == 0 && pa.negative != b_negative) {
        *text = '0';
        return 1;
    }
    lay_out(order >= 0 ? &pa : &pb, &greater);
    lay_out(order >= 0 ? &pb : &pa, &smaller);
    accumulate(&greater, &smaller, pa.negative == b_negative ? 1 : -1);
    return print(&greater, order >= 0 ? pa.negative : b_negative, text);
}
