/* A generation beside the one in force, and the switch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "admit.h"
#include "checkpoint.h"
#include "decision.h"
#include "key.h"

enum {
    BATCH = 1024,
    LOG_PAGE = 500,
    LOCK_MS = 10000, /* a rebuild that died is out of the way after that */
    LOCK_RENEW_MS = 2000,
    LOCK_LOOK_MS = 250,
    LITTLE = 2000,           /* records that are read while daemons pause; more are read before */
    ROUNDS = 50,             /* where more comes all the time than we read */
    PAUSE_MS = 10000,        /* life of the note */
    PAUSE_NOTICED_MS = 2500, /* daemons look each second, and end the batch that they are at */
    READERS_MS = 5000        /* a reader who asked for the generation has so long to read below it */
};

typedef struct reach {
    uint64_t sequence, digest;
} reach;

typedef struct rebuild {
    const rr_rebuild_options *options;
    rr_rebuild_totals *totals;
    rr_error *error;
    rr_arena arena; /* what lives as long as this does */
    rr_arena page, records;
    rr_slice old, target;
    uint64_t old_number, number, highest;
    rr_slice *contracts, *sources; /* names as they stand in keys */
    /* reading */
    rr_batch *batch;
    rr_item items[BATCH];
    rr_record decoded[BATCH];
    size_t count, source;
    size_t taken; /* records in the arena, those without effect too */
    reach *reached;
    uint64_t news; /* records of this round */
    rr_status status;
    /* the note of who rebuilds */
    rr_tokens tokens;
    char token[RR_TOKEN_LEN];
    rr_slice lock_key, lock;
    pthread_t renewer;
    atomic_bool over, lost;
} rebuild;

static void log_line(const rebuild *r, rr_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void log_line(const rebuild *r, rr_log_level level, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->options->log(level, text);
}

static rr_status no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out during the rebuild");
}

static rr_slice kept(rr_buf *text, rr_arena *arena)
{
    rr_slice copy = rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};

    rr_buf_fini(text);
    return copy;
}

static rr_slice base_key(rebuild *r, const char *kind)
{
    rr_buf text = {0};

    rr_generation_key(&text, r->options->base_prefix, kind);
    return kept(&text, &r->arena);
}

static rr_slice prefix_of(rebuild *r, uint64_t number)
{
    rr_buf text = {0};

    rr_generation_prefix(&text, r->options->base_prefix, number);
    return kept(&text, &r->arena);
}

/* ---- whose keys are these? ---- */

static rr_slice escaped(rr_slice name, rr_arena *arena)
{
    rr_buf text = {0};

    rr_key_escape(&text, name);
    return kept(&text, arena);
}

static bool name_all(rebuild *r)
{
    const rr_rebuild_options *o = r->options;
    bool good = true;

    r->contracts = rr_arena_take(&r->arena, (o->contract_count + 1) * sizeof *r->contracts);
    r->sources = rr_arena_take(&r->arena, (o->source_count + 1) * sizeof *r->sources);
    for (size_t k = 0; k < o->contract_count && r->contracts != NULL; k++) {
        r->contracts[k] = escaped(o->contracts[k].contract->name, &r->arena);
        good = good && r->contracts[k].data != NULL;
    }
    for (size_t k = 0; k < o->source_count && r->sources != NULL; k++) {
        r->sources[k] = escaped(o->sources[k].name, &r->arena);
        good = good && r->sources[k].data != NULL;
    }
    return good && r->contracts != NULL && r->sources != NULL;
}

static bool is_among(const rr_slice *names, size_t count, rr_slice name)
{
    for (size_t k = 0; k < count; k++) {
        if (rr_slice_equal(names[k], name)) {
            return true;
        }
    }
    return false;
}

