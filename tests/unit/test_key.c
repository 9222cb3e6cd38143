/* Keys in a store: vectors, identities that never meet, and what is no key. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "key.h"

static const rr_slice prefix = {"rr", 2};
static const rr_window window = {1767261600000000, 1767261660000000};

static rr_contract contract_of(const char *name, rr_window_kind kind)
{
    return (rr_contract){.name = rr_slice_of(name), .window_kind = kind};
}

static void assert_key(rr_buf *buf, const char *expected)
{
    assert_true(rr_buf_ok(buf));
    rr_buf_char(buf, '\0');
    assert_string_equal(buf->data, expected);
}

static void vectors(void **state)
{
    static const struct {
        const char *contract, *business_key, *metric_version, *key;
        rr_window_kind kind;
    } rows[] = {
        {"parts", "line-7", "v1", "rr:{parts:line-7}:v1:1767261600000000-1767261660000000", RR_WINDOW_TUMBLING},
        {"parts", "line-7", "v1", "rr:{parts:line-7}:v1", RR_WINDOW_GLOBAL},
        {"parts", "a:b", "v1", "rr:{parts:a%3Ab}:v1", RR_WINDOW_GLOBAL},
        {"parts", "{x}", "v1", "rr:{parts:%7Bx%7D}:v1", RR_WINDOW_GLOBAL},
        {"parts", "50%", "v1", "rr:{parts:50%25}:v1", RR_WINDOW_GLOBAL},
        {"parts", "a b/c", "1.0_rc~2", "rr:{parts:a%20b%2Fc}:1.0_rc~2", RR_WINDOW_GLOBAL},
        {"parts", "caf\xc3\xa9", "v1", "rr:{parts:caf%C3%A9}:v1", RR_WINDOW_GLOBAL},
        {"p q", "x", "\x01\x7f", "rr:{p%20q:x}:%01%7F", RR_WINDOW_GLOBAL},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_contract contract = contract_of(rows[k].contract, rows[k].kind);
        rr_buf buf = {0};

        rr_key_unit(&buf, prefix, &contract, rr_slice_of(rows[k].business_key), rr_slice_of(rows[k].metric_version),
                    window);
        assert_key(&buf, rows[k].key);
        rr_buf_fini(&buf);
    }
}

static void sessions_have_an_index(void **state)
{
    rr_contract contract = contract_of("visits", RR_WINDOW_SESSION);
    rr_buf buf = {0};

    (void)state;
    rr_key_sessions(&buf, RR_SLICE("shop:rr"), &contract, RR_SLICE("u 1"), RR_SLICE("v1"));
    assert_key(&buf, "shop:rr:{visits:u%201}:v1:sessions");
    rr_buf_fini(&buf);
}

static void keys_come_apart_again(void **state)
{
    static const rr_window windows[] = {{1767261600000000, 1767261660000000}, {INT64_MIN, -1}, {0, INT64_MAX}};
    char every[256];
    rr_contract contract = contract_of("p:q", RR_WINDOW_ANY);
    rr_arena arena;

    (void)state;
    for (size_t k = 0; k < sizeof every; k++) {
        every[k] = (char)k;
    }
    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sizeof windows / sizeof windows[0]; k++) {
        rr_buf buf = {0};
        rr_key_parts parts;

        rr_key_unit(&buf, prefix, &contract, (rr_slice){every, sizeof every}, RR_SLICE("sessions"), windows[k]);
        assert_true(rr_key_parse(rr_buf_view(&buf), prefix, &arena, &parts));
        assert_true(rr_slice_equal(parts.contract, RR_SLICE("p:q")));
        assert_true(rr_slice_equal(parts.business_key, (rr_slice){every, sizeof every}));
        assert_true(rr_slice_equal(parts.metric_version, RR_SLICE("sessions")));
        assert_true(parts.has_window && !parts.is_sessions && rr_window_equal(parts.window, windows[k]));
        rr_buf_fini(&buf);
    }
    rr_arena_fini(&arena);
}

static void other_kinds_of_keys(void **state)
{
    rr_arena arena;
    rr_key_parts parts;

    (void)state;
    rr_arena_init(&arena, 0);
    assert_true(rr_key_parse(RR_SLICE("rr:{a:b}:v1"), prefix, &arena, &parts));
    assert_false(parts.has_window || parts.is_sessions);
    assert_true(rr_key_parse(RR_SLICE("rr:{a:b}:v1:sessions"), prefix, &arena, &parts));
    assert_true(parts.is_sessions && !parts.has_window);
    rr_arena_fini(&arena);
}

static void what_is_no_key(void **state)
{
    static const char *const rows[] = {
        "",
        "rr",
        "rr:{",
        "rr:{a",
        "rr:{a:b",
        "rr:{a:b}",
        "rr:{a:b}:",
        "rr:{:b}:v1",
        "rr:{a:}:v1",
        "xx:{a:b}:v1",
        "rr:a:b:v1",
        "rr:{a:b}:v1:",
        "rr:{a:b}:v1:1",
        "rr:{a:b}:v1:1-",
        "rr:{a:b}:v1:-2",
        "rr:{a:b}:v1:1-2x",
        "rr:{a:b}:v1:01-2",
        "rr:{a:b}:v1:1-02",
        "rr:{a:b}:v1:-0-2",
        "rr:{a:b}:v1:1-9223372036854775808",
        "rr:{a:b}:v1:session",
        "rr:{a:b}:v1:sessions:",
        "rr:{a:%3ab}:v1",
        "rr:{a:%41}:v1",
        "rr:{a:%4}:v1",
        "rr:{a:%}:v1",
        "rr:{a:b c}:v1",
        "rr:{a:b:c}:v1",
        "rr:{a:b}:v1:x:1-2",
        "rr:status:{a}",
    };
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_key_parts parts;

        if (rr_key_parse(rr_slice_of(rows[k]), prefix, &arena, &parts)) {
            fail_msg("taken for a key: %s", rows[k]);
        }
    }
    rr_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(sessions_have_an_index),
        cmocka_unit_test(keys_come_apart_again),
        cmocka_unit_test(other_kinds_of_keys),
        cmocka_unit_test(what_is_no_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
