/* The configuration, from top to bottom. What it says is what roles.h counted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "suggest.h"

#include "must.h"
#include "printable.h"
#include "suggest_record.h"
#include "writer.h"

static void write_head(rr_buf *out, const rr_roles *r)
{
    const rr_sample *s = r->table->sample;

    rr_buf_format(out,
                  "# A configuration to start from, made from a sample of %zu messages that give %zu records.\n"
                  "# The counts are of this sample. Fill in each TODO, then: reconciler check --config FILE\n",
                  s->message_count, r->table->row_count);
    if (s->unreadable != 0) {
        rr_buf_format(out, "# %zu further messages could not be read, the first at sequence %llu: it %s\n",
                      s->unreadable, (unsigned long long)s->unreadable_sequence, s->unreadable_why);
    }
    if (r->table->repeated != 0) {
        rr_buf_format(out,
                      "# %zu records repeat the bytes of an earlier message; they are left out where order counts\n",
                      r->table->repeated);
    }
    if (s->left_out + r->table->left_out != 0) {
        rr_buf_format(out, "# %zu values, rows or fields were left out: too many, too deep, or a list in a list\n",
                      s->left_out + r->table->left_out);
    }
    rr_buf_text(out, "store: TODO                             # like redis://127.0.0.1:6379/0\n\nsources:\n");
}

/* ---- source ---- */

static void write_known(rr_buf *out, const char *key, const char *value, const char *todo)
{
    rr_buf_format(out, "    %s: ", key);
    if (value == NULL) {
        rr_buf_format(out, "TODO   # %s\n", todo);
        return;
    }
    rr_write_scalar(out, rr_slice_of(value));
    rr_buf_char(out, '\n');
}

static rr_slice next_token(rr_slice *rest)
{
    const char *dot = rest->len == 0 ? NULL : memchr(rest->data, '.', rest->len);
    rr_slice token = {rest->data == NULL ? "" : rest->data, dot == NULL ? rest->len : (size_t)(dot - rest->data)};

    rest->data = token.data + token.len + (dot == NULL ? 0 : 1);
    rest->len -= dot == NULL ? rest->len : token.len + 1;
    return token;
}

static rr_slice token_at(rr_slice subject, size_t nth)
{
    rr_slice token = {NULL, 0};

    for (size_t k = 0; k < nth; k++) {
        token = next_token(&subject);
    }
    return token;
}

static bool is_common(const rr_sample *s, size_t nth)
{
    rr_slice first = token_at(s->messages[0].subject, nth);

    for (size_t k = 1; k < s->message_count; k++) {
        if (!rr_slice_equal(first, token_at(s->messages[k].subject, nth))) {
            return false;
        }
    }
    return true;
}

static size_t count_tokens(rr_slice subject)
{
    size_t count = subject.len != 0 ? 1 : 0;

    for (size_t k = 0; k < subject.len; k++) {
        count += subject.data[k] == '.' ? 1 : 0;
    }
    return count;
}

/* The narrowest pattern that all subjects of the sample match. */
static void put_pattern(rr_buf *text, const rr_sample *s)
{
    size_t fewest = SIZE_MAX, most = 0, shown;

    for (size_t k = 0; k < s->message_count; k++) {
        size_t count = count_tokens(s->messages[k].subject);

        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
    }
    shown = fewest == most || fewest == 0 ? fewest : fewest - 1;
    for (size_t nth = 1; nth <= shown; nth++) {
        rr_buf_text(text, nth == 1 ? "" : ".");
        rr_buf_slice(text, is_common(s, nth) ? token_at(s->messages[0].subject, nth) : RR_SLICE("*"));
    }
    if (fewest != most || fewest == 0) {
        rr_buf_text(text, shown == 0 ? ">" : ".>");
    }
}

static void write_source(rr_buf *out, const rr_roles *r, const rr_suggest_origin *origin)
{
    rr_buf pattern = {0};

    rr_buf_text(out, "  - name: results                       # a name of yours, of its checkpoint in the store\n");
    write_known(out, "url", origin->url, "like nats://127.0.0.1:4222");
    write_known(out, "stream", origin->stream, "the JetStream stream");
    rr_buf_text(out,
                "    consumer: reconciler                # durable; a name of yours\n"
                "    create: true                        # make the consumer where there is none\n"
                "    dead_letters: dead                  # `reconciler streams --create` makes a stream for them\n");
    if (origin->filter != NULL) {
        write_known(out, "filter", origin->filter, "");
    }
    put_pattern(&pattern, r->table->sample);
    rr_buf_text(out, "    routes:\n      - subject: ");
    rr_buf_json_printable(out, rr_buf_view(&pattern));
    rr_buf_text(out, r->table->sample->messages[0].subject.len == 0 ? "   # a file has no subjects\n"
                                                                    : "   # all subjects of the sample match it\n");
    rr_buf_text(out, "        contract: results\n        decode:\n");
    out->failed = out->failed || pattern.failed;
    rr_buf_fini(&pattern);
}

