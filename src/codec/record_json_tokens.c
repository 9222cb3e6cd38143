/* Tokens of a line by yajl, in memory that was taken beforehand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_decoding.h"

static int yajl_on_null(void *context)
{
    return rr_json_on_scalar(context, (rr_json_scalar){RR_JSON_ABSENT, {NULL, 0}});
}

static int yajl_on_boolean(void *context, int value)
{
    (void)value;
    return rr_json_on_scalar(context, (rr_json_scalar){RR_JSON_BOOL, {NULL, 0}});
}

static int yajl_on_number(void *context, const char *text, size_t len)
{
    return rr_json_on_scalar(context, (rr_json_scalar){RR_JSON_NUMBER, {text, len}});
}

static int yajl_on_string(void *context, const unsigned char *text, size_t len)
{
    return rr_json_on_scalar(context, (rr_json_scalar){RR_JSON_STRING, {(const char *)text, len}});
}

static int yajl_on_map_key(void *context, const unsigned char *text, size_t len)
{
    return rr_json_on_name(context, (rr_slice){(const char *)text, len});
}

static int yajl_on_start_map(void *context)
{
    return rr_json_on_open(context, true);
}

static int yajl_on_start_array(void *context)
{
    return rr_json_on_open(context, false);
}

static int yajl_on_end(void *context)
{
    return rr_json_on_close(context);
}

static const yajl_callbacks callbacks = {
    .yajl_null = yajl_on_null,
    .yajl_boolean = yajl_on_boolean,
    .yajl_number = yajl_on_number,
    .yajl_string = yajl_on_string,
    .yajl_start_map = yajl_on_start_map,
    .yajl_map_key = yajl_on_map_key,
    .yajl_end_map = yajl_on_end,
    .yajl_start_array = yajl_on_start_array,
    .yajl_end_array = yajl_on_end,
};

static void explain_first_line(rr_json_decoding *r, const char *text)
{
    rr_slice line = rr_slice_of(text);
    const char *end = memchr(text, '\n', line.len);

    line.len = end == NULL ? line.len : (size_t)(end - text);
    rr_text_slice(r->why, line);
}

static int refuse_as_no_json(rr_json_decoding *r)
{
    unsigned char *text = yajl_get_error(r->yajl, 0, (const unsigned char *)r->line.data, r->line.len);
    size_t at = yajl_get_bytes_consumed(r->yajl);

    rr_text_put(r->why, "not JSON");
    rr_json_explain_column(r, at == 0 ? 1 : at);
    explain_first_line(r, text == NULL ? "" : (const char *)text);
    return rr_json_malformed(r, "");
}

void rr_json_parse(rr_json_decoding *r)
{
    yajl_alloc_funcs memory = rr_json_memory_funcs(&r->memory);
    yajl_status status;

    r->yajl = yajl_alloc(&callbacks, &memory, r);
    status = yajl_parse(r->yajl, (const unsigned char *)r->line.data, r->line.len);
    if (status == yajl_status_ok) {
        status = yajl_complete_parse(r->yajl);
    }
    if (status == yajl_status_error && r->decoded == RR_DECODED_RECORD) {
        refuse_as_no_json(r);
    }
    yajl_free(r->yajl);
}