/* `:<kind>:{<name>}`, or with an empty kind `:{<name>:`, which is a cell's. Names hold neither a colon nor a brace. */
static bool take_name(rr_slice rest, rr_slice *kind, rr_slice *name)
{
    const char *open = memchr(rest.data, '{', rest.len), *end = rest.data + rest.len, *close;

    if (open == NULL || rest.data[0] != ':') {
        return false;
    }
    *kind = open == rest.data + 1 ? (rr_slice){open, 0} : (rr_slice){rest.data + 1, (size_t)(open - rest.data) - 2};
    close = memchr(open, kind->len == 0 ? ':' : '}', (size_t)(end - open));
    *name = (rr_slice){open + 1, close == NULL ? 0 : (size_t)(close - open) - 1};
    return close != NULL && (kind->len == 0 || (close + 1 == end && open[-1] == ':'));
}

/* Only what this configuration's contracts and sources are named in. */
static bool is_ours(const rebuild *r, rr_slice rest)
{
    static const char *const kinds[] = {"", "status", "open", "log", "contract"};
    size_t contracts = r->options->contract_count;
    rr_slice kind, name;

    if (!take_name(rest, &kind, &name)) {
        return false;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (rr_slice_equal(kind, rr_slice_of(kinds[k]))) {
            return is_among(r->contracts, contracts, name) || (name.len == 0 && strcmp(kinds[k], "log") == 0);
        }
    }
    return rr_slice_equal(kind, RR_SLICE("checkpoint")) && is_among(r->sources, r->options->source_count, name);
}

/* All of ours but what is in force. */
static bool is_garbage(void *context, rr_slice key)
{
    rebuild *r = context;
    uint64_t number;
    rr_slice rest;

    if (!rr_generation_of_key(r->options->base_prefix, key, &number, &rest)) {
        return false;
    }
    r->highest = number > r->highest ? number : r->highest;
    return number != r->old_number && is_ours(r, rest);
}

static rr_status sweep(rebuild *r)
{
    return r->options->store_ops->sweep(r->options->store, r->options->base_prefix, is_garbage, r, &r->totals->removed,
                                        r->error);
}

typedef struct foreign {
    const rebuild *r;
    char kind[16], name[128];
} foreign;

static bool find_foreign(void *context, rr_slice key)
{
    foreign *f = context;
    uint64_t number;
    rr_slice rest, kind, name;

    if (rr_generation_of_key(f->r->options->base_prefix, key, &number, &rest) && take_name(rest, &kind, &name) &&
        !is_ours(f->r, rest)) {
        snprintf(f->kind, sizeof f->kind, "%.*s", (int)kind.len, kind.data);
        snprintf(f->name, sizeof f->name, "%.*s", (int)name.len, name.data);
        return false;
    }
    return true;
}

/* Contracts and sources that this configuration does not know would be cut off by the switch. */
static rr_status check_alone(rebuild *r)
{
    static const char *const kinds[] = {"contract", "checkpoint"};
    rr_status status = RR_OK;

    for (size_t k = 0; k < 2 && status == RR_OK; k++) {
        foreign f = {.r = r};
        rr_buf start = {0};

        rr_buf_slice(&start, r->old);
        rr_buf_format(&start, ":%s:{", kinds[k]);
        status = rr_buf_ok(&start)
                     ? r->options->store_ops->scan(r->options->store, rr_buf_view(&start), find_foreign, &f, r->error)
                     : no_memory(r->error);
        rr_buf_fini(&start);
        if (status == RR_OK && f.name[0] != '\0') {
            status =
                rr_fail(r->error, RR_CONFIG,
                        "%s %s also keeps results below prefix %.*s, and is not in this configuration: the switch "
                        "would cut it off. Add it to the configuration; or, if nobody uses it any more, remove the "
                        "key %.*s:%s:{%s}",
                        strcmp(f.kind, "contract") == 0 ? "contract" : "source", f.name, (int)r->old.len, r->old.data,
                        (int)r->old.len, r->old.data, f.kind, f.name);
        }
    }
    return status;
}

/* ---- one rebuild at a time ---- */

static rr_status note_lock(rebuild *r, rr_store *store, rr_slice expected, rr_slice value, bool *done, rr_error *error)
{
    return r->options->store_ops->note_set(store, r->lock_key, expected, value, LOCK_MS, NULL, done, error);
}

