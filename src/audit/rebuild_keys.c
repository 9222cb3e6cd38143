/* Which keys belong to this configuration, and which of them to no generation in force. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild_keys.h"

#include <stdio.h>

#include "key.h"

static rr_slice escaped(rr_slice name, rr_arena *arena)
{
    rr_buf text = {0};

    rr_key_escape(&text, name);
    return rr_rebuild_keep(&text, arena);
}

bool rr_rebuild_name_all(rr_rebuild *r)
{
    const rr_rebuild_options *o = r->options;
    bool good = true;

    r->contracts = rr_arena_take(&r->arena, (o->contract_count + 1) * sizeof *r->contracts);
    r->sources = rr_arena_take(&r->arena, (o->source_count + 1) * sizeof *r->sources);
    for (size_t k = 0; k < o->contract_count && r->contracts != NULL; k++) {
        r->contracts[k] = escaped(o->contracts[k].contract->name, &r->arena);
        good = good && r->contracts[k].data != NULL;
    }
    for (size_t k = 0; k < o->source_count && r->sources != NULL; k++) {
        r->sources[k] = escaped(o->sources[k].name, &r->arena);
        good = good && r->sources[k].data != NULL;
    }
    return good && r->contracts != NULL && r->sources != NULL;
}

static bool is_among(const rr_slice *names, size_t count, rr_slice name)
{
    for (size_t k = 0; k < count; k++) {
        if (rr_slice_equal(names[k], name)) {
            return true;
        }
    }
    return false;
}

/* `:<kind>:{<name>}`, or with an empty kind `:{<name>:`, which is a cell's. Names hold neither a colon nor a brace. */
static bool parse_name(rr_slice rest, rr_slice *kind, rr_slice *name)
{
    const char *open = memchr(rest.data, '{', rest.len), *end = rest.data + rest.len, *close;

    if (open == NULL || rest.data[0] != ':') {
        return false;
    }
    *kind = open == rest.data + 1 ? (rr_slice){open, 0} : (rr_slice){rest.data + 1, (size_t)(open - rest.data) - 2};
    close = memchr(open, kind->len == 0 ? ':' : '}', (size_t)(end - open));
    *name = (rr_slice){open + 1, close == NULL ? 0 : (size_t)(close - open) - 1};
    return close != NULL && (kind->len == 0 || (close + 1 == end && open[-1] == ':'));
}

/* A key is ours if it names a contract or a source of this configuration. */
static bool is_ours(const rr_rebuild *r, rr_slice rest)
{
    static const char *const kinds[] = {"", "status", "open", "log", "contract"};
    static const char *const source_kinds[] = {"checkpoint", "mapping", "hold"};
    size_t contracts = r->options->contract_count;
    rr_slice kind, name;

    if (!parse_name(rest, &kind, &name)) {
        return false;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (rr_slice_equal(kind, rr_slice_of(kinds[k]))) {
            return is_among(r->contracts, contracts, name) || (name.len == 0 && strcmp(kinds[k], "log") == 0);
        }
    }
    for (size_t k = 0; k < sizeof source_kinds / sizeof *source_kinds; k++) {
        if (rr_slice_equal(kind, rr_slice_of(source_kinds[k]))) {
            return is_among(r->sources, r->options->source_count, name);
        }
    }
    return false;
}

/* Every key of ours below another generation than the one in force. */
static bool is_garbage(void *context, rr_slice key)
{
    rr_rebuild *r = context;
    uint64_t number;
    rr_slice rest;

    if (!rr_generation_of_key(r->options->base_prefix, key, &number, &rest)) {
        return false;
    }
    r->highest = number > r->highest ? number : r->highest;
    return number != r->in_force && is_ours(r, rest);
}

rr_status rr_rebuild_sweep(rr_rebuild *r)
{
    return r->options->store_ops->sweep(r->options->store, r->options->base_prefix, is_garbage, r, &r->totals->removed,
                                        r->error);
}

typedef struct foreign {
    const rr_rebuild *r;
    char kind[16], name[128];
} foreign;

static bool find_foreign(void *context, rr_slice key)
{
    foreign *f = context;
    uint64_t number;
    rr_slice rest, kind, name;

    if (rr_generation_of_key(f->r->options->base_prefix, key, &number, &rest) && parse_name(rest, &kind, &name) &&
        !is_ours(f->r, rest)) {
        snprintf(f->kind, sizeof f->kind, "%.*s", (int)kind.len, kind.data);
        snprintf(f->name, sizeof f->name, "%.*s", (int)name.len, name.data);
        return false;
    }
    return true;
}

rr_status rr_rebuild_check_alone(rr_rebuild *r)
{
    static const char *const kinds[] = {"contract", "checkpoint"};
    rr_status status = RR_OK;

    for (size_t k = 0; k < 2 && status == RR_OK; k++) {
        foreign f = {.r = r};
        rr_buf start = {0};

        rr_buf_slice(&start, r->old);
        rr_buf_format(&start, ":%s:{", kinds[k]);
        status = rr_buf_ok(&start)
                     ? r->options->store_ops->scan(r->options->store, rr_buf_view(&start), find_foreign, &f, r->error)
                     : rr_rebuild_no_memory(r->error);
        rr_buf_fini(&start);
        if (status == RR_OK && f.name[0] != '\0') {
            status =
                rr_fail(r->error, RR_CONFIG,
                        "%s %s also keeps results below prefix %.*s, and is not in this configuration: the switch "
                        "would cut it off. Add it to the configuration; or, if nobody uses it any more, remove the "
                        "key %.*s:%s:{%s}",
                        strcmp(f.kind, "contract") == 0 ? "contract" : "source", f.name, (int)r->old.len, r->old.data,
                        (int)r->old.len, r->old.data, f.kind, f.name);
        }
    }
    return status;
}
