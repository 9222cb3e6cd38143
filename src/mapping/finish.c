/* Slots into one record. Where a record's fields belong together (windows, versions, withdrawals), it is settled here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"
#include "program.h"
#include "utf8.h"

/* A record's values before they are put together; texts still stand in the message, the mapping or the scratch. */
typedef struct draft {
    rr_finishing f;
    uint32_t seen; /* bit per target */
    rr_final values[RR_TARGET_COUNT];
    rr_measure measures[RR_LIMIT_MEASURES + 1]; /* the last is never one */
    size_t measure_count;
    rr_step entry; /* of a map of measures, under way */
} draft;

_Static_assert(RR_TARGET_COUNT <= 32, "a bit per target");

static bool has(const draft *d, rr_target target)
{
    return (d->seen >> target & 1) != 0;
}

/* ---- steps ---- */

/* As RFC 6901 does, so that no two lists give one key. */
static bool join(draft *d, const rr_slice *texts, size_t count, rr_slice *joined)
{
    size_t room = count;
    char *to;

    for (size_t k = 0; k < count; k++) {
        room += 2 * texts[k].len;
    }
    to = rr_arena_take(d->f.run->scratch, room);
    if (to == NULL) {
        d->f.stopped = RR_FINISHED_NO_MEMORY;
        return false;
    }
    *joined = (rr_slice){to, 0};
    for (size_t k = 0; k < count; k++) {
        if (k != 0) {
            *to++ = '/';
        }
        for (size_t at = 0; at < texts[k].len; at++) {
            char c = texts[k].data[at];

            if (c == '~' || c == '/') {
                *to++ = '~';
                c = c == '~' ? '0' : '1';
            }
            *to++ = c;
        }
    }
    joined->len = (size_t)(to - joined->data);
    return true;
}

static bool take_list(draft *d, const rr_slot *item)
{
    const rr_step *step = d->f.step;
    rr_slice texts[RR_MAPPING_PARTS_MAX];
    rr_final value;

    for (size_t k = 0; k < step->part_count; k++) {
        const rr_part *part = &step->parts[k];
        rr_slot made;
        bool there;

        if (!rr_finish_part(&d->f, part, rr_run_fetch(d->f.run, &part->ref, item, &made), &there, &value, NULL)) {
            return false;
        }
        if (!there) {
            return rr_finish_malformed(
                &d->f, &part->ref,
                "is absent, and a part of a key has to be there; `default` can say what stands for it");
        }
        texts[k] = value.text;
    }
    d->seen |= UINT32_C(1) << step->target;
    return join(d, texts, step->part_count, &d->values[step->target].text);
}

static const rr_choice *quick_choice(const rr_part *part, const rr_slot *seen)
{
    size_t k = 0;

    if (seen->u == 0 && part->said->absent_zero) {
        return NULL;
    }
    while (k < part->choice_count && part->choices[k].bits != seen->u) {
        k++;
    }
    return k == part->choice_count || part->choices[k].to.skip ? NULL : &part->choices[k];
}

/* The short way of rr_finish_part; false: it has to be gone. */
static bool is_quick(rr_quick quick, const rr_part *part, const rr_slot *seen, rr_final *value, rr_measure *measure)
{
    bool integer = seen->kind == RR_SLOT_INT || seen->kind == RR_SLOT_UINT, positive = integer && seen->i >= 0;
    const rr_choice *choice;

    switch (quick) {
    case RR_QUICK_TEXT:
        value->text = seen->text;
        return seen->kind == RR_SLOT_TEXT && seen->text.len != 0 && rr_utf8_valid_len(seen->text) == seen->text.len &&
               memchr(seen->text.data, '\0', seen->text.len) == NULL;
    case RR_QUICK_COUNT: value->count = seen->u; return positive;
    case RR_QUICK_TIME: return positive && !__builtin_mul_overflow(seen->i, part->factor_us, &value->us);
    case RR_QUICK_NUMBER:
        measure->kind = RR_NUMBER_INT64;
        measure->integer = seen->i;
        return positive || seen->kind == RR_SLOT_INT;
    case RR_QUICK_CHOICE:
        choice = integer ? quick_choice(part, seen) : NULL;
        value->row = choice == NULL ? 0 : choice->to.value.row;
        return choice != NULL;
    default: return false;
    }
}

/* False: stopped. */
static bool take_part(draft *d, const rr_part *part, const rr_slot *item, bool *there, rr_measure *measure)
{
    rr_final *value = &d->values[d->f.step->target];
    const rr_slot *seen = NULL;
    rr_slot made;

    if (part->quick != RR_QUICK_NOT) {
        seen = &(part->ref.whole ? d->f.run->whole : item)[part->ref.slot];
    }
    if (seen == NULL || (seen->kind == RR_SLOT_EMPTY && part->ref.implicit)) {
        seen = rr_run_fetch(d->f.run, &part->ref, item, &made);
    }
    *there = seen->kind != RR_SLOT_EMPTY;
    if ((!*there && !part->has_preset && !part->has_const) ||
        (*there && is_quick(part->quick, part, seen, value, measure))) {
        return true;
    }
    return rr_finish_part(&d->f, part, seen, there, value, measure);
}

