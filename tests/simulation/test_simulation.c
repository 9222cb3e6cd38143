/* The real engine in a world that fails: many seeded runs, and all orders of a few records with every crash point.
 *
 *   test_simulation [--full] [--seeds N] [--from S]     seeds S, S+1, ...: 300 of them (10000), from the commit's id
 *   test_simulation --seed N [--aim CALL:SIDE] [--verbose]
 *                                                       one run again; aimed: all its crashes wait for that call of a
 *                                                       port, SIDE is 0 before and 1 behind it
 *   test_simulation --order MODE:DIGITS [--crash-at N] [--verbose]
 *                                                       one order of the records of a mode, as a report names it
 *
 * It also replays the seeds of seeds.txt. Where no engine was killed before or behind some call of a port, further
 * seeds are aimed at it, until one was; it fails where AIMED_MAX of them do not get there. It prints how often that
 * was, and in how many runs each pair of faults took effect; under --full it fails where that is fewer than 20.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

enum { CHUNK = 25, FAILING_MAX = 50, PAIRS_WANTED = 20, RECORDS = 4, LONG_ID = 300, AIMED_MAX = 500 };

#define WEEK_US (INT64_C(7) * 86400 * 1000000)
#define STORED_US INT64_C(1767261800000000) /* 2026-01-01T10:03:20Z */

/* Shared by the processes that make the runs. */
typedef struct tally {
    uint64_t runs, orders, aimed, broken;
    uint64_t pairs[RR_SIM_FAULTS][RR_SIM_FAULTS];
    uint64_t crashed[RR_SIM_CALLS][2];
    uint64_t verdicts[RR_VERDICT_COUNT];
    char again[128]; /* the run that is being made */
} tally;

/* What the crashes of a run wait for. */
typedef struct goal {
    int call, behind; /* call -1: nothing */
} goal;

static const goal no_goal = {.call = -1};
static tally *t;
static rr_sim *const sim = &rr_sim_now;

const char *__asan_default_options(void);

/* An engine that is killed leaves memory on stacks that no thread returns to. */
const char *__asan_default_options(void)
{
    return "detect_leaks=0:detect_stack_use_after_return=0";
}

/* ---- one run ---- */

static void count_run(void)
{
    for (int a = 0; a < RR_SIM_FAULTS; a++) {
        for (int b = 0; b < RR_SIM_FAULTS; b++) {
            t->pairs[a][b] += sim->took[a] && sim->took[b];
        }
    }
    for (int k = 0; k < RR_SIM_CALLS; k++) {
        t->crashed[k][0] += sim->crashed[k][0];
        t->crashed[k][1] += sim->crashed[k][1];
    }
    for (int k = 0; k < RR_VERDICT_COUNT; k++) {
        t->verdicts[k] += sim->verdicts[k];
    }
}

/* True: nothing was broken. */
static bool judge_run(void)
{
    count_run();
    if (sim->broken != NULL) {
        printf("BROKEN: %s\n(again: test_simulation %s --verbose)\n", sim->broken, t->again);
        fflush(stdout);
        t->broken++;
        return false;
    }
    return true;
}

static void plan_fault(rr_sim_fault fault, uint64_t at)
{
    RR_MUST(sim->trigger_count < RR_SIM_TRIGGERS);
    sim->triggers[sim->trigger_count++] = (rr_sim_trigger){.at = at, .fault = fault};
}

static void plan_faults(goal wanted)
{
    sim->fault_points = 300 + rr_sim_below(900);
    if (wanted.call >= 0) {
        sim->goal_call = wanted.call;
        sim->goal_behind = wanted.behind;
        plan_fault(RR_SIM_CRASH, 1);
    }
    for (int fault = 0; fault < RR_SIM_FAULTS; fault++) {
        unsigned times = fault == RR_SIM_SECOND ? 1 : 1 + rr_sim_below(3);

        if (!rr_sim_chance(35) || (fault == RR_SIM_SECOND && sim->ack == RR_ACK_ALL)) {
            continue;
        }
        for (; times > 0; times--) {
            plan_fault((rr_sim_fault)fault, 1 + rr_sim_below((unsigned)sim->fault_points * 3 / 4));
        }
    }
}

