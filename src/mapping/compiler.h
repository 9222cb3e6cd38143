/* Compiling from inside: paths into the trie, words into steps. For src/mapping alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MAPPING_COMPILER_H
#define RR_MAPPING_COMPILER_H

#include "program.h"

typedef struct rr_compiler {
    const rr_mapping_spec *spec;
    const rr_schema *schema;
    const rr_contract *contract;
    rr_arena *arena;
    rr_mapping_fault *fault;
    void *context;
    rr_mapping *mapping;
    bool failed;
} rr_compiler;

/* Where paths begin. */
typedef struct rr_base {
    bool whole; /* slots are the message's */
    rr_node *node;
    const rr_schema_message *message; /* NULL: JSON */
    uint16_t there;                   /* slot of the message, or RR_SLOT_NONE */
    rr_slice resolved;                /* path to it */
} rr_base;

typedef enum rr_want { RR_WANT_VALUE, RR_WANT_MESSAGE, RR_WANT_ITEMS, RR_WANT_MAP } rr_want;

/* Reports; always false. */
bool rr_compile_fault(rr_compiler *c, rr_mapping_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory, cleared. NULL: it ran out, and the compiler has failed. */
void *rr_compile_take(rr_compiler *c, size_t bytes);

/* Puts the path into the trie. VALUE, MAP: *ref is filled (slot, type, presence). MESSAGE: *to is the base of paths
 * below it. ITEMS: *to too, in the slots of an item; the mapping's item node and slot are set. */
bool rr_compile_path(rr_compiler *c, const rr_base *base, const rr_mapping_path *path, rr_want want, rr_ref *ref,
                     rr_base *to);

/* `path` begins with '/' or not. */
const rr_base *rr_compile_begin(const rr_mapping_path *path, const rr_base *top, const rr_base *here);

/* One entry of `record`. */
bool rr_compile_field(rr_compiler *c, const rr_base *top, const rr_base *here, const rr_mapping_field *field,
                      rr_step *step);

bool rr_compile_test(rr_compiler *c, const rr_base *top, const rr_mapping_test *test, rr_test *compiled);

/* Holds the specification and its steps against the contract. */
void rr_compile_against(rr_compiler *c);

/* Texts of types, for sentences. */
const char *rr_value_type_word(rr_value_type type);

#endif