/* Its end is a token, so that the switch can be guarded by it. */
static bool write_lock(rebuild *r)
{
    char host[64] = "";
    rr_buf text = {0};

    gethostname(host, sizeof host - 1);
    rr_tokens_next(&r->tokens, (rr_slice){NULL, 0}, r->token);
    rr_buf_text(&text, "{\"host\":");
    rr_buf_json(&text, rr_slice_of(host));
    rr_buf_format(&text, ",\"pid\":%ld,\"token\":\"%.*s\"}", (long)getpid(), RR_TOKEN_LEN, r->token);
    r->lock = kept(&text, &r->arena);
    return r->lock.data != NULL;
}

static void *renew(void *context)
{
    rebuild *r = context;
    int since_ms = 0;

    while (!atomic_load(&r->over) && !atomic_load(&r->lost)) {
        bool done = true;

        r->options->pause_ms(LOCK_LOOK_MS);
        since_ms += LOCK_LOOK_MS;
        if (since_ms >= LOCK_RENEW_MS) {
            since_ms = 0;
            if (note_lock(r, r->options->lock_store, r->lock, r->lock, &done, NULL) == RR_OK && !done) {
                atomic_store(&r->lost, true);
            }
        }
    }
    return NULL;
}

/* A note of one that died goes by itself; one that is at work renews it. */
static rr_status take_lock(rebuild *r)
{
    bool done = false, told = false;
    rr_slice held = {NULL, 0};
    rr_status status = write_lock(r) ? RR_OK : no_memory(r->error);

    for (int waited = 0; status == RR_OK && waited <= LOCK_MS + 2 * LOCK_LOOK_MS; waited += LOCK_LOOK_MS) {
        status = note_lock(r, r->options->store, (rr_slice){NULL, 0}, r->lock, &done, r->error);
        if (status != RR_OK || done) {
            break;
        }
        if (!told) {
            log_line(r, RR_LOG_INFO, "waiting until it is sure that no other rebuild is at work");
            told = true;
        }
        r->options->pause_ms(LOCK_LOOK_MS);
    }
    if (status == RR_OK && !done) {
        status = r->options->store_ops->note_get(r->options->store, r->lock_key, &r->page, &held, r->error);
        status = status == RR_OK ? rr_fail(r->error, RR_UNAVAILABLE, "another rebuild is at work: %.*s", (int)held.len,
                                           held.len == 0 ? "" : held.data)
                                 : status;
    }
    if (status == RR_OK && pthread_create(&r->renewer, NULL, renew, r) != 0) {
        status = no_memory(r->error);
        note_lock(r, r->options->store, r->lock, (rr_slice){NULL, 0}, &done, NULL);
    }
    return status;
}

static void let_go_of_lock(rebuild *r)
{
    rr_error ignored = {0};
    bool done;

    atomic_store(&r->over, true);
    pthread_join(r->renewer, NULL);
    note_lock(r, r->options->store, r->lock, (rr_slice){NULL, 0}, &done, &ignored);
}

static rr_status still_ours(rebuild *r)
{
    return atomic_load(&r->lost)
               ? rr_fail(r->error, RR_UNAVAILABLE, "another rebuild took over, after this one had stood still for long")
               : RR_OK;
}

/* ---- reading the streams ---- */

/* A stream that lost its beginning cannot give back what was made of it. */
static rr_status check_beginnings(rebuild *r)
{
    for (size_t k = 0; k < r->options->source_count; k++) {
        const rr_bound_source *source = &r->options->sources[k];
        rr_source_info info;
        rr_status status = source->ops->info(source->source, &info, r->error);

        if (status != RR_OK) {
            return status;
        }
        if (info.first_sequence <= 1) {
            continue;
        }
        if (!r->options->from_what_is_there) {
            return rr_fail(r->error, RR_INPUT,
                           "source %.*s: stream %.*s begins at sequence %" PRIu64
                           ": what was made of sequences 1 to %" PRIu64
                           " cannot be made again and would be gone. If that is meant, say --from-what-is-there",
                           (int)source->name.len, source->name.data, (int)source->stream.len, source->stream.data,
                           info.first_sequence, info.first_sequence - 1);
        }
        log_line(r, RR_LOG_WARNING,
                 "source %.*s: what was made of sequences 1 to %" PRIu64 " of stream %.*s will be gone",
                 (int)source->name.len, source->name.data, info.first_sequence - 1, (int)source->stream.len,
                 source->stream.data);
    }
    return RR_OK;
}

