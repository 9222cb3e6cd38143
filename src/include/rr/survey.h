/* rr_survey: what a look at a server can tell, before anything depends on it.
 *
 * A server may not tell everything: a permission is missing, or it is of
 * another make. What was not told is RR_UNKNOWN, RR_NOT_TOLD or an empty text;
 * an all-zero survey must be filled by its store or source from the first
 * member to the last.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SURVEY_H
#define RR_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rr_known { RR_UNKNOWN, RR_NO, RR_YES } rr_known;

#define RR_NOT_TOLD INT64_C(-1) /* of a number */

static inline rr_known rr_known_of(bool is)
{
    return is ? RR_YES : RR_NO;
}

#endif
