/* In plain words: what the crash of each part can lose with these settings, and who brings it back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rows.h"

/* What survives of what the store acknowledged, from the most to the least. */
typedef enum keeping { KEEPS_ALL, KEEPS_TO_A_SECOND, KEEPS_MOST, KEEPS_SNAPSHOT, KEEPS_NOTHING, KEEPS_UNTOLD } keeping;

static keeping after_process(const rr_store_survey *store)
{
    if (store->log == RR_YES) {
        return KEEPS_ALL;
    }
    if (store->log == RR_NO && store->snapshots != RR_UNKNOWN) {
        return store->snapshots == RR_YES ? KEEPS_SNAPSHOT : KEEPS_NOTHING;
    }
    return KEEPS_UNTOLD;
}

static keeping after_machine(const rr_store_survey *store)
{
    if (store->log != RR_YES) {
        return after_process(store);
    }
    return strcmp(store->log_sync, "always") == 0     ? KEEPS_ALL
           : strcmp(store->log_sync, "everysec") == 0 ? KEEPS_TO_A_SECOND
           : store->log_sync[0] != '\0'               ? KEEPS_MOST
                                                      : KEEPS_UNTOLD;
}

static const char *loss_words(keeping kept)
{
    switch (kept) {
    case KEEPS_ALL: return "nothing: every write that we act upon is on its disk";
    case KEEPS_TO_A_SECOND:
        return "about the last second of writes (appendfsync everysec), with their alerts and decisions";
    case KEEPS_MOST:
        return "what the kernel had not written, about 30 seconds (appendfsync no), with their alerts and "
               "decisions";
    case KEEPS_SNAPSHOT: return "everything since the last snapshot, with its alerts and decisions";
    case KEEPS_NOTHING: return "every cell, open conflict, alert not yet sent and decision: it keeps nothing on disk";
    default: return "no telling: the server did not tell how it keeps its writes";
    }
}

static void put(char *text, size_t room, const char *more)
{
    size_t len = strlen(text);

    snprintf(text + len, room - len, "%s", more);
}

/* The streams of all sources that were looked at, from the best to the worst for reading again. */
static void put_reach(const rr_preflight *preflight, char *text, size_t room)
{
    for (size_t k = 0; k < preflight->config->source_count; k++) {
        const rr_source_survey *told = &preflight->sources[k].told;
        char line[320], age[RR_AMOUNT_MAX];

        if (preflight->sources[k].status != RR_OK || told->stream.there != RR_YES) {
            continue;
        }
        if (!rr_told_repeatable(told)) {
            snprintf(line, sizeof line,
                     " What came by source %s does not come back: stream %s (%s) dropped it when it was "
                     "acknowledged.",
                     preflight->config->sources[k].name, told->stream.name, told->stream.retention);
            put(text, room, line);
        } else if (told->stream.max_age_us > 0) {
            snprintf(line, sizeof line, " Stream %s reaches back %s.", told->stream.name,
                     rr_amount_us(told->stream.max_age_us, age));
            put(text, room, line);
        } else if (told->stream.max_messages > 0 || told->stream.max_bytes > 0) {
            snprintf(line, sizeof line, " Stream %s reaches back as far as its limits let it.", told->stream.name);
            put(text, room, line);
        }
    }
}

static void say_store(const rr_preflight *preflight, const char *part, keeping kept, rr_crash *crash)
{
    *crash = (rr_crash){.part = part};
    put(crash->loses, sizeof crash->loses, loss_words(kept));
    if (kept != KEEPS_ALL) {
        put(crash->restored, sizeof crash->restored,
            "the reconciler: it sees another incarnation, reads the stream again from its checkpoint, and "
            "each record "
            "that was lost takes effect again.");
        put_reach(preflight, crash->restored, sizeof crash->restored);
    }
}