static void report_stuck(void *context, const rr_error *error)
{
    rebuild *r = context;

    *r->error = *error;
}

/* No second dead letter: they had theirs, unless the contract has changed. So the first one is shown. */
static void note_refused(rebuild *r, const rr_item *item)
{
    if (r->totals->refused++ == 0) {
        log_line(r, RR_LOG_WARNING,
                 "sequence %" PRIu64 " has no effect under this contract (others are counted): %s: %.*s",
                 item->record->stream_sequence, rr_reason_word(item->outcome.reason), (int)item->why.len,
                 item->why.len == 0 ? "" : item->why.data);
    }
}

static rr_status check_settled(rebuild *r)
{
    for (size_t k = 0; k < r->count; k++) {
        if (!r->items[k].settled) {
            r->error->status = RR_REFUSED_BY_SERVER; /* the text is the complaint's */
            return rr_error_within(r->error, "sequence %" PRIu64, r->decoded[k].stream_sequence);
        }
        if (rr_verdict_settle(r->items[k].outcome.verdict) == RR_SETTLE_DEAD_LETTER) {
            note_refused(r, &r->items[k]);
        }
    }
    return RR_OK;
}

static void decide(rebuild *r)
{
    r->status = still_ours(r);
    if (r->status == RR_OK && r->count != 0) {
        r->status = rr_batch_begin(r->batch, r->items, r->count, r->error);
        r->status = r->status == RR_OK ? rr_batch_step(r->batch, r->options->now_us(), r->error) : r->status;
        r->status = r->status == RR_OK ? check_settled(r) : r->status;
    }
    r->totals->records += r->count;
    r->count = r->taken = 0;
    rr_arena_reset(&r->records);
}

static bool take(void *context, const rr_delivery *delivery)
{
    rebuild *r = context;
    const rr_bound_source *source = &r->options->sources[r->source];
    const rr_contract *contract = source->route(source->context, delivery->subject);
    /* A session that is gone may lie in one that is not, which then sums it. Another cell that is gone stays so. */
    bool whole = contract != NULL && contract->window_kind == RR_WINDOW_SESSION;

    r->reached[r->source] = (reach){delivery->stream_sequence, rr_checkpoint_digest(delivery->payload)};
    r->news++;
    if (contract == NULL) {
        return true;
    }
    if (!rr_admit_payload(contract, source->stream, delivery, whole ? INT64_MIN : r->options->now_us(), &r->records,
                          &r->items[r->count], &r->decoded[r->count])) {
        r->status = no_memory(r->error);
        return false;
    }
    if (r->items[r->count].refused) {
        note_refused(r, &r->items[r->count]);
    } else {
        r->count++;
    }
    if (++r->taken == BATCH) {
        decide(r);
    }
    return r->status == RR_OK;
}

/* One round: all there is in every stream. */
static rr_status read_on(rebuild *r)
{
    rr_status status = RR_OK;

    r->news = 0;
    for (r->source = 0; r->source < r->options->source_count && status == RR_OK; r->source++) {
        const rr_bound_source *source = &r->options->sources[r->source];

        status = source->ops->replay(source->source, r->reached[r->source].sequence + 1, 0, take, r, r->error);
        if (status == RR_OK && r->status == RR_OK) {
            decide(r);
        }
        status = status == RR_OK ? r->status : status;
    }
    return status;
}

/* Rounds, until one brings no more than `little`. */
static rr_status catch_up(rebuild *r, uint64_t little)
{
    rr_status status = RR_OK;

    r->news = little + 1;
    for (int round = 0; round < ROUNDS && r->news > little && status == RR_OK; round++) {
        status = read_on(r);
    }
    return status;
}

