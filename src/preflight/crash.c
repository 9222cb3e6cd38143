/* What the crash of each part can lose with these settings, and who restores it, in sentences for people. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rows.h"

/* Which of the writes that the store confirmed survive a crash, from the most to the least. */
typedef enum durability {
    KEEPS_ALL,
    KEEPS_TO_A_SECOND,
    KEEPS_MOST,
    KEEPS_SNAPSHOT,
    KEEPS_NOTHING,
    KEEPS_UNKNOWN
} durability;

static durability durability_of_process(const rr_store_survey *store)
{
    if (store->log == RR_YES) {
        return KEEPS_ALL;
    }
    if (store->log == RR_NO && store->snapshots != RR_UNKNOWN) {
        return store->snapshots == RR_YES ? KEEPS_SNAPSHOT : KEEPS_NOTHING;
    }
    return KEEPS_UNKNOWN;
}

static durability durability_of_machine(const rr_store_survey *store)
{
    if (store->log != RR_YES) {
        return durability_of_process(store);
    }
    return strcmp(store->log_sync, "always") == 0     ? KEEPS_ALL
           : strcmp(store->log_sync, "everysec") == 0 ? KEEPS_TO_A_SECOND
           : store->log_sync[0] != '\0'               ? KEEPS_MOST
                                                      : KEEPS_UNKNOWN;
}

static const char *describe_loss(durability kept)
{
    switch (kept) {
    case KEEPS_ALL: return "nothing: a write is on the store's disk before its record is acknowledged";
    case KEEPS_TO_A_SECOND:
        return "about the last second of writes (appendfsync everysec), with their alerts and decisions";
    case KEEPS_MOST:
        return "the writes that the kernel had not yet written, about 30 seconds (appendfsync no), with their alerts "
               "and "
               "decisions";
    case KEEPS_SNAPSHOT: return "everything since the last snapshot, with its alerts and decisions";
    case KEEPS_NOTHING: return "every cell, open conflict, unsent alert and decision: the store keeps nothing on disk";
    default: return "unknown: the server did not tell how it keeps its writes";
    }
}

static void append(char *text, size_t room, const char *more)
{
    size_t len = strlen(text);

    snprintf(text + len, room - len, "%s", more);
}

/* Says of the stream of each source that was surveyed how far back it can be read again. */
static void append_history(const rr_preflight *preflight, char *text, size_t room)
{
    for (size_t k = 0; k < preflight->config->source_count; k++) {
        const rr_source_survey *survey = &preflight->sources[k].survey;
        char line[320], age[RR_AMOUNT_MAX];

        if (preflight->sources[k].status != RR_OK || survey->stream.there != RR_YES) {
            continue;
        }
        if (!rr_is_replayable(survey)) {
            snprintf(line, sizeof line,
                     " The records of source %s cannot be read again: stream %s (%s) dropped each when it was "
                     "acknowledged.",
                     preflight->config->sources[k].name, survey->stream.name, survey->stream.retention);
            append(text, room, line);
        } else if (survey->stream.max_age_us > 0) {
            snprintf(line, sizeof line, " Stream %s reaches back %s.", survey->stream.name,
                     rr_amount_us(survey->stream.max_age_us, age));
            append(text, room, line);
        } else if (survey->stream.max_messages > 0 || survey->stream.max_bytes > 0) {
            snprintf(line, sizeof line, " Stream %s reaches back as far as its limits allow.", survey->stream.name);
            append(text, room, line);
        }
    }
}

static void describe_store_crash(const rr_preflight *preflight, const char *part, durability kept, rr_crash *crash)
{
    *crash = (rr_crash){.part = part};
    append(crash->loses, sizeof crash->loses, describe_loss(kept));
    if (kept != KEEPS_ALL) {
        append(crash->restored, sizeof crash->restored,
               "the reconciler: it notices that the store lost writes, and reads the stream again from its checkpoint. "
               "Each "
               "lost record takes effect again.");
        append_history(preflight, crash->restored, sizeof crash->restored);
    }
}

/* A replica that confirms a write has it in memory, not on disk. That helps where this replica takes over, and not
 * where the master starts again. */
