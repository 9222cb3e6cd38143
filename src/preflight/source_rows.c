/* What can be wrong with a source's stream, its consumer, the stream of its dead letters, and between these and a
 * contract. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dead_letter.h"
#include "rows.h"

enum {
    WAIT_LEAST_MS = 10000,   /* an ack wait below survives no pause of a server */
    SLOW_RECORDS_PER_MS = 1, /* the slowest that a batch is known to go */
    LETTER_HEADERS = 64 * 1024,
    LETTER_PAYLOAD = 512 * 1024
};

static size_t batch_of(const rr_source_config *source)
{
    return source->options.batch == 0 ? 1024 : source->options.batch;
}

static size_t flying_of(const rr_source_config *source)
{
    return batch_of(source) * (source->options.pulls == 0 ? 3 : source->options.pulls);
}

/* ---- what cannot be read again must be safe at once ---- */

static bool is_unrepeatable(const rr_source_survey *told)
{
    return told->stream.retention[0] != '\0' && !rr_told_repeatable(told);
}

/* A write goes to a log that survives the process, and to another machine. Without the log a master that starts again
 * empty empties its replicas. */
static bool is_copied(const rr_store_survey *store)
{
    return store->log == RR_YES && store->replicas > 0;
}

/* On its disk, or on so many other machines as are waited for. Those do not help where it starts again empty. */
static bool is_safe(const rr_preflight_view *view)
{
    return rr_store_on_disk_at_once(view->store) ||
           (view->store->log == RR_YES && view->all->config->store.wait_replicas != 0);
}

static const char *sync_of(const rr_store_survey *store)
{
    return store->log != RR_YES                       ? "has no log of its writes (appendonly)"
           : store->log_sync[0] == '\0'               ? "does not tell appendfsync"
           : strcmp(store->log_sync, "everysec") == 0 ? "writes its log to disk each second"
                                                      : "leaves its log to the kernel";
}

static bool unsafe(const rr_preflight_view *view)
{
    return view->store != NULL && is_unrepeatable(view->told) && !is_safe(view) && !is_copied(view->store) &&
           rr_preflight_say(view, "stream %s has %s retention, and the store %s", view->told->stream.name,
                            view->told->stream.retention, sync_of(view->store));
}

static bool lagging_copies(const rr_preflight_view *view)
{
    return view->store != NULL && is_unrepeatable(view->told) && !is_safe(view) && is_copied(view->store) &&
           rr_preflight_say(view, "stream %s has %s retention, and the store %s but has %lld replicas",
                            view->told->stream.name, view->told->stream.retention, sync_of(view->store),
                            (long long)view->store->replicas);
}

/* ---- the stream ---- */

static bool stream_missing(const rr_preflight_view *view)
{
    return view->told->stream.there == RR_NO &&
           rr_preflight_say(view, "there is no stream %s", view->source->options.stream);
}

static bool stream_in_memory(const rr_preflight_view *view)
{
    return strcmp(view->told->stream.storage, "memory") == 0 &&
           rr_preflight_say(view, "stream %s has storage memory", view->told->stream.name);
}

static bool one_replica(const rr_preflight_view *view)
{
    return view->told->stream.replicas == 1 &&
           rr_preflight_say(view, "stream %s has 1 replica", view->told->stream.name);
}

static bool hidden(const rr_preflight_view *view)
{
    return view->told->hidden[0] != '\0' && rr_preflight_say(view, "%s", view->told->hidden);
}

/* ---- the consumer ---- */

static bool consumer_missing(const rr_preflight_view *view)
{
    return view->told->consumer.there == RR_NO && view->told->stream.there == RR_YES && !view->source->options.create &&
           rr_preflight_say(view, "there is no consumer %s, and `create` is false", view->source->options.consumer);
}

static bool consumer_made(const rr_preflight_view *view)
{
    return view->told->consumer.there == RR_NO && view->told->stream.there == RR_YES && view->source->options.create &&
           rr_preflight_say(view, "there is no consumer %s yet", view->source->options.consumer);
}

static bool max_deliver(const rr_preflight_view *view)
{
    return view->told->consumer.max_deliver > 0 &&
           rr_preflight_say(view, "max_deliver is %lld", (long long)view->told->consumer.max_deliver);
}

static bool pending_below_batch(const rr_preflight_view *view)
{
    int64_t most = view->told->consumer.max_ack_pending;

    return most > 0 && most < (int64_t)batch_of(view->source) &&
           rr_preflight_say(view, "max_ack_pending is %lld, and one batch %zu", (long long)most,
                            batch_of(view->source));
}

