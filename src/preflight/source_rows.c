/* The faults of a source's stream, of its consumer, of the stream of its dead letters, and of a contract with these. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dead_letter.h"
#include "rows.h"

enum {
    ACK_WAIT_LEAST_MS = 10000, /* a shorter ack_wait runs out in a short pause of a server */
    SLOW_RECORDS_PER_MS = 1,   /* the slowest rate at which a batch is processed */
    LETTER_HEADERS = 64 * 1024,
    LETTER_PAYLOAD = 512 * 1024
};

static size_t batch_size(const rr_source_config *source)
{
    return source->options.batch == 0 ? 1024 : source->options.batch;
}

static size_t records_in_flight(const rr_source_config *source)
{
    return batch_size(source) * (source->options.pulls == 0 ? 3 : source->options.pulls);
}

/* ---- what cannot be read again must be stored safely before it is acknowledged ---- */

static bool is_not_replayable(const rr_source_survey *survey)
{
    return survey->stream.retention[0] != '\0' && !rr_is_replayable(survey);
}

/* A write goes to a log that survives the process, and to another machine. Without the log, a master that starts again
 * is empty, and so are its replicas then. */
static bool is_logged_and_replicated(const rr_store_survey *store)
{
    return store->log == RR_YES && store->replicas > 0;
}

/* A write is on the store's disk, or on the replicas that are waited for. Replicas do not help a master that starts
 * again empty. */
static bool is_stored_safely(const rr_preflight_view *view)
{
    return rr_is_synced_at_once(view->store) ||
           (view->store->log == RR_YES && view->all->config->store.wait_replicas != 0);
}

static const char *describe_sync(const rr_store_survey *store)
{
    return store->log != RR_YES                       ? "has no log of its writes (appendonly)"
           : store->log_sync[0] == '\0'               ? "does not tell appendfsync"
           : strcmp(store->log_sync, "everysec") == 0 ? "writes its log to disk each second"
                                                      : "leaves its log to the kernel";
}

static bool find_unsafe_writes(const rr_preflight_view *view)
{
    return view->store != NULL && is_not_replayable(view->survey) && !is_stored_safely(view) &&
           !is_logged_and_replicated(view->store) &&
           rr_preflight_report(view, "stream %s has %s retention, and the store %s", view->survey->stream.name,
                               view->survey->stream.retention, describe_sync(view->store));
}

static bool find_lagging_replicas(const rr_preflight_view *view)
{
    return view->store != NULL && is_not_replayable(view->survey) && !is_stored_safely(view) &&
           is_logged_and_replicated(view->store) &&
           rr_preflight_report(view, "stream %s has %s retention, and the store %s but has %lld replicas",
                               view->survey->stream.name, view->survey->stream.retention, describe_sync(view->store),
                               (long long)view->store->replicas);
}

/* ---- the stream ---- */

static bool find_no_stream(const rr_preflight_view *view)
{
    return view->survey->stream.there == RR_NO &&
           rr_preflight_report(view, "there is no stream %s", view->source->options.stream);
}

static bool find_stream_in_memory(const rr_preflight_view *view)
{
    return strcmp(view->survey->stream.storage, "memory") == 0 &&
           rr_preflight_report(view, "stream %s has storage memory", view->survey->stream.name);
}

static bool find_single_replica(const rr_preflight_view *view)
{
    return view->survey->stream.replicas == 1 &&
           rr_preflight_report(view, "stream %s has 1 replica", view->survey->stream.name);
}

static bool find_hidden_servers(const rr_preflight_view *view)
{
    return view->survey->hidden[0] != '\0' && rr_preflight_report(view, "%s", view->survey->hidden);
}

/* ---- the consumer ---- */

static bool find_no_consumer(const rr_preflight_view *view)
{
    return view->survey->consumer.there == RR_NO && view->survey->stream.there == RR_YES &&
           !view->source->options.create &&
           rr_preflight_report(view, "there is no consumer %s, and `create` is false", view->source->options.consumer);
}

