/* Contracts as people write them (semantics, section 4): `contracts:`, a list, in YAML. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CONTRACT_YAML_H
#define RR_CONTRACT_YAML_H

#include "contract.h"
#include "option.h"

enum { RR_CONTRACT_NAME_MAX = 128, RR_FINGERPRINT_LEN = 32 };

/* Owns its contracts: they, and all they point to, live in the arena until rr_contracts_fini. */
typedef struct rr_contract_list {
    rr_contract *items; /* in the order of the file; names are unique */
    rr_place *places;   /* where each stands; path in the arena */
    size_t count;
    rr_arena arena;
} rr_contract_list;

/* Reads a text. CONFIG: it has errors, which are in the problems (warnings may be there after OK, too); MEMORY.
 * path_for_messages also says where a relative ${file:PATH} starts. The list is initialised here; after an error it
 * holds the contracts that could be read, for further checks only. */
rr_status rr_contracts_parse(const char *path_for_messages, rr_slice text, rr_contract_list *out,
                             rr_problems *problems);

/* The same of a file. IO: it cannot be read (the problem says why). */
rr_status rr_contracts_load(const char *path, rr_contract_list *out, rr_problems *problems);

void rr_contracts_fini(rr_contract_list *list);

/* Reads the list below a `contracts:` key into an initialised list; for configurations that hold it inline. */
void rr_contracts_read(const rr_reading *reading, const rr_yaml_node *node, rr_contract_list *out);

/* The contract of that name, or NULL. */
const rr_contract *rr_contracts_find(const rr_contract_list *list, rr_slice name);

/* The contract as canonical YAML, one item of the list, every default made explicit, keys in a fixed order. The same
 * promise gives the same bytes, however it was written; reading them gives the same contract. */
void rr_contract_print(const rr_contract *contract, rr_buf *buf);

/* Reads such a text again: all but the name, the measures and the metric versions. False: it is not one, or memory ran
 * out. */
bool rr_contract_reread(rr_slice text, rr_contract *contract);

/* FNV-1a, 128 bits, of that text, in lower-case hex with a NUL. It tells texts apart, not forgers. False: memory. */
bool rr_contract_fingerprint(const rr_contract *contract, char hex[RR_FINGERPRINT_LEN + 1]);

/* The keys of a contract, for documentation. */
extern const rr_option rr_contract_options[];

#endif
