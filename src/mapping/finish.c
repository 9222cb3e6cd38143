/* Slots into one record. Where a record's fields belong together (windows, versions, withdrawals), it is settled here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"
#include "program.h"
#include "time.h"
#include "utf8.h"

/* A record under way. Until all is known to be good, its texts stand in the message, the mapping or the scratch. */
typedef struct draft {
    rr_finishing f;
    rr_record *record;
    uint32_t seen;                              /* bit per target */
    int64_t length_us;                          /* of the window: no record has it */
    rr_measure measures[RR_LIMIT_MEASURES + 1]; /* the last is never one */
    size_t measure_count;
    rr_step entry; /* of a map of measures, under way */
} draft;

_Static_assert(RR_TARGET_COUNT <= 32, "a bit per target");
_Static_assert(sizeof(rr_mode) == sizeof(int) && sizeof(rr_op) == sizeof(int) && sizeof(rr_origin) == sizeof(int) &&
                   sizeof(rr_result_status) == sizeof(int) && sizeof(rr_cause) == sizeof(int),
               "a word is stored as an int");

/* Where a target's value stands in the record. */
static const size_t offsets[RR_TARGET_COUNT] = {
    [RR_TARGET_BUSINESS_KEY] = offsetof(rr_record, business_key),
    [RR_TARGET_METRIC_VERSION] = offsetof(rr_record, metric_version),
    [RR_TARGET_WINDOW_START] = offsetof(rr_record, window.start),
    [RR_TARGET_WINDOW_END] = offsetof(rr_record, window.end),
    [RR_TARGET_VERSION_EPOCH] = offsetof(rr_record, version.epoch),
    [RR_TARGET_VERSION_NUMBER] = offsetof(rr_record, version.number),
    [RR_TARGET_RETRACTS_EPOCH] = offsetof(rr_record, retracts_version.epoch),
    [RR_TARGET_RETRACTS_NUMBER] = offsetof(rr_record, retracts_version.number),
    [RR_TARGET_MODE] = offsetof(rr_record, mode),
    [RR_TARGET_OP] = offsetof(rr_record, op),
    [RR_TARGET_DELTA_ID] = offsetof(rr_record, delta_id),
    [RR_TARGET_PRODUCER] = offsetof(rr_record, producer),
    [RR_TARGET_SEQUENCE] = offsetof(rr_record, sequence),
    [RR_TARGET_CONTRIBUTOR] = offsetof(rr_record, contributor),
    [RR_TARGET_ORIGIN] = offsetof(rr_record, origin),
    [RR_TARGET_BASE_EPOCH] = offsetof(rr_record, base_version.epoch),
    [RR_TARGET_BASE_NUMBER] = offsetof(rr_record, base_version.number),
    [RR_TARGET_INCLUDES_BASE_EPOCH] = offsetof(rr_record, includes_base.epoch),
    [RR_TARGET_INCLUDES_BASE_NUMBER] = offsetof(rr_record, includes_base.number),
    [RR_TARGET_INCLUDES_EPOCH] = offsetof(rr_record, includes_version.epoch),
    [RR_TARGET_INCLUDES_NUMBER] = offsetof(rr_record, includes_version.number),
    [RR_TARGET_STATUS] = offsetof(rr_record, status),
    [RR_TARGET_CAUSE] = offsetof(rr_record, cause),
    [RR_TARGET_EVIDENCE] = offsetof(rr_record, evidence),
    [RR_TARGET_EMITTED_AT] = offsetof(rr_record, emitted_at_us),
};

static bool has(const draft *d, rr_target target)
{
    return (d->seen >> target & 1) != 0;
}

static void mark(draft *d, rr_target target)
{
    d->seen |= UINT32_C(1) << target;
}

static void *place_of(const draft *d, rr_target target)
{
    return (char *)d->record + offsets[target];
}

static void put_value(draft *d, rr_target target, const rr_final *value)
{
    void *place = place_of(d, target);

    switch (rr_target_kind_of(target)) {
    case RR_TAKES_WORD: memcpy(place, &value->row, sizeof value->row); break;
    case RR_TAKES_COUNT: *(uint64_t *)place = value->count; break;
    case RR_TAKES_TIME: *(int64_t *)place = value->us; break;
    case RR_TAKES_DURATION: d->length_us = value->us; break;
    default: *(rr_slice *)place = value->text;
    }
    mark(d, target);
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
    mark(d, step->target);
    return join(d, texts, step->part_count, place_of(d, step->target));
}

