/* What was promised, looked at from outside: at each acknowledgement, and when all is over. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <stdlib.h>

#include "cell_json.h"
#include "key.h"
#include "must.h"
#include "record_json.h"
#include "record_proto.h"
#include "stored.h"

static rr_sim *const sim = &rr_sim_now;

/* What a line that is no record becomes in a queue. */
static const char undecodable[] = {'\x07'};

static rr_slice unit_key(const rr_record *record)
{
    rr_buf text = {0};
    rr_slice key;

    if (sim->contract->window_kind == RR_WINDOW_SESSION) {
        rr_key_sessions(&text, RR_SLICE("rr"), sim->contract, record->business_key, record->metric_version);
    } else {
        rr_key_unit(&text, RR_SLICE("rr"), sim->contract, record->business_key, record->metric_version, record->window);
    }
    key = rr_sim_keep(rr_buf_view(&text));
    rr_buf_fini(&text);
    return key;
}

/* ---- the history ---- */

void rr_judge_put(rr_sim_message *message, uint64_t sequence, bool routed)
{
    rr_decoded decoded = rr_record_from_proto(message->payload, false, &sim->arena, &message->record, NULL, NULL);
    rr_record *record = &message->record;

    record->stream = RR_SLICE("RESULTS");
    record->stream_sequence = sequence;
    record->has_arrival = true;
    record->arrival_us = message->stored_at_us;
    message->refused = decoded != RR_DECODED_RECORD || !routed;
    if (!message->refused) {
        RR_MUST(rr_arena_reserve(&sim->arena, rr_admit_need(sim->contract, record)));
        message->refused = rr_admit(sim->contract, record, &sim->arena, NULL) != RR_REASON_NONE;
    }
    if (!message->refused) {
        message->key = unit_key(record);
    }
}

void rr_sim_put(rr_slice json, int64_t stored_at_us, bool routed)
{
    rr_sim_source *source = &sim->source;
    rr_sim_message *message = &source->messages[source->count++];
    rr_buf payload = {0};
    rr_record record = {0};
    int64_t clock_us;

    RR_MUST(source->count <= RR_LINES_MAX);
    if (rr_record_from_json(json, &sim->arena, &record, &clock_us, NULL) == RR_DECODED_RECORD) {
        RR_MUST(rr_record_to_proto(&record, &payload));
    } else {
        rr_buf_put(&payload, undecodable, sizeof undecodable);
    }
    *message = (rr_sim_message){.subject = routed ? RR_SLICE("results.law") : RR_SLICE("elsewhere"),
                                .payload = rr_sim_keep(rr_buf_view(&payload)),
                                .stored_at_us = stored_at_us};
    rr_buf_fini(&payload);
    rr_judge_put(message, source->count, routed);
}

/* ---- units ---- */

static rr_alert_set due_of_refused(const rr_sim_message *message)
{
    return (message->logged | message->sent) & (RR_BIT(RR_ALERT_CONTRACT_VIOLATION) | RR_BIT(RR_ALERT_TOO_LATE));
}

/* The unit as of a write, with all its parts. False: it cannot be read, and that is a broken promise. */
static bool read_unit(rr_slice key, uint64_t at, rr_arena *arena, rr_unit *unit)
{
    rr_slice value = rr_sim_value(&sim->store, key, at), token = rr_value_token(value);
    rr_error error = {0};
    bool good = rr_stored_read(unit, sim->contract, value, arena, &error) == RR_OK;

    for (size_t k = 0; good && unit->spilled && k < sim->store.item_count; k++) {
        const rr_sim_item *item = &sim->store.items[k];
        rr_slice bytes = {NULL, 0};

        for (size_t v = item->count; v-- > 0 && bytes.len == 0;) {
            bytes = item->versions[v].at <= at ? item->versions[v].bytes : bytes;
        }
        if (item->kind == RR_SIM_PART && rr_slice_equal(item->key, key) && bytes.len != 0 &&
            memcmp(item->field.data, token.data, RR_BIRTH_LEN) == 0) {
            rr_slice id = {item->field.data + RR_BIRTH_LEN, item->field.len - RR_BIRTH_LEN};

            good = rr_part_read(unit, id, bytes, arena);
        }
    }
    unit->complete = true;
    if (!good) {
        rr_sim_break("what is stored under %.*s cannot be read: %s", (int)key.len, key.data, error.text);
    }
    return good;
}