static rr_status verify(rebuild *r)
{
    const rr_rebuild_options *o = r->options;
    uint64_t *upto = rr_arena_take(&r->arena, (o->source_count + 1) * sizeof *upto);
    rr_status status = upto == NULL ? no_memory(r->error) : RR_OK;

    for (size_t k = 0; k < o->source_count && upto != NULL; k++) {
        upto[k] = r->reached[k].sequence;
    }
    for (size_t k = 0; k < o->contract_count && status == RR_OK; k++) {
        rr_verify_options options = {.contract = o->contracts[k].contract,
                                     .store_ops = o->store_ops,
                                     .store = o->store,
                                     .memory_ops = o->memory_ops,
                                     .prefix = r->target,
                                     .sources = o->sources,
                                     .source_count = o->source_count,
                                     .upto = upto,
                                     .looks = 1,
                                     .now_us = o->now_us,
                                     .pause = o->pause_ms,
                                     .report = o->report,
                                     .context = o->context};
        rr_verify_totals totals;

        status = rr_verify_run(&options, &totals, r->error);
        if (status == RR_OK) {
            r->totals->equal += totals.equal;
            r->totals->different += totals.different;
            r->totals->not_verifiable += totals.not_verifiable;
        }
    }
    return status;
}

/* ---- beside the cells ---- */

/* The target is new: who finds something there is not alone. */
static rr_status put_new(rebuild *r, const char *kind, rr_slice name, rr_slice value)
{
    rr_buf text = {0};
    rr_slice key;
    bool done = false;
    rr_status status;

    rr_arena_reset(&r->page);
    key = rr_engine_key(r->target, kind, name, &text, &r->page);
    status = key.data == NULL ? no_memory(r->error)
                              : r->options->store_ops->note_set(r->options->store, key, (rr_slice){NULL, 0}, value, 0,
                                                                NULL, &done, r->error);
    if (status == RR_OK && !done) {
        status = rr_fail(r->error, RR_UNAVAILABLE, "key %.*s is there already: another rebuild is at work",
                         (int)key.len, key.data);
    }
    rr_buf_fini(&text);
    return status;
}

static rr_status put_contracts(rebuild *r)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < r->options->contract_count && status == RR_OK; k++) {
        status = put_new(r, "contract", r->options->contracts[k].contract->name, r->options->contracts[k].text);
    }
    return status;
}

/* Without an incarnation: what was delivered beyond it until the switch is read again by who starts first. */
static rr_status put_checkpoints(rebuild *r)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < r->options->source_count && status == RR_OK; k++) {
        const rr_bound_source *source = &r->options->sources[k];
        rr_checkpoint c = {.stream = source->stream,
                           .consumer = source->consumer,
                           .floor = r->reached[k].sequence,
                           .digest_of = r->reached[k].sequence,
                           .digest = r->reached[k].digest};
        rr_source_info info;
        rr_buf text = {0};

        status = source->ops->info(source->source, &info, r->error);
        c.created_at_us = info.created_at_us;
        rr_checkpoint_write(&text, &c);
        if (status == RR_OK) {
            status =
                rr_buf_ok(&text) ? put_new(r, "checkpoint", source->name, rr_buf_view(&text)) : no_memory(r->error);
        }
        rr_buf_fini(&text);
    }
    return status;
}

/* ---- the switch ---- */

static rr_status put_pause(rebuild *r, rr_slice value, rr_error *error)
{
    rr_slice key = base_key(r, "pause");

    return key.data == NULL ? no_memory(error)
                            : r->options->store_ops->note_put(r->options->store, key, value, PAUSE_MS, error);
}

/* One call: while the note of who rebuilds is ours, the generation is the new one. */
static rr_status set_generation(rebuild *r)
{
    rr_side side = {.key = base_key(r, "generation"), .value = r->target};
    rr_swap swap = {
        .key = r->lock_key, .token = {r->token, RR_TOKEN_LEN}, .partless = true, .sides = &side, .side_count = 1};
    rr_slice now = {NULL, 0};
    uint64_t number;
    rr_status status = side.key.data == NULL
                           ? no_memory(r->error)
                           : r->options->store_ops->swap(r->options->store, &swap, 1, &r->arena, r->error);

    if (status == RR_OK && swap.answer == RR_SWAP_WON) {
        return RR_OK;
    }
    if (status == RR_OK && swap.answer == RR_SWAP_FAILED) {
        *r->error = swap.error;
        return r->error->status;
    }
    if (status != RR_OK || swap.answer == RR_SWAP_UNKNOWN) {
        rr_error again = {0};
        rr_status looked = rr_generation_read(r->options->store_ops, r->options->store, r->options->base_prefix,
                                              &r->arena, &now, &number, &again);

        return looked == RR_OK && number == r->number ? RR_OK
               : status != RR_OK                      ? status
                                 : rr_fail(r->error, RR_UNAVAILABLE, "the switch was not answered");
    }
    return rr_fail(r->error, RR_UNAVAILABLE, "another rebuild took over before the switch");
}

