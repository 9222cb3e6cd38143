/* Alerts that are about a source and not about a record. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SOURCE_ALERT_H
#define RR_SOURCE_ALERT_H

#include "recovery_state.h"

/* Appends the alert to the log of records without a contract, and writes it into the program's log. index: of the
 * source. UNAVAILABLE: it is not stored; raise it again. */
rr_status rr_source_alert_raise(rr_recovery *recovery, rr_alert kind, size_t index, rr_error *error, const char *format,
                                ...) __attribute__((format(printf, 5, 6)));

#endif
