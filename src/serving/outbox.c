/* Entries of one contract's log, gathered by kind. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include <stdlib.h>

#include <yajl/yajl_tree.h>

#include "decision.h"
#include "time.h"

enum {
    ENTRY_BYTES_MAX = 256 * 1024,
    ARENA_BYTES_MAX = 64 << 20,
    PAGE = 500,
    PAGES = 100,
    CELLS_SHOWN = 5,
    IDLE_MS = 30000
};

/* The alerts of one kind that are sent as one. */
typedef struct burst {
    uint64_t count;
    rr_slice id, at, why;        /* of the first */
    rr_slice cells[CELLS_SHOWN]; /* of the first few: JSON objects */
    size_t cell_count;
} burst;

static rr_slice text_at(yajl_val tree, const char *name, rr_arena *arena)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(tree, path, yajl_t_string);

    return value == NULL ? (rr_slice){NULL, 0} : rr_arena_copy(arena, rr_slice_of(YAJL_GET_STRING(value)));
}

static rr_slice number_at(yajl_val tree, const char *name, rr_arena *arena)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(tree, path, yajl_t_number);

    return value == NULL ? (rr_slice){NULL, 0} : rr_arena_copy(arena, rr_slice_of(YAJL_GET_NUMBER(value)));
}

static void put_member(rr_buf *out, const char *name, yajl_val record)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(record, path, yajl_t_string);

    if (value != NULL) {
        rr_buf_text(out, rr_buf_ok(out) && out->data[out->len - 1] == '{' ? "" : ",");
        rr_buf_json(out, rr_slice_of(name));
        rr_buf_char(out, ':');
        rr_buf_json(out, rr_slice_of(YAJL_GET_STRING(value)));
    }
}

/* The cell that an entry is about, as far as the record tells. */
static rr_slice cell_of(yajl_val entry, rr_buf *text, rr_arena *arena)
{
    const char *record_path[] = {"record", NULL}, *start[] = {"record", "window", "start", NULL},
               *end[] = {"record", "window", "end", NULL};
    yajl_val record = yajl_tree_get(entry, record_path, yajl_t_object);
    yajl_val from = yajl_tree_get(entry, start, yajl_t_string), to = yajl_tree_get(entry, end, yajl_t_string);

    if (record == NULL) {
        return (rr_slice){NULL, 0};
    }
    rr_buf_clear(text);
    rr_buf_char(text, '{');
    put_member(text, "business_key", record);
    put_member(text, "metric_version", record);
    if (from != NULL && to != NULL) {
        rr_buf_text(text, text->len > 1 ? ",\"window\":{\"start\":" : "\"window\":{\"start\":");
        rr_buf_json(text, rr_slice_of(YAJL_GET_STRING(from)));
        rr_buf_text(text, ",\"end\":");
        rr_buf_json(text, rr_slice_of(YAJL_GET_STRING(to)));
        rr_buf_char(text, '}');
    }
    rr_buf_char(text, '}');
    return rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};
}

/* Of a message of several records each has alerts of its own. */
static void put_index(rr_buf *text, rr_slice index)
{
    if (index.len != 0) {
        rr_buf_char(text, '/');
        rr_buf_slice(text, index);
    }
}

/* An alert has the same id each time it is sent: its contract, its kind, the place of its record in the stream, and
 * the time of storing. Without that time, a stream that is made anew would repeat ids. */
static rr_slice id_of(yajl_val entry, rr_slice store_id, const char *kind, rr_buf *text, rr_arena *arena)
{
    rr_slice stream = text_at(entry, "stream", arena), sequence = number_at(entry, "sequence", arena),
             stored_at = text_at(entry, "stored_at", arena);

    rr_buf_clear(text);
    rr_buf_slice(text, text_at(entry, "contract", arena));
    rr_buf_char(text, '/');
    rr_buf_text(text, kind);
    rr_buf_char(text, '/');
    if (stream.len != 0) {
        rr_buf_slice(text, stream);
        rr_buf_char(text, '/');
        rr_buf_slice(text, sequence);
        rr_buf_char(text, '/');
        rr_buf_slice(text, stored_at);
        put_index(text, number_at(entry, "index", arena));
    } else {
        rr_buf_slice(text, store_id);
    }
    return rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};
}