/* Daemons that run have noticed when the rest is read, so all that a reader saw is in the new generation. */
static rr_status switch_over(rebuild *r)
{
    rr_error ignored = {0};
    rr_status status = put_pause(r, r->target, r->error);

    if (status == RR_OK) {
        r->options->pause_ms(PAUSE_NOTICED_MS);
        status = catch_up(r, 0);
    }
    status = status == RR_OK ? check_beginnings(r) : status;
    status = status == RR_OK ? put_checkpoints(r) : status;
    status = status == RR_OK ? set_generation(r) : status;
    r->totals->switched = status == RR_OK;
    put_pause(r, (rr_slice){NULL, 0}, &ignored);
    return status;
}

/* ---- dropping the old one ---- */

/* Alerts that nobody has handed out yet go on with the new generation. One that is being handed out at this moment may
 * come twice, with the same id. */
static rr_status move_log(rebuild *r, const rr_contract *contract, const char *drainer)
{
    const rr_store_ops *ops = r->options->store_ops;
    rr_status status = RR_OK;
    size_t count = 1;

    while (status == RR_OK && count != 0) {
        rr_buf text = {0};
        rr_swap swap = {0};
        rr_slice from, *entries, *ids;
        rr_log_entry *found = NULL;

        rr_arena_reset(&r->page);
        from = rr_decision_log_key(r->old, contract, &text, &r->page);
        swap.log_key = rr_decision_log_key(r->target, contract, &text, &r->page);
        rr_buf_fini(&text);
        entries = rr_arena_take(&r->page, LOG_PAGE * sizeof *entries);
        ids = rr_arena_take(&r->page, LOG_PAGE * sizeof *ids);
        if (from.data == NULL || swap.log_key.data == NULL || entries == NULL || ids == NULL) {
            return no_memory(r->error);
        }
        status = ops->log_read(r->options->store, from, drainer, 0, LOG_PAGE, &r->page, &found, &count, r->error);
        for (size_t k = 0; k < count && status == RR_OK; k++) {
            ids[k] = found[k].id;
            if (found[k].bytes.len != 0) {
                entries[swap.entry_count++] = found[k].bytes;
            }
        }
        swap.entries = entries;
        if (status == RR_OK && swap.entry_count != 0) {
            status = ops->swap(r->options->store, &swap, 1, &r->page, r->error);
            if (status == RR_OK && swap.answer != RR_SWAP_WON) {
                *r->error = swap.error;
                status = rr_fail(r->error, RR_UNAVAILABLE, "alerts of the old generation could not be moved");
            }
        }
        if (status == RR_OK && count != 0) {
            status = ops->log_done(r->options->store, from, ids, count, r->error);
        }
    }
    return status;
}

static rr_status move_logs(rebuild *r)
{
    char drainer[64];
    rr_status status;

    snprintf(drainer, sizeof drainer, "rebuild-%ld", (long)getpid());
    status = move_log(r, NULL, drainer);
    for (size_t k = 0; k < r->options->contract_count && status == RR_OK; k++) {
        status = move_log(r, r->options->contracts[k].contract, drainer);
    }
    return status;
}

static rr_status drop_old(rebuild *r)
{
    rr_status status = move_logs(r);

    r->old_number = r->number; /* what is in force now */
    status = status == RR_OK ? sweep(r) : status;
    return status == RR_OK
               ? RR_OK
               : rr_error_within(r->error,
                                 "readers were switched over; remove the rest with `reconciler rebuild --drop-old`");
}

/* ---- in order ---- */

