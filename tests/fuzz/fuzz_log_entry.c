/* Entries of the decision log, as the outbox reads them. Whatever their bytes are: each is sent or skipped, what
 * goes to a channel is one JSON object a message, and the log is told that all are done. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <yajl/yajl_tree.h>

#include "outbox.h"
#include "kit.h"

enum { ENTRIES_MAX = 16 };

static rr_log_entry entries[ENTRIES_MAX];
static size_t entry_count, done_count, handed_out;

static rr_status log_read(rr_store *store, rr_slice log_key, const char *consumer, int idle_ms, size_t most,
                          rr_arena *arena, rr_log_entry **out, size_t *count, rr_error *error)
{
    (void)store, (void)log_key, (void)consumer, (void)idle_ms, (void)most, (void)arena, (void)error;
    *out = entries;
    *count = handed_out++ == 0 ? entry_count : 0;
    return RR_OK;
}

static rr_status log_done(rr_store *store, rr_slice log_key, const rr_slice *ids, size_t count, rr_error *error)
{
    (void)store, (void)log_key, (void)error;
    for (size_t k = 0; k < count; k++) {
        RR_MUST(rr_slice_equal(ids[k], entries[k].id));
    }
    done_count += count;
    return RR_OK;
}

static rr_status send_checked(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    (void)channel, (void)error;
    for (size_t k = 0; k < count; k++) {
        char parse_error[128];
        rr_buf text = {0};
        yajl_val tree;

        rr_buf_put(&text, messages[k].json.data, messages[k].json.len);
        rr_buf_char(&text, '\0');
        RR_MUST(rr_buf_ok(&text));
        tree = yajl_tree_parse(text.data, parse_error, sizeof parse_error);
        RR_MUST(tree != NULL && YAJL_IS_OBJECT(tree));
        RR_MUST(messages[k].id.len != 0 && messages[k].text.len != 0 && messages[k].kind.len != 0);
        yajl_tree_free(tree);
        rr_buf_fini(&text);
    }
    return RR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rr_store_ops store_ops = {.log_read = log_read, .log_done = log_done};
    static const rr_channel_ops channel_ops = {.send = send_checked};
    rr_bound_channel channel = {.ops = &channel_ops};
    rr_service_options options = {
        .env.store_ops = &store_ops, .env.prefix = RR_SLICE("rr"), .channels = &channel, .channel_count = 1};
    fuzz_input in = {data, size};
    uint64_t sent = 0;

    handed_out = done_count = entry_count = 0;
    while (entry_count < ENTRIES_MAX && in.left != 0) {
        entries[entry_count++] = (rr_log_entry){.id = RR_SLICE("1-1"), .bytes = fuzz_until(&in, '\n')};
    }
    RR_MUST(rr_outbox_send(&options, NULL, "fuzz", fuzz_arena(0), &sent, NULL) == RR_OK);
    RR_MUST(done_count == entry_count);
    return 0;
}