/* Identities so long that they are soon kept beside the value. */
static void put_long(rr_buf *out, rr_slice json)
{
    static const char *const names[] = {"\"delta_id\":\"", "\"contributor\":\""};
    const char *at = NULL;
    size_t head;

    for (size_t k = 0; k < 2 && at == NULL; k++) {
        at = memmem(json.data, json.len, names[k], strlen(names[k]));
        at = at == NULL ? NULL : at + strlen(names[k]);
    }
    head = at == NULL ? json.len : (size_t)(at - json.data);
    rr_buf_put(out, json.data, head);
    for (int k = 0; at != NULL && k < LONG_ID; k++) {
        rr_buf_char(out, 'x');
    }
    rr_buf_put(out, json.data + head, json.len - head);
}

static void put_history(const rr_history *history)
{
    bool lengthen = rr_sim_chance(30);

    for (size_t k = 0; k < history->count; k++) {
        const rr_line *line = &history->lines[k];
        bool lengthens = lengthen && line->wanted == RR_REASON_NONE;
        rr_buf text = {0};

        if (lengthens) {
            put_long(&text, line->json);
        } else {
            rr_buf_slice(&text, line->json);
        }
        rr_sim_put(rr_buf_view(&text), line->clock_us, !rr_sim_chance(2));
        rr_buf_fini(&text);
        RR_MUST(line->wanted == RR_REASON_NONE || sim->source.messages[k].refused);
    }
}

/* A history of the seed; two in three are honest, so that the cells can be compared. */
static void make_history(rr_history *history, uint64_t seed)
{
    rr_dice dice = {seed ^ UINT64_C(0x51b1)};
    bool honest = rr_dice_chance(&dice, 67);

    rr_history_make(history, rr_dice_roll(&dice));
    while (history->honest != honest) {
        rr_history_fini(history);
        rr_history_make(history, rr_dice_roll(&dice));
    }
    /* Else a day's jump of a clock would make records TOO_LATE: rightly, and unlike an undisturbed run. */
    history->contracts.items[0].grace_us = WEEK_US;
}

static void print_history(const rr_history *history)
{
    printf("%.*s%zu records, %s, batches of %zu, ack: %s%s%s\n", (int)history->yaml.len, history->yaml.data,
           history->count, history->honest ? "honest" : "with contradictions", sim->batch,
           sim->ack == RR_ACK_ALL ? "all" : "explicit", sim->waits ? ", waits for a replica" : "",
           sim->whole ? ", a store without calls in pieces" : "");
    for (size_t k = 0; k < history->count; k++) {
        printf("%3zu %.*s\n", k + 1, (int)history->lines[k].json.len, history->lines[k].json.data);
    }
}

static void name_run(uint64_t seed, goal wanted)
{
    int len = snprintf(t->again, sizeof t->again, "--seed %" PRIu64, seed);

    if (wanted.call >= 0) {
        snprintf(t->again + len, sizeof t->again - (size_t)len, " --aim %s:%d",
                 rr_sim_call_word((rr_sim_call)wanted.call), wanted.behind);
    }
}

static bool run_seed(uint64_t seed, goal wanted)
{
    rr_history history;
    bool good;

    name_run(seed, wanted);
    make_history(&history, seed);
    rr_sim_init(seed, history.contract);
    sim->honest = history.honest;
    sim->batch = 1 + rr_sim_below(8);
    sim->ack = rr_sim_chance(25) ? RR_ACK_ALL : RR_ACK_EXPLICIT;
    sim->waits = rr_sim_chance(40);
    plan_faults(wanted);
    put_history(&history);
    if (sim->verbose) {
        print_history(&history);
    }
    rr_sim_run();
    t->runs++;
    good = judge_run();
    rr_sim_fini();
    rr_history_fini(&history);
    return good;
}

/* ---- all orders of a few records, with every crash point ---- */

