/* Prefixes with a number, and the note that names the one in force. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "generation.h"

#include "number.h"

void rr_generation_key(rr_buf *out, rr_slice base, const char *kind)
{
    rr_buf_slice(out, base);
    rr_buf_char(out, ':');
    rr_buf_text(out, kind);
}

void rr_generation_prefix(rr_buf *out, rr_slice base, uint64_t number)
{
    rr_buf_slice(out, base);
    if (number != 0) {
        rr_buf_text(out, ".g");
        rr_buf_u64(out, number);
    }
}

/* `.g<number>` in the form that rr_generation_prefix writes; numbers start at 1. */
static bool take_number(rr_slice *rest, uint64_t *number)
{
    size_t len = 2;

    if (rest->len < 3 || rest->data[0] != '.' || rest->data[1] != 'g' || rest->data[2] == '0') {
        return false;
    }
    while (len < rest->len && rest->data[len] >= '0' && rest->data[len] <= '9') {
        len++;
    }
    if (!rr_number_u64((rr_slice){rest->data + 2, len - 2}, number)) {
        return false;
    }
    rest->data += len;
    rest->len -= len;
    return true;
}

bool rr_generation_of_key(rr_slice base, rr_slice key, uint64_t *number, rr_slice *rest)
{
    if (key.len < base.len || memcmp(key.data, base.data, base.len) != 0) {
        return false;
    }
    *rest = (rr_slice){key.data + base.len, key.len - base.len};
    *number = 0;
    if (rest->len != 0 && rest->data[0] == '.' && !take_number(rest, number)) {
        return false;
    }
    return rest->len != 0 && rest->data[0] == ':';
}

/* The number of a whole prefix, without a key behind it. */
static bool number_of(rr_slice base, rr_slice prefix, uint64_t *number)
{
    rr_slice rest;

    *number = 0;
    if (prefix.len < base.len || memcmp(prefix.data, base.data, base.len) != 0) {
        return false;
    }
    rest = (rr_slice){prefix.data + base.len, prefix.len - base.len};
    return rest.len == 0 || (take_number(&rest, number) && rest.len == 0);
}

rr_status rr_generation_read(const rr_store_ops *ops, rr_store *store, rr_slice base, rr_arena *arena, rr_slice *prefix,
                             uint64_t *number, rr_error *error)
{
    rr_buf key = {0};
    rr_status status;

    rr_generation_key(&key, base, "generation");
    *prefix = (rr_slice){NULL, 0};
    *number = 0;
    status = rr_buf_ok(&key) ? ops->note_get(store, rr_buf_view(&key), arena, prefix, error)
                             : rr_fail(error, RR_MEMORY, "memory ran out");
    rr_buf_fini(&key);
    if (status == RR_OK && prefix->len == 0) {
        *prefix = rr_arena_copy(arena, base);
        return prefix->data == NULL ? rr_fail(error, RR_MEMORY, "memory ran out") : RR_OK;
    }
    if (status == RR_OK && !number_of(base, *prefix, number)) {
        return rr_fail(error, RR_CONFIG, "key %.*s:generation: '%.*s' is no generation of prefix %.*s", (int)base.len,
                       base.data, (int)(prefix->len < 100 ? prefix->len : 100), prefix->data, (int)base.len, base.data);
    }
    return status;
}
