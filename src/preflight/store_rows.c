/* What can be wrong with the store's server. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

static bool too_old(const rr_preflight_view *view)
{
    return view->store->too_old == RR_YES && rr_preflight_say(view, "this is %s", view->store->server);
}

static bool cluster(const rr_preflight_view *view)
{
    return view->store->cluster == RR_YES && rr_preflight_say(view, "cluster-enabled is yes");
}

static bool replica(const rr_preflight_view *view)
{
    return view->store->replica == RR_YES && rr_preflight_say(view, "this server is a replica");
}

static bool permissions(const rr_preflight_view *view)
{
    return view->store->denied[0] != '\0' &&
           rr_preflight_say(view, "user '%s' may not call %s", view->store->user, view->store->denied);
}

static bool functions(const rr_preflight_view *view)
{
    /* An old server and a replica have their own rows. */
    return view->store->functions == RR_NO && view->store->too_old != RR_YES && view->store->replica != RR_YES &&
           rr_preflight_say(view, "%s", view->store->functions_error);
}

static bool no_writes(const rr_preflight_view *view)
{
    return view->store->writes_error[0] != '\0' && view->store->replica != RR_YES && view->store->cluster != RR_YES &&
           rr_preflight_say(view, "it answers '%s'", view->store->writes_error);
}

static bool has_policy(const rr_store_survey *store)
{
    return store->eviction[0] != '\0' && strcmp(store->eviction, "noeviction") != 0;
}

static bool evicts(const rr_preflight_view *view)
{
    char bound[RR_AMOUNT_MAX];

    return has_policy(view->store) && view->store->max_memory > 0 &&
           rr_preflight_say(view, "maxmemory-policy is %s, at %s of maxmemory", view->store->eviction,
                            rr_amount_bytes((double)view->store->max_memory, bound));
}

static bool would_evict(const rr_preflight_view *view)
{
    return has_policy(view->store) && view->store->max_memory == 0 &&
           rr_preflight_say(view, "maxmemory-policy is %s, and maxmemory 0", view->store->eviction);
}

static bool not_persistent(const rr_preflight_view *view)
{
    return view->store->log == RR_NO && view->store->snapshots == RR_NO &&
           rr_preflight_say(view, "%s keeps nothing on disk", view->store->server);
}

static bool snapshots_only(const rr_preflight_view *view)
{
    return view->store->log == RR_NO && view->store->snapshots == RR_YES &&
           rr_preflight_say(view, "appendonly is no, and only snapshots (save) are written");
}

static bool never_synced(const rr_preflight_view *view)
{
    return view->store->log == RR_YES && strcmp(view->store->log_sync, "no") == 0 &&
           rr_preflight_say(view, "appendfsync is no");
}

static bool synced_each_second(const rr_preflight_view *view)
{
    return view->store->log == RR_YES && strcmp(view->store->log_sync, "everysec") == 0 &&
           rr_preflight_say(view, "appendfsync is everysec");
}

static bool settings_hidden(const rr_preflight_view *view)
{
    const rr_store_survey *store = view->store;
    const char *first = store->log == RR_UNKNOWN                                ? "appendonly"
                        : store->log == RR_YES && store->log_sync[0] == '\0'    ? "appendfsync"
                        : store->log == RR_NO && store->snapshots == RR_UNKNOWN ? "save"
                        : store->eviction[0] == '\0'                            ? "maxmemory-policy"
                                                                                : NULL;

    return first != NULL && rr_preflight_say(view, "user '%s' is not told %s", store->user, first);
}

static bool no_replica(const rr_preflight_view *view)
{
    return view->store->replica != RR_YES && view->store->replicas == 0 &&
           view->all->config->store.wait_replicas == 0 && rr_preflight_say(view, "no replica follows it");
}

/* The remedy of a replica that went is to bring it back, so `run` may wait for it. */
static bool replicas_missing(const rr_preflight_view *view)
{
    size_t wanted = view->all->config->store.wait_replicas;

    return view->store->replica != RR_YES && view->store->replicas != RR_NOT_TOLD &&
           view->store->replicas < (int64_t)wanted &&
           rr_preflight_say(view, "wait_replicas is %zu, and %lld replicas follow it", wanted,
                            (long long)view->store->replicas);
}

static bool unbounded(const rr_preflight_view *view)
{
    char used[RR_AMOUNT_MAX];

    return view->store->max_memory == 0 && view->store->used_memory != RR_NOT_TOLD &&
           rr_preflight_say(view, "maxmemory is 0, and %s are used",
                            rr_amount_bytes((double)view->store->used_memory, used));
}

static bool nearly_full(const rr_preflight_view *view)
{
    const rr_store_survey *store = view->store;
    char used[RR_AMOUNT_MAX], bound[RR_AMOUNT_MAX];

    return store->max_memory > 0 && store->used_memory >= store->max_memory / 10 * 9 &&
           rr_preflight_say(view, "%s of %s (maxmemory) are used", rr_amount_bytes((double)store->used_memory, used),
                            rr_amount_bytes((double)store->max_memory, bound));
}

