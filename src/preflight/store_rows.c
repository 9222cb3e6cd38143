/* The faults that a store's server can have. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

static bool find_old_version(const rr_preflight_view *view)
{
    return view->store->too_old == RR_YES && rr_preflight_report(view, "this is %s", view->store->server);
}

static bool find_cluster(const rr_preflight_view *view)
{
    return view->store->cluster == RR_YES && rr_preflight_report(view, "cluster-enabled is yes");
}

static bool find_replica(const rr_preflight_view *view)
{
    return view->store->replica == RR_YES && rr_preflight_report(view, "this server is a replica");
}

static bool find_denied_commands(const rr_preflight_view *view)
{
    return view->store->denied[0] != '\0' &&
           rr_preflight_report(view, "user '%s' may not call %s", view->store->user, view->store->denied);
}

static bool find_no_functions(const rr_preflight_view *view)
{
    /* An old server and a replica have rows of their own. */
    return view->store->functions == RR_NO && view->store->too_old != RR_YES && view->store->replica != RR_YES &&
           rr_preflight_report(view, "%s", view->store->functions_error);
}

static bool find_refused_writes(const rr_preflight_view *view)
{
    return view->store->writes_error[0] != '\0' && view->store->replica != RR_YES && view->store->cluster != RR_YES &&
           rr_preflight_report(view, "it answers '%s'", view->store->writes_error);
}

static bool has_eviction_policy(const rr_store_survey *store)
{
    return store->eviction[0] != '\0' && strcmp(store->eviction, "noeviction") != 0;
}

static bool find_eviction(const rr_preflight_view *view)
{
    char bound[RR_AMOUNT_MAX];

    return has_eviction_policy(view->store) && view->store->max_memory > 0 &&
           rr_preflight_report(view, "maxmemory-policy is %s, at %s of maxmemory", view->store->eviction,
                               rr_amount_bytes((double)view->store->max_memory, bound));
}

static bool find_eviction_policy(const rr_preflight_view *view)
{
    return has_eviction_policy(view->store) && view->store->max_memory == 0 &&
           rr_preflight_report(view, "maxmemory-policy is %s, and maxmemory 0", view->store->eviction);
}

static bool find_no_persistence(const rr_preflight_view *view)
{
    return view->store->log == RR_NO && view->store->snapshots == RR_NO &&
           rr_preflight_report(view, "%s keeps nothing on disk", view->store->server);
}

static bool find_snapshots_only(const rr_preflight_view *view)
{
    return view->store->log == RR_NO && view->store->snapshots == RR_YES &&
           rr_preflight_report(view, "appendonly is no, and only snapshots (save) are written");
}

static bool find_no_sync(const rr_preflight_view *view)
{
    return view->store->log == RR_YES && strcmp(view->store->log_sync, "no") == 0 &&
           rr_preflight_report(view, "appendfsync is no");
}

static bool find_sync_each_second(const rr_preflight_view *view)
{
    return view->store->log == RR_YES && strcmp(view->store->log_sync, "everysec") == 0 &&
           rr_preflight_report(view, "appendfsync is everysec");
}

static bool find_hidden_settings(const rr_preflight_view *view)
{
    const rr_store_survey *store = view->store;
    const char *first = store->log == RR_UNKNOWN                                ? "appendonly"
                        : store->log == RR_YES && store->log_sync[0] == '\0'    ? "appendfsync"
                        : store->log == RR_NO && store->snapshots == RR_UNKNOWN ? "save"
                        : store->eviction[0] == '\0'                            ? "maxmemory-policy"
                                                                                : NULL;

    return first != NULL && rr_preflight_report(view, "user '%s' is not told %s", store->user, first);
}

static bool find_no_replica(const rr_preflight_view *view)
{
    return view->store->replica != RR_YES && view->store->replicas == 0 &&
           view->all->config->store.wait_replicas == 0 && rr_preflight_report(view, "no replica follows it");
}

/* A missing replica may come back by itself, so `run` may wait for it. */
static bool find_missing_replicas(const rr_preflight_view *view)
{
    size_t wanted = view->all->config->store.wait_replicas;

    return view->store->replica != RR_YES && view->store->replicas != RR_NOT_TOLD &&
           view->store->replicas < (int64_t)wanted &&
           rr_preflight_report(view, "wait_replicas is %zu, and %lld replicas follow it", wanted,
                               (long long)view->store->replicas);
}

static bool find_unbounded_memory(const rr_preflight_view *view)
{
    char used[RR_AMOUNT_MAX];

    return view->store->max_memory == 0 && view->store->used_memory != RR_NOT_TOLD &&
           rr_preflight_report(view, "maxmemory is 0, and %s are used",
                               rr_amount_bytes((double)view->store->used_memory, used));
}

static bool find_nearly_full(const rr_preflight_view *view)
{
    const rr_store_survey *store = view->store;
    char used[RR_AMOUNT_MAX], bound[RR_AMOUNT_MAX];

    return store->max_memory > 0 && store->used_memory >= store->max_memory / 10 * 9 &&
           rr_preflight_report(view, "%s of %s (maxmemory) are used", rr_amount_bytes((double)store->used_memory, used),
                               rr_amount_bytes((double)store->max_memory, bound));
}

