/* Drafts of records, made whole first and then, for some, broken in one place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdio.h>

#include "must.h"
#include "time.h"

#define BASE_US INT64_C(1767261600000000) /* 2026-01-01T10:00:00Z */
#define MINUTE_US (60 * RR_SECOND_US)
#define DAY_US (86400 * RR_SECOND_US)

enum { LINES_MAX = 40, WINDOWS_MAX = 6, MEASURES_TEXT = 400 };

typedef struct draft {
    const char *key, *metric, *mode, *op, *origin, *status, *cause, *evidence, *delta_id, *producer, *contributor;
    const char *extra; /* more members, as they are */
    rr_slice filler;   /* a member of a length that is over a limit */
    bool has_window, has_sequence, has_base, has_includes;
    rr_window window;
    uint64_t sequence;
    rr_version version, retracts, base, includes_base, includes_version;
    char measures[MEASURES_TEXT]; /* the object; empty: none */
    int64_t clock_us;
    rr_reason wanted;
} draft;

typedef struct generator {
    rr_dice dice;
    rr_history *history;
    const rr_contract *contract;
    rr_window windows[WINDOWS_MAX];
    size_t window_count;
    unsigned keys, metrics, ids, contributors, epochs, closed, knowing, broken;
    uint64_t top; /* the highest number so far: histories move on */
    draft made[LINES_MAX];
    size_t made_count;
    rr_buf text;
} generator;

/* ---- dice ---- */

