/* What all stages of compiling share: they report faults, and take memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "compiler.h"

bool rr_compile_fault(rr_compiler *c, rr_mapping_place place, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    c->failed = true;
    c->fault(c->context, place, text);
    return false;
}

void *rr_compile_take(rr_compiler *c, size_t bytes)
{
    void *taken = rr_arena_zero(c->arena, bytes);

    c->failed = c->failed || taken == NULL;
    return taken;
}