static rr_outcome join(rr_unit *unit, const rr_record *record, rr_arena *arena)
{
    rr_outcome outcome = {0};

    RR_MUST(rr_arena_reserve(arena, rr_join_need(unit, record)));
    RR_MUST(rr_join(unit, record, arena, &outcome) == RR_JOIN_DONE);
    return outcome;
}

static void print_unit(rr_unit *unit, const rr_record *any, bool conflicts, rr_arena *arena, rr_buf *out)
{
    bool session = sim->contract->window_kind == RR_WINDOW_SESSION;

    RR_MUST(rr_arena_reserve(arena, rr_join_need(unit, NULL)));
    rr_unit_see(unit, arena);
    for (size_t k = 0; k < unit->cell_count; k++) {
        rr_view view = unit->cells[k].view;

        view.conflicts = conflicts ? view.conflicts : 0;
        rr_cell_line(out, sim->contract, any->business_key, any->metric_version,
                     session ? unit->cells[k].window : any->window, &view);
    }
}

/* ---- at each acknowledgement ---- */

static bool contradicts(rr_alert_set alerts)
{
    return (alerts & (RR_BIT(RR_ALERT_EQUIVOCATION) | RR_BIT(RR_ALERT_RETRACTION_MISMATCH))) != 0;
}

/* Joining it once more must change nothing, since its effect is stored. Except for what contradicted when it came:
 * it was no fact then, and may become one now (semantics, sections 6 and 8), or replace the latest contender. */
static void check_effect(const rr_sim_message *message, size_t sequence, rr_arena *arena)
{
    rr_unit unit;
    rr_outcome outcome;

    if (!read_unit(message->key, sim->store.now, arena, &unit)) {
        return;
    }
    outcome = join(&unit, &message->record, arena);
    if (outcome.grew && !contradicts(outcome.alerts | message->logged)) {
        rr_sim_break("sequence %zu was acknowledged, and its effect is not in the store: joined again it is %s",
                     sequence, rr_verdict_word(outcome.verdict));
    }
}

static const rr_sim_base *base_of(const rr_sim_engine *e, rr_slice key)
{
    for (size_t k = 0; k < e->base_count; k++) {
        if (rr_slice_equal(e->bases[k].key, key)) {
            return &e->bases[k];
        }
    }
    return NULL;
}

static void need_alerts(rr_sim_message *message, rr_alert_set alerts)
{
    if ((alerts & ~message->logged) != 0) {
        rr_buf text = {0};

        rr_alerts_json(&text, alerts & ~message->logged);
        rr_sim_break("sequence %llu was acknowledged, and its alerts are not stored: %.*s",
                     (unsigned long long)message->record.stream_sequence, (int)text.len, text.data);
        rr_buf_fini(&text);
    }
    message->due |= alerts;
}

/* Decides what the batch's records of one unit meant for the engine, and asks for their alerts. */
static void check_alerts(const rr_sim_engine *e, const rr_delivery *deliveries, size_t count, size_t first,
                         rr_arena *arena)
{
    rr_slice key = sim->source.messages[deliveries[first].stream_sequence - 1].key;
    const rr_sim_base *base = base_of(e, key);
    /* It had the value already, and wrote nothing: then the stored value is this one, unless another process or a
     * repair wrote. */
    bool alone = sim->engines[1].lives == 0 && !sim->took[RR_SIM_UNKNOWN_LATE] && !sim->took[RR_SIM_SINK_SUFFIX] &&
                 !sim->took[RR_SIM_SINK_FLUSH];
    rr_unit unit;

    if ((base == NULL && !alone) || !read_unit(key, base == NULL ? sim->store.now : base->at, arena, &unit)) {
        return;
    }
    for (size_t k = first; k < count; k++) {
        rr_sim_message *message = &sim->source.messages[deliveries[k].stream_sequence - 1];
        rr_outcome outcome;
        bool is_reordered;

        if (message->refused || !rr_slice_equal(message->key, key)) {
            continue;
        }
        outcome = join(&unit, &message->record, arena);
        is_reordered = outcome.verdict == RR_VERDICT_STALE && message->record.stream_sequence < unit.stream_sequence;
        need_alerts(message, is_reordered ? outcome.alerts & ~RR_BIT(RR_ALERT_STALE_OVERWRITE) : outcome.alerts);
        if (outcome.grew) {
            unit.stream = message->record.stream;
            unit.stream_sequence = message->record.stream_sequence;
        }
    }
}

