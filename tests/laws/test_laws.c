/* The laws of the semantics (section 1) on random histories, straight on the core.
 *
 *   test_laws [--histories N] [--seed S]      N: 1500 if not said
 *   test_laws --one SEED                      one history of a report, again
 *
 * The seed is made of the commit, or of the date where there is none, so that runs move on and one commit is always
 * judged alike. Each run says how often every verdict, reason and alert of the core came up, and fails if one was rare:
 * a law that is never put to the test holds nothing. A failure prints the smallest history that shows it, in the form
 * that `reconciler apply --contract law.yaml --cells law.jsonl` reads.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"
#include "must.h"
#include "view.h"

enum { LINES_MAX = RR_LINES_MAX, RARE_PER_MILLE = 5, REPORTS_MAX = 3 };

/* What a check found; law NULL: nothing. */
typedef struct finding {
    const char *law;
    rr_buf detail;
    rr_line lines[LINES_MAX]; /* in the order that shows it */
    size_t count;
} finding;

typedef struct tally {
    uint64_t histories, honest, records;
    uint64_t verdicts[RR_VERDICT_COUNT], reasons[RR_REASON_COUNT], alerts[RR_ALERT_COUNT];
} tally;

/* One way through a history, and what became of it. */
typedef struct passage {
    rr_sandbox sandbox;
    rr_outcome outcomes[LINES_MAX];
    rr_record admitted[LINES_MAX];
    size_t admitted_count;
} passage;

static const rr_alert_set conflict_alerts = RR_BIT(RR_ALERT_EQUIVOCATION) | RR_BIT(RR_ALERT_RETRACTION_MISMATCH) |
                                            RR_BIT(RR_ALERT_CORRECTION_CONFLICT) |
                                            RR_BIT(RR_ALERT_OVERLAPPING_SESSIONS);

static void find(finding *f, const char *law, const char *what, rr_slice more, rr_slice other)
{
    if (f->law != NULL) {
        return;
    }
    f->law = law;
    rr_buf_format(&f->detail, "%s\n", what);
    rr_buf_slice(&f->detail, more);
    if (other.len != 0) {
        rr_buf_text(&f->detail, "and\n");
        rr_buf_slice(&f->detail, other);
    }
}

static const rr_slice nothing = {NULL, 0};
static const char law_1[] = "1: order-free", law_2[] = "2: idempotent";

/* ---- law by law: one record ---- */

/* Law 7, by the lines that readers see. */
static void check_verdict(finding *f, const rr_outcome *outcome, rr_slice before, rr_slice after)
{
    bool changed = !rr_slice_equal(before, after);

    if (changed && outcome->verdict != RR_VERDICT_APPLIED) {
        find(f, "7: the verdict says what readers saw", "they saw a change, and the verdict is not APPLIED:", before,
             after);
    } else if (!changed && outcome->verdict == RR_VERDICT_APPLIED) {
        find(f, "7: the verdict says what readers saw", "APPLIED, and readers see what they saw:", before, nothing);
    }
}

/* Law 3: who is not taken gets an alert. */
static void check_alerts(finding *f, const rr_outcome *outcome)
{
    if (outcome->verdict == RR_VERDICT_STALE && (outcome->alerts & RR_BIT(RR_ALERT_STALE_OVERWRITE)) == 0) {
        find(f, "3: no silent overwrite", "STALE without its alert", nothing, nothing);
    }
    if (outcome->verdict == RR_VERDICT_CONFLICT && (outcome->alerts & conflict_alerts) == 0) {
        find(f, "3: no silent overwrite", "CONFLICT without its alert", nothing, nothing);
    }
    if (outcome->verdict == RR_VERDICT_DUPLICATE && (outcome->alerts & ~conflict_alerts) != 0) {
        find(f, "3: no silent overwrite", "DUPLICATE with an alert of its own", nothing, nothing);
    }
}