uint64_t rr_dice_roll(rr_dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

unsigned rr_dice_below(rr_dice *dice, unsigned bound)
{
    return (unsigned)(rr_dice_roll(dice) % bound);
}

bool rr_dice_chance(rr_dice *dice, unsigned percent)
{
    return rr_dice_below(dice, 100) < percent;
}

static unsigned below(generator *g, unsigned bound)
{
    return rr_dice_below(&g->dice, bound);
}

static bool chance(generator *g, unsigned percent)
{
    return rr_dice_chance(&g->dice, percent);
}

#define PICK(g, array) ((array)[below((g), sizeof(array) / sizeof *(array))])

/* ---- the contract ---- */

static void put_window_kind(generator *g, rr_buf *yaml, bool *session)
{
    static const char *const kinds[] = {"{kind: tumbling, size: 1m}",
                                        "{kind: tumbling, size: 1m}",
                                        "{kind: tumbling, size: 1m, offset: -8h}",
                                        "{kind: sliding, size: 2m, slide: 1m, offset: 30s}",
                                        "{kind: any}",
                                        "{kind: global}",
                                        "{kind: global}"};
    static const char *const sessions[] = {"{kind: session, gap: 10s}", "{kind: session, gap: 10s, max: 2m}",
                                           "{kind: session, gap: 10s, ends: last}"};

    *session = chance(g, 36);
    rr_buf_format(yaml, "  window: %s\n", *session ? PICK(g, sessions) : PICK(g, kinds));
}

static void put_measures(generator *g, rr_buf *yaml, const char *mode)
{
    static const char *const all[] = {"int64", "decimal", "int64", "double"};
    bool falls_matter = mode[0] == 'c' && chance(g, 75);
    const char *more = falls_matter ? ", never_falls: true" : "";
    unsigned kinds = mode[0] == 'd' ? 3 : 4;

    switch (below(g, 3)) {
    case 0: rr_buf_format(yaml, "  measures: {value: {type: int64%s}}\n", more); break;
    case 1: rr_buf_format(yaml, "  measures: {value: {type: %s%s}}\n", all[below(g, kinds)], more); break;
    default:
        rr_buf_format(yaml, "  measures: {amount: {type: %s%s}, count: {type: int64}}\n", all[below(g, kinds)], more);
    }
}

static void put_corrections(generator *g, rr_buf *yaml, bool session)
{
    static const char *const kinds[] = {"none", "conditional", "conditional", "coordinated"};
    static const char *const during[] = {"incumbent", "live", "correction"};
    const char *corrections = session ? "none" : PICK(g, kinds);

    rr_buf_format(yaml, "  corrections: %s\n", corrections);
    if (corrections[0] != 'n') {
        rr_buf_format(yaml, "  during_conflict: %s\n", PICK(g, during));
    }
}

static void make_contract(generator *g)
{
    static const char *const modes[] = {"cumulative", "cumulative", "delta",     "delta",
                                        "retraction", "retraction", "retraction"};
    rr_history *h = g->history;
    const char *mode = PICK(g, modes);
    rr_problems problems = {0};
    bool session;

    rr_buf_format(&h->yaml, "contracts:\n- name: law\n  mode: %s\n", mode);
    put_window_kind(g, &h->yaml, &session);
    put_measures(g, &h->yaml, mode);
    put_corrections(g, &h->yaml, session);
    if (chance(g, 45)) {
        rr_buf_text(&h->yaml, "  metric_versions: [v1, v2]\n");
    }
    if (chance(g, 45)) {
        rr_buf_text(&h->yaml, "  retention: 2m\n");
    }
    if (chance(g, 30)) {
        rr_buf_text(&h->yaml, "  max_epoch: 2\n");
    }
    RR_MUST(rr_buf_ok(&h->yaml));
    if (rr_contracts_parse("law.yaml", rr_buf_view(&h->yaml), &h->contracts, &problems) != RR_OK) {
        printf("%.*s", (int)h->yaml.len, h->yaml.data);
        RR_MUST(!"the generator's contract can be read");
    }
    rr_problems_fini(&problems);
    g->contract = h->contract = &h->contracts.items[0];
}

/* ---- windows and clocks ---- */

static rr_window seconds(int64_t start, int64_t end)
{
    return (rr_window){BASE_US + start * RR_SECOND_US, BASE_US + end * RR_SECOND_US};
}

/* Two of one length around a third: it is merged into the earlier (section 9). */
static void make_tied_sessions(generator *g)
{
    int64_t start = 10 * below(g, 4);

    g->window_count = 3;
    g->windows[0] = seconds(start + 10, start + 40);
    g->windows[1] = seconds(start + 10, start + 30);
    g->windows[2] = seconds(start, start + 30);
}

/* Neighbours, spans of two, nested ones: what sessions do. */
static void make_sessions(generator *g)
{
    rr_dice aside = g->dice; /* not g's own: kept seeds stay as they are, but for those that become such */

    if (rr_dice_chance(&aside, 10)) {
        make_tied_sessions(g);
        return;
    }
    g->window_count = 2 + below(g, WINDOWS_MAX - 1);
    for (size_t k = 0; k < g->window_count; k++) {
        int64_t start = 10 * below(g, 6);

        g->windows[k] = seconds(start, start + 10 * (1 + below(g, 5)));
        if (k >= 2 && chance(g, 50)) {
            rr_window a = g->windows[below(g, (unsigned)k)], b = g->windows[below(g, (unsigned)k)];

            g->windows[k].start = a.start < b.start ? a.start : b.start;
            g->windows[k].end = a.end > b.end ? a.end : b.end;
        }
    }
}

static void make_windows(generator *g)
{
    g->window_count = 1 + below(g, 2);
    switch (g->contract->window_kind) {
    case RR_WINDOW_SESSION: make_sessions(g); break;
    case RR_WINDOW_SLIDING:
        g->windows[0] = seconds(-30, 90);
        g->windows[1] = seconds(30, 150);
        break;
    case RR_WINDOW_ANY:
        g->windows[0] = seconds(0, 60);
        g->windows[1] = seconds(0, 30);
        break;
    default: g->windows[0] = seconds(0, 60); g->windows[1] = seconds(60, 120);
    }
}

static int64_t size_of(const rr_contract *c)
{
    bool has_size = c->window_kind == RR_WINDOW_TUMBLING || c->window_kind == RR_WINDOW_SLIDING;

    return has_size ? c->size_us : 0;
}

/* In time; now and then by one microsecond. */
static int64_t arrival_of(generator *g, rr_window window)
{
    const rr_contract *c = g->contract;
    int64_t most = c->retention_us == RR_FOREVER ? DAY_US : c->retention_us;

    switch (below(g, 12)) {
    case 0: return window.end + most - 1;
    case 1: return window.end - c->future_tolerance_us - size_of(c);
    default: return BASE_US + 200 * RR_SECOND_US < window.end + most ? BASE_US + 200 * RR_SECOND_US : window.end;
    }
}

/* ---- what a record says ---- */

/* In honest histories: made of what identifies it. */
static rr_dice content_dice(generator *g, const draft *d, const char *who, rr_version a, rr_version b)
{
    uint64_t state = g->history->seed;
    const uint64_t more[] = {d->has_window ? (uint64_t)d->window.start ^ (uint64_t)d->window.end << 7 : 0,
                             a.epoch,
                             a.number,
                             b.epoch,
                             b.number,
                             (uint64_t)d->metric[1],
                             (uint64_t)d->key[0]};

    if (!g->history->honest) {
        return (rr_dice){rr_dice_roll(&g->dice)};
    }
    for (size_t k = d->delta_id != NULL || d->producer != NULL ? 1 : 0; k < sizeof more / sizeof *more; k++) {
        rr_dice mix = {state ^ more[k]};

        state = rr_dice_roll(&mix);
    }
    for (; who != NULL && *who != '\0'; who++) {
        rr_dice mix = {state ^ (unsigned char)*who};

        state = rr_dice_roll(&mix);
    }
    return (rr_dice){state};
}

static const char *number_text(generator *g, rr_dice *dice, rr_measure_type type)
{
    static const char *const few[] = {"1", "2", "3"};
    static const char *const ints[] = {
        "0", "-1", "7", "9223372036854775807", "\"-9223372036854775808\"", "9007199254740993"};
    static const char *const decimals[] = {"0.1",
                                           "\"0.2\"",
                                           "1.5",
                                           "1e2",
                                           "-0.25",
                                           "20e-1",
                                           "-0.0",
                                           "\"99999999999999999999999999.999999999999999999\"",
                                           "0.00000000000000000001",
                                           "1E30"};
    static const char *const doubles[] = {"0.1", "1e21", "-0.0", "0.0", "5e-324", "123456789012345680000", "2.0"};

    if (rr_dice_chance(dice, g->contract->mode == RR_MODE_DELTA ? 50 : 80)) {
        return few[rr_dice_below(dice, 3)];
    }
    switch (type) {
    case RR_MEASURE_DECIMAL: return decimals[rr_dice_below(dice, sizeof decimals / sizeof *decimals)];
    case RR_MEASURE_DOUBLE: return doubles[rr_dice_below(dice, sizeof doubles / sizeof *doubles)];
    default: return ints[rr_dice_below(dice, sizeof ints / sizeof *ints)];
    }
}

static void set_measures(generator *g, draft *d, rr_dice *dice)
{
    size_t len = 0;

    for (size_t k = 0; k < g->contract->measure_count; k++) {
        const rr_measure_def *def = &g->contract->measures[k];

        len += (size_t)snprintf(d->measures + len, sizeof d->measures - len, "%s\"%.*s\":%s", k == 0 ? "{" : ",",
                                (int)def->name.len, def->name.data, number_text(g, dice, def->type));
    }
    snprintf(d->measures + len, sizeof d->measures - len, "}");
}

static void set_content(generator *g, draft *d, rr_dice *dice)
{
    set_measures(g, d, dice);
    d->status = rr_dice_chance(dice, g->closed) ? "STREAM_CLOSED" : NULL;
}

/* Half anywhere, half near the newest. */
static rr_version some_version(generator *g, unsigned most)
{
    uint64_t number = 1 + below(g, most);

    if (chance(g, 50)) {
        number = g->top + below(g, 3);
        number = number == 0 ? 1 : number;
    }
    g->top = number > g->top && g->top < 8 ? number : g->top;
    return (rr_version){chance(g, 30) ? below(g, g->epochs) : 0, number};
}

static void place(generator *g, draft *d)
{
    static const char *const keys[] = {"a", "b\\u00fc\\\"{}:"}, *const metrics[] = {"v1", "v2"};

    *d = (draft){.key = keys[below(g, g->keys)], .metric = metrics[below(g, g->metrics)]};
    d->window = g->windows[below(g, (unsigned)g->window_count)];
    d->has_window = g->contract->window_kind != RR_WINDOW_GLOBAL;
    d->clock_us = arrival_of(g, d->window);
}

static void set_knowledge(generator *g, draft *d)
{
    if (g->contract->corrections == RR_CORRECTIONS_NONE || !chance(g, g->knowing)) {
        return;
    }
    d->has_includes = true;
    d->includes_base = (rr_version){0, below(g, (unsigned)g->top + 1)};
    d->includes_version = (rr_version){0, 1 + below(g, 3)};
    for (size_t k = g->made_count; k-- > 0 && chance(g, 80);) {
        if (g->made[k].origin != NULL && g->made[k].has_base) {
            d->includes_base = g->made[k].base;
            d->includes_version = g->made[k].version;
            return;
        }
    }
}

static void make_cumulative(generator *g, draft *d)
{
    rr_dice dice;

    d->version = some_version(g, 5);
    dice = content_dice(g, d, "", d->version, (rr_version){0});
    set_content(g, d, &dice);
    set_knowledge(g, d);
}

static void make_delta(generator *g, draft *d)
{
    static const char *const ids[] = {"d1", "d2", "d3", "\\u65e5\\u672c", "d5"};
    rr_dice dice;

    if (chance(g, 20)) {
        d->producer = "p";
        d->has_sequence = true;
        d->sequence = below(g, g->ids) == 0 ? UINT64_MAX : below(g, g->ids);
    } else {
        d->delta_id = ids[below(g, g->ids)];
    }
    dice = content_dice(g, d, d->delta_id != NULL ? d->delta_id : "p", (rr_version){0, d->sequence}, (rr_version){0});
    set_content(g, d, &dice);
    d->version = (rr_version){0, 1 + rr_dice_below(&dice, 6)};
    if (chance(g, 20)) {
        d->op = "RETRACT";
        d->status = NULL;
        d->version = (rr_version){0};
        d->measures[chance(g, 80) ? 0 : strlen(d->measures)] = '\0';
    }
}

/* Aims at an assertion that was made; the values that it names are the same, or (where that may be) its own. */
static void aim(generator *g, draft *d)
{
    size_t latest = g->made_count < 4 ? g->made_count : 4;
    const draft *at = latest == 0 ? NULL : &g->made[g->made_count - 1 - below(g, (unsigned)latest)];
    draft own = *d;

    if (at == NULL || at->op != NULL || at->origin != NULL || !chance(g, 85)) {
        return;
    }
    *d = *at;
    d->has_includes = false;
    if (!g->history->honest && chance(g, 80)) {
        memcpy(d->measures, own.measures, sizeof d->measures);
    }
}

static void withdraw_targeted(generator *g, draft *d)
{
    aim(g, d);
    d->op = "RETRACT";
    d->retracts = d->version;
    d->status = NULL;
    if (chance(g, 85)) {
        d->version = (rr_version){0};
    }
    if (chance(g, 35)) {
        d->measures[0] = '\0';
    }
}

static void withdraw_untargeted(generator *g, draft *d)
{
    d->op = "RETRACT";
    d->status = NULL;
    if (chance(g, 50)) {
        d->measures[0] = '\0';
    }
}

static void make_retraction(generator *g, draft *d)
{
    static const char *const contributors[] = {NULL, "x", "y"};
    rr_dice dice;
    bool is_untargeted;

    d->contributor = contributors[below(g, g->contributors)];
    d->version = some_version(g, 4);
    dice = content_dice(g, d, d->contributor, d->version, (rr_version){0});
    is_untargeted = rr_dice_chance(&dice, 15);
    set_content(g, d, &dice);
    if (is_untargeted) {
        withdraw_untargeted(g, d);
    } else if (chance(g, 50)) {
        withdraw_targeted(g, d);
    }
    set_knowledge(g, d);
}

static void make_correction(generator *g, draft *d)
{
    const rr_contract *c = g->contract;
    bool coordinated = c->corrections == RR_CORRECTIONS_COORDINATED;
    rr_dice dice;

    d->origin = "CORRECTION";
    d->version = coordinated ? some_version(g, 5) : (rr_version){0, 1 + below(g, 3)};
    d->base = (rr_version){chance(g, 20) ? below(g, g->epochs) : 0, below(g, (unsigned)g->top + 2)};
    d->base.epoch = d->base.number == 0 ? 0 : d->base.epoch;
    d->has_base = true;
    dice = content_dice(g, d, "c", d->version, coordinated ? (rr_version){0} : d->base);
    set_content(g, d, &dice);
    if (coordinated) {
        d->has_base = rr_dice_chance(&dice, 70);
        d->base = d->has_base ? (rr_version){0, rr_dice_below(&dice, 6)} : (rr_version){0};
    }
    d->status = rr_dice_chance(&dice, 70) ? "RECONCILED" : d->status;
    d->evidence = chance(g, 20) ? "ledger 7" : NULL;
}

static void make_valid(generator *g, draft *d)
{
    static const char *const causes[] = {NULL, NULL, "LATE", "BACKFILL", "EARLY"};

    place(g, d);
    if (g->contract->corrections != RR_CORRECTIONS_NONE && chance(g, 25)) {
        make_correction(g, d);
    } else if (g->contract->mode == RR_MODE_CUMULATIVE) {
        make_cumulative(g, d);
    } else if (g->contract->mode == RR_MODE_DELTA) {
        make_delta(g, d);
    } else {
        make_retraction(g, d);
    }
    d->cause = PICK(g, causes);
}

/* ---- breaking one rule ---- */

typedef bool break_rule(generator *g, draft *d);

static bool break_malformed(generator *g, draft *d)
{
    static const char *const extras[] = {",\"surprise\":1",
                                         ",\"op\":\"UPSERT\"",
                                         ",\"evidence\":\"a\\u0000b\"",
                                         ",\"emitted_at\":\"2026-02-30T00:00:00Z\"",
                                         ",\"evidence\":\"\xff\"",
                                         ",\"business_key\":\"again\"",
                                         ",\"cause\":5"};

    d->op = d->evidence = d->cause = NULL;
    d->extra = PICK(g, extras);
    return true;
}

static bool break_limit(generator *g, draft *d)
{
    static char filler[RR_LIMIT_EVIDENCE_BYTES + 64];
    int over = chance(g, 50) ? snprintf(filler, sizeof filler, ",\"evidence\":\"%0*d\"", RR_LIMIT_EVIDENCE_BYTES + 1, 0)
                             : snprintf(filler, sizeof filler, ",\"contributor\":\"%0*d\"", RR_LIMIT_KEY_BYTES + 1, 0);

    d->evidence = d->contributor = NULL;
    d->filler = (rr_slice){filler, (size_t)over};
    return true;
}

static bool break_key(generator *g, draft *d)
{
    d->key = chance(g, 50) ? "" : NULL;
    return true;
}

static bool break_mode(generator *g, draft *d)
{
    d->mode = g->contract->mode == RR_MODE_DELTA ? "CUMULATIVE" : "DELTA";
    return true;
}

static bool break_unexpected(generator *g, draft *d)
{
    d->has_window = true;
    return g->contract->window_kind == RR_WINDOW_GLOBAL;
}

static bool break_missing_window(generator *g, draft *d)
{
    d->has_window = false;
    d->extra = chance(g, 50) ? ",\"window\":{\"start\":1767261600000000}" : NULL;
    return g->contract->window_kind != RR_WINDOW_GLOBAL;
}

static bool break_inverted(generator *g, draft *d)
{
    d->window = (rr_window){d->window.end, chance(g, 50) ? d->window.start : d->window.end};
    return d->has_window;
}

static bool break_implausible(generator *g, draft *d)
{
    if (chance(g, 50)) {
        d->window = (rr_window){d->window.start / 1000, d->window.end / 1000};
    } else {
        d->window = (rr_window){INT64_C(946684740000000), INT64_C(946684800000000)};
    }
    return d->has_window;
}

static bool break_future(generator *g, draft *d)
{
    d->clock_us = d->window.end - g->contract->future_tolerance_us - size_of(g->contract) - 1;
    return d->has_window;
}

static bool break_alignment(generator *g, draft *d)
{
    const rr_contract *c = g->contract;

    if (c->window_kind == RR_WINDOW_SESSION) {
        d->window.end = d->window.start + (c->ends_last || chance(g, 50) ? c->max_us + 1 : c->gap_us - 1);
    } else if (chance(g, 50)) {
        d->window.end -= 1000;
    } else {
        d->window = (rr_window){d->window.start + 1, d->window.end + 1};
    }
    d->clock_us = d->window.end;
    return d->has_window && c->window_kind != RR_WINDOW_ANY;
}

static bool break_metric(generator *g, draft *d)
{
    d->metric = chance(g, 50) ? "" : NULL;
    return true;
}

static bool break_unknown_metric(generator *g, draft *d)
{
    d->metric = "v9";
    return g->contract->metric_version_count != 0;
}

static bool break_op(generator *g, draft *d)
{
    d->op = "RETRACT";
    return g->contract->mode == RR_MODE_CUMULATIVE || d->origin != NULL;
}

static bool break_not_allowed(generator *g, draft *d)
{
    d->op = NULL;
    d->origin = "CORRECTION";
    d->has_base = true;
    return g->contract->corrections == RR_CORRECTIONS_NONE;
}

static bool break_base(generator *g, draft *d)
{
    d->has_base = false;
    return g->contract->corrections == RR_CORRECTIONS_CONDITIONAL && d->origin != NULL;
}

static bool break_status(generator *g, draft *d)
{
    (void)g;
    d->status = "RECONCILED";
    return d->origin == NULL;
}

static bool break_identity(generator *g, draft *d)
{
    d->delta_id = d->producer = NULL;
    d->has_sequence = chance(g, 50);
    return g->contract->mode == RR_MODE_DELTA && d->origin == NULL;
}

static bool break_version(generator *g, draft *d)
{
    const rr_contract *c = g->contract;
    bool in_delta = c->mode == RR_MODE_DELTA && d->origin == NULL;

    d->version.number = 0;
    return d->retracts.number == 0 && (!in_delta || (c->corrections != RR_CORRECTIONS_NONE && d->op == NULL));
}

static bool break_epoch(generator *g, draft *d)
{
    rr_version high = {g->contract->max_epoch + 1 + below(g, 2), 1};

    switch (below(g, 3)) {
    case 0: d->version = high; break;
    case 1:
        d->has_base = true;
        d->base = high;
        break;
    default:
        d->has_includes = true;
        d->includes_base = high;
        d->includes_version = (rr_version){0, 1};
    }
    return true;
}

static bool break_unknown_measure(generator *g, draft *d)
{
    (void)g;
    snprintf(d->measures, sizeof d->measures, "{\"other\":1}");
    return true;
}

static bool break_measure_type(generator *g, draft *d)
{
    static const char *const bad[] = {"\"x\"", "1e400", "true", "\"01\"", "[]"};
    rr_slice name = g->contract->measures[0].name;
    const char *text = PICK(g, bad);

    if (g->contract->measures[0].type == RR_MEASURE_INT64 && chance(g, 50)) {
        text = chance(g, 50) ? "1.0" : "9223372036854775808";
    }
    snprintf(d->measures, sizeof d->measures, "{\"%.*s\":%s}", (int)name.len, name.data, text);
    return true;
}

static bool break_missing_measure(generator *g, draft *d)
{
    rr_slice name = g->contract->measures[0].name;

    if (g->contract->measure_count > 1 && chance(g, 60)) {
        snprintf(d->measures, sizeof d->measures, "{\"%.*s\":1}", (int)name.len, name.data);
        return true;
    }
    d->measures[0] = '\0';
    return d->op == NULL;
}

static bool break_retention(generator *g, draft *d)
{
    if (g->contract->retention_us == RR_FOREVER) {
        return false;
    }
    d->clock_us = d->window.end + g->contract->retention_us + (chance(g, 50) ? 0 : (int64_t)below(g, 1000000));
    return d->has_window;
}

static const struct {
    rr_reason reason;
    unsigned weight; /* more where few contracts have it */
    break_rule *break_it;
} rules[] = {
    {RR_REASON_MALFORMED, 5, break_malformed},
    {RR_REASON_LIMIT_EXCEEDED, 5, break_limit},
    {RR_REASON_KEY_MISSING, 5, break_key},
    {RR_REASON_MODE_MISMATCH, 5, break_mode},
    {RR_REASON_WINDOW_UNEXPECTED, 24, break_unexpected},
    {RR_REASON_WINDOW_MISSING, 6, break_missing_window},
    {RR_REASON_WINDOW_INVERTED, 6, break_inverted},
    {RR_REASON_WINDOW_IMPLAUSIBLE, 6, break_implausible},
    {RR_REASON_WINDOW_IN_FUTURE, 6, break_future},
    {RR_REASON_WINDOW_MISALIGNED, 8, break_alignment},
    {RR_REASON_METRIC_VERSION_MISSING, 5, break_metric},
    {RR_REASON_METRIC_VERSION_UNKNOWN, 11, break_unknown_metric},
    {RR_REASON_OP_NOT_IN_MODE, 12, break_op},
    {RR_REASON_CORRECTION_NOT_ALLOWED, 9, break_not_allowed},
    {RR_REASON_BASE_MISSING, 50, break_base},
    {RR_REASON_STATUS_NOT_ALLOWED, 6, break_status},
    {RR_REASON_IDENTITY_MISSING, 16, break_identity},
    {RR_REASON_VERSION_MISSING, 7, break_version},
    {RR_REASON_VERSION_IMPLAUSIBLE, 5, break_epoch},
    {RR_REASON_MEASURE_UNKNOWN, 5, break_unknown_measure},
    {RR_REASON_MEASURE_TYPE, 5, break_measure_type},
    {RR_REASON_MEASURE_MISSING, 6, break_missing_measure},
    {RR_REASON_BEYOND_RETENTION, 12, break_retention},
};

static size_t pick_rule(generator *g)
{
    unsigned total = 0, at;
    size_t k = 0;

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        total += rules[i].weight;
    }
    for (at = below(g, total); at >= rules[k].weight; k++) {
        at -= rules[k].weight;
    }
    return k;
}