/* Only these modes have values that grow with their contributions, and only what has an end expires. */
static bool expires_at_once(const rr_preflight_view *view)
{
    const rr_contract_list *contracts = &view->all->config->contracts;
    bool grows = false;

    for (size_t k = 0; k < contracts->count; k++) {
        grows =
            grows || (contracts->items[k].mode != RR_MODE_CUMULATIVE && contracts->items[k].retention_us != RR_FOREVER);
    }
    return grows && view->store->lazy_expire == RR_NO && rr_preflight_say(view, "lazyfree-lazy-expire is no");
}

#define ROW(word, kind, check, why, help) \
    { \
        .name = word, .scope = RR_PREFLIGHT_STORE, .severity = RR_PREFLIGHT_##kind, .probe = check, .means = why, \
        .remedy = help \
    }

const rr_preflight_row rr_preflight_store_rows[] = {
    ROW("store_too_old", REFUSE, too_old, "functions, which keep cells from being overwritten unseen, need 7.0",
        "use Redis 7.0 or newer"),
    ROW("store_cluster", REFUSE, cluster,
        "the cells of one call may be on several nodes, where they cannot change together",
        "use a server, or a master with replicas, without cluster mode"),
    ROW("store_replica", REFUSE, replica, "it takes no writes", "name the master in the store's url"),
    ROW("store_permissions", REFUSE, permissions, "without these no cell can be written",
        "ACL SETUSER: permit these commands and FCALL, on the keys below our prefix"),
    ROW("store_functions", REFUSE, functions, "every change of a cell is a call to one of our functions",
        "permit FUNCTION LOAD and FCALL, and do not rename them"),
    {.name = "store_takes_no_writes",
     .scope = RR_PREFLIGHT_STORE,
     .severity = RR_PREFLIGHT_REFUSE,
     .passes = true,
     .probe = no_writes,
     .means = "nothing can be stored, so nothing is acknowledged until it does",
     .remedy = "OOM: raise maxmemory; MISCONF: make room on its disk; NOREPLICAS: see to its replicas"},
    {.name = "store_replicas_missing",
     .scope = RR_PREFLIGHT_STORE,
     .severity = RR_PREFLIGHT_REFUSE,
     .passes = true,
     .probe = replicas_missing,
     .means = "nothing is acknowledged that so many have not confirmed",
     .remedy = "start the replicas that are missing, or a lower `wait_replicas`"},
    ROW("store_evicts", REFUSE, evicts,
        "cells vanish unseen when it is full, an old record then starts one anew, and a repeated delta "
        "counts twice",
        "CONFIG SET maxmemory-policy noeviction, also in redis.conf"),
    ROW("store_would_evict", NOTE, would_evict, "as soon as maxmemory is set, cells vanish when it is full",
        "CONFIG SET maxmemory-policy noeviction, also in redis.conf"),
    ROW("store_not_persistent", WARNING, not_persistent,
        "a crash, and a clean restart too, empties it; cells come back only as far as the streams reach, and "
        "alerts not "
        "yet sent and open conflicts only with them",
        "appendonly yes, with appendfsync everysec or always"),
    ROW("store_snapshots_only", WARNING, snapshots_only,
        "a crash takes everything since the last snapshot; it comes back only as far as the streams reach",
        "appendonly yes, with appendfsync everysec or always"),
    ROW("store_never_synced", WARNING, never_synced,
        "a crash of its machine takes what the kernel had not written, about 30 seconds",
        "appendfsync everysec or always"),
    ROW("store_synced_each_second", NOTE, synced_each_second,
        "a crash of its process loses nothing, one of its machine about the last second",
        "nothing; or appendfsync always"),
    ROW("store_settings_hidden", NOTE, settings_hidden, "what a crash can lose cannot be told without it",
        "permit CONFIG GET and INFO to this user, or look yourself"),
    ROW("store_no_replica", NOTE, no_replica, "if its machine is lost for good, cells come back from the streams only",
        "add a replica, or back up its disk"),
    ROW("store_memory_unbounded", NOTE, unbounded,
        "when the machine's memory ends the kernel kills it, instead of it refusing writes",
        "set maxmemory below what the machine has"),
    ROW("store_nearly_full", WARNING, nearly_full, "when it is full it takes no writes, and nothing is acknowledged",
        "raise maxmemory, or shorten the contracts' retention"),
    ROW("store_expires_at_once", NOTE, expires_at_once,
        "a cell with very many deltas or contributors stops the server for a moment when it expires",
        "CONFIG SET lazyfree-lazy-expire yes"),
    ROW("memory_short", WARNING, rr_preflight_memory_short,
        "it becomes full, takes no writes, and nothing is acknowledged",
        "raise maxmemory, shorten the retention, or expect fewer keys"),
    ROW("memory_estimated", NOTE, rr_preflight_memory_estimated, "an estimate from sizes that are common",
        "compare it with what the machine has"),
    {.name = NULL},
};
