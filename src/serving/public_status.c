/* Reading, joining and writing the status of a contract. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "public_status.h"

#include <stdlib.h>

#include <yajl/yajl_tree.h>

#include "time.h"

enum {
    TEXT_MAX = 256 * 1024,
    TTL_MS = 60000,
    EXPIRY_US = 60000000,
    TRIES = 4 /* of a compare-and-swap that other processes won */
};

static const char *const state_words[] = {"ok", "repairing", "degraded"};

static rr_slice text_at(yajl_val object, const char *name, rr_arena *arena)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(object, path, yajl_t_string);

    return value == NULL ? (rr_slice){NULL, 0} : rr_arena_copy(arena, rr_slice_of(YAJL_GET_STRING(value)));
}

static bool time_at(yajl_val object, const char *name, rr_arena *arena, int64_t *time_us)
{
    rr_slice text = text_at(object, name, arena);

    return text.len != 0 && rr_time_parse(text, time_us);
}

static void read_source(yajl_val object, rr_arena *arena, rr_public_status *status)
{
    const char *path[] = {"through_sequence", NULL};
    yajl_val sequence = yajl_tree_get(object, path, yajl_t_number);
    rr_status_source source = {.name = text_at(object, "name", arena), .stream = text_at(object, "stream", arena)};

    if (source.name.len != 0 && sequence != NULL && time_at(object, "through_time", arena, &source.time_us) &&
        status->source_count < RR_STATUS_SOURCES_MAX) {
        source.sequence = strtoull(YAJL_GET_NUMBER(sequence), NULL, 10);
        status->sources[status->source_count++] = source;
    }
}

static void read_process(yajl_val object, rr_arena *arena, rr_public_status *status)
{
    rr_status_process process = {.name = text_at(object, "name", arena), .state = RR_PUBLIC_DEGRADED};
    rr_slice state = text_at(object, "state", arena);

    for (int k = RR_PUBLIC_OK; k <= RR_PUBLIC_DEGRADED; k++) {
        process.state = rr_slice_equal(state, rr_slice_of(state_words[k])) ? (rr_public_state)k : process.state;
    }
    if (process.name.len != 0 && time_at(object, "updated_at", arena, &process.updated_at_us) &&
        status->process_count < RR_STATUS_PROCESSES_MAX) {
        status->processes[status->process_count++] = process;
    }
}

static void read_each(yajl_val tree, const char *name, rr_arena *arena, rr_public_status *status,
                      void (*read)(yajl_val object, rr_arena *arena, rr_public_status *status))
{
    const char *path[] = {name, NULL};
    yajl_val list = yajl_tree_get(tree, path, yajl_t_array);

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): yajl_tree_get was asked for an array. */
    for (size_t k = 0; list != NULL && k < YAJL_GET_ARRAY(list)->len; k++) {
        read(YAJL_GET_ARRAY(list)->values[k], arena, status);
    }
}

void rr_public_status_read(rr_slice json, rr_arena *arena, rr_public_status *status)
{
    char *copy = json.len == 0 || json.len > TEXT_MAX ? NULL : rr_arena_take(arena, json.len + 1), why[64];
    yajl_val tree;

    status->source_count = status->process_count = 0;
    if (copy == NULL) {
        return;
    }
    memcpy(copy, json.data, json.len);
    copy[json.len] = '\0';
    tree = yajl_tree_parse(copy, why, sizeof why);
    read_each(tree, "sources", arena, status, read_source);
    read_each(tree, "processes", arena, status, read_process);
    yajl_tree_free(tree);
}

static bool is_expired(const rr_status_process *process, int64_t now_us)
{
    return process->updated_at_us < now_us - EXPIRY_US || process->updated_at_us > now_us + EXPIRY_US;
}

static void join_process(rr_public_status *status, const rr_status_process *process, bool leaving)
{
    size_t kept = 0;

    for (size_t k = 0; k < status->process_count; k++) {
        if (!rr_slice_equal(status->processes[k].name, process->name) &&
            !is_expired(&status->processes[k], process->updated_at_us)) {
            status->processes[kept++] = status->processes[k];
        }
    }
    if (!leaving && kept < RR_STATUS_PROCESSES_MAX) {
        status->processes[kept++] = *process;
    }
    status->process_count = kept;
}

static void join_source(rr_public_status *status, const rr_status_source *source)
{
    for (size_t k = 0; k < status->source_count; k++) {
        rr_status_source *held = &status->sources[k];

        if (rr_slice_equal(held->name, source->name) && rr_slice_equal(held->stream, source->stream)) {
            *held = held->sequence < source->sequence ? *source : *held;
            return;
        }
    }
    if (status->source_count < RR_STATUS_SOURCES_MAX) {
        status->sources[status->source_count++] = *source;
    }
}

void rr_public_status_join(rr_public_status *status, const rr_status_process *process, bool leaving,
                           const rr_status_source *sources, size_t source_count)
{
    join_process(status, process, leaving);
    for (size_t k = 0; k < source_count; k++) {
        join_source(status, &sources[k]);
    }
}

static void put_time(rr_buf *out, int64_t time_us)
{
    char text[RR_TIME_TEXT_MAX];

    rr_buf_char(out, '"');
    rr_buf_put(out, text, rr_time_print(time_us, text));
    rr_buf_char(out, '"');
}

