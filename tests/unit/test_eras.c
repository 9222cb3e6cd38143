/* A retention that was lengthened: windows that end before the change keep the one of before, in the rules, in the note
 * of the contract, and in the loop that reads it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "contract_note.h"
#include "contract_yaml.h"
#include "service.h"
#include "record_json.h"
#include "record_proto.h"
#include "source_script.h"
#include "store_memory.h"
#include "time.h"

#define MINUTE (60 * RR_SECOND_US)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define NOW INT64_C(1767261900000000) /* 2026-01-01T10:05:00Z */
#define MARGIN (10 * MINUTE)          /* of clocks that differ */

static rr_contract kept_for(int64_t retention_us, int64_t grace_us)
{
    rr_contract contract = rr_contract_defaults;

    contract.name = RR_SLICE("c");
    contract.mode = RR_MODE_DELTA;
    contract.window_kind = RR_WINDOW_TUMBLING;
    contract.size_us = contract.slide_us = MINUTE;
    contract.future_tolerance_us = 0;
    contract.retention_us = retention_us;
    contract.grace_us = grace_us;
    return contract;
}

/* ---- what an era holds ---- */

static void windows_of_an_era_keep_its_times(void **state)
{
    rr_eras eras = {0};
    rr_contract before = kept_for(HOUR, MINUTE), after = kept_for(9 * DAY, DAY);
    int64_t until = NOW + MINUTE + MARGIN;

    (void)state;
    rr_eras_advance(&eras, &before, &after, NOW);
    after.eras = &eras;
    assert_int_equal(rr_kept_us(&after, until), HOUR + MINUTE);
    assert_int_equal(rr_kept_us(&after, until + 1), 10 * DAY);
    assert_int_equal(rr_expiry_us(&after, until), rr_expiry_us(&before, until));
    assert_false(rr_cell_may_be_gone(&after, (rr_window){0, until}, until + HOUR + MINUTE - 1));
    assert_true(rr_cell_may_be_gone(&after, (rr_window){0, until}, until + HOUR + MINUTE));
    assert_false(rr_cell_may_be_gone(&after, (rr_window){0, until + 1}, until + 10 * DAY));
    after.window_kind = RR_WINDOW_GLOBAL;
    assert_int_equal(rr_kept_us(&after, 0), RR_FOREVER);
}

static void records_of_an_era_are_too_late_by_its_retention(void **state)
{
    const int64_t end = INT64_C(1767261660000000);
    rr_eras eras = {.count = 1, .items = {{.until_us = end, .retention_us = HOUR, .kept_us = 2 * HOUR}}};
    rr_contract contract = kept_for(9 * DAY, DAY);

    (void)state;
    contract.eras = &eras;
    for (int64_t late = 0; late < 2; late++) {
        for (int64_t older = 0; older < 2; older++) { /* the era ends with the window, or before it */
            rr_measure value = {.kind = RR_NUMBER_TEXT, .name = {"value", 5}, .text = {"1", 1}};
            rr_record record = {.business_key = {"k", 1},
                                .metric_version = {"v", 1},
                                .delta_id = {"d", 1},
                                .measures = &value,
                                .measure_count = 1,
                                .has_window = true,
                                .window = {end - MINUTE, end},
                                .has_arrival = true,
                                .arrival_us = end + HOUR - 1 + late};
            rr_text why = {.len = 0};
            rr_arena arena;

            eras.items[0].until_us = end - older;
            rr_arena_init(&arena, 0);
            assert_true(rr_arena_reserve(&arena, rr_admit_need(&contract, &record)));
            assert_int_equal(rr_admit(&contract, &record, &arena, &why),
                             late == 1 && older == 0 ? RR_REASON_BEYOND_RETENTION : RR_REASON_NONE);
            assert_true(why.len == 0 || strstr(why.bytes, "retention for windows of that time is 1h") != NULL);
            rr_arena_fini(&arena);
        }
    }
}

/* The effect of eras on a window, under a contract that keeps all for ever. */
static rr_era effect(const rr_eras *eras, int64_t end_us)
{
    rr_era found = {.retention_us = RR_FOREVER, .kept_us = RR_FOREVER};

    for (size_t k = 0; k < eras->count; k++) {
        if (end_us <= eras->items[k].until_us) {
            found.retention_us =
                found.retention_us < eras->items[k].retention_us ? found.retention_us : eras->items[k].retention_us;
            found.kept_us = found.kept_us < eras->items[k].kept_us ? found.kept_us : eras->items[k].kept_us;
        }
    }
    return found;
}