static void make_broken(generator *g, draft *d)
{
    for (;;) {
        size_t rule = pick_rule(g);

        make_valid(g, d);
        if (rules[rule].break_it(g, d)) {
            d->wanted = rules[rule].reason;
            return;
        }
    }
}

/* ---- as JSON ---- */

static void put_text(rr_buf *out, const char *name, const char *text)
{
    if (text != NULL) {
        rr_buf_format(out, ",\"%s\":\"%s\"", name, text);
    }
}

static void put_version_value(rr_buf *out, rr_version version)
{
    if (version.epoch == 0) {
        rr_buf_u64(out, version.number);
    } else {
        rr_buf_format(out, "{\"epoch\":%llu,\"number\":%llu}", (unsigned long long)version.epoch,
                      (unsigned long long)version.number);
    }
}

static void put_version(rr_buf *out, const char *name, rr_version version)
{
    rr_buf_format(out, ",\"%s\":", name);
    put_version_value(out, version);
}

static void put_window(rr_buf *out, rr_window window)
{
    char start[RR_TIME_TEXT_MAX], end[RR_TIME_TEXT_MAX];

    rr_buf_format(out, ",\"window\":{\"start\":\"%.*s\",\"end\":\"%.*s\"}", (int)rr_time_print(window.start, start),
                  start, (int)rr_time_print(window.end, end), end);
}