static bool take_step(draft *d, const rr_slot *item)
{
    const rr_step *step = d->f.step;
    rr_measure *measure = &d->measures[d->measure_count];
    bool there;

    if (step->is_list) {
        return take_list(d, item);
    }
    if (step->target == RR_TARGET_MEASURE) {
        *measure = (rr_measure){.name = step->name};
    }
    if (!take_part(d, &step->parts[0], item, &there, measure)) {
        return false;
    }
    if (there && step->target == RR_TARGET_MEASURE) {
        d->measure_count++; /* a mapping has at most as many */
    } else if (there) {
        d->seen |= UINT32_C(1) << step->target;
    }
    return true;
}

static bool too_large(draft *d, const char *what)
{
    rr_text_put(d->f.why, what);
    d->f.stopped = RR_FINISHED_TOO_LARGE;
    return false;
}

/* `measures: {map: path}` */
static bool take_map(draft *d, const rr_ref *ref, const rr_slot *item)
{
    const rr_slot *slot = &(ref->whole ? d->f.run->whole : item)[ref->slot];
    const rr_pairs *pairs = slot->kind == RR_SLOT_LIST ? slot->pairs : NULL;

    d->entry = (rr_step){.target = RR_TARGET_MEASURE};
    d->f.step = &d->entry;
    for (size_t k = 0; pairs != NULL && k < pairs->count; k++) {
        const rr_pair *pair = &pairs->items[k];
        rr_measure *measure = &d->measures[d->measure_count];

        if (pair->value.kind == RR_SLOT_NULL || (pair->value.kind == RR_SLOT_TEXT && pair->value.text.len == 0)) {
            continue;
        }
        d->entry.name = pair->key;
        *measure = (rr_measure){.name = pair->key};
        if (!rr_finish_text(&d->f, ref, pair->key) || !rr_finish_number(&d->f, ref, 0, &pair->value, measure)) {
            return false;
        }
        d->measure_count++;
    }
    return pairs == NULL || !pairs->too_many || too_large(d, "measures: the map has more than 64");
}

/* ---- putting together ---- */

/* Number 0 is a version that was never set, whatever its epoch says (semantics, section 2). */
static rr_version version_of(const draft *d, rr_target epoch)
{
    rr_version version = {has(d, epoch) ? d->values[epoch].count : 0,
                          has(d, epoch + 1) ? d->values[epoch + 1].count : 0};

    return rr_version_is_set(version) ? version : (rr_version){0, 0};
}

/* In a base number 0 is said on purpose: no live result of that epoch. */
static rr_version base_of(const draft *d, rr_target epoch)
{
    return (rr_version){has(d, epoch) ? d->values[epoch].count : 0, has(d, epoch + 1) ? d->values[epoch + 1].count : 0};
}

static bool put_window(draft *d, rr_record *to)
{
    bool start = has(d, RR_TARGET_WINDOW_START), end = has(d, RR_TARGET_WINDOW_END);
    int64_t from = start ? d->values[RR_TARGET_WINDOW_START].us : 0;
    int64_t until = end ? d->values[RR_TARGET_WINDOW_END].us : 0;
    bool over = false;

    if (has(d, RR_TARGET_WINDOW_LENGTH) && start != end) {
        int64_t length = d->values[RR_TARGET_WINDOW_LENGTH].us;

        over = start ? __builtin_add_overflow(from, length, &until) : __builtin_sub_overflow(until, length, &from);
        start = end = true;
    }
    to->has_window = start || end;
    to->window_incomplete = to->has_window && !(start && end);
    to->window = (rr_window){from, until};
    if (over) {
        rr_text_put(d->f.why, "window.length: start and end would be further apart than int64 of microseconds can say");
        d->f.stopped = RR_FINISHED_MALFORMED;
    }
    return !over;
}

static bool put_includes(draft *d, rr_record *to)
{
    to->includes_base = base_of(d, RR_TARGET_INCLUDES_BASE_EPOCH);
    to->includes_version = version_of(d, RR_TARGET_INCLUDES_EPOCH);
    to->has_includes = rr_version_is_set(to->includes_version);
    if (!to->has_includes && rr_version_is_set(to->includes_base)) {
        rr_text_put(d->f.why, "includes_correction: has a base but no version");
        d->f.stopped = RR_FINISHED_MALFORMED;
        return false;
    }
    return true;
}

/* A withdrawal of the live lane names the version withdrawn, unless the mapping says otherwise. With its own version in
 * result_version each -U of a changelog would contradict what it withdraws (semantics, section 6). */