static void put_source(rr_buf *out, const rr_status_source *source)
{
    rr_buf_text(out, "{\"name\":");
    rr_buf_json(out, source->name);
    rr_buf_text(out, ",\"stream\":");
    rr_buf_json(out, source->stream);
    rr_buf_text(out, ",\"through_sequence\":");
    rr_buf_u64(out, source->sequence);
    rr_buf_text(out, ",\"through_time\":");
    put_time(out, source->time_us);
    rr_buf_char(out, '}');
}

static void put_process(rr_buf *out, const rr_status_process *process)
{
    rr_buf_text(out, "{\"name\":");
    rr_buf_json(out, process->name);
    rr_buf_format(out, ",\"state\":\"%s\",\"updated_at\":", state_words[process->state]);
    put_time(out, process->updated_at_us);
    rr_buf_char(out, '}');
}

void rr_public_status_write(rr_buf *out, const rr_public_status *status, rr_public_state alone, int64_t now_us)
{
    rr_public_state worst = status->process_count == 0 ? alone : RR_PUBLIC_OK;

    for (size_t k = 0; k < status->process_count; k++) {
        worst = status->processes[k].state > worst ? status->processes[k].state : worst;
    }
    rr_buf_format(out, "{\"state\":\"%s\",\"updated_at\":", state_words[worst]);
    put_time(out, now_us);
    rr_buf_text(out, ",\"sources\":[");
    for (size_t k = 0; k < status->source_count; k++) {
        rr_buf_text(out, k == 0 ? "" : ",");
        put_source(out, &status->sources[k]);
    }
    rr_buf_text(out, "],\"processes\":[");
    for (size_t k = 0; k < status->process_count; k++) {
        rr_buf_text(out, k == 0 ? "" : ",");
        put_process(out, &status->processes[k]);
    }
    rr_buf_text(out, "]}");
}

static rr_public_state state_of(const rr_service *service)
{
    rr_public_state state = atomic_load(&service->down) != 0 ? RR_PUBLIC_DEGRADED : RR_PUBLIC_OK;

    for (size_t k = 0; k < service->env->source_count; k++) {
        const rr_source_progress *progress = &service->recovery.progress[k];

        if (progress->is_halted || progress->is_held || progress->is_away || progress->checkpoint.gap) {
            return RR_PUBLIC_DEGRADED;
        }
        state = progress->checkpoint.repairing && state == RR_PUBLIC_OK ? RR_PUBLIC_REPAIRING : state;
    }
    return state;
}

/* The sources of which this process has settled something. */
static rr_status_source *sources_of(rr_service *service, size_t *count)
{
    const rr_environment *env = service->env;
    rr_status_source *sources = rr_arena_take(&service->arena, (env->source_count + 1) * sizeof *sources);

    *count = 0;
    for (size_t k = 0; k < env->source_count && sources != NULL; k++) {
        const rr_source_progress *progress = &service->recovery.progress[k];

        if (progress->sequence != 0) {
            sources[(*count)++] = (rr_status_source){.name = env->sources[k].name,
                                                     .stream = env->sources[k].stream,
                                                     .sequence = progress->sequence,
                                                     .time_us = progress->time_us};
        }
    }
    return sources;
}

/* *written: false where another process changed the status first. */
static rr_status renew(rr_service *service, rr_slice key, bool leaving, bool *written, rr_error *error)
{
    const rr_environment *env = service->env;
    rr_status_process process = {
        .name = rr_slice_of(service->process), .state = state_of(service), .updated_at_us = env->now_us()};
    rr_public_status *status = rr_arena_take(&service->arena, sizeof *status);
    size_t source_count;
    rr_status_source *sources = sources_of(service, &source_count);
    rr_slice held = {NULL, 0};
    rr_status result;

    if (status == NULL || sources == NULL) {
        return rr_service_no_memory(error);
    }
    result = env->store_ops->note_get(env->store, key, &service->arena, &held, error);
    if (result != RR_OK) {
        return result;
    }
    rr_public_status_read(held, &service->arena, status);
    rr_public_status_join(status, &process, leaving, sources, source_count);
    rr_buf_clear(&service->text);
    rr_public_status_write(&service->text, status, process.state, process.updated_at_us);
    return rr_buf_ok(&service->text) ? env->store_ops->note_set(env->store, key, held, rr_buf_view(&service->text),
                                                                TTL_MS, NULL, written, error)
                                     : rr_service_no_memory(error);
}

rr_status rr_public_status_publish(rr_service *service, bool leaving, rr_error *error)
{
    const rr_environment *env = service->env;
    rr_status status = RR_OK;

    for (size_t k = 0; k < env->contract_count && status == RR_OK; k++) {
        bool written = false;

        /* Where another process changes the status at each try, this process renews its entry a second later. */
        for (int tries = 0; tries < TRIES && status == RR_OK && !written; tries++) {
            rr_slice key;

            rr_arena_reset(&service->arena);
            rr_arena_reset(&service->recovery.arena);
            key = rr_recovery_key(&service->recovery, "status", env->contracts[k].contract->name);
            status = key.data == NULL ? rr_service_no_memory(error) : renew(service, key, leaving, &written, error);
        }
    }
    return status;
}