/* Every member has a comma in front of it. */
static void put_members(const draft *d, rr_buf *out)
{
    put_text(out, "business_key", d->key);
    if (d->has_window) {
        put_window(out, d->window);
    }
    put_text(out, "metric_version", d->metric);
    put_text(out, "mode", d->mode);
    put_text(out, "op", d->op);
    put_text(out, "origin", d->origin);
    put_text(out, "status", d->status);
    put_text(out, "cause", d->cause);
    put_text(out, "evidence", d->evidence);
    put_text(out, "delta_id", d->delta_id);
    put_text(out, "producer", d->producer);
    put_text(out, "contributor", d->contributor);
    put_version(out, "result_version", d->version);
    put_version(out, "retracts_version", d->retracts);
    if (d->has_sequence) {
        rr_buf_format(out, ",\"sequence\":%llu", (unsigned long long)d->sequence);
    }
    if (d->has_base) {
        put_version(out, "base_version", d->base);
    }
    if (d->has_includes) {
        rr_buf_text(out, ",\"includes_correction\":{\"base\":");
        put_version_value(out, d->includes_base);
        rr_buf_text(out, ",\"version\":");
        put_version_value(out, d->includes_version);
        rr_buf_char(out, '}');
    }
    if (d->measures[0] != '\0') {
        rr_buf_format(out, ",\"measures\":%s", d->measures);
    }
    rr_buf_slice(out, d->filler);
    rr_buf_text(out, d->extra == NULL ? "" : d->extra);
}

