/* The program's own small values in the store. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "recovery.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "admit.h"
#include "contract_note.h"
#include "decision.h"
#include "generation.h"
#include "time.h"

enum { TICK_US = 1000000, STATUS_TTL_MS = 60000, REPAIR_SLICE = 20000, PAUSED_LOOK_MS = 100 };

static rr_slice own_key(live *l, const char *kind, rr_slice name)
{
    return rr_engine_key(l->options->prefix, kind, name, &l->text, &l->tick_arena);
}

/* ---- which store it is ---- */

void rr_recovery_suspect_store(live *l)
{
    l->unsure = true;
    rr_batch_invalidate(l->batch);
}

rr_status rr_recovery_identify_store(live *l, bool *same, rr_error *error)
{
    rr_store_identity identity;
    rr_status status = l->options->store_ops->identity(l->options->store, &identity, error);

    if (status != RR_OK) {
        return status;
    }
    *same = strcmp(l->incarnation, identity.incarnation) == 0;
    if (!*same) {
        rr_batch_invalidate(l->batch);
        snprintf(l->incarnation, sizeof l->incarnation, "%s", identity.incarnation);
    }
    l->unsure = false;
    return RR_OK;
}

/* ---- generations ---- */

static rr_status read_note(live *l, const char *kind, rr_slice *value, rr_error *error)
{
    rr_buf key = {0};
    rr_status status;

    rr_generation_key(&key, l->options->base_prefix, kind);
    rr_arena_reset(&l->note_arena);
    status = rr_buf_ok(&key)
                 ? l->options->store_ops->note_get(l->options->store, rr_buf_view(&key), &l->note_arena, value, error)
                 : rr_fail(error, RR_MEMORY, "memory ran out");
    rr_buf_fini(&key);
    return status;
}

rr_status rr_recovery_check_generation(live *l, rr_error *error)
{
    rr_slice prefix = {NULL, 0};
    rr_status status = l->options->base_prefix.len == 0 ? RR_OK : read_note(l, "generation", &prefix, error);

    if (status == RR_OK && l->options->base_prefix.len != 0) {
        prefix = prefix.len == 0 ? l->options->base_prefix : prefix;
        atomic_store(&l->moved, !rr_slice_equal(prefix, l->options->prefix));
    }
    return status;
}

/* While a switch is under way nothing is begun, so that no reader sees a result in the old generation that is not in the
 * new one yet. Nothing is waited for without end: the note goes by itself. */
static rr_status wait_for_switch(live *l, rr_error *error)
{
    rr_slice paused = {NULL, 0};
    rr_status status = l->options->base_prefix.len == 0 ? RR_OK : read_note(l, "pause", &paused, error);

    if (status == RR_OK && paused.len != 0) {
        rr_service_log(l, RR_LOG_INFO, "a rebuild is about to switch readers over: waiting for it");
    }
    while (status == RR_OK && paused.len != 0 && atomic_load(l->options->stop) == 0) {
        rr_service_sleep(l, PAUSED_LOOK_MS);
        status = read_note(l, "pause", &paused, error);
    }
    return status == RR_OK ? rr_recovery_check_generation(l, error) : status;
}

static rr_status another_text(const rr_bound_contract *contract, rr_slice text, rr_error *error)
{
    return rr_fail(error, RR_CONFIG,
                   "contract %.*s is not the one that the stored cells were made under.\n--- stored:\n%.*s"
                   "--- this program's:\n%.*sIf the change is meant, start once with --accept-contracts.",
                   (int)contract->contract->name.len, contract->contract->name.data,
                   (int)(text.len < 400 ? text.len : 400), text.data,
                   (int)(contract->text.len < 400 ? contract->text.len : 400), contract->text.data);
}

/* The cells made under the text before may go by its retention: that is noted. */
static rr_status accept_change(const live *l, const rr_bound_contract *contract, rr_slice key, rr_slice before,
                               rr_eras *eras, rr_error *error)
{
    rr_contract was;

    if (!l->options->read_contract(before, &was)) {
        return rr_fail(error, RR_CONFIG,
                       "key %.*s: the text of this contract cannot be read, so nobody can tell how long "
                       "the stored cells are kept. Restore it, or rebuild.",
                       (int)key.len, key.data);
    }
    rr_eras_advance(eras, &was, contract->contract, l->options->now_us());
    return RR_OK;
}