/* The long way. */
static __attribute__((noinline)) bool take_step(draft *d, const rr_step *step, const rr_slot *item)
{
    const rr_part *part = step->parts;
    rr_measure *measure = &d->measures[d->measure_count];
    rr_slot made;
    rr_final value;
    bool there;

    d->f.step = step;
    if (step->is_list) {
        return take_list(d, item);
    }
    if (step->target == RR_TARGET_MEASURE) {
        *measure = (rr_measure){.name = step->name};
    }
    if (!rr_finish_part(&d->f, part, rr_run_fetch(d->f.run, &part->ref, item, &made), &there, &value, measure)) {
        return false;
    }
    if (there && step->target == RR_TARGET_MEASURE) {
        d->measure_count++; /* a mapping has at most as many */
    } else if (there) {
        put_value(d, step->target, &value);
    }
    return true;
}

/* ---- the short way of most steps ---- */

static bool is_integer(const rr_slot *seen)
{
    return seen->kind == RR_SLOT_INT || seen->kind == RR_SLOT_UINT;
}

static bool quick_text(const rr_slot *seen, rr_slice *text)
{
    if (seen->kind != RR_SLOT_TEXT || seen->text.len == 0 || !rr_utf8_is_plain(seen->text)) {
        return false;
    }
    *text = seen->text;
    return true;
}

static bool quick_count(const rr_slot *seen, uint64_t *count)
{
    if (!is_integer(seen) || seen->i < 0) {
        return false;
    }
    *count = seen->u;
    return true;
}

static bool quick_time(const rr_part *part, const rr_slot *seen, int64_t *us)
{
    int64_t whole;

    if (!is_integer(seen) || seen->i < 0 || __builtin_mul_overflow(seen->i, part->factor_us, &whole) ||
        __builtin_add_overflow(whole, part->said->inclusive_us, &whole)) {
        return false;
    }
    *us = whole;
    return true;
}

static bool quick_timestamp(const rr_part *part, const rr_slot *seen, int64_t *us)
{
    int64_t whole;

    if (seen->kind != RR_SLOT_TIME || seen->time.seconds < 0 || (uint64_t)seen->time.nanos > 999999999 ||
        seen->time.nanos % 1000 != 0 || __builtin_mul_overflow(seen->time.seconds, RR_SECOND_US, &whole) ||
        __builtin_add_overflow(whole, seen->time.nanos / 1000, &whole) ||
        __builtin_add_overflow(whole, part->said->inclusive_us, &whole)) {
        return false;
    }
    *us = whole;
    return true;
}

static bool quick_number(draft *d, const rr_step *step, const rr_slot *seen)
{
    if (!is_integer(seen) || (seen->kind == RR_SLOT_UINT && seen->i < 0)) {
        return false;
    }
    d->measures[d->measure_count++] = (rr_measure){.name = step->name, .kind = RR_NUMBER_INT64, .integer = seen->i};
    return true;
}

static bool quick_choice(const rr_part *part, const rr_slot *seen, void *row)
{
    size_t k = 0;

    if (!is_integer(seen) || (seen->u == 0 && part->said->absent_zero)) {
        return false;
    }
    while (k < part->choice_count && part->choices[k].bits != seen->u) {
        k++;
    }
    if (k == part->choice_count || part->choices[k].to.skip) {
        return false;
    }
    memcpy(row, &part->choices[k].to.value.row, sizeof(int));
    return true;
}

/* False: nothing was taken, and the long way decides. */
static bool take_quick(draft *d, const rr_step *step, const rr_slot *item)
{
    const rr_slot *seen = &(step->whole ? d->f.run->whole : item)[step->slot];
    void *place = place_of(d, step->target);
    rr_slot made;
    bool good = false;

    if (seen->kind == RR_SLOT_EMPTY && !step->empty_is_value) {
        return true;
    }
    if (seen->kind == RR_SLOT_EMPTY || step->quick == RR_QUICK_TIMESTAMP) {
        seen = rr_run_fetch(d->f.run, &step->parts->ref, item, &made);
    }
    switch (step->quick) {
    case RR_QUICK_TEXT: good = quick_text(seen, place); break;
    case RR_QUICK_COUNT: good = quick_count(seen, place); break;
    case RR_QUICK_TIME: good = quick_time(step->parts, seen, place); break;
    case RR_QUICK_TIMESTAMP: good = quick_timestamp(step->parts, seen, place); break;
    case RR_QUICK_CHOICE: good = quick_choice(step->parts, seen, place); break;
    default: return quick_number(d, step, seen);
    }
    d->seen |= (uint32_t)good << step->target;
    return good;
}

