/* Each refused record has one dead letter on a real server: also where its stream was made anew and gives its sequences
 * again, and no more than one when the record is delivered again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "publish.h"

enum { DONE_MS = 60000, CONFIGURATION = 78 };

static const char *const names[] = {"sums", NULL};
static const char contract[] = "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}}\n";

/* Runs until the stream is read, with a source and a consumer of that name. */
static int read_all(rr_world *world, const char *name)
{
    rr_setup setup = {.contracts = contract, .names = names, .source = name, .consumer = name};
    char config[RR_WORLD_PATH];

    rr_world_configure(world, name, &setup, config);
    return rr_child_wait(rr_child_start(world, (const char *[]){"run", "--config", config, "--until-idle", NULL}),
                         DONE_MS);
}

static void assert_letter(rr_world *world, uint64_t number, const char *payload)
{
    natsMsg *letter = rr_stream_message(world, "DEAD", number);
    const char *sequence = NULL;

    assert_int_equal(natsMsgHeader_Get(letter, "Rr-Sequence", &sequence), NATS_OK);
    assert_string_equal(sequence, "1");
    assert_int_equal(natsMsg_GetDataLength(letter), strlen(payload));
    assert_memory_equal(natsMsg_GetData(letter), payload, strlen(payload));
    natsMsg_Destroy(letter);
}

static void make_anew(rr_world *world, const char *payload)
{
    rr_stream_remove(world, "RESULTS");
    rr_stream_make(world, "RESULTS", "results.>", 0);
    rr_publish_bytes(world, "results.sums", payload, strlen(payload));
    assert_int_equal(rr_stream_last(world, "RESULTS"), 1);
}

static void a_stream_made_anew_has_dead_letters_of_its_own(void **state)
{
    static const char *const payloads[] = {"not a record", "neither", "neither"};
    char name[] = "first-0";
    rr_world *world = *state;

    for (uint64_t k = 0; k < sizeof payloads / sizeof *payloads; k++) {
        make_anew(world, payloads[k]);
        if (k > 0) {
            assert_int_equal(read_all(world, name), CONFIGURATION); /* it is not the stream of that name any more */
        }
        assert_int_equal(rr_stream_count(world, "DEAD"), k);
        name[sizeof name - 2]++;
        assert_int_equal(read_all(world, name), 0);
        assert_int_equal(rr_stream_count(world, "DEAD"), k + 1);
        assert_letter(world, k + 1, payloads[k]);
    }
}

static void a_record_delivered_again_gets_no_second_one(void **state)
{
    rr_world *world = *state;

    make_anew(world, "not a record");
    assert_int_equal(read_all(world, "first"), 0);
    assert_int_equal(read_all(world, "second"), 0);
    assert_int_equal(rr_stream_count(world, "DEAD"), 1);
    assert_letter(world, 1, "not a record");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stream_made_anew_has_dead_letters_of_its_own, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_record_delivered_again_gets_no_second_one, rr_world_begin, rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
