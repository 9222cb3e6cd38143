/* Messages as the records they become: for people, for `apply`, and for programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decode_print.h"

#include "admit.h"
#include "cli.h"
#include "must.h"
#include "printable.h"
#include "record_json.h"
#include "time.h"

/* Keeps the JSON of the record as decoded: admission completes the record, and `apply` admits it again. */
static void note_record(void *observer, const rr_record *record, rr_slice rule)
{
    rr_decode_print *p = observer;
    rr_decode_seen *seen = &p->seen[p->count];

    RR_MUST(p->count < RR_MAPPING_RECORDS_MAX);
    p->count++;
    seen->kind = record != NULL ? RR_DECODE_RECORD : rule.len != 0 ? RR_DECODE_SKIPPED : RR_DECODE_BROKEN;
    seen->from = p->text.len;
    if (record != NULL) {
        rr_record_to_json(record, &p->text);
    } else {
        rr_buf_slice(&p->text, rule);
    }
    seen->len = p->text.len - seen->from;
}

void rr_decode_print_init(rr_decode_print *print, rr_decode_form form, rr_intake *intake)
{
    *print = (rr_decode_print){.form = form, .intake = intake, .clock_us = RR_NEVER_STORED};
    intake->observe = note_record;
    intake->observer = print;
}

void rr_decode_print_fini(rr_decode_print *print)
{
    rr_buf_fini(&print->text);
    rr_buf_fini(&print->out);
}

static rr_slice text_of(const rr_decode_print *p, const rr_decode_seen *seen)
{
    return (rr_slice){p->text.data + seen->from, seen->len};
}

static void put_time(rr_buf *out, int64_t time_us)
{
    char text[RR_TIME_TEXT_MAX];

    rr_buf_put(out, text, rr_time_print(time_us, text));
}

/* A message of an unknown form may look like a record of ours, but is none. */
static bool is_record(const rr_decode_seen *seen, const rr_item *item)
{
    return seen->kind == RR_DECODE_RECORD && item->outcome.reason != RR_REASON_UNROUTED;
}

/* ---- for people ---- */

static void put_head(rr_buf *out, const rr_decode_origin *origin, const rr_delivery *delivery)
{
    rr_buf_printable(out, rr_slice_of(origin->source != NULL ? origin->source : origin->file));
    if (origin->number != 0) {
        rr_buf_format(out, " %llu", (unsigned long long)origin->number);
    }
    rr_buf_text(out, delivery->subject.len == 0 ? ": no subject" : ": ");
    rr_buf_printable(out, delivery->subject);
    if (delivery->stored_at_us != RR_NEVER_STORED) {
        rr_buf_text(out, ", stored ");
        put_time(out, delivery->stored_at_us);
    }
    rr_buf_format(out, ", %zu bytes\n", delivery->payload.len);
    for (size_t k = 0; k < delivery->header_count; k++) {
        rr_buf_text(out, "  header ");
        rr_buf_printable(out, delivery->headers[k].name);
        rr_buf_text(out, ": ");
        rr_buf_printable(out, delivery->headers[k].value);
        rr_buf_char(out, '\n');
    }
}

static void put_verdict(rr_buf *out, const rr_item *item)
{
    if (!item->refused) {
        rr_buf_text(out, "admitted by ");
        rr_buf_printable(out, item->contract->name);
        return;
    }
    rr_buf_format(out, "%s %s: ", rr_verdict_word(item->outcome.verdict), rr_reason_word(item->outcome.reason));
    rr_buf_printable(out, item->why);
}

static void put_lines(rr_decode_print *p, size_t k, const rr_item *item)
{
    const rr_decode_seen *seen = &p->seen[k];
    rr_buf *out = &p->out;

    rr_buf_text(out, "  ");
    if (p->count > 1) {
        rr_buf_format(out, "record %zu of %zu: ", k + 1, p->count);
    }
    if (seen->kind == RR_DECODE_SKIPPED) {
        rr_buf_text(out, "skipped: ");
        rr_buf_printable(out, text_of(p, seen));
    } else {
        put_verdict(out, item);
        if (is_record(seen, item)) {
            rr_buf_text(out, "\n    ");
            rr_buf_printable_json(out, text_of(p, seen));
        }
    }
    rr_buf_char(out, '\n');
}

/* ---- for `apply` ---- */

static void put_record(rr_decode_print *p, size_t k, const rr_item *item, const rr_delivery *delivery)
{
    if (p->seen[k].kind == RR_DECODE_SKIPPED) {
        return;
    }
    if (!is_record(&p->seen[k], item)) {
        p->left_out++;
        return;
    }
    if (delivery->stored_at_us != p->clock_us) {
        p->clock_us = delivery->stored_at_us;
        rr_buf_text(&p->out, "{\"clock\":\"");
        put_time(&p->out, p->clock_us);
        rr_buf_text(&p->out, "\"}\n");
    }
    rr_buf_printable_json(&p->out, text_of(p, &p->seen[k]));
    rr_buf_char(&p->out, '\n');
}

