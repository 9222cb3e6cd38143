/* A program of somebody else, who has nothing of ours but what is installed: takes in the records of a file, each behind
 * its length in one byte, and prints what became of them and what readers see. Then two messages of another form,
 * through a mapping: each of their records has an answer of its own.
 *
 *   embed STORE_URL FILE
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/rr.h>

#include <stdio.h>

enum { RECORDS_MAX = 16, BYTES_MAX = 4096 };

#define START_US INT64_C(1704103200000000)
#define MINUTE_US INT64_C(60000000)

static const char contract[] = "contracts:\n- {name: parts, mode: cumulative, window: {kind: tumbling, size: 1m}}\n";

/* Below `decode:` of a configuration; were the messages protobuf, it would name their descriptor set. */
static const char mapping[] = "json: {}\n"
                              "skip: {kind: HEARTBEAT}\n"
                              "each: results\n"
                              "record:\n"
                              "  business_key: [{subject: 2}, line]\n"
                              "  metric_version: {const: v1}\n"
                              "  window: {start: {path: open, unit: ms}, length: 1m}\n"
                              "  version: {epoch: {header: Attempt}, number: {path: pane, add: 1}}\n"
                              "  value: count\n";

static size_t read_records(const char *path, char bytes[BYTES_MAX], rr_input inputs[RECORDS_MAX])
{
    FILE *file = fopen(path, "rb");
    size_t len = file == NULL ? 0 : fread(bytes, 1, BYTES_MAX, file), count = 0;

    for (size_t at = 0; at < len && count < RECORDS_MAX; at += 1 + (unsigned char)bytes[at]) {
        inputs[count] = (rr_input){.payload = {bytes + at + 1, (unsigned char)bytes[at]},
                                   .stored_at_us = START_US + MINUTE_US,
                                   .stream = RR_SLICE("OTHERS"),
                                   .sequence = count + 1};
        count++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static int fail(const rr_error *error)
{
    fprintf(stderr, "%s: %s\n", rr_status_name(error->status), error->text);
    return rr_status_exit_code(error->status);
}

/* Prints the answers of the records of inputs; returns the exit code. */
static int take_others(const char *store_url)
{
    static const char batch[] = "{\"results\":[{\"line\":\"l1\",\"open\":1704103200000,\"pane\":0,\"count\":5},"
                                "{\"line\":\"l2\",\"open\":1704103200500,\"pane\":0,\"count\":6}]}";
    const rr_header headers[] = {{RR_SLICE("Attempt"), RR_SLICE("2")}};
    const rr_input inputs[] = {{.payload = RR_SLICE(batch),
                                .stored_at_us = START_US + MINUTE_US,
                                .subject = RR_SLICE("acme.north"),
                                .headers = headers,
                                .header_count = 1},
                               {.payload = RR_SLICE("{\"kind\":\"HEARTBEAT\"}")}};
    rr_reconciler_options options = {
        .contract_yaml = contract, .mapping_yaml = mapping, .store_url = store_url, .prefix = "others"};
    rr_answer answers[2], one;
    rr_reconciler *reconciler;
    rr_error error = {0};

    if (rr_reconciler_open(&options, &reconciler, &error) != RR_OK) {
        return fail(&error);
    }
    if (rr_reconciler_take(reconciler, inputs, 2, answers, &error) != RR_OK) {
        rr_reconciler_close(reconciler);
        return fail(&error);
    }
    for (size_t k = 0; k < 2; k++) {
        printf("input %zu: %zu records, %zu skipped, %zu dead letters%s\n", k, answers[k].records, answers[k].skipped,
               answers[k].dead_letters, answers[k].stored ? ", stored" : "");
        for (size_t n = 0; rr_reconciler_answer(reconciler, k, n, &one); n++) {
            printf("record %zu: %s %s\n", one.index, one.verdict, one.reason);
        }
    }
    rr_reconciler_close(reconciler);
    return 0;
}

int main(int argc, char **argv)
{
    static char bytes[BYTES_MAX];
    rr_input inputs[RECORDS_MAX];
    rr_answer answers[RECORDS_MAX];
    size_t count = argc < 3 ? 0 : read_records(argv[2], bytes, inputs);
    rr_reconciler_options options = {.contract_yaml = contract, .store_url = argc < 3 ? "" : argv[1]};
    rr_reconciler *reconciler;
    rr_error error = {0};
    rr_slice json;

    if (rr_reconciler_open(&options, &reconciler, &error) != RR_OK) {
        return fail(&error);
    }
    if (rr_reconciler_take(reconciler, inputs, count, answers, &error) != RR_OK) {
        rr_reconciler_close(reconciler);
        return fail(&error);
    }
    for (size_t k = 0; k < count; k++) {
        printf("%s %s%s%s\n", answers[k].verdict, answers[k].reason, answers[k].stored ? " stored" : "",
               answers[k].dead_letter ? " dead letter" : "");
    }
    if (rr_reconciler_get(reconciler, RR_SLICE("line-7"), RR_SLICE("v1"), START_US, START_US + MINUTE_US, &json,
                          &error) != RR_OK) {
        rr_reconciler_close(reconciler);
        return fail(&error);
    }
    printf("%.*s\n", (int)json.len, json.data);
    rr_reconciler_close(reconciler);
    return take_others(options.store_url);
}