#define WINDOW "\"window\":{\"start\":\"2026-01-01T10:00:00Z\",\"end\":\"2026-01-01T10:01:00Z\"}"
#define HEAD "{\"business_key\":\"a\",\"metric_version\":\"v1\","
#define AT(start, end) "\"window\":{\"start\":\"2026-01-01T10:00:" start "Z\",\"end\":\"2026-01-01T10:00:" end "Z\"},"
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X300 X50 X50 X50 X50 X50 X50

static const struct mode {
    const char *name, *yaml, *records[RECORDS];
    bool whole; /* with a store that has no calls in pieces */
} modes[] = {
    {"cumulative",
     "contracts:\n- {name: law, mode: cumulative, window: {kind: tumbling, size: 1m}, corrections: "
     "conditional,\n"
     "   during_conflict: correction, measures: {value: {type: int64, never_falls: true}}, retention: 7d}\n",
     {HEAD WINDOW ",\"result_version\":1,\"value\":5}", HEAD WINDOW ",\"result_version\":3,\"value\":3}",
      HEAD WINDOW ",\"result_version\":2,\"value\":4,\"status\":\"STREAM_CLOSED\"}",
      HEAD WINDOW ",\"origin\":\"CORRECTION\",\"base_version\":2,\"result_version\":1,\"value\":7}"}},
    {"delta",
     "contracts:\n- {name: law, mode: delta, window: {kind: tumbling, size: 1m}, retention: 7d}\n",
     {HEAD WINDOW ",\"delta_id\":\"one\",\"value\":5}", HEAD WINDOW ",\"delta_id\":\"two\",\"value\":7}",
      HEAD WINDOW ",\"delta_id\":\"one\",\"op\":\"RETRACT\"}", HEAD WINDOW ",\"delta_id\":\"three\",\"other\":1}"}},
    {"whole",
     "contracts:\n- {name: law, mode: delta, window: {kind: tumbling, size: 1m}, retention: 7d}\n",
     {HEAD WINDOW ",\"delta_id\":\"one\",\"value\":5}", HEAD WINDOW ",\"delta_id\":\"b" X300 "\",\"value\":7}",
      HEAD WINDOW ",\"delta_id\":\"one\",\"op\":\"RETRACT\"}", HEAD WINDOW ",\"delta_id\":\"three\",\"other\":1}"},
     true},
    {"parts",
     "contracts:\n- {name: law, mode: delta, window: {kind: tumbling, size: 1m}, retention: 7d}\n",
     {HEAD WINDOW ",\"delta_id\":\"a" X300 "\",\"value\":5}", HEAD WINDOW ",\"delta_id\":\"b" X300 "\",\"value\":7}",
      HEAD WINDOW ",\"delta_id\":\"c" X300 "\",\"value\":9}", HEAD WINDOW ",\"delta_id\":\"a" X300 "\",\"value\":5}"}},
    {"retraction",
     "contracts:\n- {name: law, mode: retraction, window: {kind: tumbling, size: 1m}, retention: 7d}\n",
     {HEAD WINDOW ",\"contributor\":\"x\",\"result_version\":1,\"value\":5}",
      HEAD WINDOW ",\"contributor\":\"x\",\"op\":\"RETRACT\",\"retracts_version\":1}",
      HEAD WINDOW ",\"contributor\":\"x\",\"result_version\":2,\"value\":6}",
      HEAD WINDOW ",\"contributor\":\"y\",\"result_version\":1,\"value\":7}"}},
    {"session",
     "contracts:\n- {name: law, mode: delta, window: {kind: session, gap: 10s}, retention: 7d}\n",
     {HEAD AT("00", "10") "\"delta_id\":\"one\",\"value\":5}", HEAD AT("05", "20") "\"delta_id\":\"two\",\"value\":7}",
      HEAD AT("00", "30") "\"delta_id\":\"one\",\"value\":5}",
      HEAD AT("00", "10") "\"delta_id\":\"one\",\"op\":\"RETRACT\"}"}},
};