static bool find_consumer_to_make(const rr_preflight_view *view)
{
    return view->survey->consumer.there == RR_NO && view->survey->stream.there == RR_YES &&
           view->source->options.create &&
           rr_preflight_report(view, "there is no consumer %s yet", view->source->options.consumer);
}

static bool find_max_deliver(const rr_preflight_view *view)
{
    return view->survey->consumer.max_deliver > 0 &&
           rr_preflight_report(view, "max_deliver is %lld", (long long)view->survey->consumer.max_deliver);
}

static bool find_pending_below_batch(const rr_preflight_view *view)
{
    int64_t most = view->survey->consumer.max_ack_pending;

    return most > 0 && most < (int64_t)batch_size(view->source) &&
           rr_preflight_report(view, "max_ack_pending is %lld, and one batch %zu", (long long)most,
                               batch_size(view->source));
}

static bool find_pending_below_pulls(const rr_preflight_view *view)
{
    int64_t most = view->survey->consumer.max_ack_pending;

    return most >= (int64_t)batch_size(view->source) && most < (int64_t)records_in_flight(view->source) &&
           rr_preflight_report(view, "max_ack_pending is %lld, and batch x pulls %zu", (long long)most,
                               records_in_flight(view->source));
}

/* The fault that opening the source would report, unless another row reports it. */
static bool find_unfit_consumer(const rr_preflight_view *view)
{
    int64_t most = view->survey->consumer.max_ack_pending;
    bool said = view->survey->consumer.max_deliver > 0 || (most > 0 && most < (int64_t)batch_size(view->source));

    return view->survey->unfit[0] != '\0' && !said && rr_preflight_report(view, "%s", view->survey->unfit);
}

static bool find_short_ack_wait(const rr_preflight_view *view)
{
    int64_t wait_ms = view->survey->consumer.ack_wait_ms;
    int64_t least_ms = ACK_WAIT_LEAST_MS + (int64_t)records_in_flight(view->source) / SLOW_RECORDS_PER_MS;
    char is[RR_AMOUNT_MAX], wanted[RR_AMOUNT_MAX];

    return wait_ms > 0 && wait_ms < least_ms &&
           rr_preflight_report(view, "ack_wait is %s, and batch x pulls = %zu records may take %s",
                               rr_amount_us(wait_ms * 1000, is), records_in_flight(view->source),
                               rr_amount_us((least_ms + 999) / 1000 * 1000000, wanted));
}

static bool find_late_start(const rr_preflight_view *view)
{
    const char *deliver = view->survey->consumer.deliver;

    return deliver[0] != '\0' && strcmp(deliver, "all") != 0 &&
           rr_preflight_report(view, "its deliver policy is %s", deliver);
}

/* ---- dead letters ---- */

static bool find_no_letter_stream(const rr_preflight_view *view)
{
    return view->survey->dead_letters.there == RR_NO &&
           rr_preflight_report(view, "no stream keeps the dead letters on %s.>", view->source->dead_letters);
}

static bool find_letters_read_again(const rr_preflight_view *view)
{
    const char *filter = view->survey->consumer.there == RR_YES ? view->survey->consumer.filter
                         : view->source->options.filter == NULL ? ""
                                                                : view->source->options.filter;
    char subject[512];

    snprintf(subject, sizeof subject, "%s" RR_DEAD_LETTER_EXAMPLE, view->source->dead_letters);
    return view->survey->dead_letters.name[0] != '\0' &&
           strcmp(view->survey->dead_letters.name, view->source->options.stream) == 0 &&
           (filter[0] == '\0' || rr_subject_matches(filter, rr_slice_of(subject))) &&
           rr_preflight_report(view, "the dead letters on %s.> go to %s, the stream that is read",
                               view->source->dead_letters, view->survey->dead_letters.name);
}

