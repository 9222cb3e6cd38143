/* Two canonical texts that have to be one: of a contract or of mappings, as stored and of this program. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEXT_DIFFERENCE_H
#define RR_TEXT_DIFFERENCE_H

#include "environment.h"

/* The first lines that differ, without the blanks before them and cut to 200 bytes; "nothing" where a text has ended. */
typedef struct rr_text_difference {
    rr_slice stored, own;
} rr_text_difference;

rr_text_difference rr_text_difference_find(rr_slice stored, rr_slice own);

/* Logs both as errors, a line of the log for each line: "contract parts, as stored: mode: delta". */
void rr_text_difference_log(const rr_environment *env, const char *kind, rr_slice name, rr_slice stored, rr_slice own);

#endif
