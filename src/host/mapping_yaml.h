/* Mappings as people write them: `decode:` of a route, in YAML. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MAPPING_YAML_H
#define RR_MAPPING_YAML_H

#include "contract.h"
#include "mapping.h"
#include "option.h"

enum { RR_DESCRIPTOR_SET_MAX = 16 * 1024 * 1024 }; /* bytes of a file */

/* A message and the records that it has to give; `check` compares them. Paths start at the file's folder. */
typedef struct rr_mapping_example {
    const char *message; /* a file with its bytes */
    rr_slice subject;
    const rr_header *headers;
    size_t header_count;
    bool has_stream_time;
    int64_t stream_time_us;
    const char *records; /* a file with a JSON line each, as `apply` reads them; NULL: the message is skipped */
    rr_place place;
} rr_mapping_example;

/* What `decode:` comes to. All in the reading's arena. */
typedef struct rr_decode {
    const rr_mapping *mapping; /* NULL after an error */
    const rr_mapping_example *examples;
    size_t example_count;
} rr_decode;

/* Descriptor sets that were read, so that routes may share one. All zero is empty. */
typedef struct rr_schema_files {
    struct rr_schema_file_read *first;
} rr_schema_files;

/* Reads a mapping and its descriptor set, and compiles it. Everything that is wrong is in the problems; then mapping is
 * NULL.
 *
 * subject   the route's pattern, for what the mapping reads of subjects; NULL: any
 * contract  NULL, or what the mapping is held against */
void rr_mapping_load(const rr_reading *reading, const rr_yaml_node *node, const char *subject,
                     const rr_contract *contract, rr_schema_files *files, rr_decode *decode);

/* Decodes the examples and compares their records; what differs goes to the problems. Reads files. */
void rr_mapping_check_examples(const rr_decode *decode, rr_problems *problems);

/* The keys of `decode:`, for documentation. */
extern const rr_option rr_decode_options[];

#endif