/* Who confirmed has it in memory, not on a disk: it helps who takes over, and not the one that comes back. */
static void add_replicas(size_t waited_for, rr_crash *crash)
{
    char line[160];

    if (waited_for == 0) {
        put(crash->loses, sizeof crash->loses, "; where a replica takes over: what it had not received yet");
        return;
    }
    snprintf(line, sizeof line,
             "; where a replica takes over that has confirmed (wait_replicas is %zu): nothing that was acknowledged",
             waited_for);
    put(crash->loses, sizeof crash->loses, line);
}

static void add_machine(const rr_store_survey *store, size_t waited_for, rr_crash *crash)
{
    if (store->replicas > 0) {
        add_replicas(waited_for, crash);
        if (crash->restored[0] == '\0') {
            put(crash->restored, sizeof crash->restored,
                "after a change of master the reconciler reads the stream again from its checkpoint");
        }
    } else if (store->replicas == 0 && after_machine(store) != KEEPS_NOTHING) {
        put(crash->loses, sizeof crash->loses, "; if its disk is gone: everything");
    }
}

static void say_reconciler(rr_crash *crash)
{
    *crash = (rr_crash){.part = "the reconciler, or its machine"};
    put(crash->loses, sizeof crash->loses,
        "nothing: a record is acknowledged only after its effect is stored, and what was not comes again "
        "after ack_wait, "
        "without counting twice");
}

static void say_nats_process(const rr_source_config *source, const rr_stream_survey *stream, rr_crash *crash)
{
    *crash = (rr_crash){.part = "the nats-server process"};
    snprintf(crash->where, sizeof crash->where, "source %.150s", source->name);
    if (stream->replicas > 1 || strcmp(stream->storage, "memory") != 0) {
        put(crash->loses, sizeof crash->loses,
            "nothing but the last acknowledgements: these records come again, and change nothing");
        return;
    }
    put(crash->loses, sizeof crash->loses,
        "every record that was not read yet, and all that could be read again: the stream is in memory");
    put(crash->restored, sizeof crash->restored,
        "nobody but the producers; cells stay as they are, and the source stops");
}

static void say_nats_machine(const rr_source_config *source, const rr_stream_survey *stream, rr_crash *crash)
{
    *crash = (rr_crash){.part = "the nats-server's machine"};
    snprintf(crash->where, sizeof crash->where, "source %.150s", source->name);
    if (stream->replicas > 1) {
        put(crash->loses, sizeof crash->loses, "nothing as long as most of its replicas live");
        return;
    }
    if (strcmp(stream->storage, "memory") == 0) {
        put(crash->loses, sizeof crash->loses, "the same as its process: the stream is in memory");
    } else {
        put(crash->loses, sizeof crash->loses,
            "messages that its disk did not have yet (it syncs every two minutes by default), though their "
            "producers were "
            "told that they are stored; if the disk is gone: every record that was not read yet");
    }
    put(crash->restored, sizeof crash->restored,
        "nobody but the producers; the reconciler sees that the stream went back, stops that source and says "
        "so");
}

size_t rr_preflight_crashes(const rr_preflight *preflight, rr_crash *crashes, size_t most)
{
    size_t count = 0;

    if (most < 3) {
        return 0;
    }
    say_reconciler(&crashes[count++]);
    if (preflight->store_status == RR_OK) {
        bool redis = strncmp(preflight->store.server, "Redis", 5) == 0;

        say_store(preflight, redis ? "the Redis process" : "the store", after_process(&preflight->store),
                  &crashes[count++]);
        if (redis) {
            say_store(preflight, "the Redis machine", after_machine(&preflight->store), &crashes[count]);
            add_machine(&preflight->store, preflight->config->store.wait_replicas, &crashes[count++]);
        }
    }
    for (size_t k = 0; k < preflight->config->source_count && count + 2 <= most; k++) {
        const rr_stream_survey *stream = &preflight->sources[k].told.stream;

        if (preflight->sources[k].status == RR_OK && stream->there == RR_YES && stream->storage[0] != '\0') {
            say_nats_process(&preflight->config->sources[k], stream, &crashes[count++]);
            say_nats_machine(&preflight->config->sources[k], stream, &crashes[count++]);
        }
    }
    return count;
}