static bool is_first_of_unit(const rr_delivery *deliveries, size_t at)
{
    const rr_sim_message *messages = sim->source.messages;
    rr_slice key = messages[deliveries[at].stream_sequence - 1].key;

    for (size_t k = 0; k < at; k++) {
        if (rr_slice_equal(messages[deliveries[k].stream_sequence - 1].key, key)) {
            return false;
        }
    }
    return key.len != 0;
}

static void check_refused(rr_sim_message *message, size_t sequence)
{
    if (message->letters == 0) {
        rr_sim_break("sequence %zu was refused and acknowledged, and its dead letter is not stored", sequence);
    }
    if (due_of_refused(message) == 0) {
        rr_sim_break("sequence %zu was refused and acknowledged, and its alert is not stored", sequence);
    }
    message->due |= due_of_refused(message);
}

/* What the engine could not know: that the store has been another one since its last answer. The end shows whether what
 * was lost came back. */
void rr_judge_ack(const rr_sim_engine *e, const rr_delivery *deliveries, size_t count)
{
    rr_arena arena;

    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < count; k++) {
        size_t sequence = (size_t)deliveries[k].stream_sequence;
        rr_sim_message *message = &sim->source.messages[sequence - 1];

        if (message->refused && message->letters == 0) {
            check_refused(message, sequence);
        } else if (message->refused && !e->cut) {
            check_refused(message, sequence);
        } else if (!message->refused && (!e->cut || sim->waits)) {
            check_effect(message, sequence, &arena);
        }
        if (!e->cut && is_first_of_unit(deliveries, k)) {
            check_alerts(e, deliveries, count, k, &arena);
        }
    }
    rr_arena_fini(&arena);
}

/* ---- what the store loses ---- */

/* Which acknowledged records readers would see again, if they came again. Not those that were no facts: the store had
 * nothing of them to lose. */
void rr_judge_lost(void)
{
    rr_arena arena;

    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sim->source.count; k++) {
        rr_sim_message *message = &sim->source.messages[k];
        rr_unit unit;

        message->lost = message->back = false;
        if (message->place == RR_SIM_ACKED && !message->refused &&
            read_unit(message->key, sim->store.now, &arena, &unit)) {
            rr_outcome outcome = join(&unit, &message->record, &arena);

            message->lost = outcome.grew && outcome.verdict == RR_VERDICT_APPLIED && !contradicts(message->logged);
            if (message->lost && sim->waits) {
                rr_sim_break("sequence %zu was acknowledged, and the replica that took over has not its effect", k + 1);
            }
        }
        rr_arena_reset(&arena);
    }
    rr_arena_fini(&arena);
}

static bool readers_differ(const rr_sim_message *message, uint64_t before)
{
    rr_buf old = {0}, new = {0};
    rr_unit was, is;
    rr_arena arena;
    bool differ = false;

    rr_arena_init(&arena, 0);
    if (read_unit(message->key, before, &arena, &was) && read_unit(message->key, sim->store.now, &arena, &is)) {
        print_unit(&was, &message->record, false, &arena, &old);
        print_unit(&is, &message->record, false, &arena, &new);
        differ = !rr_slice_equal(rr_buf_view(&old), rr_buf_view(&new));
    }
    rr_buf_fini(&old);
    rr_buf_fini(&new);
    rr_arena_fini(&arena);
    return differ;
}

/* If a repair brings back what readers had lost, somebody must be told. A live record that comes in between may hide
 * it. */
void rr_judge_swapped(const rr_sim_engine *e, rr_slice key, uint64_t before)
{
    for (size_t k = 0; k < sim->source.count; k++) {
        rr_sim_message *message = &sim->source.messages[k];

        if (message->lost && rr_slice_equal(message->key, key)) {
            if (e != NULL && e->reading_again && readers_differ(message, before)) {
                rr_sim_say("sequence %zu had been lost", k + 1);
                message->back = true;
            }
            message->lost = false;
        }
    }
}

/* ---- the end ---- */

static int by_text(const void *a, const void *b)
{
    const rr_buf *first = a, *second = b;

    return rr_slice_compare(rr_buf_view(first), rr_buf_view(second));
}