static void eras_join_in_any_order(void **state)
{
    static const rr_era some[] = {{10, 5, 9}, {10, 6, 7}, {20, 5, 8}, {20, 4, 9}, {30, 6, 8}, {30, 7, 7}};
    enum { SOME = sizeof some / sizeof *some, ALL = SOME * SOME * SOME };

    (void)state;
    for (size_t k = 0; k < ALL; k++) {
        const size_t chosen[] = {k % SOME, k / SOME % SOME, k / SOME / SOME};
        rr_eras forth = {0}, back = {0};

        for (size_t n = 0; n < 3; n++) {
            rr_eras_join(&forth, &(rr_eras){.count = 1, .items = {some[chosen[n]]}});
            rr_eras_join(&back, &(rr_eras){.count = 1, .items = {some[chosen[2 - n]]}});
        }
        rr_eras_join(&back, &forth);
        assert_int_equal(forth.count, back.count);
        assert_memory_equal(forth.items, back.items, forth.count * sizeof *forth.items);
        for (int64_t end = 5; end <= 35; end += 5) {
            rr_eras raw = {.count = 3, .items = {some[chosen[0]], some[chosen[1]], some[chosen[2]]}};
            rr_era expected = effect(&raw, end), found = effect(&forth, end);

            assert_int_equal(found.retention_us, expected.retention_us);
            assert_int_equal(found.kept_us, expected.kept_us);
        }
    }
}

/* ---- a change ---- */

static void a_shorter_retention_needs_no_era(void **state)
{
    rr_eras eras = {0};
    rr_contract longer = kept_for(2 * DAY, DAY), shorter = kept_for(DAY, DAY), other = longer;

    (void)state;
    other.max_epoch = 7;
    rr_eras_advance(&eras, &longer, &shorter, NOW);
    rr_eras_advance(&eras, &longer, &other, NOW);
    assert_int_equal(eras.count, 0);
    rr_eras_advance(&eras, &shorter, &longer, NOW);
    rr_eras_advance(&eras, &longer, &shorter, NOW);
    assert_int_equal(eras.count, 0);
}

/* Shortened and lengthened again: the windows in between were kept for the shorter time. */
static void a_longer_grace_or_retention_alone_is_noted(void **state)
{
    const rr_contract before = kept_for(HOUR, DAY), after[] = {kept_for(HOUR, 2 * DAY), kept_for(2 * HOUR, DAY - HOUR)};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        rr_eras eras = {0};

        rr_eras_advance(&eras, &before, &after[k], NOW);
        assert_int_equal(eras.count, 1);
        assert_int_equal(eras.items[0].retention_us, HOUR);
        assert_int_equal(eras.items[0].kept_us, DAY + HOUR);
    }
}

/* Cells of windows far ahead were made while more of the future was allowed. */
static void the_larger_tolerance_counts(void **state)
{
    rr_eras eras = {0};
    rr_contract wide = kept_for(HOUR, 0), narrow = kept_for(HOUR, 0), longer = kept_for(9 * DAY, DAY);

    (void)state;
    wide.future_tolerance_us = 5 * DAY;
    rr_eras_advance(&eras, &wide, &narrow, NOW);
    rr_eras_advance(&eras, &narrow, &longer, NOW + HOUR);
    longer.eras = &eras;
    assert_int_equal(rr_kept_us(&longer, NOW + 5 * DAY), HOUR);
    assert_int_equal(rr_kept_us(&longer, NOW + 5 * DAY + MINUTE + MARGIN), HOUR);
    assert_int_equal(rr_kept_us(&longer, NOW + 5 * DAY + MINUTE + MARGIN + 1), 10 * DAY);
}

