/* The checkpoint as a value and as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <yajl/yajl_tree.h>

enum { TEXT_MAX = 64 * 1024 }; /* bytes; the checkpoints of this program are shorter */

void rr_checkpoint_write(rr_buf *out, const rr_checkpoint *c)
{
    rr_buf_text(out, "{\"stream\":");
    rr_buf_json(out, c->stream);
    rr_buf_text(out, ",\"consumer\":");
    rr_buf_json(out, c->consumer);
    rr_buf_format(out, ",\"created_at_us\":%" PRId64 ",\"floor\":%" PRIu64, c->created_at_us, c->floor);
    if (c->digest_of != 0) {
        rr_buf_format(out, ",\"digest_of\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\"", c->digest_of, c->digest);
    }
    rr_buf_text(out, ",\"incarnation\":");
    rr_buf_json(out, rr_slice_of(c->incarnation));
    rr_buf_text(out, ",\"repair\":");
    if (c->repairing) {
        rr_buf_format(out,
                      "{\"first\":%" PRIu64 ",\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"acked\":%" PRIu64
                      ",\"found_lost\":%" PRIu64 ",\"begun\":%" PRIu64 ",\"uncertain\":%d}",
                      c->first, c->from, c->to, c->acked, c->found_lost, c->begun, c->uncertain);
    } else {
        rr_buf_text(out, "null");
    }
    if (c->gap) {
        rr_buf_format(out, ",\"gap\":{\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}", c->gap_from, c->gap_to);
    }
    rr_buf_char(out, '}');
}

static bool read_u64(yajl_val tree, const char *outer, const char *name, uint64_t *number)
{
    const char *two[] = {outer, name, NULL}, *one[] = {name, NULL};
    yajl_val value = yajl_tree_get(tree, outer == NULL ? one : two, yajl_t_number);
    char *end;

    if (value == NULL) {
        return false;
    }
    *number = strtoull(YAJL_GET_NUMBER(value), &end, 10);
    return *end == '\0';
}

static const char *read_text(yajl_val tree, const char *name)
{
    const char *path[] = {name, NULL};
    yajl_val value = yajl_tree_get(tree, path, yajl_t_string);

    return value == NULL ? NULL : YAJL_GET_STRING(value);
}

static bool read_tree(yajl_val tree, rr_arena *arena, rr_checkpoint *c)
{
    const char *stream = read_text(tree, "stream"), *consumer = read_text(tree, "consumer");
    const char *incarnation = read_text(tree, "incarnation"), *digest = read_text(tree, "digest");
    uint64_t created = 0, uncertain = 0;

    if (stream == NULL || consumer == NULL || incarnation == NULL || strlen(incarnation) >= sizeof c->incarnation ||
        !read_u64(tree, NULL, "floor", &c->floor) || !read_u64(tree, NULL, "created_at_us", &created)) {
        return false;
    }
    c->stream = rr_arena_copy(arena, rr_slice_of(stream));
    c->consumer = rr_arena_copy(arena, rr_slice_of(consumer));
    c->created_at_us = (int64_t)created;
    snprintf(c->incarnation, sizeof c->incarnation, "%s", incarnation);
    if (digest != NULL && read_u64(tree, NULL, "digest_of", &c->digest_of)) {
        c->digest = strtoull(digest, NULL, 16);
    }
    c->repairing = read_u64(tree, "repair", "from", &c->from) && read_u64(tree, "repair", "to", &c->to) &&
                   read_u64(tree, "repair", "first", &c->first);
    read_u64(tree, "repair", "acked", &c->acked);
    read_u64(tree, "repair", "found_lost", &c->found_lost);
    read_u64(tree, "repair", "begun", &c->begun);
    read_u64(tree, "repair", "uncertain", &uncertain);
    c->uncertain = uncertain != 0;
    c->gap = read_u64(tree, "gap", "from", &c->gap_from) && read_u64(tree, "gap", "to", &c->gap_to);
    return true;
}