static rr_status build(rebuild *r)
{
    rr_batch_options batch = {.prefix = r->target,
                              .list_open = true,
                              .expire = true,
                              .forget = true,
                              .report_stuck = report_stuck,
                              .context = r};
    rr_status status;

    r->batch = rr_batch_new(r->options->store_ops, r->options->store, &batch);
    status = r->batch == NULL ? no_memory(r->error) : put_contracts(r);
    status = status == RR_OK ? catch_up(r, LITTLE) : status;
    if (status == RR_OK) {
        log_line(r, RR_LOG_INFO, "%" PRIu64 " records read into prefix %.*s; verifying", r->totals->records,
                 (int)r->target.len, r->target.data);
        status = verify(r);
    }
    if (status != RR_OK || r->totals->different != 0) {
        return status;
    }
    log_line(r, RR_LOG_INFO, "%" PRIu64 " cells are as the streams say; switching readers over", r->totals->equal);
    status = catch_up(r, LITTLE);
    status = status == RR_OK ? switch_over(r) : status;
    if (status == RR_OK && !r->options->keep_old) {
        log_line(r, RR_LOG_INFO, "prefix %.*s is in force; removing the old one", (int)r->target.len, r->target.data);
        r->options->pause_ms(READERS_MS);
        status = drop_old(r);
    }
    return status;
}

static rr_status choose_target(rebuild *r)
{
    r->number = r->highest + 1;
    r->target = prefix_of(r, r->number);
    if (r->target.data == NULL) {
        return no_memory(r->error);
    }
    snprintf(r->totals->after, sizeof r->totals->after, "%.*s", (int)r->target.len, r->target.data);
    return RR_OK;
}

static rr_status look(rebuild *r)
{
    rr_status status = rr_generation_read(r->options->store_ops, r->options->store, r->options->base_prefix, &r->arena,
                                          &r->old, &r->old_number, r->error);

    r->highest = r->old_number;
    if (status == RR_OK) {
        snprintf(r->totals->before, sizeof r->totals->before, "%.*s", (int)r->old.len, r->old.data);
        snprintf(r->totals->after, sizeof r->totals->after, "%s", r->totals->before);
    }
    if (status != RR_OK || r->options->drop_only) {
        return status;
    }
    status = check_beginnings(r);
    return status == RR_OK ? check_alone(r) : status;
}

static rr_status work(rebuild *r)
{
    rr_status status = look(r); /* again: another one may have ended meanwhile */

    status = status == RR_OK ? sweep(r) : status;
    if (status != RR_OK || r->options->drop_only) {
        return status;
    }
    status = choose_target(r);
    return status == RR_OK ? build(r) : status;
}

static rr_status prepare(rebuild *r)
{
    if (r->options->store_ops->sweep == NULL) {
        return rr_fail(r->error, RR_CONFIG, "this store cannot remove a generation");
    }
    r->reached = rr_arena_zero(&r->arena, (r->options->source_count + 1) * sizeof *r->reached);
    r->lock_key = base_key(r, "rebuild");
    return r->reached == NULL || r->lock_key.data == NULL || !name_all(r) || !rr_tokens_init(&r->tokens)
               ? no_memory(r->error)
               : RR_OK;
}

rr_status rr_rebuild_run(const rr_rebuild_options *options, rr_rebuild_totals *totals, rr_error *error)
{
    rebuild *r = calloc(1, sizeof *r);
    rr_status status;

    *totals = (rr_rebuild_totals){0};
    if (r == NULL) {
        return no_memory(error);
    }
    r->options = options;
    r->totals = totals;
    r->error = error;
    rr_arena_init(&r->arena, 0);
    rr_arena_init(&r->page, 0);
    rr_arena_init(&r->records, 0);
    status = prepare(r);
    status = status == RR_OK ? look(r) : status;
    if (status == RR_OK && options->dry_run) {
        status = choose_target(r);
    } else if (status == RR_OK) {
        status = take_lock(r);
        if (status == RR_OK) {
            status = work(r);
            let_go_of_lock(r);
        }
    }
    rr_batch_free(r->batch);
    rr_arena_fini(&r->arena);
    rr_arena_fini(&r->page);
    rr_arena_fini(&r->records);
    free(r);
    return status;
}
