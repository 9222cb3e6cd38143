/* `reconciler publish --raw`. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PUBLISH_RAW_H
#define RR_PUBLISH_RAW_H

#include "opened.h"

/* Publishes bytes as they are, by the options of `publish`. Returns the exit code. */
int rr_publish_raw(const rr_args *args);

#endif
