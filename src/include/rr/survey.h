/* rr_survey: the settings of a server, as they were found before the program depends on them.
 *
 * A server may hide some settings, because a permission is missing or the
 * product does not have them. A hidden setting is RR_UNKNOWN, RR_NOT_TOLD or an
 * empty text. The store or source that fills a survey sets every member.
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
