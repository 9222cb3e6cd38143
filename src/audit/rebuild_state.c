/* What every stage of a rebuild needs: its log, and texts in its arenas. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild_state.h"

#include <stdarg.h>
#include <stdio.h>

void rr_rebuild_log(const rr_rebuild *r, rr_log_level level, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->options->log(level, text);
}

rr_status rr_rebuild_no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out during the rebuild");
}

rr_slice rr_rebuild_keep(rr_buf *text, rr_arena *arena)
{
    rr_slice copy = rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};

    rr_buf_fini(text);
    return copy;
}

rr_slice rr_rebuild_base_key(rr_rebuild *r, const char *kind)
{
    rr_buf text = {0};

    rr_generation_key(&text, r->options->base_prefix, kind);
    return rr_rebuild_keep(&text, &r->arena);
}