/* Shorter now, but longer again later: those of the first one are kept by the first one. */
static void an_era_under_a_shorter_one_is_not_lost(void **state)
{
    rr_eras eras = {0};
    rr_contract first = kept_for(2 * HOUR, 0), second = kept_for(HOUR, 0), third = kept_for(9 * DAY, 0);

    (void)state;
    first.future_tolerance_us = DAY;
    rr_eras_advance(&eras, &first, &second, NOW);
    rr_eras_advance(&eras, &second, &third, NOW + MINUTE);
    third.eras = &eras;
    assert_int_equal(rr_kept_us(&third, NOW), HOUR);
    assert_int_equal(rr_kept_us(&third, NOW + DAY), 2 * HOUR);
    assert_int_equal(rr_kept_us(&third, NOW + 2 * DAY), 9 * DAY);
}

/* Not when its own time is over, but when that of the contract in force is, for its windows. */
static void an_era_goes_when_it_can_matter_no_more(void **state)
{
    rr_contract before = kept_for(HOUR, 0), longer = kept_for(9 * DAY, DAY), longest = kept_for(30 * DAY, DAY);
    int64_t over = NOW + MINUTE + MARGIN + 31 * DAY + MARGIN;

    (void)state;
    for (int64_t late = 0; late < 2; late++) {
        rr_eras eras = {0};

        rr_eras_advance(&eras, &before, &longer, NOW);
        rr_eras_advance(&eras, &longest, &longest, over - 1 + late);
        assert_int_equal(eras.count, 1 - late);
    }
}

static void times_beyond_all_are_held(void **state)
{
    rr_eras eras = {0};
    rr_contract before = kept_for(DAY, DAY), after = kept_for(RR_FOREVER, DAY);

    (void)state;
    before.future_tolerance_us = INT64_MAX;
    rr_eras_advance(&eras, &before, &after, INT64_MAX - 1);
    assert_int_equal(eras.count, 1);
    assert_int_equal(eras.items[0].until_us, INT64_MAX);
    after.eras = &eras;
    assert_int_equal(rr_expiry_us(&after, INT64_MAX - 1), RR_FOREVER);
    assert_int_equal(rr_kept_us(&after, INT64_MAX), 2 * DAY);
    /* what was kept for ever leaves nothing behind */
    eras.count = 0;
    rr_eras_advance(&eras, &after, &before, NOW);
    before.retention_us = INT64_MAX - 1;
    rr_eras_advance(&eras, &before, &after, NOW);
    before.window_kind = RR_WINDOW_GLOBAL;
    rr_eras_advance(&eras, &before, &after, NOW);
    assert_int_equal(eras.count, 0);
}

/* ---- the note ---- */

#define TEXT "- name: \"c\"\n  mode: delta\n"

static void a_note_reads_as_it_was_written(void **state)
{
    rr_eras eras = {.count = 2, .items = {{NOW, 0, DAY}, {INT64_MAX, HOUR, INT64_MAX - 1}}};
    rr_contract_note note;
    rr_buf text = {0};

    (void)state;
    rr_contract_note_write(&text, RR_SLICE(TEXT), &eras);
    assert_true(rr_contract_note_read(rr_buf_view(&text), &note));
    assert_true(rr_slice_equal(note.text, RR_SLICE(TEXT)));
    assert_int_equal(note.eras.count, 2);
    assert_memory_equal(note.eras.items, eras.items, 2 * sizeof *eras.items);
    rr_buf_clear(&text);
    rr_contract_note_write(&text, RR_SLICE(TEXT), &(rr_eras){0});
    assert_true(rr_slice_equal(rr_buf_view(&text), RR_SLICE(TEXT)));
    assert_true(rr_contract_note_read(rr_buf_view(&text), &note)); /* as those of an older program are */
    assert_true(rr_slice_equal(note.text, RR_SLICE(TEXT)));
    assert_int_equal(note.eras.count, 0);
    assert_true(rr_contract_note_read((rr_slice){NULL, 0}, &note));
    assert_int_equal(note.held.len, 0);
    rr_buf_fini(&text);
}

#define ERA(until, retention, kept) "{\"until_us\":" #until ",\"retention_us\":" #retention ",\"kept_us\":" #kept "}"
#define LINE(eras) TEXT "# {\"eras\":[" eras "]}\n"