static rr_line line_of(generator *g, const draft *d)
{
    rr_buf_clear(&g->text);
    put_members(d, &g->text);
    rr_buf_char(&g->text, '}');
    RR_MUST(rr_buf_ok(&g->text));
    g->text.data[0] = '{';
    return (rr_line){rr_arena_copy(&g->history->arena, rr_buf_view(&g->text)), d->clock_us, d->wanted};
}

/* ---- the history ---- */

static void add_line(generator *g)
{
    rr_history *h = g->history;
    draft d;

    if (chance(g, g->broken)) {
        make_broken(g, &d);
    } else if (g->made_count != 0 && chance(g, 12)) {
        d = g->made[below(g, (unsigned)g->made_count)]; /* delivered again */
    } else {
        make_valid(g, &d);
        g->made[g->made_count++] = d;
    }
    h->lines[h->count++] = line_of(g, &d);
}

static void make_domains(generator *g)
{
    static const unsigned knowing[] = {10, 30, 60};

    g->keys = chance(g, 75) ? 1 : 2;
    g->metrics = chance(g, 85) ? 1 : 2;
    g->ids = 2 + below(g, 3);
    g->contributors = 1 + below(g, 3);
    g->epochs = chance(g, 25) ? 3 : 1;
    g->closed = chance(g, 70) ? 35 : 5;
    g->knowing = PICK(g, knowing);
    g->broken = chance(g, 50) ? 10 : 40;
}

