/* Decodes the lines of standard input, a message each, by the decoder of a configuration's first route, and prints what each
 * becomes: `record` with its JSON, `skipped`, or `malformed` with the reason. For test_plugins.sh.
 *
 *   decode_with CONFIGURATION
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "decoding.h"
#include "plugins.h"
#include "record_json.h"

static void print_records(const rr_mapping_result *result)
{
    for (size_t k = 0; k < result->count; k++) {
        const rr_mapped *mapped = &result->records[k];
        rr_buf json = {0};

        if (mapped->kind == RR_MAPPED_RECORD && rr_record_to_json(&mapped->record, &json)) {
            printf("record %.*s\n", (int)json.len, json.data);
        } else {
            printf("refused %.*s\n", (int)mapped->why->len, mapped->why->bytes);
        }
        rr_buf_fini(&json);
    }
}

static void print_result(const rr_mapping_result *result)
{
    switch (result->outcome) {
    case RR_MAPPING_RECORDS: print_records(result); break;
    case RR_MAPPING_SKIPPED: puts("skipped"); break;
    case RR_MAPPING_MALFORMED: printf("malformed %.*s\n", (int)result->why.len, result->why.bytes); break;
    case RR_MAPPING_TOO_LARGE: printf("too large %.*s\n", (int)result->why.len, result->why.bytes); break;
    case RR_MAPPING_NO_MEMORY: puts("no memory"); break;
    }
}

static void decode_lines(const rr_decoder_config *decoder)
{
    static char line[65536];
    rr_arena arena, scratch;

    rr_arena_init(&arena, 0);
    rr_arena_init(&scratch, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        rr_decoder_message message = {.payload = {line, strcspn(line, "\n")}, .stored_at_us = INT64_MIN};
        rr_mapping_result result;

        rr_arena_reset(&arena);
        rr_decoder_run(decoder->ops, decoder->decoder, &message, &arena, &scratch, &result);
        print_result(&result);
    }
    rr_arena_fini(&arena);
    rr_arena_fini(&scratch);
}

int main(int argc, char **argv)
{
    rr_problems problems = {0};
    rr_buf text = {0};
    rr_config config;
    bool good = argc == 2 && rr_config_load(argv[1], &config, &problems) == RR_OK &&
                rr_plugins_check(&config, &problems) == RR_OK && config.sources[0].routes[0].decoder.decoder != NULL;

    if (good) {
        rr_decoder_print(config.sources[0].routes[0].decoder.ops, &config.sources[0].routes[0].decoder.options, &text);
        printf("%.*s\n", (int)text.len, text.data);
        decode_lines(&config.sources[0].routes[0].decoder);
    } else {
        rr_problems_print(&problems, &text);
        printf("no decoder\n%.*s", (int)text.len, text.len == 0 ? "" : text.data);
    }
    if (argc == 2) {
        rr_config_fini(&config);
    }
    rr_buf_fini(&text);
    rr_problems_fini(&problems);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