static void what_is_no_note_is_not_read_as_one(void **state)
{
    static const char *const good[] = {LINE(ERA(1, 2, 3)), LINE(ERA(1, 2, 3) "," ERA(2, 2, 4)),
                                       LINE(ERA(1, 2, 3) "," ERA(2, 3, 3))};
    static const char *const bad[] = {
        TEXT "#",
        TEXT "# {}\n",
        TEXT "# {\"eras\":[",
        TEXT "# {\"eras\":[" ERA(1, 2, 3) "]}",
        LINE(""),
        LINE(ERA(1, 2, 3) ","),
        LINE(ERA(1, 2, 3) ERA(2, 3, 4)),
        LINE(ERA(01, 2, 3)),
        LINE(ERA(-1, 2, 3)),
        LINE(ERA(1, 2.0, 3)),
        LINE(ERA(1, 4, 3)),
        LINE(ERA(1, 2, 9223372036854775807)),
        LINE(ERA(9223372036854775808, 2, 3)),
        LINE(ERA(1, 2, 3) "," ERA(1, 3, 4)),
        LINE(ERA(1, 2, 3) "," ERA(2, 2, 3)),
        LINE(ERA(1, 2, 3) "," ERA(2, 1, 4)),
        LINE(ERA(1, 2, 4) "," ERA(2, 3, 3)),
        LINE(ERA(1, 1, 1) "," ERA(2, 2, 2) "," ERA(3, 3, 3) "," ERA(4, 4, 4) "," ERA(5, 5, 5) "," ERA(6, 6, 6) "," ERA(
            7, 7, 7) "," ERA(8, 8, 8) "," ERA(9, 9, 9)),
    };
    rr_contract_note note;

    (void)state;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_true(rr_contract_note_read(rr_slice_of(good[k]), &note));
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        if (rr_contract_note_read(rr_slice_of(bad[k]), &note)) {
            fail_msg("%s", bad[k]);
        }
    }
}

/* ---- the loop ---- */

enum { MOST = 8 };

static const char shorter[] = "{name: c, mode: delta, window: {kind: tumbling, size: 1m}, retention: 1h, grace: 0s, "
                              "future_tolerance: 0s}";
static const char longer[] = "{name: c, mode: delta, window: {kind: tumbling, size: 1m}, retention: 30d}";

static const rr_slice note_key = {"rr:contract:{c}", 15};

typedef struct world {
    rr_store *store;
    rr_store_ops ops;
    rr_slice name; /* of the source */
    rr_script_record script[MOST];
    rr_buf payloads[MOST];
    size_t count;
    void (*on_ack)(void *context, const rr_delivery *delivery);
    rr_eras eras;
    rr_service_totals totals;
    rr_error error;
    char said[4096];
} world;

static world *the; /* what the functions without a context look at */
static int64_t since_us;
static rr_contract_list contracts;
static unsigned silent; /* so many more questions for a note are not answered */
static bool refuses;    /* or are answered by a refusal */
static atomic_int stop;

static rr_status hesitant_note_get(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error)
{
    if (silent != 0 && rr_slice_equal(key, note_key)) {
        silent--;
        return rr_fail(error, refuses ? RR_REFUSED_BY_SERVER : RR_UNAVAILABLE, refuses ? "LOADING" : "no answer");
    }
    return rr_store_memory_ops.note_get(store, key, arena, value, error);
}

static int64_t now_us(void)
{
    return NOW + (since_us += RR_SECOND_US / 4);
}

static void no_pause(int ms)
{
    (void)ms;
}

static void hear(rr_log_level level, const char *text)
{
    size_t used = strlen(the->said);

    (void)level;
    snprintf(the->said + used, sizeof the->said - used, "%s\n", text);
}

static rr_bound_route route(const void *context, rr_slice subject)
{
    (void)context;
    return (rr_bound_route){.contract = rr_contracts_find(&contracts, subject)};
}

static world *begin_world(void)
{
    world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &w->store, NULL), RR_OK);
    w->name = RR_SLICE("s");
    w->ops = rr_store_memory_ops;
    w->ops.note_get = hesitant_note_get;
    the = w;
    since_us = 0;
    silent = 0;
    atomic_store(&stop, 0);
    return w;
}

static void end_world(world *w)
{
    for (size_t k = 0; k < MOST; k++) {
        rr_buf_fini(&w->payloads[k]);
    }
    rr_store_memory_ops.close(w->store);
    free(w);
}

