/* Keys: print of parse is identity, and parse of print. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "key.h"
#include "kit.h"

static const rr_slice prefix = {"rr", 2};

static rr_slice print(const rr_key_parts *parts, rr_buf *out)
{
    rr_contract contract = {.name = parts->contract,
                            .window_kind = parts->has_window ? RR_WINDOW_ANY : RR_WINDOW_GLOBAL};

    rr_buf_clear(out);
    if (parts->is_sessions) {
        rr_key_sessions(out, prefix, &contract, parts->business_key, parts->metric_version);
    } else {
        rr_key_unit(out, prefix, &contract, parts->business_key, parts->metric_version, parts->window);
    }
    RR_MUST(rr_buf_ok(out));
    return rr_buf_view(out);
}

static int64_t number(fuzz_input *in)
{
    uint64_t sum = 0;

    for (int k = 0; k < 8; k++) {
        sum = sum << 8 | fuzz_byte(in);
    }
    return (int64_t)sum;
}

static void check_print(fuzz_input in, rr_arena *arena)
{
    static rr_buf key;
    uint8_t form = fuzz_byte(&in);
    rr_key_parts parts = {.is_sessions = form % 3 == 1, .has_window = form % 3 == 2}, again;

    parts.window = (rr_window){number(&in), number(&in)};
    parts.contract = fuzz_until(&in, '/');
    parts.business_key = fuzz_until(&in, '/');
    parts.metric_version = fuzz_rest(&in);
    if (parts.contract.len == 0 || parts.business_key.len == 0 || parts.metric_version.len == 0) {
        return;
    }
    RR_MUST(rr_key_parse(print(&parts, &key), prefix, arena, &again));
    RR_MUST(rr_slice_equal(parts.contract, again.contract) && rr_slice_equal(parts.business_key, again.business_key) &&
            rr_slice_equal(parts.metric_version, again.metric_version) && parts.is_sessions == again.is_sessions &&
            parts.has_window == again.has_window);
    RR_MUST(!parts.has_window || rr_window_equal(parts.window, again.window));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rr_buf key;
    rr_slice text = {(const char *)data, size};
    rr_arena *arena = fuzz_arena(0);
    rr_key_parts parts;

    if (rr_key_parse(text, prefix, arena, &parts)) {
        RR_MUST(rr_slice_equal(text, print(&parts, &key)));
    }
    check_print((fuzz_input){data, size}, arena);
    return 0;
}