/* Which lane readers see while lanes diverge may depend on the order (law 1): such lines keep only their conflicts. */
static void put_line(rr_buf *out, rr_slice line)
{
    const char *state = memmem(line.data, line.len, ",\"state\":", 9);
    const char *conflicts = memmem(line.data, line.len, ",\"conflicts\":", 13);
    bool masked = sim->contract->during_conflict == RR_DURING_INCUMBENT &&
                  memmem(line.data, line.len, "\"divergence\"", 12) != NULL;

    if (masked) {
        rr_buf_put(out, line.data, (size_t)(state - line.data));
        rr_buf_put(out, conflicts, (size_t)(line.data + line.len - conflicts));
    } else {
        rr_buf_slice(out, line);
    }
}

static void put_lines(rr_buf *out, rr_slice lines)
{
    while (lines.len != 0) {
        const char *end = memchr(lines.data, '\n', lines.len);
        size_t len = (size_t)(end - lines.data) + 1;

        put_line(out, (rr_slice){lines.data, len});
        lines = (rr_slice){lines.data + len, lines.len - len};
    }
}

static bool is_first(size_t at)
{
    const rr_sim_message *messages = sim->source.messages;

    for (size_t k = 0; k < at; k++) {
        if (rr_slice_equal(messages[k].key, messages[at].key)) {
            return false;
        }
    }
    return !messages[at].refused;
}

/* The cells of all units: as stored, or as of an undisturbed run. */
static void print_all(bool stored, rr_buf *out)
{
    rr_buf texts[RR_SIM_UNITS] = {{0}};
    size_t units = 0;
    rr_arena arena;

    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sim->source.count; k++) {
        const rr_sim_message *message = &sim->source.messages[k];
        rr_unit unit;

        if (!is_first(k)) {
            continue;
        }
        RR_MUST(units < RR_SIM_UNITS);
        if (!stored) {
            rr_unit_init(&unit, sim->contract);
            unit.complete = true;
        } else if (!read_unit(message->key, sim->store.now, &arena, &unit)) {
            break;
        }
        for (size_t i = k; !stored && i < sim->source.count; i++) {
            if (rr_slice_equal(sim->source.messages[i].key, message->key)) {
                join(&unit, &sim->source.messages[i].record, &arena);
            }
        }
        print_unit(&unit, &message->record, true, &arena, &texts[units++]);
    }
    qsort(texts, units, sizeof *texts, by_text);
    for (size_t k = 0; k < units; k++) {
        put_lines(out, rr_buf_view(&texts[k]));
        rr_buf_fini(&texts[k]);
    }
    rr_arena_fini(&arena);
}

static void check_cells(void)
{
    rr_buf wanted = {0}, found = {0};

    print_all(false, &wanted);
    print_all(true, &found);
    if (!rr_slice_equal(rr_buf_view(&wanted), rr_buf_view(&found))) {
        rr_sim_break("the cells differ from those of an undisturbed run:\n%.*sand not\n%.*s", (int)found.len,
                     found.data, (int)wanted.len, wanted.data);
    }
    rr_buf_fini(&wanted);
    rr_buf_fini(&found);
}

/* The value of each window of a group of sessions is what the group's facts say. */
static void check_sessions(const rr_sim_message *message, const rr_unit *unit)
{
    for (size_t k = 0; k < unit->cell_count; k++) {
        rr_buf key = {0}, text = {0};
        rr_slice value;

        rr_key_unit(&key, RR_SLICE("rr"), sim->contract, message->record.business_key, message->record.metric_version,
                    unit->cells[k].window);
        rr_buf_char(&text, '{');
        rr_cell_json(&text, sim->contract, &unit->cells[k].view, sim->contract->integers_as_strings);
        value = rr_sim_value(&sim->store, rr_buf_view(&key), sim->store.now);
        if (value.len < text.len || memcmp(value.data, text.data, text.len) != 0) {
            rr_sim_break("readers of %.*s find\n%.*s\nand not\n%.*s", (int)key.len, key.data, (int)value.len,
                         value.data, (int)text.len, text.data);
        }
        rr_buf_fini(&key);
        rr_buf_fini(&text);
    }
}