static bool pending_below_pulls(const rr_preflight_view *view)
{
    int64_t most = view->told->consumer.max_ack_pending;

    return most >= (int64_t)batch_of(view->source) && most < (int64_t)flying_of(view->source) &&
           rr_preflight_say(view, "max_ack_pending is %lld, and batch x pulls %zu", (long long)most,
                            flying_of(view->source));
}

/* What `open` would say, where no row says it better. */
static bool unfit(const rr_preflight_view *view)
{
    int64_t most = view->told->consumer.max_ack_pending;
    bool said = view->told->consumer.max_deliver > 0 || (most > 0 && most < (int64_t)batch_of(view->source));

    return view->told->unfit[0] != '\0' && !said && rr_preflight_say(view, "%s", view->told->unfit);
}

static bool ack_wait(const rr_preflight_view *view)
{
    int64_t wait_ms = view->told->consumer.ack_wait_ms;
    int64_t least_ms = WAIT_LEAST_MS + (int64_t)flying_of(view->source) / SLOW_RECORDS_PER_MS;
    char is[RR_AMOUNT_MAX], wanted[RR_AMOUNT_MAX];

    return wait_ms > 0 && wait_ms < least_ms &&
           rr_preflight_say(view, "ack_wait is %s, and batch x pulls = %zu records may take %s",
                            rr_amount_us(wait_ms * 1000, is), flying_of(view->source),
                            rr_amount_us((least_ms + 999) / 1000 * 1000000, wanted));
}

static bool starts_late(const rr_preflight_view *view)
{
    const char *deliver = view->told->consumer.deliver;

    return deliver[0] != '\0' && strcmp(deliver, "all") != 0 &&
           rr_preflight_say(view, "its deliver policy is %s", deliver);
}

/* ---- dead letters ---- */

static bool letters_unbound(const rr_preflight_view *view)
{
    return view->told->dead_letters.there == RR_NO &&
           rr_preflight_say(view, "no stream keeps the dead letters on %s.>", view->source->dead_letters);
}

static bool letters_read_again(const rr_preflight_view *view)
{
    const char *filter = view->told->consumer.there == RR_YES   ? view->told->consumer.filter
                         : view->source->options.filter == NULL ? ""
                                                                : view->source->options.filter;
    char subject[512];

    snprintf(subject, sizeof subject, "%s" RR_DEAD_LETTER_EXAMPLE, view->source->dead_letters);
    return view->told->dead_letters.name[0] != '\0' &&
           strcmp(view->told->dead_letters.name, view->source->options.stream) == 0 &&
           (filter[0] == '\0' || rr_subject_matches(filter, rr_slice_of(subject))) &&
           rr_preflight_say(view, "the dead letters on %s.> go to %s, the stream that is read",
                            view->source->dead_letters, view->told->dead_letters.name);
}

static bool letters_unwanted(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->told->dead_letters;

    return strcmp(letters->retention, "interest") == 0 && letters->consumers == 0 &&
           rr_preflight_say(view, "stream %s has interest retention, and no consumer", letters->name);
}

static bool letters_unconfirmed(const rr_preflight_view *view)
{
    return view->told->dead_letters.confirms == RR_NO &&
           rr_preflight_say(view, "stream %s has no_ack", view->told->dead_letters.name);
}

static bool letters_in_memory(const rr_preflight_view *view)
{
    return strcmp(view->told->dead_letters.storage, "memory") == 0 &&
           rr_preflight_say(view, "stream %s has storage memory", view->told->dead_letters.name);
}

/* "max_msgs 1000", or "max_bytes 1 MB", whichever is there. */
static const char *bounds_of(const rr_stream_survey *stream, char *text, size_t room)
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

static bool letters_dropped(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->told->dead_letters;
    char bounds[96];

    return is_bounded(letters) && strcmp(letters->discard, "old") == 0 &&
           rr_preflight_say(view, "stream %s has %s and discard: old", letters->name,
                            bounds_of(letters, bounds, sizeof bounds));
}

static bool letters_expire(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->told->dead_letters;
    char age[RR_AMOUNT_MAX];

    return letters->max_age_us > 0 &&
           rr_preflight_say(view, "stream %s has max_age %s", letters->name, rr_amount_us(letters->max_age_us, age));
}

static bool letters_nearly_full(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->told->dead_letters;
    bool full = (letters->max_messages > 0 && letters->messages >= letters->max_messages / 5 * 4) ||
                (letters->max_bytes > 0 && letters->bytes >= letters->max_bytes / 5 * 4);
    char bounds[96], used[RR_AMOUNT_MAX];

    return full && strcmp(letters->discard, "new") == 0 &&
           rr_preflight_say(view, "stream %s has %s and discard: new, and holds %lld letters of %s", letters->name,
                            bounds_of(letters, bounds, sizeof bounds), (long long)letters->messages,
                            rr_amount_bytes((double)letters->bytes, used));
}