/* Law 3: what a live assertion, or a correction, does to a live value that is seen. A withdrawal may uncover older. */
static void check_overwrite(finding *f, const rr_contract *contract, const rr_record *record, const rr_view *before,
                            const rr_view *after)
{
    int order = rr_version_compare(after->version, before->version);
    bool same_lane = before->origin == after->origin;

    if (before->state != RR_STATE_present || after->state != RR_STATE_present || !rr_view_differs(before, after) ||
        contract->mode == RR_MODE_DELTA || record->op == RR_OP_RETRACT) {
        return;
    }
    if (same_lane && record->origin == RR_ORIGIN_LIVE && before->origin == RR_ORIGIN_LIVE &&
        (order < 0 || (order == 0 && contract->mode == RR_MODE_CUMULATIVE))) {
        find(f, "3: no silent overwrite", "a live value was replaced by one that is not newer", nothing, nothing);
    }
    if (same_lane && record->origin == RR_ORIGIN_CORRECTION && before->origin == RR_ORIGIN_LIVE) {
        find(f, "3: no silent overwrite", "a correction changed what live shows", nothing, nothing);
    }
    if (same_lane && before->origin == RR_ORIGIN_CORRECTION &&
        (record->origin == RR_ORIGIN_LIVE || (contract->corrections == RR_CORRECTIONS_COORDINATED && order <= 0))) {
        find(f, "3: no silent overwrite", "a correction was replaced by what is not a newer one", nothing, nothing);
    }
}

/* Law 3, where the answer is plain: one register, no corrections. */
static void check_stale(finding *f, const rr_contract *contract, const rr_record *record, const rr_view *before,
                        const rr_outcome *outcome)
{
    int order = rr_version_compare(record->version, before->version);
    rr_verdict wanted = order < 0 ? RR_VERDICT_STALE : RR_VERDICT_APPLIED;

    if (contract->mode != RR_MODE_CUMULATIVE || contract->corrections != RR_CORRECTIONS_NONE ||
        contract->window_kind == RR_WINDOW_SESSION || order == 0) {
        return;
    }
    if (outcome->verdict != wanted) {
        find(f, "3: no silent overwrite", order < 0 ? "an older version is not STALE" : "a newer one is not APPLIED",
             nothing, nothing);
    }
}

typedef struct sight {
    rr_buf lines;      /* of the record's unit, without conflicts */
    rr_view of_record; /* the view of the record's cell */
    bool there;
} sight;

static rr_held *held_before(rr_sandbox *sandbox, const rr_line *line)
{
    rr_sandbox probe = {.kind = RR_SANDBOX_KEPT, .contract = sandbox->contract};
    rr_held *found = NULL;

    rr_arena_init(&probe.arena, 0);
    rr_sandbox_take(&probe, line);
    for (size_t k = 0; probe.at != NULL && k < sandbox->held_count; k++) {
        if (rr_slice_equal(rr_buf_view(&sandbox->held[k]->business_key), rr_buf_view(&probe.at->business_key)) &&
            rr_slice_equal(rr_buf_view(&sandbox->held[k]->metric_version), rr_buf_view(&probe.at->metric_version)) &&
            rr_window_equal(sandbox->held[k]->window, probe.at->window)) {
            found = sandbox->held[k];
        }
    }
    rr_sandbox_fini(&probe);
    return found;
}

static void look(rr_sandbox *sandbox, rr_held *held, const rr_record *record, sight *s)
{
    bool session = sandbox->contract->window_kind == RR_WINDOW_SESSION;
    const rr_cell *cell;

    if (held == NULL) {
        return;
    }
    rr_held_print(sandbox, held, false, &s->lines);
    cell = record == NULL ? held->unit.cells : rr_unit_cell(&held->unit, session ? record->window : (rr_window){0, 0});
    s->there = cell != NULL && !session;
    if (s->there) {
        s->of_record = cell->view; /* kept: the join left it valid */
    }
}