/* Each conflict that is open was told to people, and is in the list of what is open. */
static void check_conflicts(const rr_sim_message *message, const rr_unit *unit)
{
    rr_conflict_set open = 0;
    rr_alert_set sent = 0;

    for (size_t k = 0; k < unit->cell_count; k++) {
        open |= unit->cells[k].view.conflicts;
    }
    for (size_t k = 0; k < sim->source.count; k++) {
        sent |= rr_slice_equal(sim->source.messages[k].key, message->key) ? sim->source.messages[k].sent : 0;
    }
    for (int k = 0; k < RR_CONFLICT_COUNT; k++) {
        if ((open & RR_BIT(k)) != 0 && (sent & RR_BIT(rr_conflict_alert((rr_conflict)k))) == 0) {
            rr_sim_break("%.*s has an open conflict (%s), and no alert was sent", (int)message->key.len,
                         message->key.data, rr_conflict_word((rr_conflict)k));
        }
    }
    if (rr_sim_is_open(&sim->store, message->key) != (open != 0)) {
        rr_sim_break("%.*s is %s the list of open conflicts", (int)message->key.len, message->key.data,
                     open != 0 ? "missing from" : "wrongly in");
    }
}

static void check_units(void)
{
    rr_arena arena;

    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sim->source.count; k++) {
        const rr_sim_message *message = &sim->source.messages[k];
        rr_unit unit;

        if (!is_first(k) || !read_unit(message->key, sim->store.now, &arena, &unit)) {
            continue;
        }
        RR_MUST(rr_arena_reserve(&arena, rr_join_need(&unit, NULL)));
        rr_unit_see(&unit, &arena);
        check_conflicts(message, &unit);
        if (sim->contract->window_kind == RR_WINDOW_SESSION) {
            check_sessions(message, &unit);
        }
        rr_arena_reset(&arena);
    }
    rr_arena_fini(&arena);
}

static void check_message(const rr_sim_message *message, size_t sequence)
{
    rr_alert_set missing = message->due & ~message->sent;

    if (message->place != RR_SIM_ACKED) {
        rr_sim_break("sequence %zu has no verdict", sequence);
    }
    if (message->letters != message->refused) {
        rr_sim_break("sequence %zu has %u dead letters", sequence, message->letters);
    }
    if (message->refused && due_of_refused(message) == 0) {
        rr_sim_break("sequence %zu was refused, and no alert says so", sequence);
    }
    if (missing != 0) {
        rr_buf text = {0};

        rr_alerts_json(&text, missing);
        rr_sim_break("alerts of sequence %zu were due and are not sent: %.*s", sequence, (int)text.len, text.data);
        rr_buf_fini(&text);
    }
}

/* Of the unit, or of the source. */
static bool was_told(const rr_sim_message *message)
{
    rr_alert_set sent = 0;

    for (size_t k = 0; k < sim->source.count; k++) {
        sent |= rr_slice_equal(sim->source.messages[k].key, message->key) ? sim->source.messages[k].sent : 0;
    }
    return sim->notices[RR_ALERT_SINK_ROLLED_BACK] != 0 || (sent & RR_BIT(RR_ALERT_SINK_ROLLED_BACK)) != 0;
}

static void check_notices(void)
{
    bool lost = sim->took[RR_SIM_SINK_SUFFIX] || sim->took[RR_SIM_SINK_FLUSH];
    /* Until the first checkpoint is written, it is not known what the store should have. */
    bool unsure = sim->took[RR_SIM_STORE_AWAY] || sim->took[RR_SIM_QUEUE_AWAY];

    for (size_t k = 0; k < sim->source.count; k++) {
        if (sim->source.messages[k].back && !was_told(&sim->source.messages[k])) {
            rr_sim_break("the store had lost sequence %zu, which was acknowledged; it was brought back, and nobody was "
                         "told (sink_rolled_back)",
                         k + 1);
        }
    }
    if (!lost && !unsure && sim->notices[RR_ALERT_SINK_ROLLED_BACK] != 0) {
        rr_sim_break("the store lost nothing, and an alert says that it did");
    }
    if (sim->notices[RR_ALERT_UNREPAIRABLE_GAP] != 0) {
        rr_sim_break("the stream has everything, and an alert says that there is a gap");
    }
    if (!sim->took[RR_SIM_SOURCE_TAIL] && sim->notices[RR_ALERT_SOURCE_ROLLED_BACK] != 0) {
        rr_sim_break("the stream lost nothing, and an alert says that it did");
    }
}

void rr_judge_end(void)
{
    for (size_t k = 0; k < sim->source.count; k++) {
        check_message(&sim->source.messages[k], k + 1);
    }
    check_notices();
    check_units();
    if (sim->honest) {
        check_cells();
    }
}
