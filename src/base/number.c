/* Numbers as text: JSON's grammar, and the shortest text of a double. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* More significant digits than any midpoint between two doubles has (767). */
enum { DIGITS_KEPT = 800 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static rr_slice take_digits(const char **at, const char *end)
{
    const char *from = *at;

    while (*at < end && is_digit(**at)) {
        (*at)++;
    }
    return (rr_slice){from, (size_t)(*at - from)};
}

/* The exponent after the "e". */
static bool scan_exponent(const char **at, const char *end, int64_t *exponent)
{
    bool negative = *at < end && **at == '-';
    int64_t held = 0;
    rr_slice digits;

    if (*at < end && (**at == '-' || **at == '+')) {
        (*at)++;
    }
    digits = take_digits(at, end);
    for (size_t i = 0; i < digits.len && held < RR_NUMBER_EXPONENT_MAX; i++) {
        held = held * 10 + (digits.data[i] - '0');
    }
    held = held > RR_NUMBER_EXPONENT_MAX ? RR_NUMBER_EXPONENT_MAX : held;
    *exponent = negative ? -held : held;
    return digits.len != 0;
}

bool rr_number_scan(rr_slice text, rr_number_parts *parts)
{
    const char *at = text.data, *end;

    *parts = (rr_number_parts){.plain = true};
    if (text.len == 0) { /* perhaps without data, to which nothing may be added */
        return false;
    }
    end = at + text.len;
    if (*at == '-') {
        parts->negative = true;
        at++;
    }
    parts->whole = take_digits(&at, end);
    if (parts->whole.len == 0 || (parts->whole.len > 1 && parts->whole.data[0] == '0')) {
        return false;
    }
    if (at < end && *at == '.') {
        at++;
        parts->plain = false;
        parts->fraction = take_digits(&at, end);
        if (parts->fraction.len == 0) {
            return false;
        }
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        parts->plain = false;
        if (!scan_exponent(&at, end, &parts->exponent)) {
            return false;
        }
    }
    return at == end;
}

static bool magnitude(rr_slice digits, uint64_t *number)
{
    *number = 0;
    if (digits.len > 20) {
        return false;
    }
    for (size_t i = 0; i < digits.len; i++) {
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(digits.data[i] - '0'), number)) {
            return false;
        }
    }
    return true;
}

bool rr_number_u64(rr_slice text, uint64_t *number)
{
    rr_number_parts parts;

    return rr_number_scan(text, &parts) && parts.plain && magnitude(parts.whole, number) &&
           (!parts.negative || *number == 0);
}

bool rr_number_i64(rr_slice text, int64_t *number)
{
    rr_number_parts parts;
    uint64_t size;

    if (!rr_number_scan(text, &parts) || !parts.plain || !magnitude(parts.whole, &size) ||
        size > (uint64_t)INT64_MAX + parts.negative) {
        return false;
    }
    *number = (int64_t)(parts.negative ? 0 - size : size);
    return true;
}

/* The significant digits as one whole number, and its exponent. Without a point, whose character depends on the
 * locale. Digits that are cut off matter only for a number just above the middle of two doubles: a last digit 1
 * stands for them. */
static size_t significant(const rr_number_parts *parts, char *text, int64_t *exponent)
{
    size_t total = parts->whole.len + parts->fraction.len, len = 0;
    bool cut = false;

    *exponent = parts->exponent - (int64_t)parts->fraction.len;
    for (size_t i = 0; i < total; i++) {
        char digit = i < parts->whole.len ? parts->whole.data[i] : parts->fraction.data[i - parts->whole.len];

        if (len == 0 && digit == '0') {
            continue;
        }
        if (len < DIGITS_KEPT) {
            text[len++] = digit;
        } else {
            cut |= digit != '0';
            (*exponent)++;
        }
    }
    if (cut) {
        text[len++] = '1';
        (*exponent)--;
    }
    return len;
}

bool rr_number_double(rr_slice text, double *number)
{
    rr_number_parts parts;
    char buffer[DIGITS_KEPT + 40];
    int64_t exponent;
    size_t len;

    if (!rr_number_scan(text, &parts)) {
        return false;
    }
    len = significant(&parts, buffer, &exponent);
    if (len == 0) {
        *number = parts.negative ? -0.0 : 0.0;
        return true;
    }
    buffer[len++] = 'e';
    buffer[len + rr_i64_print(exponent, buffer + len)] = '\0';
    *number = strtod(buffer, NULL);
    *number = parts.negative ? -*number : *number;
    return isfinite(*number);
}

