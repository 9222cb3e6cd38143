/* The Redis store: cells as JSON values that anybody may GET, changed by one server-side function. URLs:
 * redis://[user:password@]host:port[/db] (IPv6 in brackets, port 6379 if absent) and unix:///path[?db=N]; user and
 * password percent-encoded, options->password wins. Needs Redis 7.0 or newer (or Valkey), no cluster. On opening, and
 * on every new connection, it loads its function library if that is missing. The library's name holds a hash of its
 * text, so several versions of the program may share a server. A library that was flushed is loaded again. The user
 * needs @read, @write, FCALL, FUNCTION LOAD, INFO and SELECT, and WAIT where replicas are waited for: then each call of
 * swaps ends with a write to <prefix>:wait and WAIT. Keys beside a unit's own: `<key>:parts:<birth>`, a hash, which
 * lives as long as the unit. Logs are streams with one field `json`; all readers of a log share the consumer group
 * `rr`. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_H
#define RR_STORE_REDIS_H

#include <rr/store.h>

extern const rr_store_ops rr_store_redis_ops;

#endif