static bool find_letters_without_consumer(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->survey->dead_letters;

    return strcmp(letters->retention, "interest") == 0 && letters->consumers == 0 &&
           rr_preflight_report(view, "stream %s has interest retention, and no consumer", letters->name);
}

static bool find_unconfirmed_letters(const rr_preflight_view *view)
{
    return view->survey->dead_letters.confirms == RR_NO &&
           rr_preflight_report(view, "stream %s has no_ack", view->survey->dead_letters.name);
}

static bool find_letters_in_memory(const rr_preflight_view *view)
{
    return strcmp(view->survey->dead_letters.storage, "memory") == 0 &&
           rr_preflight_report(view, "stream %s has storage memory", view->survey->dead_letters.name);
}

/* "max_msgs 1000", or "max_bytes 1 MB", whichever is there. */
static const char *describe_bounds(const rr_stream_survey *stream, char *text, size_t room)
{
    char bytes[RR_AMOUNT_MAX];

    if (stream->max_messages > 0) {
        snprintf(text, room, "max_msgs %lld", (long long)stream->max_messages);
    } else {
        snprintf(text, room, "max_bytes %s", rr_amount_bytes((double)stream->max_bytes, bytes));
    }
    return text;
}

static bool is_bounded(const rr_stream_survey *stream)
{
    return stream->max_messages > 0 || stream->max_bytes > 0;
}

static bool find_dropped_letters(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->survey->dead_letters;
    char bounds[96];

    return is_bounded(letters) && strcmp(letters->discard, "old") == 0 &&
           rr_preflight_report(view, "stream %s has %s and discard: old", letters->name,
                               describe_bounds(letters, bounds, sizeof bounds));
}

static bool find_expiring_letters(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->survey->dead_letters;
    char age[RR_AMOUNT_MAX];

    return letters->max_age_us > 0 &&
           rr_preflight_report(view, "stream %s has max_age %s", letters->name, rr_amount_us(letters->max_age_us, age));
}

static bool find_nearly_full_letters(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->survey->dead_letters;
    bool full = (letters->max_messages > 0 && letters->messages >= letters->max_messages / 5 * 4) ||
                (letters->max_bytes > 0 && letters->bytes >= letters->max_bytes / 5 * 4);
    char bounds[96], used[RR_AMOUNT_MAX];

    return full && strcmp(letters->discard, "new") == 0 &&
           rr_preflight_report(view, "stream %s has %s and discard: new, and holds %lld letters of %s", letters->name,
                               describe_bounds(letters, bounds, sizeof bounds), (long long)letters->messages,
                               rr_amount_bytes((double)letters->bytes, used));
}

static bool find_small_letters(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->survey->dead_letters;
    int64_t longest = view->survey->max_payload;

    if (view->survey->stream.max_message_size > 0 && (longest < 0 || view->survey->stream.max_message_size < longest)) {
        longest = view->survey->stream.max_message_size;
    }
    if (longest < 0 || longest > LETTER_PAYLOAD) {
        longest = LETTER_PAYLOAD;
    }
    return letters->max_message_size > 0 && letters->max_message_size < longest + LETTER_HEADERS &&
           rr_preflight_report(view,
                               "stream %s takes at most %lld bytes a letter (max_msg_size), and a record may have "
                               "%lld, with up to %d of headers",
                               letters->name, (long long)letters->max_message_size, (long long)longest, LETTER_HEADERS);
}

/* ---- a contract that the source routes to ---- */

static bool find_short_history(const rr_preflight_view *view)
{
    const rr_stream_survey *stream = &view->survey->stream;
    char age[RR_AMOUNT_MAX], kept[RR_AMOUNT_MAX];

    return stream->max_age_us > 0 && stream->max_age_us < view->contract->retention_us &&
           rr_is_replayable(view->survey) &&
           rr_preflight_report(
               view, "stream %s keeps messages for %s, and the contract takes records for %s%s", stream->name,
               rr_amount_us(stream->max_age_us, age),
               view->contract->retention_us == RR_FOREVER ? "ever" : rr_amount_us(view->contract->retention_us, kept),
               view->contract->retention_us == RR_FOREVER ? "" : " after a window's end");
}