/* One order, with a crash at a point; 0: none. *points: how many there were. */
static bool run_order(const struct mode *mode, const rr_contract *contract, const int *order, size_t count,
                      uint64_t crash_at, uint64_t *points)
{
    char digits[RECORDS + 1] = {0};
    bool good;

    for (size_t k = 0; k < count; k++) {
        digits[k] = (char)('1' + order[k]);
    }
    snprintf(t->again, sizeof t->again, "--order %s:%s --crash-at %" PRIu64, mode->name, digits, crash_at);
    rr_sim_init(1, contract);
    sim->honest = true;
    sim->whole = mode->whole;
    sim->batch = 2;
    sim->crash_at = crash_at;
    sim->ack_wait_us = 1000000;
    sim->rest_us = 1200000; /* one tick more */
    for (size_t k = 0; k < count; k++) {
        rr_sim_put(rr_slice_of(mode->records[order[k]]), STORED_US, true);
    }
    rr_sim_run();
    *points = sim->points;
    good = judge_run();
    rr_sim_fini();
    return good;
}

static bool crash_everywhere(const struct mode *mode, const rr_contract *contract, const int *order, size_t count)
{
    uint64_t points = 0;
    bool good = run_order(mode, contract, order, count, 0, &points);

    for (uint64_t at = 1, last = points; good && at <= last; at++) {
        good = run_order(mode, contract, order, count, at, &points);
        t->runs++;
    }
    t->orders++;
    return good;
}

static void read_contract(const struct mode *mode, rr_contract_list *contracts)
{
    rr_problems problems = {0};

    RR_MUST(rr_contracts_parse("law.yaml", rr_slice_of(mode->yaml), contracts, &problems) == RR_OK);
    rr_problems_fini(&problems);
}

static bool next_order(int *order, size_t count, size_t of)
{
    /* Counts in base `of`, and skips what has a record twice. */
    for (;;) {
        size_t at = count;
        bool twice = false;

        while (at > 0 && ++order[at - 1] == (int)of) {
            order[--at] = 0;
        }
        if (at == 0) {
            return false;
        }
        for (size_t a = 0; a < count; a++) {
            for (size_t b = 0; b < a; b++) {
                twice = twice || order[a] == order[b];
            }
        }
        if (!twice) {
            return true;
        }
    }
}

/* ---- processes ---- */

/* Runs `work` in a process of its own, which takes the memory of the killed with it. */
static void apart(void (*work)(const void *context), const void *context)
{
    pid_t child;
    int status = 0;

    fflush(stdout);
    child = fork();
    RR_MUST(child >= 0);
    if (child == 0) {
        work(context);
        fflush(stdout);
        _exit(0);
    }
    RR_MUST(waitpid(child, &status, 0) == child);
    if (status != 0) {
        printf("BROKEN: the program ended by itself (status %d)\n(again: test_simulation %s --verbose)\n", status,
               t->again);
        t->broken++;
    }
}

typedef struct seeds {
    const uint64_t *list; /* NULL: from, from + 1, ... */
    uint64_t from, count;
    goal wanted;
} seeds;

static void run_seeds(const void *context)
{
    const seeds *s = context;

    for (uint64_t k = 0; k < s->count; k++) {
        run_seed(s->list == NULL ? s->from + k : s->list[k], s->wanted);
    }
}

typedef struct orders {
    const struct mode *mode;
    int order[RECORDS];
    size_t count;
} orders;

static void run_orders(const void *context)
{
    const orders *o = context;
    rr_contract_list contracts;

    read_contract(o->mode, &contracts);
    crash_everywhere(o->mode, &contracts.items[0], o->order, o->count);
    rr_contracts_fini(&contracts);
}

static void run_all_orders(const struct mode *mode, size_t records)
{
    for (size_t count = 1; count <= records; count++) {
        orders o = {.mode = mode, .count = count, .order = {0}};

        while (count == 1 || next_order(o.order, count, records)) {
            apart(run_orders, &o);
            if (t->broken > FAILING_MAX || (count == 1 && ++o.order[0] == (int)records)) {
                break;
            }
        }
    }
}

