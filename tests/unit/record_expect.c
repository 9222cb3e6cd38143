/* Decoding one record in a test, and what is expected of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

rr_arena arena;
rr_record record;
rr_text why;
int64_t clock_us;

rr_decoded decode_copy(record_decoder *decoder, rr_slice bytes)
{
    char *copy = malloc(bytes.len == 0 ? 1 : bytes.len);
    rr_decoded decoded;

    assert_non_null(copy);
    if (bytes.len != 0) {
        memcpy(copy, bytes.data, bytes.len);
    }
    rr_arena_reset(&arena);
    why.len = 0;
    decoded = decoder((rr_slice){copy, bytes.len}, &arena, &why);
    free(copy);
    return decoded;
}

void assert_slice(rr_slice slice, rr_slice expected)
{
    if (!rr_slice_equal(slice, expected)) {
        fail_msg("'%.*s' is not '%.*s'", (int)slice.len, slice.data, (int)expected.len, expected.data);
    }
}

void assert_text(rr_slice slice, const char *expected)
{
    assert_slice(slice, rr_slice_of(expected));
}

void assert_why(const char *part)
{
    char text[RR_TEXT_MAX + 1];

    memcpy(text, why.bytes, why.len);
    text[why.len] = '\0';
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, text);
    }
}

void decode_damaged(rr_slice bytes, const char *alphabet, void (*decode)(rr_slice damaged, int round))
{
    char *damaged = malloc(bytes.len);
    uint32_t seed = 2463534242;

    assert_non_null(damaged);
    for (int round = 0; round < 20000; round++) {
        memcpy(damaged, bytes.data, bytes.len);
        for (int change = 0; change < 1 + round % 4; change++) {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            damaged[seed % bytes.len] =
                alphabet == NULL || round % 2 == 0 ? (char)(seed >> 16) : alphabet[(seed >> 16) % strlen(alphabet)];
        }
        decode((rr_slice){damaged, round % 5 == 0 ? seed % bytes.len : bytes.len}, round);
    }
    free(damaged);
}

void assert_scratch_is_given_back(record_decoder *decoder, const rr_slice *rows, size_t count)
{
    rr_arena small;

    rr_arena_init(&small, 1 << 20);
    for (size_t round = 0; round < 6000; round++) {
        assert_int_not_equal(decoder(rows[round % count], &small, NULL), RR_DECODED_NO_MEMORY);
    }
    rr_arena_fini(&small);
    rr_arena_init(&small, 1000);
    assert_int_equal(decoder(rows[0], &small, NULL), RR_DECODED_NO_MEMORY);
    rr_arena_fini(&small);
}

int open_arena(void **state)
{
    (void)state;
    rr_arena_init(&arena, 0);
    return 0;
}

int close_arena(void **state)
{
    (void)state;
    rr_arena_fini(&arena);
    return 0;
}