/* Takes one record into a kept sandbox, and holds what happened to the laws. */
static rr_outcome take_checked(finding *f, passage *p, const rr_line *line)
{
    rr_sandbox *sandbox = &p->sandbox;
    rr_held *held = held_before(sandbox, line);
    sight before = {0}, after = {0};
    rr_outcome outcome;
    const char *fault;

    look(sandbox, held, NULL, &before);
    outcome = rr_sandbox_take(sandbox, line);
    if (outcome.reason != line->wanted) {
        rr_slice reason = rr_slice_of(rr_reason_word(outcome.reason));

        find(f, "admission", "the reason is not the rule that is broken, but:", reason,
             rr_slice_of(rr_reason_word(line->wanted)));
    }
    if (sandbox->at != NULL) {
        look(sandbox, sandbox->at, &sandbox->record, &after);
        check_verdict(f, &outcome, rr_buf_view(&before.lines), rr_buf_view(&after.lines));
        check_alerts(f, &outcome);
        if (before.there && after.there) {
            check_overwrite(f, sandbox->contract, &sandbox->record, &before.of_record, &after.of_record);
            check_stale(f, sandbox->contract, &sandbox->record, &before.of_record, &outcome);
        }
        fault = rr_fold_fault(&sandbox->at->unit, &sandbox->arena);
        if (fault != NULL) {
            find(f, "incremental = anew", fault, nothing, nothing);
        }
        p->admitted[p->admitted_count++] = sandbox->record;
    }
    if (sandbox->fault != NULL) {
        find(f, "inside", sandbox->fault, nothing, nothing);
    }
    rr_buf_fini(&before.lines);
    rr_buf_fini(&after.lines);
    return outcome;
}

/* ---- whole passages ---- */

static bool same_outcome(const rr_outcome *a, const rr_outcome *b)
{
    return a->verdict == b->verdict && a->reason == b->reason && a->alerts == b->alerts;
}

static void compare_cells(finding *f, const char *law, const char *what, rr_sandbox *a, rr_sandbox *b, bool conflicts)
{
    rr_buf first = {0}, second = {0};

    rr_sandbox_print(a, conflicts, &first);
    rr_sandbox_print(b, conflicts, &second);
    if (!rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second))) {
        find(f, law, what, rr_buf_view(&first), rr_buf_view(&second));
    }
    rr_buf_fini(&first);
    rr_buf_fini(&second);
}

/* Nothing is lost in bytes: a sandbox that reads and writes each record gives the same answers and the same cells. */
static void check_stored(finding *f, passage *kept, const rr_history *h, rr_sandbox_kind kind)
{
    static const char law[] = "nothing is lost in a store";
    const char *how = kind == RR_SANDBOX_SPILLED ? "with parts beside the value:" : "with parts in the value:";
    rr_sandbox sandbox;

    rr_sandbox_init(&sandbox, h->contract, kind);
    for (size_t k = 0; k < h->count && f->law == NULL; k++) {
        rr_outcome outcome = rr_sandbox_take(&sandbox, &h->lines[k]);

        if (sandbox.fault != NULL) {
            find(f, law, sandbox.fault, rr_slice_of(how), nothing);
        } else if (!same_outcome(&outcome, &kept->outcomes[k])) {
            find(f, law, "another verdict or alert", rr_slice_of(how), h->lines[k].json);
        }
    }
    compare_cells(f, law, how, &kept->sandbox, &sandbox, true);
    rr_sandbox_fini(&sandbox);
}

static void check_model(finding *f, passage *kept, const rr_history *h)
{
    rr_buf model = {0}, text = {0};

    if (rr_model_knows(h->contract, h->honest)) {
        rr_model_print(h->contract, kept->admitted, kept->admitted_count, &model);
        rr_sandbox_print(&kept->sandbox, true, &text);
        if (!rr_slice_equal(rr_buf_view(&model), rr_buf_view(&text))) {
            find(f, "6: exact (worked out from all records)", "wanted and got:", rr_buf_view(&model),
                 rr_buf_view(&text));
        }
    }
    rr_buf_fini(&model);
    rr_buf_fini(&text);
}