static void gather(burst *bursts, const rr_log_entry *stored, rr_buf *text, rr_arena *arena)
{
    const char *path[] = {"alerts", NULL};
    /* Entries of this program are short. A longer one is not parsed, since the parser recurses as deep as a text
     * nests. */
    char *copy = stored->bytes.len > ENTRY_BYTES_MAX ? NULL : rr_arena_take(arena, stored->bytes.len + 1);
    char parse_error[128];
    yajl_val entry, kinds;

    if (copy == NULL) {
        return;
    }
    memcpy(copy, stored->bytes.data, stored->bytes.len);
    copy[stored->bytes.len] = '\0';
    entry = yajl_tree_parse(copy, parse_error, sizeof parse_error);
    kinds = entry == NULL ? NULL : yajl_tree_get(entry, path, yajl_t_array);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): yajl_tree_get was asked for an array. */
    for (size_t k = 0; kinds != NULL && k < YAJL_GET_ARRAY(kinds)->len; k++) {
        const char *word = YAJL_GET_STRING(YAJL_GET_ARRAY(kinds)->values[k]);
        int kind = word == NULL ? -1 : rr_alert_parse(rr_slice_of(word));
        burst *b = kind < 0 ? NULL : &bursts[kind];

        if (b == NULL) {
            continue;
        }
        if (b->count++ == 0) {
            b->id = id_of(entry, stored->id, word, text, arena);
            b->at = text_at(entry, "at", arena);
            b->why = text_at(entry, "text", arena);
        }
        if (b->cell_count < CELLS_SHOWN) {
            rr_slice cell = cell_of(entry, text, arena);

            b->cells[b->cell_count] = cell;
            b->cell_count += cell.len != 0;
        }
    }
    yajl_tree_free(entry);
}

static rr_slice kept(rr_buf *text, rr_arena *arena)
{
    return rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};
}

static void write_alert(rr_alert_message *message, const burst *b, rr_alert kind, rr_slice contract, rr_buf *text,
                        rr_arena *arena)
{
    *message = (rr_alert_message){.contract = contract, .kind = rr_slice_of(rr_alert_word(kind)), .id = b->id};
    rr_buf_clear(text);
    rr_buf_text(text, "{\"id\":");
    rr_buf_json(text, b->id);
    rr_buf_text(text, ",\"contract\":");
    rr_buf_json(text, contract);
    rr_buf_text(text, ",\"kind\":");
    rr_buf_json(text, message->kind);
    rr_buf_text(text, ",\"says\":");
    rr_buf_json(text, rr_slice_of(rr_alert_text(kind)));
    rr_buf_text(text, ",\"count\":");
    rr_buf_u64(text, b->count);
    rr_buf_text(text, ",\"first_at\":");
    rr_buf_json(text, b->at);
    if (b->why.len != 0) {
        rr_buf_text(text, ",\"text\":");
        rr_buf_json(text, b->why);
    }
    rr_buf_text(text, ",\"cells\":[");
    for (size_t k = 0; k < b->cell_count; k++) {
        rr_buf_text(text, k == 0 ? "" : ",");
        rr_buf_slice(text, b->cells[k]);
    }
    rr_buf_text(text, "]}");
    message->json = kept(text, arena);
    rr_buf_clear(text);
    rr_buf_format(text, "%s: %s; %llu of them, the first at %.*s%s%.*s", rr_alert_word(kind), rr_alert_text(kind),
                  (unsigned long long)b->count, (int)b->at.len, b->at.data == NULL ? "" : b->at.data,
                  b->cell_count == 0 ? "" : " of ", b->cell_count == 0 ? 0 : (int)b->cells[0].len,
                  b->cell_count == 0 ? "" : b->cells[0].data);
    message->text = kept(text, arena);
}