size_t rr_u64_print(uint64_t number, char *text)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char digits[20];
    size_t at = sizeof digits;

    for (; number >= 100; number /= 100) {
        at -= 2;
        memcpy(digits + at, pairs + number % 100 * 2, 2);
    }
    if (number >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + number * 2, 2);
    } else {
        digits[--at] = (char)('0' + number);
    }
    memcpy(text, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

size_t rr_i64_print(int64_t number, char *text)
{
    if (number >= 0) {
        return rr_u64_print((uint64_t)number, text);
    }
    text[0] = '-';
    return 1 + rr_u64_print(0 - (uint64_t)number, text + 1);
}

/* d.ddd * 10^exponent */
typedef struct shortest {
    char digits[18];
    size_t len;
    int exponent;
} shortest;

static double read_back(const shortest *s)
{
    char text[40];
    size_t len = s->len;

    memcpy(text, s->digits, len);
    text[len++] = 'e';
    text[len + rr_i64_print(s->exponent - (int)s->len + 1, text + len)] = '\0';
    return strtod(text, NULL);
}

/* The correctly rounded text of that many digits. */
static void round_to(double number, size_t digits, shortest *s)
{
    char text[40];
    char *at = text;

    snprintf(text, sizeof text, "%.*e", (int)digits - 1, number);
    for (s->len = 0; *at != 'e'; at++) {
        if (is_digit(*at)) {
            s->digits[s->len++] = *at;
        }
    }
    s->exponent = (int)strtol(at + 1, NULL, 10);
}

/* One more in the last digit. */
static void step_up(shortest *s)
{
    size_t at = s->len;

    while (at > 0 && s->digits[at - 1] == '9') {
        s->digits[--at] = '0';
    }
    if (at > 0) {
        s->digits[at - 1]++;
        return;
    }
    s->digits[0] = '1';
    s->exponent++;
}

/* Doubles are closer together below a power of two than above it. So where the nearest text of that many digits reads
 * back as another double, the next greater text may still read back as this one. */
static bool try_digits(double number, size_t digits, shortest *s)
{
    round_to(number, digits, s);
    if (read_back(s) == number) {
        return true;
    }
    step_up(s);
    return read_back(s) == number;
}

static void find_shortest(double number, shortest *s)
{
    /* Any text of up to 15 digits survives the way through a normal double, so 15 digits hold the shorter ones. */
    size_t digits = number < 2.2250738585072014e-308 ? 1 : 15;

    while (digits < 17 && !try_digits(number, digits, s)) {
        digits++;
    }
    if (digits == 17) {
        round_to(number, digits, s);
    }
    while (s->len > 1 && s->digits[s->len - 1] == '0') {
        s->len--;
    }
}

static size_t put_zeros(char *text, int count)
{
    memset(text, '0', (size_t)count);
    return (size_t)count;
}

/* As ECMAScript's Number::toString: the point stands after the first n digits. */
static size_t lay_out(const shortest *s, char *text)
{
    int n = s->exponent + 1, k = (int)s->len;
    size_t len = 0;

    if (n > 21 || n < -5) {
        text[len++] = s->digits[0];
        if (k > 1) {
            text[len++] = '.';
            memcpy(text + len, s->digits + 1, s->len - 1);
            len += s->len - 1;
        }
        text[len++] = 'e';
        text[len++] = n > 0 ? '+' : '-';
        return len + rr_u64_print((uint64_t)abs(n - 1), text + len);
    }
    if (n <= 0) {
        memcpy(text, "0.", 2);
        len = 2 + put_zeros(text + 2, -n);
        memcpy(text + len, s->digits, s->len);
        return len + s->len;
    }
    if (k <= n) {
        memcpy(text, s->digits, s->len);
        return s->len + put_zeros(text + s->len, n - k);
    }
    memcpy(text, s->digits, (size_t)n);
    text[n] = '.';
    memcpy(text + n + 1, s->digits + n, (size_t)(k - n));
    return s->len + 1;
}

size_t rr_double_print(double number, char *text)
{
    size_t sign = signbit(number) ? 1 : 0;
    double size = fabs(number);
    shortest s = {.len = 0};

    text[0] = '-';
    if (size < 1e15 && size == (double)(uint64_t)size) {
        return sign + rr_u64_print((uint64_t)size, text + sign);
    }
    find_shortest(size, &s);
    return sign + lay_out(&s, text + sign);
}