static bool letters_small(const rr_preflight_view *view)
{
    const rr_stream_survey *letters = &view->told->dead_letters;
    int64_t longest = view->told->max_payload;

    if (view->told->stream.max_message_size > 0 && (longest < 0 || view->told->stream.max_message_size < longest)) {
        longest = view->told->stream.max_message_size;
    }
    if (longest < 0 || longest > LETTER_PAYLOAD) {
        longest = LETTER_PAYLOAD;
    }
    return letters->max_message_size > 0 && letters->max_message_size < longest + LETTER_HEADERS &&
           rr_preflight_say(view,
                            "stream %s takes at most %lld bytes a letter (max_msg_size), and a record may have "
                            "%lld, with up to %d of headers",
                            letters->name, (long long)letters->max_message_size, (long long)longest, LETTER_HEADERS);
}

/* ---- a contract behind the source ---- */

static bool history_short(const rr_preflight_view *view)
{
    const rr_stream_survey *stream = &view->told->stream;
    char age[RR_AMOUNT_MAX], kept[RR_AMOUNT_MAX];

    return stream->max_age_us > 0 && stream->max_age_us < view->contract->retention_us &&
           rr_told_repeatable(view->told) &&
           rr_preflight_say(
               view, "stream %s keeps messages for %s, and the contract takes records for %s%s", stream->name,
               rr_amount_us(stream->max_age_us, age),
               view->contract->retention_us == RR_FOREVER ? "ever" : rr_amount_us(view->contract->retention_us, kept),
               view->contract->retention_us == RR_FOREVER ? "" : " after a window's end");
}

static bool drops(const rr_preflight_view *view)
{
    const rr_stream_survey *stream = &view->told->stream;
    char bounds[96];

    if (stream->max_messages_per_subject > 0 && stream->discard_new_per_subject != RR_YES) {
        return rr_preflight_say(view, "stream %s keeps %lld messages a subject (max_msgs_per_subject)", stream->name,
                                (long long)stream->max_messages_per_subject);
    }
    return is_bounded(stream) && strcmp(stream->discard, "old") == 0 &&
           rr_preflight_say(view, "stream %s has %s and discard: old", stream->name,
                            bounds_of(stream, bounds, sizeof bounds));
}

static bool drops_contributions(const rr_preflight_view *view)
{
    return view->contract->mode != RR_MODE_CUMULATIVE && drops(view);
}

static bool drops_history(const rr_preflight_view *view)
{
    return view->contract->mode == RR_MODE_CUMULATIVE && drops(view);
}

/* ---- a contract alone ---- */

static bool forever(const rr_preflight_view *view)
{
    return view->contract->retention_us == RR_FOREVER && view->contract->window_kind != RR_WINDOW_GLOBAL &&
           rr_preflight_say(view, "retention is forever");
}

#define ROW_IN(place, word, kind, check, why, help) \
    { \
        .name = word, .scope = RR_PREFLIGHT_##place, .severity = RR_PREFLIGHT_##kind, .probe = check, .means = why, \
        .remedy = help \
    }
#define ROW(word, kind, check, why, help) ROW_IN(SOURCE, word, kind, check, why, help)