/* *done: the note says so now. */
static rr_status write_note(live *l, const rr_bound_contract *contract, rr_slice key, rr_slice held,
                            const rr_eras *eras, bool *done, rr_error *error)
{
    rr_buf_clear(&l->text);
    rr_contract_note_write(&l->text, contract->text, eras);
    if (!rr_buf_ok(&l->text)) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    *done = rr_slice_equal(held, rr_buf_view(&l->text));
    return *done ? RR_OK
                 : l->options->store_ops->note_set(l->options->store, key, held, rr_buf_view(&l->text), 0, NULL, done,
                                                   error);
}

/* Two processes with different texts of one contract must notice. What this process knows of earlier retentions and what
 * the note says of them is joined, so that neither a lost note nor a change there and back loses any. */
static rr_status check_contract(live *l, const rr_bound_contract *contract, bool accept, rr_error *error)
{
    rr_slice key = own_key(l, "contract", contract->contract->name);
    rr_eras eras = contract->eras == NULL ? (rr_eras){0} : *contract->eras;
    rr_contract_note note = {0};
    bool done = false, same;
    rr_status status =
        rr_contract_note_load(l->options->store_ops, l->options->store, key, &l->tick_arena, &note, error);

    if (status != RR_OK) {
        return status;
    }
    same = note.held.len == 0 || rr_slice_equal(note.text, contract->text);
    if (!same && !accept) {
        return another_text(contract, note.text, error);
    }
    rr_eras_join(&eras, &note.eras);
    status = same ? RR_OK : accept_change(l, contract, key, note.text, &eras, error);
    status = status == RR_OK ? write_note(l, contract, key, note.held, &eras, &done, error) : status;
    if (status == RR_OK && done && contract->eras != NULL) {
        *contract->eras = eras;
    }
    return status != RR_OK || done ? status : check_contract(l, contract, false, error);
}

static void put_time(rr_buf *out, int64_t time_us)
{
    char text[RR_TIME_TEXT_MAX];

    rr_buf_char(out, '"');
    rr_buf_put(out, text, rr_time_print(time_us, text));
    rr_buf_char(out, '"');
}

static const char *state_of(const live *l)
{
    const char *state = atomic_load(&l->down) != 0 ? "degraded" : "ok";

    for (size_t k = 0; k < l->options->source_count; k++) {
        const rr_source_progress *reach = &l->reached[k];

        if (reach->halted || reach->away || reach->checkpoint.gap) {
            return "degraded";
        }
        state = reach->checkpoint.repairing ? "repairing" : state;
    }
    return state;
}

static rr_status put_status(live *l, const rr_contract *contract, rr_error *error)
{
    rr_slice key = own_key(l, "status", contract->name);
    rr_buf *out = &l->text;
    bool first = true;

    rr_buf_clear(out);
    rr_buf_format(out, "{\"state\":\"%s\",\"updated_at\":", state_of(l));
    put_time(out, l->options->now_us());
    rr_buf_text(out, ",\"sources\":[");
    for (size_t k = 0; k < l->options->source_count; k++) {
        if (l->reached[k].sequence == 0) {
            continue;
        }
        rr_buf_text(out, first ? "{\"name\":" : ",{\"name\":");
        rr_buf_json(out, l->options->sources[k].name);
        rr_buf_text(out, ",\"stream\":");
        rr_buf_json(out, l->options->sources[k].stream);
        rr_buf_text(out, ",\"through_sequence\":");
        rr_buf_u64(out, l->reached[k].sequence);
        rr_buf_text(out, ",\"through_time\":");
        put_time(out, l->reached[k].time_us);
        rr_buf_char(out, '}');
        first = false;
    }
    rr_buf_text(out, "]}");
    if (!rr_buf_ok(out)) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    return l->options->store_ops->note_put(l->options->store, key, rr_buf_view(out), STATUS_TTL_MS, error);
}

rr_status rr_recovery_check_contracts(live *l, bool accept, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < l->options->contract_count && status == RR_OK; k++) {
        status = check_contract(l, &l->options->contracts[k], accept, error);
    }
    return status;
}

/* ---- the checkpoint ---- */

static rr_slice checkpoint_key(live *l, size_t k)
{
    return own_key(l, "checkpoint", l->options->sources[k].name);
}

