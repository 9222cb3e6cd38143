/* A program of somebody else, who has nothing of ours but what is installed: takes in the records of a file, each
 * behind its length in one byte, and prints what became of them and what readers see.
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
    return 0;
}
