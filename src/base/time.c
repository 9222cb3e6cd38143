/* Times and durations as text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "time.h"

#include "number.h"

#define DAY_US (86400 * RR_SECOND_US)

/* Days since 1970-01-01 in the proleptic Gregorian calendar, counted in eras of 400 years that begin in March. */
static int64_t days_of(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;

    *day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

static int days_in(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

/* Exactly that many digits. */
static bool take_number(rr_slice *text, size_t digits, int *number)
{
    *number = 0;
    if (text->len < digits) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        if (text->data[i] < '0' || text->data[i] > '9') {
            return false;
        }
        *number = *number * 10 + (text->data[i] - '0');
    }
    text->data += digits;
    text->len -= digits;
    return true;
}

static bool take_char(rr_slice *text, char c)
{
    if (text->len == 0 || text->data[0] != c) {
        return false;
    }
    text->data++;
    text->len--;
    return true;
}

/* The digits after the point. */
static bool take_fraction(rr_slice *text, int64_t *us)
{
    int64_t scale = 100000;
    size_t digits = 0;
    int digit;

    while (digits < 6 && take_number(text, 1, &digit)) {
        *us += digit * scale;
        scale /= 10;
        digits++;
    }
    return digits != 0;
}

static bool take_offset(rr_slice *text, int64_t *us)
{
    int hours, minutes;
    bool west = text->len != 0 && text->data[0] == '-';

    *us = 0;
    if (take_char(text, 'Z') || take_char(text, 'z')) {
        return true;
    }
    if (!take_char(text, west ? '-' : '+') || !take_number(text, 2, &hours) || !take_char(text, ':') ||
        !take_number(text, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    *us = (hours * 60 + minutes) * 60 * RR_SECOND_US;
    *us = west ? -*us : *us;
    return true;
}

bool rr_time_parse(rr_slice text, int64_t *time_us)
{
    int year, month, day, hour, minute, second;
    int64_t fraction_us = 0, offset_us;

    if (!take_number(&text, 4, &year) || !take_char(&text, '-') || !take_number(&text, 2, &month) ||
        !take_char(&text, '-') || !take_number(&text, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > days_in(year, month) || (!take_char(&text, 'T') && !take_char(&text, 't'))) {
        return false;
    }
    if (!take_number(&text, 2, &hour) || !take_char(&text, ':') || !take_number(&text, 2, &minute) ||
        !take_char(&text, ':') || !take_number(&text, 2, &second) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    if ((take_char(&text, '.') && !take_fraction(&text, &fraction_us)) || !take_offset(&text, &offset_us) ||
        text.len != 0) {
        return false;
    }
    *time_us = days_of(year, month, day) * DAY_US + ((hour * 60 + minute) * 60 + second) * RR_SECOND_US + fraction_us -
               offset_us;
    return true;
}

/* At least that many digits, with zeros in front. */
static char *put_padded(char *at, uint64_t number, size_t digits)
{
    char text[21];
    size_t len = rr_u64_print(number, text);

    while (digits-- > len) {
        *at++ = '0';
    }
    memcpy(at, text, len);
    return at + len;
}

static char *put_fraction(char *at, uint64_t us)
{
    if (us == 0) {
        return at;
    }
    *at++ = '.';
    at = put_padded(at, us, 6);
    while (at[-1] == '0') {
        at--;
    }
    return at;
}

size_t rr_time_print(int64_t time_us, char *text)
{
    int64_t days = time_us / DAY_US, of_day = time_us % DAY_US, year;
    int month, day;
    char *at = text;

    if (of_day < 0) {
        of_day += DAY_US;
        days--;
    }
    date_of(days, &year, &month, &day);
    if (year < 0) {
        *at++ = '-';
    }
    at = put_padded(at, (uint64_t)(year < 0 ? -year : year), 4);
    *at++ = '-';
    at = put_padded(at, (uint64_t)month, 2);
    *at++ = '-';
    at = put_padded(at, (uint64_t)day, 2);
    *at++ = 'T';
    at = put_padded(at, (uint64_t)(of_day / (3600 * RR_SECOND_US)), 2);
    *at++ = ':';
    at = put_padded(at, (uint64_t)(of_day / (60 * RR_SECOND_US) % 60), 2);
    *at++ = ':';
    at = put_padded(at, (uint64_t)(of_day / RR_SECOND_US % 60), 2);
    at = put_fraction(at, (uint64_t)(of_day % RR_SECOND_US));
    *at++ = 'Z';
    return (size_t)(at - text);
}

static const struct unit {
    const char *word;
    uint64_t us;
} units[] = {{"d", 86400000000}, {"h", 3600000000}, {"m", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1}};
enum { UNITS = sizeof units / sizeof units[0] };

/* The word of a unit is all letters up to the next digit. */
static size_t take_unit(rr_slice *text)
{
    size_t len = 0, unit = 0;

    while (len < text->len && (text->data[len] < '0' || text->data[len] > '9')) {
        len++;
    }
    while (unit < UNITS && !rr_slice_equal((rr_slice){text->data, len}, rr_slice_of(units[unit].word))) {
        unit++;
    }
    text->data += len;
    text->len -= len;
    return unit;
}

static bool take_count(rr_slice *text, uint64_t *count)
{
    int digit;
    bool any = false;

    *count = 0;
    while (take_number(text, 1, &digit)) {
        any = true;
        if (__builtin_mul_overflow(*count, 10, count) || __builtin_add_overflow(*count, (uint64_t)digit, count)) {
            return false;
        }
    }
    return any;
}

bool rr_duration_parse(rr_slice text, bool may_be_negative, int64_t *us)
{
    bool negative = may_be_negative && take_char(&text, '-');
    size_t next = 0; /* the first unit that may still come */
    uint64_t sum = 0, count;

    if (may_be_negative && !negative) {
        take_char(&text, '+');
    }
    if (text.len == 0) {
        return false;
    }
    while (text.len != 0) {
        size_t unit = take_count(&text, &count) ? take_unit(&text) : UNITS;

        if (unit >= UNITS || unit < next || __builtin_mul_overflow(count, units[unit].us, &count) ||
            __builtin_add_overflow(sum, count, &sum)) {
            return false;
        }
        next = unit + 1;
    }
    if (sum > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *us = (int64_t)(negative ? 0 - sum : sum);
    return true;
}

/* Writes the duration in those units whose bit is set. 0: these units leave a remainder. */
static size_t spell(uint64_t us, unsigned chosen, char *text)
{
    size_t len = 0;

    for (size_t unit = 0; unit < UNITS; unit++) {
        uint64_t count = us / units[unit].us;

        if ((chosen >> unit & 1) == 0 || count == 0) {
            continue;
        }
        us -= count * units[unit].us;
        len += rr_u64_print(count, text + len);
        memcpy(text + len, units[unit].word, strlen(units[unit].word));
        len += strlen(units[unit].word);
    }
    return us == 0 ? len : 0;
}

size_t rr_duration_print(int64_t us, char *text)
{
    uint64_t size = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    char candidate[2 * RR_TIME_TEXT_MAX];
    size_t best = RR_TIME_TEXT_MAX, sign = us < 0 ? 1 : 0;

    if (us == 0) {
        memcpy(text, "0s", 2);
        return 2;
    }
    text[0] = '-';
    /* "90s" is shorter than "1m30s"; of two equally short ones the one with the greater units wins. */
    for (unsigned chosen = 1; chosen < 1u << UNITS; chosen++) {
        size_t len = spell(size, chosen, candidate);

        if (len != 0 && len < best) {
            best = len;
            memcpy(text + sign, candidate, len);
        }
    }
    return sign + best;
}
