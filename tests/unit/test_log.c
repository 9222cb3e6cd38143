/* The log: one line a message, nothing from outside can forge one, floods are counted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "time.h"

static FILE *sink;

static int open_sink(void **state)
{
    (void)state;
    sink = tmpfile();
    rr_log_set_fd(fileno(sink));
    rr_log_set_level(RR_LOG_INFO);
    return sink == NULL;
}

static int close_sink(void **state)
{
    (void)state;
    rr_log_set_fd(-1);
    return fclose(sink);
}

/* All that was logged; free it. */
static char *logged(void)
{
    char *text = NULL;
    size_t len = 0;

    lseek(fileno(sink), 0, SEEK_SET);
    if (getdelim(&text, &len, '\0', sink) < 0) {
        free(text);
        return strdup("");
    }
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t found = 0;

    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part)) {
        found++;
    }
    return found;
}

static void a_line_has_time_level_and_text(void **state)
{
    char *text;
    int64_t time_us;

    (void)state;
    rr_log(RR_LOG_WARNING, "redis: %s", "timed out");
    rr_log(RR_LOG_DEBUG, "not shown");
    text = logged();
    assert_int_equal(count(text, "\n"), 1);
    assert_true(rr_time_parse((rr_slice){text, strcspn(text, " ")}, &time_us));
    assert_non_null(strstr(text, "Z warning redis: timed out\n"));
    free(text);
}

static void control_characters_cannot_forge_a_line(void **state)
{
    char *text;

    (void)state;
    rr_log(RR_LOG_ERROR, "key %s", "a\n2026-01-01T00:00:00Z error forged\x1b[2J");
    text = logged();
    assert_int_equal(count(text, "\n"), 1);
    assert_non_null(strstr(text, "a\\x0a2026"));
    assert_non_null(strstr(text, "forged\\x1b[2J\n"));
    free(text);
}

static void a_long_text_is_cut(void **state)
{
    char big[3 * RR_LOG_LINE_MAX], *text;

    (void)state;
    memset(big, '\n', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    rr_log(RR_LOG_ERROR, "%s", big);
    text = logged();
    assert_true(strlen(text) <= RR_LOG_LINE_MAX);
    assert_non_null(strstr(text, "...\n"));
    free(text);
}

static void a_flood_is_counted(void **state)
{
    rr_log_limit limit = {.interval_ms = 50};
    char *text;

    (void)state;
    for (int i = 0; i < 100; i++) {
        rr_log_limited(&limit, RR_LOG_ERROR, "again");
    }
    usleep(60000);
    rr_log_limited(&limit, RR_LOG_ERROR, "again");
    text = logged();
    assert_true(count(text, "again") >= 2 && count(text, "again") < 50);
    assert_non_null(strstr(text, " more like it, not shown)\n"));
    free(text);
}

static void *log_many(void *unused)
{
    for (int i = 0; i < 200; i++) {
        rr_log(RR_LOG_INFO, "abcdefghijklmnopqrstuvwxyz");
    }
    return unused;
}

static void lines_of_threads_do_not_mix(void **state)
{
    pthread_t threads[4];
    char *text;

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    text = logged();
    assert_int_equal(count(text, "Z info abcdefghijklmnopqrstuvwxyz\n"), 800);
    assert_int_equal(count(text, "\n"), 800);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_has_time_level_and_text, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(control_characters_cannot_forge_a_line, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(a_long_text_is_cut, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(a_flood_is_counted, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(lines_of_threads_do_not_mix, open_sink, close_sink),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