static rr_status send_all(const rr_service_options *options, const rr_alert_message *messages, size_t count,
                          rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < options->channel_count && status == RR_OK && count != 0; k++) {
        status = options->channels[k].ops->send(options->channels[k].channel, messages, count, error);
    }
    return status;
}

/* The entries of one log that are sent in one turn. */
typedef struct taken {
    burst bursts[RR_ALERT_COUNT];
    rr_slice *ids[PAGES];
    size_t counts[PAGES];
    size_t pages;
} taken;

static rr_status take_page(const rr_service_options *options, rr_store *store, const char *consumer, rr_slice key,
                           taken *t, rr_buf *text, rr_arena *arena, bool *more, rr_error *error)
{
    rr_log_entry *entries = NULL;
    size_t count = 0;
    rr_slice *ids;
    rr_status status =
        options->env.store_ops->log_read(store, key, consumer, IDLE_MS, PAGE, arena, &entries, &count, error);

    *more = status == RR_OK && count == PAGE;
    if (status != RR_OK || count == 0) {
        return status;
    }
    ids = rr_arena_take(arena, count * sizeof *ids);
    if (ids == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out while alerts were read");
    }
    for (size_t k = 0; k < count; k++) {
        ids[k] = entries[k].id;
        gather(t->bursts, &entries[k], text, arena);
    }
    t->ids[t->pages] = ids;
    t->counts[t->pages++] = count;
    return RR_OK;
}

static rr_status send_bursts(const rr_service_options *options, const taken *t, rr_slice contract, rr_buf *text,
                             rr_arena *arena, uint64_t *sent, rr_error *error)
{
    rr_alert_message messages[RR_ALERT_COUNT];
    size_t count = 0;
    rr_status status;

    for (int kind = 0; kind < RR_ALERT_COUNT; kind++) {
        if (t->bursts[kind].count != 0) {
            write_alert(&messages[count++], &t->bursts[kind], (rr_alert)kind, contract, text, arena);
        }
    }
    status = send_all(options, messages, count, error);
    *sent += status == RR_OK ? count : 0;
    return status;
}

static rr_status hand_out_log(const rr_service_options *options, rr_store *store, const char *consumer,
                              rr_slice contract, rr_slice key, rr_arena *arena, uint64_t *sent, rr_error *error)
{
    taken t = {.pages = 0};
    rr_buf text = {0};
    bool more = true;
    rr_status status = RR_OK;

    while (more && status == RR_OK && t.pages < PAGES && arena->held < ARENA_BYTES_MAX) {
        status = take_page(options, store, consumer, key, &t, &text, arena, &more, error);
    }
    if (status == RR_OK) {
        status = send_bursts(options, &t, contract, &text, arena, sent, error);
    }
    for (size_t k = 0; k < t.pages && status == RR_OK; k++) {
        status = options->env.store_ops->log_done(store, key, t.ids[k], t.counts[k], error);
    }
    rr_buf_fini(&text);
    return status;
}

rr_status rr_outbox_send(const rr_service_options *options, rr_store *store, const char *consumer, rr_arena *arena,
                         uint64_t *sent, rr_error *error)
{
    rr_status status = RR_OK;

    /* The last log is that of records without a contract. */
    for (size_t k = 0; k <= options->env.contract_count && status == RR_OK; k++) {
        const rr_contract *contract = k < options->env.contract_count ? options->env.contracts[k].contract : NULL;
        rr_buf text = {0};
        rr_slice key;

        rr_arena_reset(arena);
        key = rr_decision_log_key(options->env.prefix, contract, &text, arena);
        rr_buf_fini(&text);
        status = key.data == NULL
                     ? rr_fail(error, RR_MEMORY, "memory ran out while alerts were read")
                     : hand_out_log(options, store, consumer, contract == NULL ? RR_SLICE("-") : contract->name, key,
                                    arena, sent, error);
    }
    return status;
}
