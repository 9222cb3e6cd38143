/* The NATS channel: alerts as messages on <prefix>.<contract>.<kind>.
 *
 * Bytes of a contract's name other than A-Z a-z 0-9 - _ are percent-encoded in upper-case hex, so that it is one
 * token. The payload is the alert as JSON; the header Nats-Msg-Id is its stable id, so a stream on the prefix keeps
 * a repeated one once. An alert counts as sent when it is flushed to the server; the channel does not check that
 * anybody receives it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ALERT_NATS_H
#define RR_ALERT_NATS_H

#include <rr/channel.h>

extern const rr_channel_ops rr_alert_nats_ops;

#endif