static void keep_lines(finding *f, const rr_line *lines, size_t count)
{
    memcpy(f->lines, lines, count * sizeof *lines);
    f->count = count;
}

/* Which lane readers see while lanes diverge may depend on the order: such lines keep only their conflicts. */
static void mask_diverged(const rr_contract *contract, rr_buf *text)
{
    static const char mark[] = "\"divergence\"";
    char *from = text->data, *end = text->data + text->len, *to = text->data;

    if (contract->during_conflict != RR_DURING_INCUMBENT || contract->corrections == RR_CORRECTIONS_NONE) {
        return;
    }
    while (from < end) {
        char *next = (char *)memchr(from, '\n', (size_t)(end - from)) + 1;
        char *state = memmem(from, (size_t)(next - from), ",\"state\":", 9);
        char *conflicts = memmem(from, (size_t)(next - from), ",\"conflicts\":", 13);
        bool diverged = memmem(from, (size_t)(next - from), mark, sizeof mark - 1) != NULL;

        if (diverged) {
            memmove(to, from, (size_t)(state - from));
            to += state - from;
            from = conflicts;
        }
        memmove(to, from, (size_t)(next - from));
        to += next - from;
        from = next;
    }
    text->len = (size_t)(to - text->data);
}

/* Law 1: the same records in two orders. */
static void check_pair(finding *f, const rr_contract *contract, const rr_line *one, const rr_line *other, size_t count)
{
    rr_sandbox first, second;
    rr_buf first_text = {0}, second_text = {0};

    rr_sandbox_init(&first, contract, RR_SANDBOX_KEPT);
    rr_sandbox_init(&second, contract, RR_SANDBOX_KEPT);
    for (size_t k = 0; k < count; k++) {
        rr_sandbox_take(&first, &one[k]);
        rr_sandbox_take(&second, &other[k]);
    }
    rr_sandbox_print(&first, true, &first_text);
    rr_sandbox_print(&second, true, &second_text);
    mask_diverged(contract, &first_text);
    mask_diverged(contract, &second_text);
    if (f->law == NULL && !rr_slice_equal(rr_buf_view(&first_text), rr_buf_view(&second_text))) {
        find(f, law_1, "these cells, and other ones in another order:", rr_buf_view(&first_text),
             rr_buf_view(&second_text));
        keep_lines(f, other, count);
    }
    rr_buf_fini(&first_text);
    rr_buf_fini(&second_text);
    rr_sandbox_fini(&first);
    rr_sandbox_fini(&second);
}

static void check_order(finding *f, const rr_history *h, rr_dice *dice)
{
    rr_line lines[LINES_MAX];

    memcpy(lines, h->lines, h->count * sizeof *lines);
    for (size_t k = h->count; k > 1; k--) {
        size_t other = rr_dice_below(dice, (unsigned)k);
        rr_line line = lines[k - 1];

        lines[k - 1] = lines[other];
        lines[other] = line;
    }
    check_pair(f, h->contract, h->lines, lines, h->count);
}

static bool contradicted(const rr_outcome *outcome)
{
    return (outcome->alerts & (RR_BIT(RR_ALERT_EQUIVOCATION) | RR_BIT(RR_ALERT_RETRACTION_MISMATCH))) != 0;
}

/* A contender is not held, so it may be news when it comes again: merely stale by then, what it knows counts (section
 * 8); and a session's delta meets what the first window inside or around it holds by then, which may be its own content
 * (section 9). */
static bool brings_more(const rr_contract *contract, const rr_line *line, const rr_outcome *outcome)
{
    bool session_delta = contract->mode == RR_MODE_DELTA && contract->window_kind == RR_WINDOW_SESSION;

    return contradicted(outcome) &&
           (session_delta || memmem(line->json.data, line->json.len, "includes_correction", 19) != NULL);
}

/* The line of which this one is a repeat: they share their bytes. Itself, if it is none. */
static size_t original_of(const rr_line *lines, size_t at)
{
    size_t k = 0;

    while (lines[k].json.data != lines[at].json.data) {
        k++;
    }
    return k;
}

