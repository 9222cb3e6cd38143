/* Records as rr.v1.Result, written with protobuf-c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_proto.h"

#include <rr/v1/result.pb-c.h>

#include "limits.h"

_Static_assert(RR__V1__MODE__MODE_RETRACTION == (int)RR_MODE_RETRACTION, "modes have the table's numbers");
_Static_assert(RR__V1__CAUSE__CAUSE_RETRACTION == (int)RR_CAUSE_RETRACTION, "causes have the table's numbers");
_Static_assert(RR__V1__OP__OP_RETRACT == (int)RR_OP_RETRACT + 1, "ops are one above the table's numbers");
_Static_assert(RR__V1__ORIGIN__ORIGIN_CORRECTION == (int)RR_ORIGIN_CORRECTION + 1, "and so are origins");
_Static_assert(RR__V1__STATUS__STATUS_RECONCILED == (int)RR_RESULT_RECONCILED + 1, "and statuses");

/* All that a message points to while it is packed. */
typedef struct writing {
    Rr__V1__Result message;
    Rr__V1__Window window;
    Rr__V1__Version version, retracts, base, includes_base, includes_version;
    Rr__V1__CorrectionRef includes;
    Rr__V1__Measure measures[RR_LIMIT_MEASURES];
    Rr__V1__Measure *list[RR_LIMIT_MEASURES];
} writing;

static ProtobufCBinaryData bytes_of(rr_slice from)
{
    return (ProtobufCBinaryData){from.len, (uint8_t *)(uintptr_t)from.data};
}

static Rr__V1__Version *put_version(Rr__V1__Version *to, rr_version from, bool there)
{
    rr__v1__version__init(to);
    to->epoch = from.epoch;
    to->number = from.number;
    return there ? to : NULL;
}

/* Of an incomplete window the part that is known is kept. */
static void put_window(writing *w, const rr_record *from)
{
    rr__v1__window__init(&w->window);
    w->message.window = from->has_window ? &w->window : NULL;
    w->window.start = from->window.start;
    w->window.end = from->window.end;
    if (!from->window_incomplete || from->window.start != 0) {
        w->window.has_start_case = RR__V1__WINDOW__HAS_START_START;
    }
    if (!from->window_incomplete || from->window.end != 0) {
        w->window.has_end_case = RR__V1__WINDOW__HAS_END_END;
    }
}

static void put_versions(writing *w, const rr_record *from)
{
    Rr__V1__Result *to = &w->message;

    to->result_version = put_version(&w->version, from->version, rr_version_is_set(from->version));
    to->retracts_version = put_version(&w->retracts, from->retracts_version, rr_version_is_set(from->retracts_version));
    to->base_version = put_version(&w->base, from->base_version, from->has_base);
    rr__v1__correction_ref__init(&w->includes);
    w->includes.base_version = put_version(&w->includes_base, from->includes_base, from->has_includes);
    w->includes.version = put_version(&w->includes_version, from->includes_version, true);
    to->includes_correction = from->has_includes ? &w->includes : NULL;
}

static void put_measure(Rr__V1__Measure *to, const rr_measure *from)
{
    rr__v1__measure__init(to);
    to->name = bytes_of(from->name);
    switch (from->kind) {
    case RR_NUMBER_TEXT:
        to->number_case = RR__V1__MEASURE__NUMBER_DECIMAL;
        to->decimal = bytes_of(from->text);
        break;
    case RR_NUMBER_INT64:
        to->number_case = RR__V1__MEASURE__NUMBER_INTEGER;
        to->integer = from->integer;
        break;
    case RR_NUMBER_DOUBLE:
        to->number_case = RR__V1__MEASURE__NUMBER_REAL;
        to->real = from->real;
        break;
    case RR_NUMBER_NONE: break;
    }
}

static void put_measures(writing *w, const rr_record *from)
{
    for (size_t k = 0; k < from->measure_count; k++) {
        put_measure(&w->measures[k], &from->measures[k]);
        w->list[k] = &w->measures[k];
    }
    w->message.n_measures = from->measure_count;
    w->message.measures = w->list;
}

static void put_rest(Rr__V1__Result *to, const rr_record *from)
{
    to->business_key = bytes_of(from->business_key);
    to->metric_version = bytes_of(from->metric_version);
    to->delta_id = bytes_of(from->delta_id);
    to->producer = bytes_of(from->producer);
    to->contributor = bytes_of(from->contributor);
    to->evidence = bytes_of(from->evidence);
    to->mode = (Rr__V1__Mode)from->mode;
    to->op = from->op == RR_OP_ASSERT ? RR__V1__OP__OP_UNSPECIFIED : (Rr__V1__Op)(from->op + 1);
    to->origin =
        from->origin == RR_ORIGIN_LIVE ? RR__V1__ORIGIN__ORIGIN_UNSPECIFIED : (Rr__V1__Origin)(from->origin + 1);
    to->status =
        from->status == RR_RESULT_PROVISIONAL ? RR__V1__STATUS__STATUS_UNSPECIFIED : (Rr__V1__Status)(from->status + 1);
    to->cause = (Rr__V1__Cause)from->cause;
    if (from->has_sequence) {
        to->has_sequence_case = RR__V1__RESULT__HAS_SEQUENCE_SEQUENCE;
        to->sequence = from->sequence;
    }
    if (from->has_emitted_at) {
        to->has_emitted_at_case = RR__V1__RESULT__HAS_EMITTED_AT_EMITTED_AT;
        to->emitted_at = from->emitted_at_us;
    }
}

bool rr_record_to_proto(const rr_record *record, rr_buf *out)
{
    writing w;
    size_t len;

    if (record->measure_count > RR_LIMIT_MEASURES) {
        return false;
    }
    rr__v1__result__init(&w.message);
    put_window(&w, record);
    put_versions(&w, record);
    put_measures(&w, record);
    put_rest(&w.message, record);
    len = rr__v1__result__get_packed_size(&w.message);
    /* One more: an empty record has no bytes, and a fresh buffer no address. */
    if (!rr_buf_ok(out) || !rr_buf_reserve(out, len + 1)) {
        return false;
    }
    out->len += rr__v1__result__pack(&w.message, (uint8_t *)out->data + out->len);
    return true;
}

bool rr_clock_to_proto(int64_t clock_us, rr_buf *out)
{
    Rr__V1__Result message;
    size_t len;

    rr__v1__result__init(&message);
    message.file_only_case = RR__V1__RESULT__FILE_ONLY_FILE_CLOCK;
    message.file_clock = clock_us;
    len = rr__v1__result__get_packed_size(&message);
    if (!rr_buf_ok(out) || !rr_buf_reserve(out, len)) {
        return false;
    }
    out->len += rr__v1__result__pack(&message, (uint8_t *)out->data + out->len);
    return true;
}
