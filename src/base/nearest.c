/* The nearest name, by edits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <ctype.h>
#include <stdio.h>

enum { NEAREST_LEN_MAX = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
    /* retention_ms, retention-ms and Retention_MS are the same slip. */
    return tolower((unsigned char)(a == '-' ? '_' : a)) == tolower((unsigned char)(b == '-' ? '_' : b));
}

/* Edits (insert, remove, replace, swap neighbours) from a to b; both at most NEAREST_LEN_MAX bytes. */
static size_t edits(rr_slice a, rr_slice b)
{
    size_t rows[3][NEAREST_LEN_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2], *turn;

    for (size_t j = 0; j <= b.len; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t cost = same_letter(a.data[i - 1], b.data[j - 1]) ? 0 : 1;

            now[j] = least(last[j - 1] + cost, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a.data[i - 1], b.data[j - 2]) &&
                same_letter(a.data[i - 2], b.data[j - 1])) {
                now[j] = least(now[j], before[j - 2] + 1);
            }
        }
        turn = before, before = last, last = now, now = turn;
    }
    return last[b.len];
}

void rr_nearest_init(rr_nearest *nearest, rr_slice word)
{
    *nearest = (rr_nearest){.word = word, .distance = SIZE_MAX};
}

void rr_nearest_try(rr_nearest *nearest, rr_slice name)
{
    size_t distance;

    if (nearest->word.len > NEAREST_LEN_MAX || name.len > NEAREST_LEN_MAX || name.len == 0) {
        return;
    }
    distance = edits(nearest->word, name);
    if (distance < nearest->distance && distance <= 1 + name.len / 4 && distance < name.len) {
        nearest->best = name;
        nearest->distance = distance;
    }
}

const char *rr_nearest_hint(const rr_nearest *nearest, const char *before, char text[RR_HINT_MAX])
{
    text[0] = '\0';
    if (nearest->best.len != 0) {
        snprintf(text, RR_HINT_MAX, "; did you mean '%s%.*s'?", before, RR_SHOW(nearest->best));
    }
    return text;
}
