/* What servers tell of the stream, the consumer and the stream of the dead letters. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_SURVEY_H
#define RR_JS_SURVEY_H

#include <rr/source.h>

/* The source's op `survey`. */
rr_status rr_js_survey(const rr_source_options *options, rr_slice dead_letter, rr_source_survey *survey,
                       rr_error *error);

#endif