bool rr_checkpoint_read(rr_slice json, rr_arena *arena, rr_checkpoint *checkpoint)
{
    char *copy = json.len > TEXT_MAX ? NULL : rr_arena_take(arena, json.len + 1), parse_error[64];
    yajl_val tree;
    bool good;

    *checkpoint = (rr_checkpoint){0};
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, json.data, json.len);
    copy[json.len] = '\0';
    tree = yajl_tree_parse(copy, parse_error, sizeof parse_error);
    good = tree != NULL && read_tree(tree, arena, checkpoint);
    yajl_tree_free(tree);
    return good;
}

void rr_checkpoint_set_repair(rr_checkpoint *c, uint64_t from, uint64_t to, uint64_t acked)
{
    if (!c->repairing) {
        c->first = c->from = from;
        c->to = to;
        c->acked = acked;
        c->found_lost = 0;
        c->uncertain = false;
    }
    /* A repair that is under way is extended to cover both ranges. */
    c->repairing = true;
    c->first = from < c->first ? from : c->first;
    c->from = from < c->from ? from : c->from;
    c->to = to > c->to ? to : c->to;
    c->acked = acked > c->acked ? acked : c->acked;
    c->begun = 0;
}

/* What the stream no longer has cannot be read again. */
static void clip_repair(rr_checkpoint *c, const rr_source_info *info)
{
    if (c->repairing && c->from < info->first_sequence) {
        c->gap = true;
        c->gap_from = c->from;
        c->gap_to = info->first_sequence - 1 < c->to ? info->first_sequence - 1 : c->to;
        c->from = info->first_sequence;
    }
    c->repairing = c->repairing && c->from <= c->to;
}

rr_checkpoint_finding rr_checkpoint_advance(rr_checkpoint *c, bool is_known, const rr_source_info *info,
                                            const char *incarnation)
{
    rr_checkpoint_finding finding = RR_CHECKPOINT_FINE;

    if (is_known && c->created_at_us != info->created_at_us) {
        return RR_CHECKPOINT_SOURCE_REMADE;
    }
    if (is_known && info->last_sequence < c->floor) {
        return RR_CHECKPOINT_SOURCE_ROLLED_BACK;
    }
    if (!is_known) {
        c->created_at_us = info->created_at_us;
        c->floor = info->delivered;
        /* What was delivered may have been acknowledged, also above the consumer's floor. */
        if (info->deliveries != 0) {
            finding = RR_CHECKPOINT_NEVER_WRITTEN;
            c->floor = info->starts_at > 1 ? info->starts_at - 1 : 0;
            rr_checkpoint_set_repair(c, c->floor + 1, info->delivered, info->delivered);
        }
    } else if (c->incarnation[0] == '\0') {
        /* A rebuild wrote this checkpoint, so no result counts as lost. A rewind that was asked for meanwhile stays. */
        uint64_t from = c->repairing && c->from <= c->floor ? c->from : c->floor + 1;
        uint64_t to = c->repairing && c->to > info->delivered ? c->to : info->delivered;

        if (to >= from) {
            finding = RR_CHECKPOINT_REBUILT;
            rr_checkpoint_set_repair(c, from, to, 0);
        }
    } else if (strcmp(c->incarnation, incarnation) != 0) {
        /* An equal floor proves nothing: what was written above it may be gone. */
        uint64_t from = c->repairing && c->first <= c->floor ? c->first : c->floor + 1;
        uint64_t to = c->repairing && c->to > info->delivered ? c->to : info->delivered;

        if (to > c->floor) {
            finding = RR_CHECKPOINT_STORE_CHANGED;
            rr_checkpoint_set_repair(c, from, to, to);
        }
    } else if (!c->repairing && info->ack_floor > c->floor) {
        c->floor = info->ack_floor;
    }
    snprintf(c->incarnation, sizeof c->incarnation, "%s", incarnation);
    if (finding != RR_CHECKPOINT_FINE) {
        clip_repair(c, info);
    }
    return finding;
}

uint64_t rr_checkpoint_digest(rr_slice payload)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t k = 0; k < payload.len; k++) {
        hash = (hash ^ (unsigned char)payload.data[k]) * UINT64_C(0x100000001b3);
    }
    return hash;
}
