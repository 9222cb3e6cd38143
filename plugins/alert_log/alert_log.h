/* The log channel: one line an alert on standard error. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ALERT_LOG_H
#define RR_ALERT_LOG_H

#include <rr/channel.h>

extern const rr_channel_ops rr_alert_log_ops;

#endif
