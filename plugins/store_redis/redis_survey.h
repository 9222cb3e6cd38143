/* What a Redis server tells of itself and of what its user may do. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_SURVEY_H
#define RR_STORE_REDIS_SURVEY_H

#include <rr/store.h>

/* The store's op `survey`. */
rr_status rr_redis_survey(const char *url, const rr_store_options *options, rr_slice prefix, rr_store_survey *survey,
                          rr_error *error);

#endif