/* An alert that is about a source and not about a record. */
static rr_status raise_alert(live *l, rr_alert kind, size_t k, rr_slice text, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[k];
    rr_arena *arena = &l->tick_arena;
    rr_slice entry;
    rr_swap swap = {.answer = RR_SWAP_UNKNOWN};
    rr_status status;

    rr_service_log(l, RR_LOG_ERROR, "%s: source %.*s: %.*s", rr_alert_word(kind), (int)source->name.len,
                   source->name.data, (int)text.len, text.data);
    entry = rr_decision_write_notice(kind, source->name, source->stream, text, l->options->now_us(), &l->text, arena);
    swap.entries = &entry;
    swap.entry_count = 1;
    swap.log_key = rr_decision_log_key(l->options->prefix, NULL, &l->text, arena);
    if (entry.data == NULL || swap.log_key.data == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    status = l->options->store_ops->swap(l->options->store, &swap, 1, arena, error);
    if (status != RR_OK) {
        rr_recovery_suspect_store(l);
    }
    /* In the log it is told, also where replicas have not confirmed it: a checkpoint behind it does not get there first. */
    return swap.answer == RR_SWAP_WON ? RR_OK
           : status == RR_OK          ? rr_fail(error, RR_UNAVAILABLE, "%s", swap.error.text)
                                      : status;
}

static rr_status raise_format(live *l, rr_alert kind, size_t k, rr_error *error, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static rr_status raise_format(live *l, rr_alert kind, size_t k, rr_error *error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    int len;

    va_start(arguments, format);
    len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return raise_alert(l, kind, k,
                       (rr_slice){text, len < 0                     ? 0
                                        : (size_t)len < sizeof text ? (size_t)len
                                                                    : sizeof text - 1},
                       error);
}

static rr_status read_checkpoint(live *l, size_t k, rr_slice *held, rr_checkpoint *checkpoint, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[k];
    rr_slice key = checkpoint_key(l, k);
    rr_status status = l->options->store_ops->note_get(l->options->store, key, &l->tick_arena, held, error);

    *checkpoint = (rr_checkpoint){.stream = source->stream, .consumer = source->consumer};
    if (status != RR_OK || held->len == 0) {
        return status;
    }
    if (!rr_checkpoint_read(*held, &l->tick_arena, checkpoint)) {
        return rr_fail(error, RR_CONFIG, "key %.*s: not a checkpoint of this program", (int)key.len, key.data);
    }
    if (!rr_slice_equal(checkpoint->stream, source->stream) ||
        !rr_slice_equal(checkpoint->consumer, source->consumer)) {
        return rr_fail(error, RR_CONFIG,
                       "source %.*s: its checkpoint is of stream %.*s, consumer %.*s; another stream or consumer needs "
                       "another source name",
                       (int)source->name.len, source->name.data, (int)checkpoint->stream.len, checkpoint->stream.data,
                       (int)checkpoint->consumer.len, checkpoint->consumer.data);
    }
    return RR_OK;
}

/* *done: it still was `held`, in the same store. */
static rr_status write_checkpoint(live *l, size_t k, rr_slice held, const rr_checkpoint *checkpoint, bool *done,
                                  rr_error *error)
{
    rr_store_identity same;
    rr_slice key = checkpoint_key(l, k);

    *done = true;
    rr_buf_clear(&l->text);
    rr_checkpoint_write(&l->text, checkpoint);
    if (!rr_buf_ok(&l->text)) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    if (rr_slice_equal(held, rr_buf_view(&l->text))) {
        return RR_OK;
    }
    snprintf(same.incarnation, sizeof same.incarnation, "%s", checkpoint->incarnation);
    return l->options->store_ops->note_set(l->options->store, key, held, rr_buf_view(&l->text), 0, &same, done, error);
}

/* The source has lost its end or is another one: old acknowledgements would count for new records. */
static rr_status halt(live *l, size_t k, rr_checkpoint_finding finding, const rr_checkpoint *c,
                      const rr_source_info *info, rr_error *error)
{
    rr_source_progress *reach = &l->reached[k];
    rr_status status;

    reach->halted = true;
    status =
        finding == RR_CHECKPOINT_SOURCE_ROLLED_BACK
            ? raise_format(l, RR_ALERT_SOURCE_ROLLED_BACK, k, error,
                           "stream %.*s ends at sequence %" PRIu64 ", but results up to %" PRIu64
                           " are stored: it lost its end, and is stopped here. Restore it, or use a new source "
                           "name and a new consumer",
                           (int)c->stream.len, c->stream.data, info->last_sequence, c->floor)
            : raise_format(l, RR_ALERT_SOURCE_ROLLED_BACK, k, error,
                           "stream %.*s is not the one whose results are stored: it was made anew or replaced, and "
                           "is stopped here. Use a new source name and a new consumer for it",
                           (int)c->stream.len, c->stream.data);
    reach->untold = status != RR_OK;
    return status;
}

typedef struct digest_check {
    uint64_t digest;
    bool seen;
} digest_check;

static bool take_digest(void *context, const rr_delivery *delivery)
{
    digest_check *check = context;

    check->digest = rr_checkpoint_digest(delivery->payload);
    check->seen = true;
    return false;
}

/* At the start, and when it is doubted: the message at the floor must be the one that it was. */
static rr_status see_replaced(const live *l, size_t k, const rr_checkpoint *c, bool *replaced, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[k];
    digest_check check = {0};
    rr_status status;

    *replaced = false;
    if (c->digest_of == 0 || (l->reached[k].looked && !l->reached[k].doubted)) {
        return RR_OK;
    }
    status = source->ops->replay(source->source, c->digest_of, c->digest_of, take_digest, &check, error);
    *replaced = check.seen && check.digest != c->digest;
    return status;
}

static rr_status say_finding(live *l, size_t k, rr_checkpoint_finding finding, const rr_checkpoint *before,
                             const rr_checkpoint *now, rr_error *error)
{
    if (finding == RR_CHECKPOINT_STORE_CHANGED || finding == RR_CHECKPOINT_NEVER_WRITTEN) {
        rr_batch_invalidate(l->batch); /* also where it was emptied, and is still the same process */
        rr_service_log(l, RR_LOG_WARNING, "source %.*s: %s; reading sequences %" PRIu64 " to %" PRIu64 " again",
                       (int)l->options->sources[k].name.len, l->options->sources[k].name.data,
                       finding == RR_CHECKPOINT_STORE_CHANGED
                           ? "the store is another one than before"
                           : "the store has no checkpoint, but the consumer has delivered",
                       now->from, now->to);
    }
    if (finding == RR_CHECKPOINT_REBUILT) {
        rr_service_log(l, RR_LOG_INFO,
                       "source %.*s: reading sequences %" PRIu64 " to %" PRIu64
                       " again, which may have been delivered while the results were rebuilt",
                       (int)l->options->sources[k].name.len, l->options->sources[k].name.data, now->from, now->to);
    }
    if (now->gap && (!before->gap || before->gap_to != now->gap_to)) {
        return raise_format(l, RR_ALERT_UNREPAIRABLE_GAP, k, error,
                            "results of sequences %" PRIu64 " to %" PRIu64
                            " may be lost, and the stream no longer has them",
                            now->gap_from, now->gap_to);
    }
    return RR_OK;
}

static rr_status keep_checkpoint(live *l, size_t k, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[k];
    rr_source_progress *reach = &l->reached[k];
    rr_source_info info;
    rr_checkpoint before, now;
    rr_checkpoint_finding finding;
    rr_slice held = {NULL, 0};
    bool done = false, replaced = false, same = false;
    rr_status status = rr_recovery_identify_store(l, &same, error);

    status = status == RR_OK ? source->ops->info(source->source, &info, error) : status;
    status = status == RR_OK ? read_checkpoint(l, k, &held, &before, error) : status;
    if (status != RR_OK) {
        return status;
    }
    now = before;
    finding = rr_checkpoint_advance(&now, held.len != 0, &info, l->incarnation);
    l->reached[k].since_us = info.starts_at_us;
    if (finding != RR_CHECKPOINT_SOURCE_REMADE && held.len != 0) {
        status = see_replaced(l, k, &before, &replaced, error);
        if (status != RR_OK) {
            return status;
        }
        finding = replaced ? RR_CHECKPOINT_SOURCE_REMADE : finding;
    }
    if (finding == RR_CHECKPOINT_SOURCE_REMADE || finding == RR_CHECKPOINT_SOURCE_ROLLED_BACK) {
        return halt(l, k, finding, &before, &info, error);
    }
    if (reach->sequence == now.floor && now.floor != 0) {
        now.digest_of = now.floor;
        now.digest = reach->digest;
    }
    reach->doubted = false;
    reach->looked = true;
    status = say_finding(l, k, finding, &before, &now, error);
    if (status == RR_OK) {
        status = write_checkpoint(l, k, held, &now, &done, error);
    }
    if (status == RR_OK && done) {
        reach->checkpoint = now;
    }
    return status;
}

/* True if a rest of at most a tick is over, or the clock was set back. */
static bool is_over(const live *l, int64_t until_us)
{
    int64_t left_us = until_us - l->options->now_us();

    return left_us <= 0 || left_us > TICK_US;
}

/* ---- repair ---- */

typedef struct slice_read {
    live *l;
    size_t source;
    size_t count;
    uint64_t acked;   /* what is applied above this was not lost, but under way */
    int64_t since_us; /* what was stored before was never meant for us */
    uint64_t lost;
    rr_status status;
    rr_error *error;
} slice_read;

/* Takes what was read so far through the ordinary path. */
static void decide_slice(slice_read *read)
{
    live *l = read->l;

    rr_inflight *slot = &l->slots[0];

    read->status = rr_batch_begin(l->repair_batch, slot->items, read->count, read->error);
    if (read->status == RR_OK) {
        read->status = rr_batch_step(l->repair_batch, l->options->now_us(), read->error);
    }
    for (size_t k = 0; k < read->count && read->status == RR_OK; k++) {
        if (slot->items[k].stuck) {
            /* Nobody else would bring it back: the slice is read again until it can be stored. */
            read->status = rr_fail(read->error, RR_UNAVAILABLE, "a cell cannot be stored (see above)");
            break;
        }
        read->lost += slot->items[k].settled && slot->items[k].outcome.verdict == RR_VERDICT_APPLIED &&
                      slot->items[k].record->stream_sequence <= read->acked;
    }
    read->count = 0;
    rr_arena_reset(&slot->arena);
}

/* A session that is gone for itself may be summed by one around it that is not: then its record is wanted. */
static int64_t clock_of(const live *l, size_t source, const rr_delivery *delivery)
{
    const rr_bound_source *from = &l->options->sources[source];
    const rr_contract *contract = from->route(from->context, delivery->subject);

    return contract != NULL && contract->window_kind == RR_WINDOW_SESSION ? INT64_MIN : l->options->now_us();
}

static bool read_again(void *context, const rr_delivery *delivery)
{
    slice_read *read = context;
    live *l = read->l;
    rr_inflight *slot = &l->slots[0]; /* no batch is under way */

    if (delivery->stored_at_us < read->since_us) {
        return true;
    }
    if (!rr_admit_delivery(&l->options->sources[read->source], delivery, clock_of(l, read->source, delivery),
                           &slot->arena, &slot->items[read->count], &slot->records[read->count])) {
        read->status = rr_fail(read->error, RR_MEMORY, "memory ran out");
        return false;
    }
    if (++read->count == l->room) {
        decide_slice(read);
    }
    return read->status == RR_OK && atomic_load(l->options->stop) == 0;
}

static rr_status end_repair(live *l, size_t k, const rr_checkpoint *c, rr_error *error)
{
    rr_service_log(l, RR_LOG_INFO, "source %.*s: sequences %" PRIu64 " to %" PRIu64 " were read again",
                   (int)l->options->sources[k].name.len, l->options->sources[k].name.data, c->first, c->to);
    if (c->found_lost == 0 && (!c->uncertain || c->acked == 0)) {
        return RR_OK;
    }
    return raise_format(l, RR_ALERT_SINK_ROLLED_BACK, k, error,
                        "the store had lost %s%" PRIu64 " results of sequences %" PRIu64 " to %" PRIu64
                        "; they were read again and are back",
                        c->uncertain ? "at least " : "", c->found_lost, c->first, c->to);
}

/* Says in the checkpoint that the slice is begun: what its reader brings back and cannot count any more, because it
 * dies or is cut off, is not passed over in silence. *mine: nobody else changed the checkpoint. */
static rr_status begin_slice(live *l, size_t k, rr_slice *held, rr_checkpoint *c, uint64_t upto, bool *mine,
                             rr_error *error)
{
    rr_status status;

    c->uncertain |= c->begun >= c->from;
    c->begun = upto;
    status = write_checkpoint(l, k, *held, c, mine, error);
    *held = rr_arena_copy(&l->tick_arena, rr_buf_view(&l->text));
    return status;
}

static rr_status read_slice(live *l, size_t k, const rr_checkpoint *c, uint64_t upto, uint64_t *lost, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[k];
    slice_read read = {.l = l, .source = k, .acked = c->acked, .since_us = l->reached[k].since_us, .error = error};
    rr_status status = source->ops->replay(source->source, c->from, upto, read_again, &read, error);

    if (status == RR_OK && read.status == RR_OK && read.count != 0) {
        decide_slice(&read);
    }
    *lost = read.lost;
    return status == RR_OK ? read.status : status;
}

static rr_status repair_slice(live *l, size_t k, rr_error *error)
{
    rr_checkpoint c;
    rr_slice held = {NULL, 0};
    uint64_t upto, lost = 0;
    bool mine = false;
    rr_status status;

    rr_arena_reset(&l->tick_arena);
    rr_arena_reset(&l->slots[0].arena);
    status = read_checkpoint(l, k, &held, &c, error);
    l->reached[k].checkpoint = c;
    if (status != RR_OK || !c.repairing) {
        return status;
    }
    upto = c.to - c.from < REPAIR_SLICE ? c.to : c.from + REPAIR_SLICE - 1;
    /* As long as replicas do not confirm nothing counts as read, and each try would tell its alerts again. */
    status = l->options->store_ops->confirm(l->options->store, error);
    status = status == RR_OK ? begin_slice(l, k, &held, &c, upto, &mine, error) : status;
    if (status == RR_OK && mine) {
        status = read_slice(l, k, &c, upto, &lost, error);
    }
    if (status != RR_OK || !mine || atomic_load(l->options->stop) != 0) {
        return status;
    }
    c.from = upto + 1;
    c.begun = 0;
    c.found_lost += lost;
    if (c.from > c.to) {
        status = end_repair(l, k, &c, error);
        c.repairing = false;
    }
    if (status == RR_OK) {
        status = write_checkpoint(l, k, held, &c, &mine, error);
    }
    if (status == RR_OK && mine) {
        l->reached[k].checkpoint = c;
    }
    return status;
}

rr_status rr_recovery_repair(live *l, bool *busy, rr_error *error)
{
    rr_status status = RR_OK;

    *busy = false;
    for (size_t k = 0; k < l->options->source_count && status == RR_OK && !l->options->observe; k++) {
        rr_source_progress *reach = &l->reached[k];

        if (!reach->halted && reach->checkpoint.repairing && is_over(l, reach->repair_after_us)) {
            status = repair_slice(l, k, error);
            reach->repair_after_us = status == RR_OK ? 0 : l->options->now_us() + TICK_US;
            *busy |= l->reached[k].checkpoint.repairing;
        }
    }
    if (status != RR_OK) {
        rr_recovery_suspect_store(l);
    }
    return status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER ? RR_OK : status;
}

/* ---- each second ---- */

static rr_status all_halted(const live *l, rr_error *error)
{
    for (size_t k = 0; k < l->options->source_count; k++) {
        if (!l->reached[k].halted) {
            return RR_OK;
        }
    }
    return rr_fail(error, RR_CONFIG, "every source was rolled back or made anew: there is nothing to read (see above)");
}

void rr_recovery_show_status(live *l)
{
    rr_status status = RR_OK;

    rr_arena_reset(&l->tick_arena);
    for (size_t k = 0; k < l->options->contract_count && status == RR_OK && !l->options->observe; k++) {
        status = put_status(l, l->options->contracts[k].contract, NULL);
    }
}

bool rr_recovery_tick_due(const live *l)
{
    return is_over(l, l->next_tick_us);
}

rr_status rr_recovery_tick(live *l, rr_error *error)
{
    rr_status status;

    if (l->options->observe || !rr_recovery_tick_due(l)) {
        return RR_OK;
    }
    l->next_tick_us = l->options->now_us() + TICK_US;
    rr_arena_reset(&l->tick_arena);
    status = wait_for_switch(l, error);
    if (status == RR_OK && atomic_load(&l->moved)) {
        return RR_OK; /* what is below our prefix is nobody's any more */
    }
    status = status == RR_OK ? rr_recovery_check_contracts(l, false, error) : status;
    for (size_t k = 0; k < l->options->source_count && status == RR_OK; k++) {
        status = l->reached[k].halted && !l->reached[k].untold ? RR_OK : keep_checkpoint(l, k, error);
        l->reached[k].away = status == RR_UNAVAILABLE;
        if (status != RR_OK) {
            rr_recovery_suspect_store(l);
        }
        /* The queue alone may be away: readers are told. */
        status = l->reached[k].away ? RR_OK : status;
    }
    for (size_t k = 0; k < l->options->contract_count && status == RR_OK; k++) {
        status = put_status(l, l->options->contracts[k].contract, error);
    }
    if (status != RR_OK) {
        rr_recovery_suspect_store(l);
    }
    return status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER ? RR_OK
           : status == RR_OK                                          ? all_halted(l, error)
                                                                      : status;
}