static void run_chunks(uint64_t from, uint64_t count)
{
    for (uint64_t at = 0; at < count && t->broken < FAILING_MAX; at += CHUNK) {
        seeds s = {.from = from + at, .count = count - at < CHUNK ? count - at : CHUNK, .wanted = no_goal};

        apart(run_seeds, &s);
    }
}

static void run_kept(void)
{
    FILE *file = fopen(RR_SOURCE_DIR "/tests/simulation/seeds.txt", "r");
    char line[256];

    RR_MUST(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        uint64_t seed = strtoull(line, NULL, 10);
        seeds s = {.list = &seed, .count = 1, .wanted = no_goal};

        if (line[0] != '#' && line[0] != '\n') {
            apart(run_seeds, &s);
        }
    }
    fclose(file);
}

/* ---- a crash on both sides of each call ---- */

/* What the loop does not call. Nothing can be killed there. */
static bool is_unused(int call)
{
    static const rr_sim_call unused[] = {RR_SIM_store_open,       RR_SIM_store_close,   RR_SIM_store_scan,
                                         RR_SIM_store_note_put,   RR_SIM_store_sweep,   RR_SIM_store_survey,
                                         RR_SIM_source_open,      RR_SIM_source_close,  RR_SIM_source_bound,
                                         RR_SIM_source_find_time, RR_SIM_source_survey, RR_SIM_source_make_stream,
                                         RR_SIM_channel_open,     RR_SIM_channel_close};
    bool is = false;

    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        is = is || (int)unused[i] == call;
    }
    return is;
}

/* False: no run got there. */
static bool hit(goal wanted, uint64_t from)
{
    const uint64_t *hits = &t->crashed[wanted.call][wanted.behind];

    for (uint64_t k = 0; *hits == 0 && k < AIMED_MAX && t->broken < FAILING_MAX; k++) {
        seeds s = {.from = from + k, .count = 1, .wanted = wanted};

        apart(run_seeds, &s);
        t->aimed++;
    }
    if (*hits == 0) {
        printf("no engine could be killed %s %s\n", wanted.behind ? "behind" : "before",
               rr_sim_call_word((rr_sim_call)wanted.call));
    }
    return *hits != 0;
}

/* Aims at what the runs so far have left out. */
static bool hit_all(uint64_t from)
{
    bool good = true;

    for (int call = 0; call < RR_SIM_CALLS; call++) {
        for (int behind = 0; behind < 2; behind++) {
            if (!is_unused(call)) {
                good = hit((goal){call, behind}, from) && good;
            } else if (t->crashed[call][behind] != 0) {
                printf("the loop calls %s: it is not unused\n", rr_sim_call_word((rr_sim_call)call));
                good = false;
            }
        }
    }
    return good;
}

/* ---- what was seen ---- */

static uint64_t print_pairs(void)
{
    uint64_t least = UINT64_MAX;

    printf("in how many runs each pair of faults took effect (and, at the end of a row, each alone):\n");
    for (int a = 0; a < RR_SIM_FAULTS; a++) {
        printf("%-15s", rr_sim_fault_word((rr_sim_fault)a));
        for (int b = 0; b <= a; b++) {
            printf(" %5" PRIu64, t->pairs[a][b]);
            least = a != b && t->pairs[a][b] < least ? t->pairs[a][b] : least;
        }
        putchar('\n');
    }
    return least;
}

static void print_crashes(void)
{
    printf("killed before and behind each call:");
    for (int k = 0; k < RR_SIM_CALLS; k++) {
        if (!is_unused(k)) {
            printf(" %s %" PRIu64 "+%" PRIu64, rr_sim_call_word((rr_sim_call)k), t->crashed[k][0], t->crashed[k][1]);
        }
    }
    printf("\nverdicts:");
    for (int k = 0; k < RR_VERDICT_COUNT; k++) {
        printf(" %s %" PRIu64, rr_verdict_word((rr_verdict)k), t->verdicts[k]);
    }
    putchar('\n');
}

