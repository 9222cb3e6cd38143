/* rr_option: one row a key of a configuration mapping.
 *
 * The same table reads the YAML, fills in defaults, names the nearest key for
 * an unknown one, and prints the documentation (`reconciler help config`).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OPTION_H
#define RR_OPTION_H

#include "yaml.h"

typedef enum rr_option_type {
    RR_OPTION_TEXT,     /* const char * in the arena, not empty */
    RR_OPTION_PATH,     /* the same, a path; one that is not absolute starts at the configuration's folder */
    RR_OPTION_SLICE,    /* rr_slice in the arena, not empty */
    RR_OPTION_BOOL,     /* bool: true, false */
    RR_OPTION_SIZE,     /* size_t, from least to most */
    RR_OPTION_U64,      /* uint64_t */
    RR_OPTION_DURATION, /* int64_t, microseconds; least and most in microseconds */
    RR_OPTION_MILLIS,   /* int, milliseconds, written as a duration; least and most in milliseconds */
    RR_OPTION_SECONDS,  /* int, seconds, written as a duration; least and most in seconds */
    RR_OPTION_WORD,     /* an enum: least + the word's place in words */
    RR_OPTION_READ      /* read_value does it */
} rr_option_type;

typedef struct rr_option rr_option;

struct rr_option {
    const char *name;
    rr_option_type type;
    size_t offset;      /* of the member in the struct */
    const char *preset; /* the default, as it would be written; NULL: none (the member stays as it is) */
    bool required;
    int64_t least, most;      /* most 0: no bound */
    const char *const *words; /* WORD: ended by NULL */
    /* READ: reads the node into the member `target`, and adds what is wrong to the problems. */
    void (*read_value)(const rr_reading *reading, const rr_yaml_node *node, void *target);
    const char *form; /* the form of the value, for documentation: "DURATION"; NULL: that of the type */
    const char *help;
    const rr_option *inner; /* the table of a nested mapping, for documentation */
};

#define RR_OPTIONS_END \
    { \
        .name = NULL \
    }

/* Reads a mapping into a struct: defaults first, then each key. `what` names the mapping in messages ("a source").
 * False: the node is no mapping. Keys in `ignored` (ended by NULL, may be NULL) are skipped: another reader takes them. */
bool rr_options_read(const rr_reading *reading, const rr_option *table, const char *what, const rr_yaml_node *node,
                     void *target, const char *const *ignored);

/* Sets the defaults alone. That each can be read is asserted. */
void rr_options_preset(const rr_option *table, void *target);

/* Documentation, a line a key, nested tables below their key. */
void rr_options_print(const rr_option *table, int indent, rr_buf *buf);

/* "must be WHAT, not SEEN" at the node. */
void rr_option_expect(const rr_reading *reading, const rr_yaml_node *node, const char *name, const char *what);

/* One scalar that must hold a text: false (and a problem) if it does not. `name` is for the message. */
bool rr_option_text(const rr_reading *reading, const rr_yaml_node *node, const char *name, rr_slice *text);

/* For READ: keeps the node in a member `const rr_yaml_node *`, to be read when more is known. */
void rr_option_keep_node(const rr_reading *reading, const rr_yaml_node *node, void *target);

#endif