/* ---- decode ---- */

static void write_format(rr_buf *out, const rr_sample *s, const rr_suggest_origin *origin)
{
    bool framed = s->framed != 0;

    if (origin->message != NULL) {
        rr_buf_text(out, "          protobuf: {descriptor_set: ");
        rr_buf_json_printable(out, rr_slice_of(origin->descriptor_set));
        rr_buf_text(out, ", message: ");
        rr_write_scalar(out, rr_slice_of(origin->message));
        rr_buf_text(out, framed ? ", framing: confluent}" : "}");
    } else {
        rr_buf_text(out, framed ? "          json: {framing: confluent}" : "          json: {}");
    }
    if (framed) {
        rr_buf_format(out, "   # %zu messages begin with the frame of a schema registry", s->framed);
    }
    rr_buf_char(out, '\n');
}

static bool has_op(const rr_table *t, const char *op)
{
    for (size_t k = 0; k < t->sample->message_count; k++) {
        const rr_message_seen *message = &t->sample->messages[k];

        for (size_t i = 0; i < message->value_count; i++) {
            if (message->values[i].path == t->envelope_op && rr_slice_equal(message->values[i].text, rr_slice_of(op))) {
                return true;
            }
        }
    }
    return false;
}

/* What has no record: by a text, by the op of an envelope, empty. */
static void write_skip(rr_buf *out, const rr_table *t)
{
    const rr_sample *s = t->sample;
    bool marks = t->after != 0 && (has_op(t, "t") || has_op(t, "m"));
    bool by_text = t->apart_column != SIZE_MAX;

    if (t->apart != 0 && !by_text) {
        rr_buf_format(
            out, "          # TODO skip: %zu records lack most fields of the others, and no text tells them apart\n",
            t->apart);
    }
    if (s->empty == 0 && !marks && !by_text) {
        return;
    }
    rr_buf_text(out, "          skip: {");
    rr_buf_text(out, s->empty != 0 ? (marks || by_text ? "empty: true, " : "empty: true") : "");
    if (marks) {
        rr_write_path(out, s, t->envelope_op, 0, false);
        rr_buf_text(out, ": [t, m]");
    }
    if (by_text) {
        rr_write_path(out, s, t->columns[t->apart_column].path, 0, false);
        rr_buf_text(out, ": [");
        for (size_t k = 0; k < t->apart_value_count; k++) {
            rr_buf_text(out, k == 0 ? "" : ", ");
            rr_buf_json_printable(out, t->apart_values[k]->text);
        }
        rr_buf_char(out, ']');
    }
    rr_buf_format(
        out, "}   # %zu messages were empty, %zu have no half of the envelope, %zu lack most fields of the others\n",
        s->empty, t->no_half, t->apart);
}

static void write_each(rr_buf *out, const rr_table *t)
{
    if (t->list != 0) {
        rr_buf_text(out, "          each: ");
        rr_write_path(out, t->sample, t->list, 0, false);
        rr_buf_format(out, "   # a record for each item: %zu messages have %zu; %zu messages have none\n",
                      t->sample->message_count, t->row_count + t->apart, t->without_item);
    }
    if (t->after == 0) {
        return;
    }
    rr_buf_format(out,
                  "          each:                         # an envelope with both halves; an update gives one "
                  "record. %zu messages have neither\n          - {at: ",
                  t->no_half);
    rr_write_path(out, t->sample, t->after, 0, false);
    rr_buf_text(out, ", when: {");
    rr_write_path(out, t->sample, t->envelope_op, 0, false);
    rr_buf_text(out, ": [c, r, u]}, op: ASSERT}\n          - {at: ");
    rr_write_path(out, t->sample, t->before, 0, false);
    rr_buf_text(out, ", when: {");
    rr_write_path(out, t->sample, t->envelope_op, 0, false);
    rr_buf_text(out, ": [d]}, op: RETRACT, withdraws: older}\n");
}

bool rr_suggest_write(const rr_sample *sample, const rr_suggest_origin *origin, rr_buf *out)
{
    rr_table *table = rr_arena_take(sample->arena, sizeof *table);
    rr_roles *roles = rr_arena_take(sample->arena, sizeof *roles);

    RR_MUST(sample->message_count != 0);
    if (table == NULL || roles == NULL || !rr_table_make(sample, table) || !rr_roles_find(table, roles)) {
        return false;
    }
    write_head(out, roles);
    write_source(out, roles, origin);
    write_format(out, sample, origin);
    write_skip(out, table);
    write_each(out, table);
    rr_suggest_record(out, roles);
    rr_suggest_contract(out, roles);
    return rr_buf_ok(out);
}