/* A repeat in the sandbox: nothing that readers see may change. */
static void repeat(finding *f, rr_sandbox *sandbox, const rr_line *line, bool conflicts)
{
    rr_buf before = {0}, after = {0};

    rr_sandbox_print(sandbox, conflicts, &before);
    rr_sandbox_take(sandbox, line);
    rr_sandbox_print(sandbox, conflicts, &after);
    if (!rr_slice_equal(rr_buf_view(&before), rr_buf_view(&after))) {
        find(f, law_2, "the last record is a repeat, and changed cells:", rr_buf_view(&before), rr_buf_view(&after));
    }
    rr_buf_fini(&before);
    rr_buf_fini(&after);
}

/* Law 2: the records with repeats among them, and without: the same verdicts (but of the repeats) and the same cells.
 *
 * A contender is no fact. Coming again, it may contradict what was taken since: that may show as conflicts, in cells
 * and in verdicts, and never in a value. */
static void check_sequence(finding *f, const rr_contract *contract, const rr_line *lines, size_t count)
{
    rr_outcome outcomes[LINES_MAX];
    bool contended = false;
    rr_sandbox once, more;

    rr_sandbox_init(&once, contract, RR_SANDBOX_KEPT);
    rr_sandbox_init(&more, contract, RR_SANDBOX_KEPT);
    for (size_t k = 0; k < count && f->law == NULL; k++) {
        size_t original = original_of(lines, k);
        rr_outcome outcome;

        if (original != k) {
            contended = contended || contradicted(&outcomes[original]);
            if (!brings_more(contract, &lines[k], &outcomes[original])) {
                repeat(f, &more, &lines[k], !contradicted(&outcomes[original]));
            }
        } else {
            outcomes[k] = rr_sandbox_take(&once, &lines[k]);
            outcome = rr_sandbox_take(&more, &lines[k]);
            if (!contended && !same_outcome(&outcome, &outcomes[k])) {
                find(f, law_2, "repeats changed the verdict or alerts of the last record", nothing, nothing);
            }
        }
        if (f->law != NULL) {
            keep_lines(f, lines, k + 1);
        }
    }
    compare_cells(f, law_2, "these cells, and other ones with repeats:", &once, &more, !contended);
    if (f->law == law_2 && f->count == 0) {
        keep_lines(f, lines, count);
    }
    rr_sandbox_fini(&once);
    rr_sandbox_fini(&more);
}

static void check_repeats(finding *f, const rr_history *h, rr_dice *dice)
{
    rr_line lines[LINES_MAX];
    size_t count = 0;

    for (size_t k = 0; k < h->count; k++) {
        lines[count++] = h->lines[k];
        lines[count++] = h->lines[rr_dice_below(dice, (unsigned)k + 1)];
    }
    if (f->law == NULL) {
        check_sequence(f, h->contract, lines, count);
    }
}

static void count_outcome(tally *t, const rr_outcome *outcome)
{
    t->records++;
    t->verdicts[outcome->verdict]++;
    t->reasons[outcome->reason]++;
    for (unsigned k = 0; k < RR_ALERT_COUNT; k++) {
        t->alerts[k] += (outcome->alerts >> k) & 1;
    }
}

/* All laws on one history; the tally may be NULL. */
static void check_history(const rr_history *h, finding *f, tally *t)
{
    passage *kept = calloc(1, sizeof *kept);
    rr_dice dice = {h->seed ^ UINT64_C(0x5eed)};

    RR_MUST(kept != NULL && h->count <= LINES_MAX / 2);
    rr_sandbox_init(&kept->sandbox, h->contract, RR_SANDBOX_KEPT);
    for (size_t k = 0; k < h->count && f->law == NULL; k++) {
        kept->outcomes[k] = take_checked(f, kept, &h->lines[k]);
        if (t != NULL) {
            count_outcome(t, &kept->outcomes[k]);
        }
    }
    if (f->law == NULL) {
        check_stored(f, kept, h, RR_SANDBOX_STORED);
        check_stored(f, kept, h, RR_SANDBOX_SPILLED);
        check_model(f, kept, h);
        check_repeats(f, h, &dice);
        for (unsigned k = 0; h->honest && k < 2; k++) {
            check_order(f, h, &dice);
        }
    }
    rr_sandbox_fini(&kept->sandbox);
    free(kept);
}