/* ---- for programs ---- */

static void put_json_head(rr_buf *out, const rr_decode_origin *origin, const rr_delivery *delivery)
{
    rr_buf_text(out, origin->source != NULL ? "{\"source\":" : "{\"file\":");
    rr_buf_json_printable(out, rr_slice_of(origin->source != NULL ? origin->source : origin->file));
    if (origin->number != 0) {
        rr_buf_format(out, ",\"%s\":%llu", origin->source != NULL ? "sequence" : "number",
                      (unsigned long long)origin->number);
    }
    rr_buf_text(out, ",\"subject\":");
    rr_buf_json_printable(out, delivery->subject);
    if (delivery->stored_at_us != RR_NEVER_STORED) {
        rr_buf_text(out, ",\"stored_at\":\"");
        put_time(out, delivery->stored_at_us);
        rr_buf_char(out, '"');
    }
    rr_buf_format(out, ",\"bytes\":%zu,\"records\":[", delivery->payload.len);
}

static void put_json_verdict(rr_buf *out, const rr_item *item)
{
    if (item->contract != NULL) {
        rr_buf_text(out, "\"contract\":");
        rr_buf_json_printable(out, item->contract->name);
        rr_buf_char(out, ',');
    }
    if (!item->refused) {
        rr_buf_text(out, "\"verdict\":\"admitted\"");
        return;
    }
    rr_buf_format(out, "\"verdict\":\"%s\",\"reason\":\"%s\",\"text\":", rr_verdict_word(item->outcome.verdict),
                  rr_reason_word(item->outcome.reason));
    rr_buf_json_printable(out, item->why);
}

static void put_json(rr_decode_print *p, size_t k, const rr_item *item)
{
    rr_buf *out = &p->out;

    rr_buf_text(out, k == 0 ? "{" : ",{");
    if (p->seen[k].kind == RR_DECODE_SKIPPED) {
        rr_buf_text(out, "\"skipped\":");
        rr_buf_json_printable(out, text_of(p, &p->seen[k]));
    } else {
        put_json_verdict(out, item);
        if (is_record(&p->seen[k], item)) {
            rr_buf_text(out, ",\"record\":");
            rr_buf_printable_json(out, text_of(p, &p->seen[k]));
        }
    }
    rr_buf_char(out, '}');
}

/* ---- all forms ---- */

/* The items of the intake are the records that were not skipped, in the same order. */
static void put_records(rr_decode_print *p, const rr_delivery *delivery)
{
    size_t next = 0;

    for (size_t k = 0; k < p->count; k++) {
        const rr_item *item = p->seen[k].kind == RR_DECODE_SKIPPED ? NULL : &p->intake->items[next++];

        p->skipped += item == NULL;
        p->admitted += item != NULL && !item->refused;
        p->refused += item != NULL && item->refused;
        switch (p->form) {
        case RR_DECODE_PEOPLE: put_lines(p, k, item); break;
        case RR_DECODE_RECORDS: put_record(p, k, item, delivery); break;
        case RR_DECODE_JSON: put_json(p, k, item); break;
        }
    }
    RR_MUST(next == p->intake->count);
}

rr_status rr_decode_print_message(rr_decode_print *print, const rr_decode_origin *origin, const rr_delivery *delivery,
                                  rr_error *error)
{
    rr_status status = RR_OK;

    print->messages++;
    if (print->form == RR_DECODE_PEOPLE) {
        put_head(&print->out, origin, delivery);
    } else if (print->form == RR_DECODE_JSON) {
        put_json_head(&print->out, origin, delivery);
    }
    put_records(print, delivery);
    if (print->form == RR_DECODE_JSON) {
        rr_buf_text(&print->out, "]}\n");
    }
    if (!rr_buf_ok(&print->text) || !rr_buf_ok(&print->out)) {
        status = rr_fail(error, RR_MEMORY, "no memory to print a message");
    } else {
        rr_cli_out(rr_buf_view(&print->out));
    }
    rr_buf_clear(&print->out);
    rr_buf_clear(&print->text);
    print->count = 0;
    rr_intake_reset(print->intake);
    return status;
}

void rr_decode_print_end(rr_decode_print *print)
{
    if (print->form == RR_DECODE_PEOPLE) {
        rr_buf_format(&print->out, "%llu messages: %llu records admitted, %llu refused, %llu skipped\n",
                      (unsigned long long)print->messages, (unsigned long long)print->admitted,
                      (unsigned long long)print->refused, (unsigned long long)print->skipped);
        rr_cli_out(rr_buf_view(&print->out));
        rr_buf_clear(&print->out);
    }
    if (print->left_out != 0) {
        rr_cli_message("reconciler decode: %llu records are left out: they cannot be decoded, or no route takes their "
                       "subject; decode without --records says why",
                       (unsigned long long)print->left_out);
    }
}
