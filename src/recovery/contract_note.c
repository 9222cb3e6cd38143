/* The contract's note as bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_note.h"

#include <inttypes.h>

#include "number.h"

static const char head[] = "# {\"eras\":[", tail[] = "]}\n";

static void put_eras(rr_buf *out, const rr_eras *eras)
{
    rr_buf_text(out, head);
    for (size_t k = 0; k < eras->count; k++) {
        rr_buf_format(out, "%s{\"until_us\":%" PRId64 ",\"retention_us\":%" PRId64 ",\"kept_us\":%" PRId64 "}",
                      k == 0 ? "" : ",", eras->items[k].until_us, eras->items[k].retention_us, eras->items[k].kept_us);
    }
    rr_buf_text(out, tail);
}

void rr_contract_note_write(rr_buf *out, rr_slice text, const rr_eras *eras)
{
    rr_buf_slice(out, text);
    if (eras->count != 0) {
        put_eras(out, eras);
    }
}

static bool take(rr_slice *rest, const char *expected)
{
    size_t len = strlen(expected);

    if (rest->len < len || memcmp(rest->data, expected, len) != 0) {
        return false;
    }
    rest->data += len;
    rest->len -= len;
    return true;
}

static bool take_number(rr_slice *rest, const char *name, int64_t *number)
{
    size_t len = 0;

    if (!take(rest, name)) {
        return false;
    }
    while (len < rest->len && rest->data[len] >= '0' && rest->data[len] <= '9') {
        len++;
    }
    if (!rr_number_i64((rr_slice){rest->data, len}, number)) {
        return false;
    }
    rest->data += len;
    rest->len -= len;
    return true;
}

static bool take_era(rr_slice *rest, rr_era *era)
{
    return take_number(rest, "{\"until_us\":", &era->until_us) &&
           take_number(rest, ",\"retention_us\":", &era->retention_us) &&
           take_number(rest, ",\"kept_us\":", &era->kept_us) && take(rest, "}") && era->kept_us >= era->retention_us &&
           era->kept_us != RR_FOREVER;
}

/* Eras are sorted by their end, and a later era is never shorter (contract.h). */
static bool comes_after(rr_era era, rr_era before)
{
    return era.until_us > before.until_us && era.retention_us >= before.retention_us && era.kept_us >= before.kept_us &&
           (era.retention_us != before.retention_us || era.kept_us != before.kept_us);
}

static bool read_eras(rr_slice line, rr_eras *eras)
{
    bool good = take(&line, head);

    while (good && !rr_slice_equal(line, rr_slice_of(tail))) {
        rr_era *next = &eras->items[eras->count];

        good = eras->count < RR_LIMIT_ERAS && (eras->count == 0 || take(&line, ",")) && take_era(&line, next) &&
               (eras->count == 0 || comes_after(*next, next[-1]));
        eras->count += good;
    }
    return good && eras->count != 0;
}

static size_t last_line(rr_slice text)
{
    size_t at = text.len == 0 ? 0 : text.len - 1;

    while (at > 0 && text.data[at - 1] != '\n') {
        at--;
    }
    return at;
}

bool rr_contract_note_read(rr_slice held, rr_contract_note *note)
{
    size_t at = last_line(held);

    *note = (rr_contract_note){.held = held, .text = held};
    if (at == held.len || held.data[at] != '#') {
        return true;
    }
    note->text.len = at;
    return read_eras((rr_slice){held.data + at, held.len - at}, &note->eras);
}

rr_status rr_contract_note_load(const rr_store_ops *ops, rr_store *store, rr_slice key, rr_arena *arena,
                                rr_contract_note *note, rr_error *error)
{
    rr_slice held = {NULL, 0};
    rr_status status = ops->note_get(store, key, arena, &held, error);

    if (status == RR_OK && !rr_contract_note_read(held, note)) {
        return rr_fail(error, RR_CONFIG,
                       "key %.*s: the last line of this note of a contract cannot be read. It says which "
                       "windows keep an "
                       "earlier retention; restore it, or rebuild.",
                       (int)key.len, key.data);
    }
    return status;
}