static void put_versions(draft *d, const rr_emit *emit, rr_record *to)
{
    to->version = version_of(d, RR_TARGET_VERSION_EPOCH);
    to->retracts_version = version_of(d, RR_TARGET_RETRACTS_EPOCH);
    to->has_base = has(d, RR_TARGET_BASE_NUMBER);
    to->base_version = to->has_base ? base_of(d, RR_TARGET_BASE_EPOCH) : (rr_version){0, 0};
    if (to->op == RR_OP_RETRACT && to->origin == RR_ORIGIN_LIVE && emit->withdraws == RR_WITHDRAWS_VERSION &&
        !d->f.run->mapping->retracts_mapped) {
        to->retracts_version = to->version;
        to->version = (rr_version){0, 0};
    }
}

static int row_of(const draft *d, rr_target target)
{
    return has(d, target) ? d->values[target].row : 0;
}

/* *to is all zero. */
static bool put_together(draft *d, const rr_emit *emit, rr_record *to)
{
    to->mode = (rr_mode)row_of(d, RR_TARGET_MODE);
    to->op = emit->has_op ? emit->op : (rr_op)row_of(d, RR_TARGET_OP);
    to->origin = (rr_origin)row_of(d, RR_TARGET_ORIGIN);
    to->status = (rr_result_status)row_of(d, RR_TARGET_STATUS);
    to->cause = (rr_cause)row_of(d, RR_TARGET_CAUSE);
    to->has_sequence = has(d, RR_TARGET_SEQUENCE);
    to->has_emitted_at = has(d, RR_TARGET_EMITTED_AT);
    to->sequence = to->has_sequence ? d->values[RR_TARGET_SEQUENCE].count : 0;
    to->emitted_at_us = to->has_emitted_at ? d->values[RR_TARGET_EMITTED_AT].us : 0;
    put_versions(d, emit, to);
    return put_window(d, to) && put_includes(d, to);
}

/* ---- keeping ---- */

static void keep_text(char **at, const rr_slice from, rr_slice *to)
{
    if (from.len != 0) {
        memcpy(*at, from.data, from.len);
        *to = (rr_slice){*at, from.len};
        *at += from.len;
    } else {
        *to = (rr_slice){NULL, 0};
    }
}

static const struct {
    rr_target target;
    size_t offset;
} texts[] = {
    {RR_TARGET_BUSINESS_KEY, offsetof(rr_record, business_key)},
    {RR_TARGET_METRIC_VERSION, offsetof(rr_record, metric_version)},
    {RR_TARGET_DELTA_ID, offsetof(rr_record, delta_id)},
    {RR_TARGET_PRODUCER, offsetof(rr_record, producer)},
    {RR_TARGET_CONTRIBUTOR, offsetof(rr_record, contributor)},
    {RR_TARGET_EVIDENCE, offsetof(rr_record, evidence)},
};

static size_t bytes_of(const draft *d)
{
    size_t bytes = 0;

    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        bytes += has(d, texts[k].target) ? d->values[texts[k].target].text.len : 0;
    }
    for (size_t k = 0; k < d->measure_count; k++) {
        bytes += d->measures[k].name.len + d->measures[k].text.len;
    }
    return bytes;
}

/* All texts stand behind the measures, in one piece of just the size. */
static bool keep(draft *d, rr_record *to)
{
    size_t bytes = bytes_of(d), list = d->measure_count * sizeof(rr_measure);
    rr_measure *measures;
    char *at;

    if (bytes > RR_LIMIT_RECORD_BYTES) {
        return too_large(d, "the record's texts have more than 65536 bytes");
    }
    measures = list + bytes == 0 ? NULL : rr_arena_take(d->f.run->arena, list + bytes);
    if (measures == NULL) {
        d->f.stopped = list + bytes == 0 ? d->f.stopped : RR_FINISHED_NO_MEMORY;
        return list + bytes == 0;
    }
    at = (char *)measures + list;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        if (has(d, texts[k].target)) {
            keep_text(&at, d->values[texts[k].target].text, (rr_slice *)((char *)to + texts[k].offset));
        }
    }
    for (size_t k = 0; k < d->measure_count; k++) {
        measures[k] = d->measures[k];
        keep_text(&at, d->measures[k].name, &measures[k].name);
        keep_text(&at, d->measures[k].text, &measures[k].text);
    }
    to->measures = d->measure_count == 0 ? NULL : measures;
    to->measure_count = d->measure_count;
    return true;
}

rr_finished rr_run_finish(const rr_run *run, const rr_emit *emit, const rr_slot *item, rr_record *record, rr_text *why)
{
    draft d;

    d.f = (rr_finishing){.run = run, .why = why};
    d.seen = 0;
    d.measure_count = 0;
    for (size_t k = 0; k < emit->step_count; k++) {
        d.f.step = &emit->steps[k];
        if (!take_step(&d, item)) {
            return d.f.stopped;
        }
    }
    if (emit->has_map && !take_map(&d, &emit->map, item)) {
        return d.f.stopped;
    }
    return put_together(&d, emit, record) && keep(&d, record) ? RR_FINISHED : d.f.stopped;
}