/* A record of the window that ends so, which the stream stored at that time. */
static void add(world *w, int64_t end_us, int64_t stored_us)
{
    char line[256];
    rr_arena arena;
    rr_record record;
    int64_t clock_us;

    snprintf(line, sizeof line,
             "{\"business_key\":\"k\",\"metric_version\":\"v1\",\"delta_id\":\"%zu\",\"value\":1,\"window\":"
             "{\"start\":%lld,\"end\":%lld}}",
             w->count, (long long)(end_us - MINUTE), (long long)end_us);
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_record_from_json(rr_slice_of(line), &arena, &record, &clock_us, NULL), RR_DECODED_RECORD);
    assert_true(rr_record_to_proto(&record, &w->payloads[w->count]));
    rr_arena_fini(&arena);
    w->script[w->count] = (rr_script_record){RR_SLICE("c"), rr_buf_view(&w->payloads[w->count]), stored_us};
    w->count++;
}

/* Takes in what was added, and forgets it. */
static rr_status run(world *w, const char *contract, bool accept)
{
    rr_source *source = rr_source_script_new(w->script, w->count, w->on_ack, w);
    rr_bound_source over = {.ops = &rr_source_script_ops,
                            .source = source,
                            .name = w->name,
                            .stream = RR_SLICE("S"),
                            .consumer = RR_SLICE("c"),
                            .batch = 1,
                            .dead_letters = "dead",
                            .route = route};
    rr_bound_contract bound = {.eras = &w->eras};
    rr_service_options options = {.env.store_ops = &w->ops,
                                  .env.store = w->store,
                                  .env.prefix = RR_SLICE("rr"),
                                  .env.sources = &over,
                                  .env.source_count = 1,
                                  .env.contracts = &bound,
                                  .env.contract_count = 1,
                                  .accept_contract = accept ? rr_contract_reread : NULL,
                                  .until_idle = true,
                                  .env.stop = &stop,
                                  .env.now_us = now_us,
                                  .env.pause_ms = no_pause,
                                  .env.log = hear};
    rr_problems problems = {0};
    rr_buf yaml = {0}, text = {0};
    rr_status status;

    rr_buf_format(&yaml, "contracts: [%s]", contract);
    assert_int_equal(rr_contracts_parse("contracts", rr_buf_view(&yaml), &contracts, &problems), RR_OK);
    contracts.items[0].eras = &w->eras;
    rr_contract_print(&contracts.items[0], &text);
    bound.contract = &contracts.items[0];
    bound.text = rr_buf_view(&text);
    w->totals = (rr_service_totals){0};
    w->said[0] = '\0';
    status = rr_service_run(&options, &w->totals, &w->error);
    rr_source_script_ops.close(source);
    rr_contracts_fini(&contracts);
    rr_problems_fini(&problems);
    rr_buf_fini(&yaml);
    rr_buf_fini(&text);
    for (; w->count != 0; w->count--) {
        rr_buf_fini(&w->payloads[w->count - 1]);
        w->payloads[w->count - 1] = (rr_buf){0};
    }
    return status;
}

static void assert_cell(world *w, int64_t end_us, bool there)
{
    char key[128];
    rr_load load = {0};
    rr_arena arena;

    snprintf(key, sizeof key, "rr:{c:k}:v1:%lld-%lld", (long long)(end_us - MINUTE), (long long)end_us);
    load.key = rr_slice_of(key);
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_store_memory_ops.load(w->store, &load, 1, &arena, NULL), RR_OK);
    assert_int_equal(load.value.len != 0, there);
    rr_arena_fini(&arena);
}

static void put_note(rr_store *store, const char *value)
{
    assert_int_equal(rr_store_memory_ops.note_put(store, note_key, rr_slice_of(value), 0, NULL), RR_OK);
}

static void assert_note_has(world *w, const char *text)
{
    rr_slice value;
    rr_arena arena;

    rr_arena_init(&arena, 0);
    assert_int_equal(rr_store_memory_ops.note_get(w->store, note_key, &arena, &value, NULL), RR_OK);
    if (memmem(value.data, value.len, text, strlen(text)) == NULL) {
        fail_msg("%.*s", (int)value.len, value.data);
    }
    rr_arena_fini(&arena);
}

#define OLD (NOW - 5 * MINUTE - 2 * HOUR) /* ends two hours before the change: gone by the retention of an hour */
#define OPEN (NOW + 10 * MINUTE)          /* ended later, but cells of it may have been made before the change */
#define NEW (NOW + 15 * MINUTE)           /* none of it can have been */

