/* The contract: the mode that the counts speak for, and why; the window as far as every record bears it out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"
#include "suggest_record.h"
#include "writer.h"

#define NONE SIZE_MAX

static void write_mode(rr_buf *out, const rr_roles *r)
{
    const rr_growth *m = &r->measures;

    switch (r->mode) {
    case RR_SUGGEST_RETRACTION:
        rr_buf_format(out, "    mode: retraction   # likely: %zu records assert, %zu withdraw, and a version grows\n",
                      r->asserting, r->withdrawing);
        break;
    case RR_SUGGEST_CUMULATIVE:
        if (r->version == NONE) {
            rr_buf_format(
                out, "    mode: cumulative   # likely: measures grow as totals do, and fall in %zu of %zu repeats\n",
                m->falls, m->pairs);
        } else {
            rr_buf_format(out,
                          "    mode: cumulative   # likely: cells repeat (%zu repeats) under a version that grows\n",
                          r->growth.pairs);
        }
        break;
    case RR_SUGGEST_DELTA:
        rr_buf_format(out,
                      "    mode: delta   # likely: %zu different identities, no version, and measures fall in %zu of "
                      "%zu repeats\n",
                      r->counts[r->id].distinct, m->falls, m->pairs);
        break;
    default:
        rr_buf_text(out, "    mode: TODO   # cumulative, delta or retraction: the sample does not show which\n");
        break;
    }
    rr_buf_format(out, "    # measures from one record of a cell to the next: %zu grow, %zu are equal, %zu fall\n",
                  m->grows, m->pairs - m->grows - m->falls, m->falls);
    rr_buf_text(out,
                "    # cumulative: each record is the whole result so far; delta: an amount to be added, each once;\n"
                "    # retraction: a row that can be withdrawn\n");
    if (r->mode == RR_SUGGEST_CUMULATIVE && m->falls * 10 >= m->pairs && m->pairs != 0) {
        rr_buf_text(out, "    # values fall as amounts do: if readers of this stream add them up, the mode is delta\n");
    }
}

static bool is_tumbling(const rr_roles *r)
{
    return r->end != NONE && r->length_us != 0 && r->step_us != 0 && r->step_us % r->length_us == 0;
}

static void write_window_kind(rr_buf *out, const rr_roles *r)
{
    if (is_tumbling(r)) {
        int64_t offset = r->offset_us % r->length_us;

        rr_buf_text(out, "    window: {kind: tumbling, size: ");
        rr_write_duration(out, r->length_us);
        if (offset != 0) {
            rr_buf_text(out, ", offset: ");
            rr_write_duration(out, offset);
        }
        rr_buf_format(out, "}   # %zu starts, all of them whole lengths apart\n", r->starts);
        return;
    }
    rr_buf_text(out, "    window: {kind: any}");
    if (r->end != NONE && r->length_us != 0 && r->step_us != 0) {
        rr_buf_text(out, "   # starts are not whole lengths apart, so windows may overlap: {kind: sliding, size: ");
        rr_write_duration(out, r->length_us);
        rr_buf_text(out, ", slide: ...}; the starts of the sample are multiples of ");
        rr_write_duration(out, r->step_us);
        rr_buf_text(out, " apart");
    } else if (r->end != NONE && r->length_us == 0) {
        rr_buf_text(out, "   # lengths vary: of sessions write {kind: session, gap: ...} with the producer's gap");
    } else {
        rr_buf_text(out, "   # takes every window; a narrower kind refuses wrong ones");
    }
    rr_buf_char(out, '\n');
}

static const char *type_of(const rr_roles *r, size_t column)
{
    const rr_column_counts *c = &r->counts[column];

    return c->kinds[RR_VALUE_INT] == c->present ? "int64"
           : r->table->sample->schema == NULL   ? "decimal"
           : c->kinds[RR_VALUE_TEXT] != 0       ? "decimal"
                                                : "double";
}

static void write_contract_measures(rr_buf *out, const rr_roles *r)
{
    size_t put = 0;

    if (rr_roles_next(r, RR_ROLE_MEASURE, 0) == NONE) {
        rr_buf_text(out, "    measures: {TODO: {}}   # as above, like value: {type: int64}\n");
        return;
    }
    rr_buf_text(out, "    measures:\n");
    for (size_t c = rr_roles_next(r, RR_ROLE_MEASURE, 0); c != NONE && put < RR_LIMIT_MEASURES;
         c = rr_roles_next(r, RR_ROLE_MEASURE, c + 1), put++) {
        rr_buf_text(out, "      ");
        rr_suggest_measure_name(out, r, c);
        rr_buf_format(out, ": {type: %s}\n", type_of(r, c));
    }
}

void rr_suggest_contract(rr_buf *out, const rr_roles *r)
{
    rr_buf_text(out, "\ncontracts:\n  - name: results\n");
    write_mode(out, r);
    write_window_kind(out, r);
    write_contract_measures(out, r);
    rr_buf_text(out, "    # TODO retention: how long a result may still change, like 30d (default: forever)\n");
}
