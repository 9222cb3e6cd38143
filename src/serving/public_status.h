/* The status that readers find at `<prefix>:status:{<contract>}`: are the results up to date?
 *
 * One value a contract, made by all processes that serve it. Each of them
 * renews its own entry each second, drops those that were not renewed for a
 * minute, and writes by compare-and-swap what follows from all of them: the
 * worst state, and of each source the farthest progress, which never goes back.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PUBLIC_STATUS_H
#define RR_PUBLIC_STATUS_H

#include "service_state.h"

enum { RR_STATUS_PROCESSES_MAX = 256, RR_STATUS_SOURCES_MAX = 256 };

typedef enum rr_public_state { RR_PUBLIC_OK, RR_PUBLIC_REPAIRING, RR_PUBLIC_DEGRADED } rr_public_state;

typedef struct rr_status_source {
    rr_slice name, stream;
    uint64_t sequence; /* of the newest settled record */
    int64_t time_us;   /* when the stream stored it */
} rr_status_source;

typedef struct rr_status_process {
    rr_slice name;
    rr_public_state state;
    int64_t updated_at_us;
} rr_status_process;

typedef struct rr_public_status {
    rr_status_source sources[RR_STATUS_SOURCES_MAX];
    size_t source_count;
    rr_status_process processes[RR_STATUS_PROCESSES_MAX];
    size_t process_count;
} rr_public_status;

/* Reads a stored status; slices lie in the arena. What is not one of ours, or beyond the bounds, is left out. */
void rr_public_status_read(rr_slice json, rr_arena *arena, rr_public_status *status);

/* Adds one process's view: its entry takes the place of its earlier one (leaving: is removed), entries that are a
 * minute old are dropped, and progress is taken where it is farther than what is there. */
void rr_public_status_join(rr_public_status *status, const rr_status_process *process, bool leaving,
                           const rr_status_source *sources, size_t source_count);

/* Appends the JSON. alone: the state where no process is left. */
void rr_public_status_write(rr_buf *out, const rr_public_status *status, rr_public_state alone, int64_t now_us);

/* Renews the status of each contract in the store. leaving: this process's entry is removed. */
rr_status rr_public_status_publish(rr_service *service, bool leaving, rr_error *error);

#endif