const rr_preflight_row rr_preflight_source_rows[] = {
    {.name = "unrepeatable_unsafe",
     .scope = RR_PREFLIGHT_SOURCE,
     .severity = RR_PREFLIGHT_REFUSE,
     .loss = true,
     .probe = unsafe,
     .means = "what was acknowledged cannot be read again, so a crash of the store would lose results for good",
     .remedy = "appendonly yes, and appendfsync always or replicas with `wait_replicas`; or limits retention; or "
               "`allow_loss: true`"},
    {.name = "unrepeatable_copied",
     .scope = RR_PREFLIGHT_SOURCE,
     .severity = RR_PREFLIGHT_REFUSE,
     .loss = true,
     .probe = lagging_copies,
     .means = "what was acknowledged cannot be read again, and a replica may lack the last moments when it takes over",
     .remedy = "`wait_replicas: 1` at the store; or appendfsync always; or limits retention; or `allow_loss: true`"},
    ROW("stream_missing", REFUSE, stream_missing, "there is nothing to read",
        "make it (`reconciler streams --config FILE --create`), or correct `stream`"),
    ROW("stream_in_memory", WARNING, stream_in_memory,
        "a crash of nats-server loses every record not read yet, and all that could be read again",
        "file storage, or three replicas"),
    ROW("stream_one_replica", NOTE, one_replica,
        "while its machine is away nothing comes, and if it is lost for good so is what was not read",
        "three replicas, where NATS is a cluster"),
    ROW("source_hidden", WARNING, hidden, "it could not be looked at: without permission NATS gives no answer",
        "permit $JS.API.STREAM.INFO.*, $JS.API.STREAM.NAMES and $JS.API.CONSUMER.INFO.*.* to this user"),
    ROW("consumer_missing", REFUSE, consumer_missing, "there is nothing to read by",
        "write `create: true`, or make it (nats consumer add)"),
    ROW("consumer_to_be_made", NOTE, consumer_made, "the first start makes it", "nothing"),
    ROW("consumer_gives_up", REFUSE, max_deliver,
        "an outage of the store uses up the deliveries, and the records would be lost",
        "nats consumer edit --max-deliver=-1"),
    ROW("consumer_pending_small", REFUSE, pending_below_batch,
        "no batch ever becomes full, and each waits for ack_wait",
        "max_ack_pending of four times batch x pulls, or a smaller `batch`"),
    ROW("consumer_pending_tight", WARNING, pending_below_pulls,
        "pulls wait for each other, and a batch that comes again stops the flow",
        "max_ack_pending of four times batch x pulls, or a smaller `batch`"),
    ROW("consumer_unfit", REFUSE, unfit, "this is what `run` would say", "as it says"),
    ROW("consumer_ack_wait_short", WARNING, ack_wait,
        "records at work would come again and again while a server is slow",
        "nats consumer edit --wait=60s, or a smaller `batch`"),
    ROW("consumer_starts_late", NOTE, starts_late,
        "older records are never read, and `verify` judges only cells that the stream covers whole",
        "nothing, if that is meant; else a consumer with deliver all"),
    ROW("dead_letters_unbound", REFUSE, letters_unbound, "what nobody stores is lost",
        "make one: `reconciler streams --config FILE --create`"),
    ROW("dead_letters_read_again", REFUSE, letters_read_again,
        "each would be read as a record and refused again, for ever",
        "another stream for them, or a filter on the consumer"),
    {.name = "dead_letters_unwanted",
     .scope = RR_PREFLIGHT_SOURCE,
     .severity = RR_PREFLIGHT_REFUSE,
     .loss = true,
     .probe = letters_unwanted,
     .means = "such a stream drops at once what no consumer asks for",
     .remedy = "limits retention, or a durable consumer on it"},
    ROW("dead_letters_unconfirmed", REFUSE, letters_unconfirmed,
        "nobody says that a letter is stored, so its record is never acknowledged", "a stream without no_ack"),
    ROW("dead_letters_in_memory", WARNING, letters_in_memory, "a crash of nats-server loses the letters",
        "file storage"),
    ROW("dead_letters_dropped", WARNING, letters_dropped, "when it is full the oldest letters vanish",
        "no limits, or discard: new (then the source stops when it is full)"),
    ROW("dead_letters_expire", NOTE, letters_expire, "letters older than that are gone",
        "nothing, if somebody reads them before"),
    ROW("dead_letters_nearly_full", WARNING, letters_nearly_full,
        "when it is full no letter can be stored, so nothing behind a refused record is acknowledged",
        "read and purge the letters, or raise the limits"),
    ROW("dead_letters_small", WARNING, letters_small,
        "a longer one cannot be stored, and its record stays unacknowledged",
        "no max_msg_size on the stream of the dead letters"),
    {.name = NULL},
};

#undef ROW

const rr_preflight_row rr_preflight_route_rows[] = {
    ROW_IN(ROUTE, "history_short", WARNING, history_short,
           "repair and verify cannot reach back to all cells that still take records",
           "a max_age of the contract's retention and more, or a shorter retention"),
    {.name = "limits_drop_contributions",
     .scope = RR_PREFLIGHT_ROUTE,
     .severity = RR_PREFLIGHT_REFUSE,
     .loss = true,
     .probe = drops_contributions,
     .means = "every record of this mode counts, and the stream drops some before they are read whenever we lag",
     .remedy = "limit the stream by max_age alone; or `allow_loss: true`"},
    ROW_IN(ROUTE, "limits_drop_history", WARNING, drops_history,
           "older revisions are dropped: repair and verify cannot read them again, and what was not read yet "
           "is lost",
           "limit the stream by max_age alone"),
    ROW_IN(CONTRACT, "retention_forever", WARNING, forever, "cells are never removed, so memory grows without end",
           "a `retention` in the contract, e.g. 7d"),
    {.name = NULL},
};
