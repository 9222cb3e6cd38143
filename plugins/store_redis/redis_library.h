/* The text of redis_library.lua, as it was when the program was built; ends with a NUL. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_LIBRARY_H
#define RR_STORE_REDIS_LIBRARY_H

extern const char rr_redis_library[];

#endif