static void an_old_record_is_too_late_after_the_change(void **state)
{
    world *w = begin_world();

    (void)state;
    assert_int_equal(run(w, shorter, false), RR_OK);
    add(w, OLD, NOW + MINUTE);
    add(w, OPEN, OPEN + HOUR);
    add(w, NEW, NEW + HOUR);
    assert_int_equal(run(w, longer, true), RR_OK);
    assert_int_equal(w->totals.verdicts[RR_VERDICT_TOO_LATE], 2);
    assert_int_equal(w->totals.verdicts[RR_VERDICT_APPLIED], 1);
    assert_cell(w, OLD, false);
    assert_cell(w, OPEN, false);
    assert_cell(w, NEW, true);
    /* and after the next start, which accepts nothing, and whichever source it comes from */
    w->name = RR_SLICE("another");
    add(w, OLD, NOW + MINUTE);
    assert_int_equal(run(w, longer, false), RR_OK);
    assert_int_equal(w->totals.verdicts[RR_VERDICT_TOO_LATE], 1);
    assert_cell(w, OLD, false);
    end_world(w);
}

/* The queue stored it long ago, but it is processed only now: by the wall clock its cell is gone, as before the
 * change. */
static void what_may_be_gone_stays_gone(void **state)
{
    world *w = begin_world();

    (void)state;
    assert_int_equal(run(w, shorter, false), RR_OK);
    add(w, OLD, OLD + MINUTE);
    assert_int_equal(run(w, longer, true), RR_OK);
    assert_int_equal(w->totals.verdicts[RR_VERDICT_TOO_LATE], 1);
    assert_cell(w, OLD, false);
    end_world(w);
}

static void drop_note(void *context, const rr_delivery *delivery)
{
    if (delivery->stream_sequence == 1) {
        put_note(((world *)context)->store, "");
    }
}

/* As FLUSHALL does, while somebody runs who knows. */
static void a_note_that_was_lost_comes_back_with_its_eras(void **state)
{
    world *w = begin_world();

    (void)state;
    assert_int_equal(run(w, shorter, false), RR_OK);
    w->on_ack = drop_note;
    for (size_t k = 0; k < MOST; k++) {
        add(w, k == 0 ? NEW : OLD, NOW + HOUR);
    }
    assert_int_equal(run(w, longer, true), RR_OK);
    assert_int_equal(w->totals.verdicts[RR_VERDICT_TOO_LATE], MOST - 1);
    assert_note_has(w, "\n  retention: 30d\n");
    assert_note_has(w, "# {\"eras\":[{\"until_us\":");
    end_world(w);
}

static void change_note(void *context, const rr_delivery *delivery)
{
    const world *w = context;
    rr_slice value;
    rr_contract_note note;
    rr_buf changed = {0};
    rr_arena arena;

    if (delivery->stream_sequence != 1) {
        return;
    }
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_store_memory_ops.note_get(w->store, note_key, &arena, &value, NULL), RR_OK);
    assert_true(rr_contract_note_read(value, &note));
    assert_int_equal(note.eras.count, 0);
    rr_contract_note_write(&changed, note.text, &(rr_eras){.count = 1, .items = {{NOW, HOUR, HOUR}}});
    rr_buf_char(&changed, '\0');
    put_note(w->store, changed.data);
    rr_buf_fini(&changed);
    rr_arena_fini(&arena);
}

/* Others changed the contract there and back between two looks: the text is ours, and the eras are new. */
static void eras_of_others_are_taken_over(void **state)
{
    world *w = begin_world();

    (void)state;
    w->on_ack = change_note;
    for (size_t k = 0; k < MOST; k++) {
        add(w, OLD, NOW + HOUR);
    }
    assert_int_equal(run(w, longer, false), RR_OK);
    assert_true(w->totals.verdicts[RR_VERDICT_TOO_LATE] >= 1);
    assert_int_equal(w->eras.count, 1);
    end_world(w);
}