/* ---- the smallest history that shows it ---- */

static void clear(finding *f)
{
    f->law = NULL;
    f->count = 0;
    rr_buf_clear(&f->detail);
}

static void drop(rr_line *lines, size_t *count, size_t at)
{
    memmove(&lines[at], &lines[at + 1], (*count - at - 1) * sizeof *lines);
    --*count;
}

/* Drops a line, and in another order of the same lines, too. */
static void drop_both(rr_history *h, rr_line *other, size_t *other_count, size_t at)
{
    for (size_t k = 0; k < *other_count; k++) {
        if (other[k].json.data == h->lines[at].json.data) {
            drop(other, other_count, k);
            break;
        }
    }
    drop(h->lines, &h->count, at);
}

/* What broke, looked at again; the order that a law needs is `other`. */
static void check_again(const rr_history *h, const char *law, const rr_line *other, size_t count, finding *f)
{
    clear(f);
    if (law == law_1) {
        check_pair(f, h->contract, h->lines, other, count);
    } else if (law == law_2) {
        check_sequence(f, h->contract, h->lines, h->count);
    } else {
        check_history(h, f, NULL);
    }
}

static bool fails_without(rr_history *h, const char *law, rr_line *other, size_t *count, size_t at, finding *f)
{
    rr_line lines[LINES_MAX], others[LINES_MAX];
    size_t lines_count = h->count, others_count = *count;

    memcpy(lines, h->lines, lines_count * sizeof *lines);
    memcpy(others, other, others_count * sizeof *others);
    drop_both(h, other, count, at);
    check_again(h, law, other, *count, f);
    if (f->law == law || (f->law != NULL && law != law_1 && law != law_2)) {
        return true;
    }
    memcpy(h->lines, lines, lines_count * sizeof *lines);
    memcpy(other, others, others_count * sizeof *others);
    h->count = lines_count;
    *count = others_count;
    return false;
}

static void shrink(rr_history *h, finding *f)
{
    const char *law = f->law;
    rr_line other[LINES_MAX];
    size_t count = law == law_1 ? f->count : 0;
    bool smaller = true;

    memcpy(other, f->lines, count * sizeof *other);
    if (law == law_2) {
        memcpy(h->lines, f->lines, f->count * sizeof *h->lines); /* the repeats are what matters */
        h->count = f->count;
    }
    while (smaller) {
        smaller = false;
        for (size_t k = h->count; k-- > 0 && h->count > 1;) {
            smaller = fails_without(h, law, other, &count, k, f) || smaller;
        }
    }
    check_again(h, law, other, count, f);
    if (f->law != law && (f->law == law_1 || f->law == law_2)) {
        shrink(h, f); /* now by what that law needs */
    }
}

static void report(rr_history *h, finding *f)
{
    rr_buf lines = {0};

    shrink(h, f);
    RR_MUST(f->law != NULL);
    rr_lines_print(h->lines, h->count, &lines);
    printf("\nBROKEN: %s\n(seed %llu; again: test_laws --one %llu)\n%.*s\n--- law.yaml\n%.*s--- law.jsonl\n%.*s",
           f->law, (unsigned long long)h->seed, (unsigned long long)h->seed, (int)f->detail.len, f->detail.data,
           (int)h->yaml.len, h->yaml.data, (int)lines.len, lines.data);
    if (f->law == law_1) {
        rr_buf_clear(&lines);
        rr_lines_print(f->lines, f->count, &lines);
        printf("--- and in this order\n%.*s", (int)lines.len, lines.data);
    }
    rr_buf_fini(&lines);
}

/* ---- what came up ---- */

