/* Within the bounds of sampled.h; what they leave out is counted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_values.h"

#include "hash.h"
#include "utf8.h"

/* A name that a configuration can hold. */
static bool can_be_written(rr_slice step)
{
    return step.len != 0 && step.len <= RR_SAMPLE_STEP_MAX && memchr(step.data, '\0', step.len) == NULL &&
           rr_utf8_valid_len(step) == step.len;
}

uint16_t rr_sample_path(rr_sample *sample, uint16_t parent, rr_slice step)
{
    rr_path_seen *made;
    rr_slice kept;

    for (size_t k = 1; k < sample->path_count; k++) {
        if (sample->paths[k].parent == parent && rr_slice_equal(sample->paths[k].step, step)) {
            return (uint16_t)k;
        }
    }
    if (sample->path_count == RR_SAMPLE_PATHS_MAX || !can_be_written(step) ||
        sample->paths[parent].depth == RR_SAMPLE_DEPTH_MAX) {
        sample->left_out++;
        return 0;
    }
    kept = rr_arena_copy(sample->arena, step);
    if (kept.data == NULL) {
        sample->left_out++;
        return 0;
    }
    made = &sample->paths[sample->path_count];
    made->parent = parent;
    made->step = kept;
    made->depth = (uint16_t)(sample->paths[parent].depth + 1);
    made->list = sample->paths[parent].is_list ? parent : sample->paths[parent].list;
    return (uint16_t)sample->path_count++;
}

void rr_sample_put(rr_sample *sample, rr_value_seen value)
{
    size_t at = sample->value_count;

    if (value.path == 0) {
        return;
    }
    for (size_t k = sample->value_count; k-- > 0;) {
        if (sample->values[k].path == value.path && sample->values[k].item == value.item) {
            at = k;
            break;
        }
        if (sample->values[k].item != value.item && value.item != RR_SAMPLE_NO_ITEM) {
            break;
        }
    }
    if (at == RR_SAMPLE_VALUES_MAX) {
        sample->left_out++;
        return;
    }
    sample->paths[value.path].has_value = true;
    sample->values[at] = value;
    sample->value_count += at == sample->value_count ? 1 : 0;
}

void rr_sample_put_text(rr_sample *sample, uint16_t path, uint16_t item, rr_value_kind kind, rr_slice text)
{
    rr_slice kept = {text.data, text.len > RR_SAMPLE_TEXT_KEPT ? RR_SAMPLE_TEXT_KEPT : text.len};

    if (path == 0) {
        return;
    }
    kept = kind == RR_VALUE_OTHER ? RR_SLICE("") : rr_arena_copy(sample->arena, kept);
    kept = kept.data == NULL ? RR_SLICE("") : kept;
    rr_sample_put(sample,
                  (rr_value_seen){.path = path, .item = item, .kind = kind, .text = kept, .hash = rr_hash(text)});
}

void rr_sample_put_int(rr_sample *sample, uint16_t path, uint16_t item, rr_value_kind kind, int64_t number)
{
    rr_slice bytes = {(const char *)&number, sizeof number};

    rr_sample_put(sample, (rr_value_seen){.path = path,
                                          .item = item,
                                          .kind = kind,
                                          .number = number,
                                          .real = (double)number,
                                          .hash = rr_hash(bytes)});
}

void rr_sample_put_real(rr_sample *sample, uint16_t path, uint16_t item, double number)
{
    rr_slice bytes = {(const char *)&number, sizeof number};

    rr_sample_put(
        sample,
        (rr_value_seen){.path = path, .item = item, .kind = RR_VALUE_REAL, .real = number, .hash = rr_hash(bytes)});
}