void rr_history_make(rr_history *history, uint64_t seed)
{
    generator g = {.dice = {seed}, .history = history};
    unsigned lines;

    *history = (rr_history){.seed = seed};
    rr_arena_init(&history->arena, 0);
    history->honest = chance(&g, 40);
    make_contract(&g);
    make_windows(&g);
    make_domains(&g);
    history->lines = rr_arena_zero(&history->arena, RR_LINES_MAX * sizeof *history->lines);
    RR_MUST(history->lines != NULL);
    for (lines = 5 + below(&g, LINES_MAX - 5); lines > 0; lines--) {
        add_line(&g);
    }
    rr_buf_fini(&g.text);
}

void rr_history_fini(rr_history *history)
{
    rr_contracts_fini(&history->contracts);
    rr_buf_fini(&history->yaml);
    rr_arena_fini(&history->arena);
}

void rr_lines_print(const rr_line *lines, size_t count, rr_buf *out)
{
    char clock[RR_TIME_TEXT_MAX];

    for (size_t k = 0; k < count; k++) {
        if (k == 0 || lines[k].clock_us != lines[k - 1].clock_us) {
            rr_buf_format(out, "{\"clock\":\"%.*s\"}\n", (int)rr_time_print(lines[k].clock_us, clock), clock);
        }
        rr_buf_slice(out, lines[k].json);
        rr_buf_char(out, '\n');
    }
}
