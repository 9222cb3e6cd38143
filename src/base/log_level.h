/* How much a line of the log matters to the people who run the program. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_LOG_LEVEL_H
#define RR_LOG_LEVEL_H

typedef enum rr_log_level { RR_LOG_ERROR, RR_LOG_WARNING, RR_LOG_INFO, RR_LOG_DEBUG } rr_log_level;

#endif
