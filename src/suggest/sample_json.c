/* JSON by yajl. A text that is no JSON object, or is nested too deeply, is not read at all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <yajl/yajl_parse.h>

#include "number.h"
#include "sample_json.h"
#include "sample_values.h"

/* Objects and lists that are open. */
typedef struct level {
    uint16_t path; /* of the object, or of the list; 0 below the first level: left out */
    uint16_t name; /* the path of the member that comes next */
    bool is_list, left_out;
    uint16_t items, item; /* of a list: seen so far. The item that values below have */
} level;

typedef struct reading {
    rr_sample *sample;
    level levels[RR_SAMPLE_DEPTH_MAX + 2];
    size_t depth; /* levels that are open */
    const char *why;
} reading;

enum { NESTED_MAX = RR_SAMPLE_DEPTH_MAX + 2 };

static int refuse(reading *r, const char *why)
{
    r->why = why;
    return 0;
}

/* The level that a scalar belongs to; NULL: it is left out. */
static const level *place_of(reading *r)
{
    level *top = &r->levels[r->depth - 1];

    if (top->is_list && !top->left_out) { /* a list of plain values */
        uint16_t item = r->depth > 1 ? r->levels[r->depth - 2].item : RR_SAMPLE_NO_ITEM;

        rr_sample_put_text(r->sample, top->path, item, RR_VALUE_OTHER, RR_SLICE("list"));
        return NULL;
    }
    return top->is_list || top->left_out ? NULL : top;
}

static int on_null(void *context)
{
    reading *r = context;

    return r->depth == 0 ? refuse(r, "is no JSON object") : 1;
}

static int on_boolean(void *context, int value)
{
    reading *r = context;
    const level *at;

    if (r->depth == 0) {
        return refuse(r, "is no JSON object");
    }
    at = place_of(r);
    if (at != NULL) {
        rr_sample_put_int(r->sample, at->name, at->item, RR_VALUE_BOOL, value != 0);
    }
    return 1;
}

static int on_number(void *context, const char *text, size_t len)
{
    reading *r = context;
    const level *at;
    int64_t number;
    double real;

    if (r->depth == 0) {
        return refuse(r, "is no JSON object");
    }
    at = place_of(r);
    if (at == NULL) {
        return 1;
    }
    if (rr_number_i64((rr_slice){text, len}, &number)) {
        rr_sample_put_int(r->sample, at->name, at->item, RR_VALUE_INT, number);
    } else if (rr_number_double((rr_slice){text, len}, &real)) {
        rr_sample_put_real(r->sample, at->name, at->item, real);
    }
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t len)
{
    reading *r = context;
    const level *at;

    if (r->depth == 0) {
        return refuse(r, "is no JSON object");
    }
    at = place_of(r);
    if (at != NULL) {
        rr_sample_put_text(r->sample, at->name, at->item, RR_VALUE_TEXT, (rr_slice){(const char *)text, len});
    }
    return 1;
}

static int on_map_key(void *context, const unsigned char *text, size_t len)
{
    reading *r = context;
    level *top = &r->levels[r->depth - 1];

    top->name = top->left_out ? 0 : rr_sample_path(r->sample, top->path, (rr_slice){(const char *)text, len});
    return 1;
}

static int on_start_map(void *context)
{
    reading *r = context;
    level *made = &r->levels[r->depth], *outer = r->depth == 0 ? NULL : made - 1;

    if (r->depth == NESTED_MAX) {
        return refuse(r, "is nested too deeply");
    }
    *made = (level){.item = RR_SAMPLE_NO_ITEM};
    if (outer != NULL && !outer->is_list) {
        made->path = outer->name;
        made->item = outer->item;
        made->left_out = outer->left_out || outer->name == 0;
    } else if (outer != NULL) {
        made->path = outer->path;
        made->item = outer->items++;
        /* A list in a list has no place in a mapping. */
        made->left_out = outer->left_out || outer->item != RR_SAMPLE_NO_ITEM || made->item >= RR_SAMPLE_ITEMS_MAX;
        outer->items -= outer->items > RR_SAMPLE_ITEMS_MAX ? 1 : 0;
        if (!made->left_out) {
            r->sample->paths[outer->path].is_list = true;
        }
        r->sample->left_out += made->left_out && !outer->left_out ? 1 : 0;
    }
    r->depth++;
    return 1;
}

static int on_start_array(void *context)
{
    reading *r = context;
    level *made = &r->levels[r->depth], *outer = made - 1;

    if (r->depth == 0) {
        return refuse(r, "is no JSON object");
    }
    if (r->depth == NESTED_MAX) {
        return refuse(r, "is nested too deeply");
    }
    *made = (level){.is_list = true, .path = outer->name, .item = outer->item};
    made->left_out = outer->is_list || outer->left_out || outer->name == 0;
    r->depth++;
    return 1;
}

static int on_end(void *context)
{
    reading *r = context;

    r->depth--;
    return 1;
}

const char *rr_sample_read_json(rr_sample *sample, rr_slice payload)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_start_map,
        .yajl_map_key = on_map_key,
        .yajl_end_map = on_end,
        .yajl_start_array = on_start_array,
        .yajl_end_array = on_end,
    };
    reading r = {.sample = sample};
    yajl_handle handle = yajl_alloc(&callbacks, NULL, &r);
    yajl_status status;

    if (handle == NULL) {
        return "needs more memory than there is";
    }
    status = yajl_parse(handle, (const unsigned char *)payload.data, payload.len);
    if (status == yajl_status_ok) {
        status = yajl_complete_parse(handle);
    }
    yajl_free(handle);
    return status == yajl_status_ok ? NULL : r.why != NULL ? r.why : "is no JSON";
}