static void append_failover(size_t waited_for, rr_crash *crash)
{
    char line[160];

    if (waited_for == 0) {
        append(crash->loses, sizeof crash->loses,
               "; where a replica takes over: the writes that it had not yet received");
        return;
    }
    snprintf(line, sizeof line,
             "; where a replica takes over that has confirmed (wait_replicas is %zu): nothing that was acknowledged",
             waited_for);
    append(crash->loses, sizeof crash->loses, line);
}

static void append_machine(const rr_store_survey *store, size_t waited_for, rr_crash *crash)
{
    if (store->replicas > 0) {
        append_failover(waited_for, crash);
        if (crash->restored[0] == '\0') {
            append(crash->restored, sizeof crash->restored,
                   "the reconciler: after a change of master it reads the stream again from its checkpoint");
        }
    } else if (store->replicas == 0 && durability_of_machine(store) != KEEPS_NOTHING) {
        append(crash->loses, sizeof crash->loses, "; if its disk is gone: everything");
    }
}

static void describe_reconciler_crash(rr_crash *crash)
{
    *crash = (rr_crash){.part = "the reconciler, or its machine"};
    append(crash->loses, sizeof crash->loses,
           "nothing: a record is acknowledged only after its effect is stored; an unacknowledged record is delivered "
           "again after "
           "ack_wait, and does not count twice");
}

static void describe_nats_process_crash(const rr_source_config *source, const rr_stream_survey *stream, rr_crash *crash)
{
    *crash = (rr_crash){.part = "the nats-server process"};
    snprintf(crash->where, sizeof crash->where, "source %.150s", source->name);
    if (stream->replicas > 1 || strcmp(stream->storage, "memory") != 0) {
        append(crash->loses, sizeof crash->loses,
               "only the last acknowledgements: their records are delivered again, and change nothing");
        return;
    }
    append(crash->loses, sizeof crash->loses,
           "every unread record, and every record that could be read again: the stream is in memory");
    append(crash->restored, sizeof crash->restored, "only the producers; cells stay as they are, and the source stops");
}

static void describe_nats_machine_crash(const rr_source_config *source, const rr_stream_survey *stream, rr_crash *crash)
{
    *crash = (rr_crash){.part = "the nats-server's machine"};
    snprintf(crash->where, sizeof crash->where, "source %.150s", source->name);
    if (stream->replicas > 1) {
        append(crash->loses, sizeof crash->loses, "nothing as long as most of its replicas live");
        return;
    }
    if (strcmp(stream->storage, "memory") == 0) {
        append(crash->loses, sizeof crash->loses, "the same as a crash of its process: the stream is in memory");
    } else {
        append(crash->loses, sizeof crash->loses,
               "messages that were not yet on its disk (it syncs every two minutes by default), though it confirmed "
               "them to their "
               "producers; if the disk is gone: every unread record");
    }
    append(crash->restored, sizeof crash->restored,
           "only the producers; the reconciler notices that the stream lost its end, stops that source and logs it");
}

size_t rr_preflight_crashes(const rr_preflight *preflight, rr_crash *crashes, size_t most)
{
    size_t count = 0;

    if (most < 3) {
        return 0;
    }
    describe_reconciler_crash(&crashes[count++]);
    if (preflight->store_status == RR_OK) {
        bool redis = strncmp(preflight->store.server, "Redis", 5) == 0;

        describe_store_crash(preflight, redis ? "the Redis process" : "the store",
                             durability_of_process(&preflight->store), &crashes[count++]);
        if (redis) {
            describe_store_crash(preflight, "the Redis machine", durability_of_machine(&preflight->store),
                                 &crashes[count]);
            append_machine(&preflight->store, preflight->config->store.wait_replicas, &crashes[count++]);
        }
    }
    for (size_t k = 0; k < preflight->config->source_count && count + 2 <= most; k++) {
        const rr_stream_survey *stream = &preflight->sources[k].survey.stream;

        if (preflight->sources[k].status == RR_OK && stream->there == RR_YES && stream->storage[0] != '\0') {
            describe_nats_process_crash(&preflight->config->sources[k], stream, &crashes[count++]);
            describe_nats_machine_crash(&preflight->config->sources[k], stream, &crashes[count++]);
        }
    }
    return count;
}