/* The store does not answer at the start, or refuses: nothing is judged before it gives the notes. */
static void read_notes_late(bool refused, const char *says)
{
    world *w = begin_world();

    refuses = refused;
    assert_int_equal(run(w, shorter, false), RR_OK);
    assert_int_equal(run(w, longer, true), RR_OK);
    add(w, OLD, NOW + HOUR);
    silent = 5;
    assert_int_equal(run(w, longer, false), RR_OK);
    assert_int_equal(silent, 0);
    assert_int_equal(w->totals.verdicts[RR_VERDICT_TOO_LATE], 1);
    assert_int_equal(w->totals.outages, 1);
    assert_non_null(strstr(w->said, says));
    assert_non_null(strstr(w->said, "the store is back"));
    end_world(w);
}

static void nothing_is_judged_before_the_notes_are_read(void **state)
{
    (void)state;
    read_notes_late(false, "the store cannot be reached");
    read_notes_late(true, "the store refuses writes");
    refuses = false;
}

static void hear_and_stop(rr_log_level level, const char *text)
{
    hear(level, text);
    atomic_store(&stop, 1);
}

static void while_it_waits_for_them_it_can_be_stopped(void **state)
{
    world *w = begin_world();
    rr_service_options options = {.env.store_ops = &w->ops,
                                  .env.store = w->store,
                                  .env.prefix = RR_SLICE("rr"),
                                  .env.contract_count = 1,
                                  .env.stop = &stop,
                                  .env.now_us = now_us,
                                  .env.pause_ms = no_pause,
                                  .env.log = hear_and_stop};
    rr_contract contract = kept_for(DAY, DAY);
    rr_bound_contract bound = {&contract, RR_SLICE(TEXT), &w->eras};

    (void)state;
    silent = UINT32_MAX;
    options.env.contracts = &bound;
    assert_int_equal(rr_service_run(&options, &w->totals, &w->error), RR_OK);
    assert_int_equal(w->totals.outages, 1);
    end_world(w);
}

static void a_note_that_cannot_be_read_stops_the_start(void **state)
{
    world *w = begin_world();

    (void)state;
    put_note(w->store, TEXT "# {\"eras\":[{}]}\n");
    assert_int_equal(run(w, longer, true), RR_CONFIG);
    assert_non_null(strstr(w->error.text, "rr:contract:{c}"));
    assert_non_null(strstr(w->error.text, "last line"));
    put_note(w->store, "something else\n");
    assert_int_equal(run(w, longer, true), RR_CONFIG);
    assert_non_null(strstr(w->error.text, "rr:contract:{c}"));
    assert_non_null(strstr(w->error.text, "text of this contract"));
    end_world(w);
}

/* Below another prefix nothing is left of what was known of this one. */
static void each_start_knows_what_its_note_says(void **state)
{
    world *w = begin_world();

    (void)state;
    w->eras = (rr_eras){.count = 1, .items = {{NOW, HOUR, HOUR}}};
    add(w, OLD, NOW + MINUTE);
    assert_int_equal(run(w, longer, false), RR_OK);
    assert_int_equal(w->totals.verdicts[RR_VERDICT_APPLIED], 1);
    assert_int_equal(w->eras.count, 0);
    end_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_an_era_keep_its_times),
        cmocka_unit_test(records_of_an_era_are_too_late_by_its_retention),
        cmocka_unit_test(eras_join_in_any_order),
        cmocka_unit_test(a_shorter_retention_needs_no_era),
        cmocka_unit_test(a_longer_grace_or_retention_alone_is_noted),
        cmocka_unit_test(the_larger_tolerance_counts),
        cmocka_unit_test(an_era_under_a_shorter_one_is_not_lost),
        cmocka_unit_test(an_era_goes_when_it_can_matter_no_more),
        cmocka_unit_test(times_beyond_all_are_held),
        cmocka_unit_test(a_note_reads_as_it_was_written),
        cmocka_unit_test(what_is_no_note_is_not_read_as_one),
        cmocka_unit_test(an_old_record_is_too_late_after_the_change),
        cmocka_unit_test(what_may_be_gone_stays_gone),
        cmocka_unit_test(a_note_that_was_lost_comes_back_with_its_eras),
        cmocka_unit_test(eras_of_others_are_taken_over),
        cmocka_unit_test(nothing_is_judged_before_the_notes_are_read),
        cmocka_unit_test(while_it_waits_for_them_it_can_be_stopped),
        cmocka_unit_test(a_note_that_cannot_be_read_stops_the_start),
        cmocka_unit_test(each_start_knows_what_its_note_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
