/* Options of plugins: what a configuration gives to a plugin below `options:`.
 *
 * A plugin lists its options in a table that ends with a NULL name. The program
 * checks the configuration against it before it opens anything: an unknown name,
 * a value of another type and a missing required option are errors with file,
 * line and column. `open` then gets one value for each row of the table, in the
 * order of the table, so a plugin may use the row's place as an index.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OPTIONS_H
#define RR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RR_PLUGIN_OPTIONS_MAX = 256 }; /* rows of one table */

typedef enum rr_plugin_option_type {
    RR_PLUGIN_TEXT,     /* any text that is not empty */
    RR_PLUGIN_BOOL,     /* true, false */
    RR_PLUGIN_INTEGER,  /* a whole number, which may be negative */
    RR_PLUGIN_DURATION, /* 250ms, 90s, 10m, 7d; not negative */
    RR_PLUGIN_PATH      /* of a file; one that is not absolute starts at the configuration's folder */
} rr_plugin_option_type;

/* One row. The texts live as long as the plugin. */
typedef struct rr_plugin_option {
    const char *name; /* letters, digits, '_' and '-'; NULL: the end of the table */
    rr_plugin_option_type type;
    bool required;
    const char *preset; /* the default, as the configuration would write it; NULL: none */
    const char *help;   /* one sentence */
} rr_plugin_option;

#define RR_PLUGIN_OPTIONS_END \
    { \
        .name = NULL \
    }

/* One value. It lives as long as what was opened with it. */
typedef struct rr_plugin_value {
    const char *name;
    rr_plugin_option_type type;
    const char *text; /* as it was written, or the default; NULL: neither */
    bool boolean;     /* BOOL; false where there is no text */
    int64_t number;   /* INTEGER; DURATION: microseconds; 0 where there is no text */
} rr_plugin_value;

#endif
