/* For tests of rr_join: a contract from YAML, records from JSON, one unit in memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_JOINS_H
#define RR_TEST_JOINS_H

#include "contract_yaml.h"
#include "join.h"

typedef struct joins {
    rr_contract_list contracts;
    const rr_contract *contract;
    rr_arena arena;
    rr_unit unit;
    rr_joined joined;   /* of the last record */
    rr_outcome outcome; /* likewise, where it is DONE */
} joins;

/* The text behind "contracts:\n- name: c\n", each line indented by two. Asserts that it can be read. */
void joins_open(joins *j, const char *contract);
void joins_close(joins *j);

/* A record of `{"business_key":"k","metric_version":"v1",` and the text. Asserts that it is admitted. */
rr_record joins_record(joins *j, const char *json);

/* Decodes, admits and joins. */
void joins_take(joins *j, const char *json);

/* The unit written and read again, with no part at hand but the one that the record names; and joined. Nothing is
 * kept of it: to see what a store would have to load. */
rr_joined joins_probe(joins *j, const char *json, rr_outcome *outcome);

#endif