static bool find_dropped_records(const rr_preflight_view *view)
{
    const rr_stream_survey *stream = &view->survey->stream;
    char bounds[96];

    if (stream->max_messages_per_subject > 0 && stream->discard_new_per_subject != RR_YES) {
        return rr_preflight_report(view, "stream %s keeps %lld messages a subject (max_msgs_per_subject)", stream->name,
                                   (long long)stream->max_messages_per_subject);
    }
    return is_bounded(stream) && strcmp(stream->discard, "old") == 0 &&
           rr_preflight_report(view, "stream %s has %s and discard: old", stream->name,
                               describe_bounds(stream, bounds, sizeof bounds));
}

static bool find_dropped_contributions(const rr_preflight_view *view)
{
    return view->contract->mode != RR_MODE_CUMULATIVE && find_dropped_records(view);
}

static bool find_dropped_history(const rr_preflight_view *view)
{
    return view->contract->mode == RR_MODE_CUMULATIVE && find_dropped_records(view);
}

/* ---- a contract alone ---- */

static bool find_endless_retention(const rr_preflight_view *view)
{
    return view->contract->retention_us == RR_FOREVER && view->contract->window_kind != RR_WINDOW_GLOBAL &&
           rr_preflight_report(view, "retention is forever");
}

const rr_preflight_row rr_preflight_source_rows[] = {
    RR_ROW(SOURCE, "unrepeatable_unsafe", RR_REFUSES_LOSS, find_unsafe_writes,
           "an acknowledged record cannot be read again, so a crash of the store would lose results for good",
           "appendonly yes, and appendfsync always or replicas with `wait_replicas`; or limits retention; or "
           "`allow_loss: true`"),
    RR_ROW(SOURCE, "unrepeatable_copied", RR_REFUSES_LOSS, find_lagging_replicas,
           "an acknowledged record cannot be read again, and a replica that takes over may lack the last moments",
           "`wait_replicas: 1` at the store; or appendfsync always; or limits retention; or `allow_loss: true`"),
    RR_ROW(SOURCE, "stream_missing", RR_REFUSES, find_no_stream, "there is nothing to read",
           "make it (`reconciler streams --config FILE --create`), or correct `stream`"),
    RR_ROW(SOURCE, "stream_in_memory", RR_WARNS, find_stream_in_memory,
           "a crash of nats-server loses every unread record, and every record that could be read again",
           "file storage, or three replicas"),
    RR_ROW(SOURCE, "stream_one_replica", RR_NOTES, find_single_replica,
           "no record arrives while its machine is away; if that machine is lost for good, the unread records are lost "
           "too",
           "three replicas, where NATS is a cluster"),
    RR_ROW(SOURCE, "source_hidden", RR_WARNS, find_hidden_servers,
           "its settings are unknown: NATS does not answer a user without permission",
           "permit $JS.API.STREAM.INFO.*, $JS.API.STREAM.NAMES and $JS.API.CONSUMER.INFO.*.* to this user"),
    RR_ROW(SOURCE, "consumer_missing", RR_REFUSES, find_no_consumer, "records are read through a consumer",
           "write `create: true`, or make it (nats consumer add)"),
    RR_ROW(SOURCE, "consumer_to_be_made", RR_NOTES, find_consumer_to_make, "the first start makes it", "nothing"),
    RR_ROW(SOURCE, "consumer_gives_up", RR_REFUSES, find_max_deliver,
           "an outage of the store uses up the deliveries, and the records would be lost",
           "nats consumer edit --max-deliver=-1"),
    RR_ROW(SOURCE, "consumer_pending_small", RR_REFUSES, find_pending_below_batch,
           "no batch ever becomes full, and each batch waits for ack_wait",
           "max_ack_pending of four times batch x pulls, or a smaller `batch`"),
    RR_ROW(SOURCE, "consumer_pending_tight", RR_WARNS, find_pending_below_pulls,
           "pulls wait for each other, and a batch that is delivered again stops the flow",
           "max_ack_pending of four times batch x pulls, or a smaller `batch`"),
    RR_ROW(SOURCE, "consumer_unfit", RR_REFUSES, find_unfit_consumer, "`run` would end with this error",
           "change what it names"),
    RR_ROW(SOURCE, "consumer_ack_wait_short", RR_WARNS, find_short_ack_wait,
           "while a server is slow, NATS would deliver records again that are still in work",
           "nats consumer edit --wait=60s, or a smaller `batch`"),
    RR_ROW(SOURCE, "consumer_starts_late", RR_NOTES, find_late_start,
           "older records are never read, and `verify` judges only cells whose records the stream has in full",
           "nothing, if that is intended; else a consumer with deliver policy all"),
    RR_ROW(SOURCE, "dead_letters_unbound", RR_REFUSES, find_no_letter_stream,
           "a dead letter that no stream stores is lost", "make one: `reconciler streams --config FILE --create`"),
    RR_ROW(SOURCE, "dead_letters_read_again", RR_REFUSES, find_letters_read_again,
           "each dead letter would be read as a record and refused again, without end",
           "another stream for the dead letters, or a filter on the consumer"),
    RR_ROW(SOURCE, "dead_letters_unwanted", RR_REFUSES_LOSS, find_letters_without_consumer,
           "a stream with interest retention drops at once what no consumer asks for",
           "limits retention, or a durable consumer on it"),
    RR_ROW(SOURCE, "dead_letters_unconfirmed", RR_REFUSES, find_unconfirmed_letters,
           "the stream does not confirm a dead letter, so its record is never acknowledged", "a stream without no_ack"),
    RR_ROW(SOURCE, "dead_letters_in_memory", RR_WARNS, find_letters_in_memory,
           "a crash of nats-server loses the dead letters", "file storage"),
    RR_ROW(SOURCE, "dead_letters_dropped", RR_WARNS, find_dropped_letters,
           "a full stream drops its oldest dead letters",
           "no limits, or discard: new (then the source stops when the stream is full)"),
    RR_ROW(SOURCE, "dead_letters_expire", RR_NOTES, find_expiring_letters,
           "the stream drops dead letters that are older", "nothing, if somebody reads them in time"),
    RR_ROW(SOURCE, "dead_letters_nearly_full", RR_WARNS, find_nearly_full_letters,
           "a full stream takes no dead letter, so no record behind a refused one is acknowledged",
           "read and purge the dead letters, or raise the limits"),
    RR_ROW(SOURCE, "dead_letters_small", RR_WARNS, find_small_letters,
           "a longer dead letter cannot be stored, and its record stays unacknowledged",
           "no max_msg_size on the stream of the dead letters"),
    RR_ROWS_END,
};

const rr_preflight_row rr_preflight_route_rows[] = {
    RR_ROW(ROUTE, "history_short", RR_WARNS, find_short_history,
           "repair and verify cannot read the records of all cells that still take records",
           "a max_age of the contract's retention and more, or a shorter retention"),
    RR_ROW(ROUTE, "limits_drop_contributions", RR_REFUSES_LOSS, find_dropped_contributions,
           "each record of this mode counts, and whenever the consumer lags, the stream drops unread records",
           "limit the stream by max_age alone; or `allow_loss: true`"),
    RR_ROW(ROUTE, "limits_drop_history", RR_WARNS, find_dropped_history,
           "the stream drops older revisions: repair and verify cannot read them again, and unread ones are "
           "lost",
           "limit the stream by max_age alone"),
    RR_ROW(CONTRACT, "retention_forever", RR_WARNS, find_endless_retention,
           "cells are never removed, so memory grows without end", "a `retention` in the contract, e.g. 7d"),
    RR_ROWS_END,
};
