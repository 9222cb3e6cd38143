/* `reconciler rewind --to-time` on a long stream: it finds the place without reading from the first message. */
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
#include "time.h"

enum { OLD = 20000, YOUNG = 10, REQUESTS_MAX = 64 };

static const char *const names[] = {"parts", NULL};
static const char contracts[] = "  - {name: parts, mode: cumulative, window: {kind: tumbling, size: 1m}}\n";

static void put(rr_world *world, int count)
{
    for (int k = 0; k < count; k++) {
        assert_int_equal(js_PublishAsync(world->js, "results.parts", "{}", 2, NULL), NATS_OK);
    }
    assert_int_equal(js_PublishAsyncComplete(world->js, NULL), NATS_OK);
}

static int64_t stored_at_us(rr_world *world, uint64_t sequence)
{
    natsMsg *message = NULL;
    int64_t time_us;

    assert_int_equal(js_GetMsg(&message, world->js, "RESULTS", sequence, NULL, NULL), NATS_OK);
    time_us = natsMsg_GetTime(message) / 1000;
    natsMsg_Destroy(message);
    return time_us;
}

/* Requests that JetStream received, and how many of them read by a consumer. */
static int count_requests(natsSubscription *heard, int *by_consumer)
{
    natsMsg *message = NULL;
    int count = 0;

    *by_consumer = 0;
    while (natsSubscription_NextMsg(&message, heard, 500) == NATS_OK) {
        *by_consumer += strstr(natsMsg_GetSubject(message), "$JS.API.CONSUMER.MSG.NEXT.") != NULL;
        count++;
        natsMsg_Destroy(message);
    }
    return count;
}

static void a_time_is_found_in_a_few_requests(void **state)
{
    rr_world *world = *state;
    rr_setup setup = {.contracts = contracts, .names = names};
    char config[RR_WORLD_PATH], time[RR_TIME_TEXT_MAX + 1], wanted[128], *line;
    natsSubscription *heard = NULL;
    int requests, by_consumer;

    rr_world_configure(world, "rewind", &setup, config);
    put(world, OLD);
    rr_nap_ms(5); /* so that the next one is younger */
    put(world, YOUNG);
    time[rr_time_print(stored_at_us(world, OLD + 1), time)] = '\0';
    assert_int_equal(natsConnection_SubscribeSync(&heard, world->connection, "$JS.API.>"), NATS_OK);
    assert_int_equal(natsConnection_Flush(world->connection), NATS_OK);
    line = rr_world_output(world, (const char *[]){"rewind", "--config", config, "--to-time", time, "--dry-run", NULL},
                           NULL);
    snprintf(wanted, sizeof wanted, "{\"source\":\"results\",\"from\":%d,\"to\":%d,\"dry_run\":true}\n", OLD + 1,
             OLD + YOUNG);
    assert_string_equal(line, wanted);
    requests = count_requests(heard, &by_consumer);
    assert_in_range(requests, 1, REQUESTS_MAX);
    assert_int_equal(by_consumer, 0);
    natsSubscription_Destroy(heard);
    free(line);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_time_is_found_in_a_few_requests, rr_world_begin, rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