/* Only these modes have cells that grow with their contributions, and only a cell with a retention expires. */
static bool find_blocking_expiry(const rr_preflight_view *view)
{
    const rr_contract_list *contracts = &view->all->config->contracts;
    bool grows = false;

    for (size_t k = 0; k < contracts->count; k++) {
        grows =
            grows || (contracts->items[k].mode != RR_MODE_CUMULATIVE && contracts->items[k].retention_us != RR_FOREVER);
    }
    return grows && view->store->lazy_expire == RR_NO && rr_preflight_report(view, "lazyfree-lazy-expire is no");
}

const rr_preflight_row rr_preflight_store_rows[] = {
    RR_ROW(STORE, "store_too_old", RR_REFUSES, find_old_version,
           "each change of a cell is a call of a Redis function, and functions need version 7.0",
           "use Redis 7.0 or newer"),
    RR_ROW(STORE, "store_cluster", RR_REFUSES, find_cluster,
           "one call may change several keys, and a cluster may keep them on several nodes",
           "use one server, or a master with replicas, without cluster mode"),
    RR_ROW(STORE, "store_replica", RR_REFUSES, find_replica, "a replica takes no writes",
           "name the master in the store's url"),
    RR_ROW(STORE, "store_permissions", RR_REFUSES, find_denied_commands,
           "no cell can be written without these commands",
           "ACL SETUSER: permit these commands and FCALL, on the keys below the configured prefix"),
    RR_ROW(STORE, "store_functions", RR_REFUSES, find_no_functions,
           "each change of a cell is a call of a Redis function",
           "permit FUNCTION LOAD and FCALL, and do not rename them"),
    RR_ROW(STORE, "store_takes_no_writes", RR_REFUSES_FOR_NOW, find_refused_writes,
           "no result can be stored, so no record is acknowledged until the server accepts writes",
           "OOM: raise maxmemory; MISCONF: make room on its disk; NOREPLICAS: bring its replicas back"),
    RR_ROW(STORE, "store_replicas_missing", RR_REFUSES_FOR_NOW, find_missing_replicas,
           "no record is acknowledged until that many replicas have confirmed its effect",
           "start the missing replicas, or lower `wait_replicas`"),
    RR_ROW(STORE, "store_evicts", RR_REFUSES, find_eviction,
           "a full server drops cells without a word; an old record then starts its cell anew, and a repeated delta "
           "counts twice",
           "CONFIG SET maxmemory-policy noeviction, also in redis.conf"),
    RR_ROW(STORE, "store_would_evict", RR_NOTES, find_eviction_policy,
           "once maxmemory is set, a full server drops cells without a word",
           "CONFIG SET maxmemory-policy noeviction, also in redis.conf"),
    RR_ROW(
        STORE, "store_not_persistent", RR_WARNS, find_no_persistence,
        "a crash or a clean restart empties the server; cells, open conflicts and unsent alerts come back only as far "
        "as the streams reach back",
        "appendonly yes, with appendfsync everysec or always"),
    RR_ROW(STORE, "store_snapshots_only", RR_WARNS, find_snapshots_only,
           "a crash loses everything since the last snapshot; it comes back only as far as the streams reach back",
           "appendonly yes, with appendfsync everysec or always"),
    RR_ROW(STORE, "store_never_synced", RR_WARNS, find_no_sync,
           "a crash of the machine loses what the kernel had not yet written, about 30 seconds",
           "appendfsync everysec or always"),
    RR_ROW(STORE, "store_synced_each_second", RR_NOTES, find_sync_each_second,
           "a crash of the process loses nothing; a crash of the machine loses about the last second",
           "nothing; or appendfsync always"),
    RR_ROW(STORE, "store_settings_hidden", RR_NOTES, find_hidden_settings,
           "what a crash can lose is unknown without it",
           "permit CONFIG GET and INFO to this user, or check the setting by hand"),
    RR_ROW(STORE, "store_no_replica", RR_NOTES, find_no_replica,
           "if the machine is lost for good, cells come back only from the streams",
           "add a replica, or back up the machine's disk"),
    RR_ROW(STORE, "store_memory_unbounded", RR_NOTES, find_unbounded_memory,
           "when the machine has no memory left, the kernel kills the server; with maxmemory the server would refuse "
           "writes instead",
           "set maxmemory below the machine's memory"),
    RR_ROW(STORE, "store_nearly_full", RR_WARNS, find_nearly_full,
           "a full server refuses writes, and no record is acknowledged",
           "raise maxmemory, or shorten the contracts' retention"),
    RR_ROW(STORE, "store_expires_at_once", RR_NOTES, find_blocking_expiry,
           "the server stops for a moment when a cell with very many deltas or contributors expires",
           "CONFIG SET lazyfree-lazy-expire yes"),
    RR_ROW(STORE, "memory_short", RR_WARNS, rr_preflight_find_memory_short,
           "the server becomes full and refuses writes, and no record is acknowledged",
           "raise maxmemory, shorten the retention, or expect fewer keys"),
    RR_ROW(STORE, "memory_estimated", RR_NOTES, rr_preflight_find_memory_enough,
           "the estimate assumes cells of a common size", "compare it with the machine's memory"),
    RR_ROWS_END,
};