/* ---- a map of measures ---- */

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

/* Number 0 is a version that was never set, whatever its epoch says (semantics, section 2). In a base number 0 is said
 * on purpose: no live result of that epoch. */
static void clear_unset(rr_version *version)
{
    if (!rr_version_is_set(*version)) {
        *version = (rr_version){0, 0};
    }
}

static bool put_window(draft *d, rr_record *to)
{
    bool start = has(d, RR_TARGET_WINDOW_START), end = has(d, RR_TARGET_WINDOW_END);
    bool over = false;

    if (has(d, RR_TARGET_WINDOW_LENGTH) && start != end) {
        over = start ? __builtin_add_overflow(to->window.start, d->length_us, &to->window.end)
                     : __builtin_sub_overflow(to->window.end, d->length_us, &to->window.start);
        start = end = true;
    }
    to->has_window = start || end;
    to->window_incomplete = to->has_window && !(start && end);
    if (over) {
        rr_text_put(d->f.why, "window.length: start and end would be further apart than int64 of microseconds can say");
        d->f.stopped = RR_FINISHED_MALFORMED;
    }
    return !over;
}

static bool put_includes(draft *d, rr_record *to)
{
    clear_unset(&to->includes_version);
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
    clear_unset(&to->version);
    clear_unset(&to->retracts_version);
    to->has_base = has(d, RR_TARGET_BASE_NUMBER);
    if (!to->has_base) {
        to->base_version = (rr_version){0, 0};
    }
    if (to->op == RR_OP_RETRACT && to->origin == RR_ORIGIN_LIVE && emit->withdraws == RR_WITHDRAWS_VERSION &&
        !d->f.run->mapping->retracts_mapped) {
        to->retracts_version = to->version;
        to->version = (rr_version){0, 0};
    }
}

static bool put_together(draft *d, const rr_emit *emit, rr_record *to)
{
    if (emit->has_op) {
        to->op = emit->op;
    }
    to->has_sequence = has(d, RR_TARGET_SEQUENCE);
    to->has_emitted_at = has(d, RR_TARGET_EMITTED_AT);
    put_versions(d, emit, to);
    return put_window(d, to) && put_includes(d, to);
}

/* ---- keeping ---- */

static void keep_text(char **at, rr_slice *text)
{
    if (text->len != 0) {
        memcpy(*at, text->data, text->len);
        text->data = *at;
        *at += text->len;
    } else {
        *text = (rr_slice){NULL, 0};
    }
}

static size_t bytes_of(const draft *d)
{
    const rr_record *r = d->record;
    size_t bytes = r->business_key.len + r->metric_version.len + r->delta_id.len + r->producer.len +
                   r->contributor.len + r->evidence.len;

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
    measures = rr_arena_take(d->f.run->arena, list + bytes);
    if (measures == NULL) {
        d->f.stopped = RR_FINISHED_NO_MEMORY;
        return false;
    }
    at = (char *)measures + list;
    keep_text(&at, &to->business_key);
    keep_text(&at, &to->metric_version);
    keep_text(&at, &to->delta_id);
    keep_text(&at, &to->producer);
    keep_text(&at, &to->contributor);
    keep_text(&at, &to->evidence);
    for (size_t k = 0; k < d->measure_count; k++) {
        measures[k] = d->measures[k];
        keep_text(&at, &measures[k].name);
        keep_text(&at, &measures[k].text);
    }
    to->measures = d->measure_count == 0 ? NULL : measures;
    to->measure_count = d->measure_count;
    return true;
}

static bool finish(draft *d, const rr_emit *emit, const rr_slot *item)
{
    const rr_step *end = emit->steps + emit->step_count;

    for (const rr_step *step = emit->steps; step != end; step++) {
        if ((step->quick == RR_QUICK_NOT || !take_quick(d, step, item)) && !take_step(d, step, item)) {
            return false;
        }
    }
    return (!emit->has_map || take_map(d, &emit->map, item)) && put_together(d, emit, d->record) && keep(d, d->record);
}

rr_finished rr_run_finish(const rr_run *run, const rr_emit *emit, const rr_slot *item, rr_record *record, rr_text *why)
{
    draft d;

    d.f = (rr_finishing){.run = run, .why = why};
    d.record = record;
    d.seen = 0;
    d.length_us = 0;
    d.measure_count = 0;
    if (!finish(&d, emit, item)) {
        *record = (rr_record){0};
    }
    return d.f.stopped;
}