static uint64_t seed_of_commit(void)
{
    FILE *git = popen("git -C '" RR_SOURCE_DIR "' rev-parse HEAD 2>/dev/null", "r");
    char text[64] = "";

    if (git != NULL) {
        if (fgets(text, sizeof text, git) == NULL) {
            text[0] = '\0';
        }
        pclose(git);
    }
    text[8] = '\0';
    return text[0] == '\0' ? (uint64_t)time(NULL) / 86400 * 10000 : strtoull(text, NULL, 16) * 100000;
}

static int run_all(bool full, uint64_t from, uint64_t count)
{
    bool crashed;
    uint64_t least;

    run_kept();
    run_chunks(from, count);
    for (size_t k = 0; k < sizeof modes / sizeof *modes && t->broken < FAILING_MAX; k++) {
        run_all_orders(&modes[k], full ? 4 : 3);
    }
    least = print_pairs();
    crashed = hit_all(from);
    print_crashes();
    printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " aimed ones, %" PRIu64 " orders of records, %" PRIu64
           " runs: %" PRIu64 " broken\n",
           count, from, t->aimed, t->orders, t->runs, t->broken);
    if (full && least < PAIRS_WANTED) {
        printf("a pair of faults took effect in %" PRIu64 " runs only, wanted are %d\n", least, PAIRS_WANTED);
    }
    return t->broken == 0 && crashed && (!full || least >= PAIRS_WANTED) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the command line ---- */

static int one_order(const char *text, uint64_t crash_at)
{
    const char *digits = strchr(text, ':');

    for (size_t k = 0; digits != NULL && k < sizeof modes / sizeof *modes; k++) {
        rr_contract_list contracts;
        int order[RECORDS];
        uint64_t points;
        size_t count = 0;

        if (strncmp(text, modes[k].name, (size_t)(digits - text)) != 0) {
            continue;
        }
        for (digits++; count < RECORDS && digits[count] >= '1' && digits[count] <= '4'; count++) {
            order[count] = digits[count] - '1';
        }
        read_contract(&modes[k], &contracts);
        return run_order(&modes[k], &contracts.items[0], order, count, crash_at, &points) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    printf("--order wants a mode and digits, as in delta:312\n");
    return 64;
}

static bool is_number(const char *word, const char *name, const char *value, uint64_t *number)
{
    bool is = strcmp(word, name) == 0;

    *number = is ? strtoull(value, NULL, 10) : *number;
    return is;
}

/* call -1: it is none. */
static goal read_goal(const char *text)
{
    size_t len = strcspn(text, ":");
    goal wanted = no_goal;

    for (int k = 0; k < RR_SIM_CALLS; k++) {
        const char *word = rr_sim_call_word((rr_sim_call)k);

        if (strlen(word) == len && strncmp(text, word, len) == 0 && text[len] == ':') {
            wanted = (goal){k, text[len + 1] == '1'};
        }
    }
    return wanted;
}

int main(int argc, char **argv)
{
    uint64_t from = seed_of_commit(), count = 0, seed = 0, crash_at = 0;
    goal wanted = no_goal;
    const char *order = NULL;
    bool full = false, one = false;

    /* Thousands of short lives: what they had is used again, and not given back to the system. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RR_MUST(t != MAP_FAILED);
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "0";

        if (strcmp(argv[k], "--full") == 0) {
            full = true;
        } else if (strcmp(argv[k], "--verbose") == 0) {
            sim->verbose = true;
        } else if (is_number(argv[k], "--seeds", value, &count) || is_number(argv[k], "--from", value, &from) ||
                   is_number(argv[k], "--crash-at", value, &crash_at)) {
            k++;
        } else if (is_number(argv[k], "--seed", value, &seed)) {
            one = true;
            k++;
        } else if (strcmp(argv[k], "--aim") == 0 && (wanted = read_goal(value)).call >= 0) {
            k++;
        } else if (strcmp(argv[k], "--order") == 0) {
            order = value;
            k++;
        } else {
            printf("unknown word %s\n", argv[k]);
            return 64;
        }
    }
    if (order != NULL) {
        return one_order(order, crash_at);
    }
    if (one) {
        return run_seed(seed, wanted) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return run_all(full, from, count != 0 ? count : full ? 10000 : 300);
}