static bool only_of_the_engine(rr_reason reason)
{
    return reason == RR_REASON_UNROUTED || reason == RR_REASON_CELL_GONE;
}

static bool alert_only_of_the_engine(rr_alert alert)
{
    return alert == RR_ALERT_SINK_ROLLED_BACK || alert == RR_ALERT_UNREPAIRABLE_GAP ||
           alert == RR_ALERT_SOURCE_ROLLED_BACK;
}

static bool print_share(const tally *t, const char *word, uint64_t count)
{
    bool rare = count * 1000 < t->records * RARE_PER_MILLE;

    printf("  %6.2f %%  %s%s\n", t->records == 0 ? 0 : 100.0 * (double)count / (double)t->records, word,
           rare ? "  <-- TOO RARE" : "");
    return !rare;
}

static bool print_tally(const tally *t)
{
    bool good = true;

    printf("%llu histories (%llu without contradictions), %llu records; of these\n", (unsigned long long)t->histories,
           (unsigned long long)t->honest, (unsigned long long)t->records);
    for (unsigned k = 0; k < RR_VERDICT_COUNT; k++) {
        good = print_share(t, rr_verdict_word((rr_verdict)k), t->verdicts[k]) && good;
    }
    for (unsigned k = RR_REASON_NONE + 1; k < RR_REASON_COUNT; k++) {
        good = only_of_the_engine((rr_reason)k) ? good
                                                : print_share(t, rr_reason_word((rr_reason)k), t->reasons[k]) && good;
    }
    for (unsigned k = 0; k < RR_ALERT_COUNT; k++) {
        good = alert_only_of_the_engine((rr_alert)k) ? good
                                                     : print_share(t, rr_alert_word((rr_alert)k), t->alerts[k]) && good;
    }
    return good;
}

/* ---- the run ---- */

static uint64_t mix_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash >> 16;
}

static uint64_t seed_of_today(void)
{
    char text[128] = "";
    FILE *git = popen("git -C '" RR_SOURCE_DIR "' rev-parse HEAD 2>/dev/null", "r");
    time_t now = time(NULL);
    struct tm day;

    if (git != NULL) {
        if (fgets(text, sizeof text, git) == NULL) {
            text[0] = '\0';
        }
        pclose(git);
    }
    if (text[0] == '\0') {
        strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&now, &day));
    }
    return mix_text(text);
}

static bool check_seed(uint64_t seed, tally *t, unsigned *reports)
{
    rr_history history;
    finding *f = calloc(1, sizeof *f);
    bool good;

    RR_MUST(f != NULL);
    rr_history_make(&history, seed);
    t->histories++;
    t->honest += history.honest;
    check_history(&history, f, t);
    good = f->law == NULL;
    if (!good && (*reports)++ < REPORTS_MAX) {
        report(&history, f);
    }
    rr_buf_fini(&f->detail);
    free(f);
    rr_history_fini(&history);
    return good;
}

static uint64_t number_of(const char *text)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    if (*text == '\0' || *end != '\0') {
        printf("'%s' is no number\n", text);
        exit(64);
    }
    return number;
}

int main(int argc, char **argv)
{
    uint64_t histories = 1500, seed = seed_of_today(), broken = 0;
    unsigned reports = 0;
    tally t = {0};

    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--one") == 0) {
            return check_seed(number_of(argv[k + 1]), &t, &reports) ? EXIT_SUCCESS : EXIT_FAILURE;
        }
        if (strcmp(argv[k], "--histories") == 0) {
            histories = number_of(argv[k + 1]);
        } else if (strcmp(argv[k], "--seed") == 0) {
            seed = number_of(argv[k + 1]);
        }
    }
    printf("seed %llu\n", (unsigned long long)seed);
    for (uint64_t k = 0; k < histories; k++) {
        broken += !check_seed(seed + k, &t, &reports);
    }
    if (broken != 0) {
        printf("\n%llu of %llu histories break a law\n", (unsigned long long)broken, (unsigned long long)histories);
    }
    return print_tally(&t) && broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
