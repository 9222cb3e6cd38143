/* rr_yaml: a YAML text as a small tree, strictly.
 *
 * Refuses what can surprise a reader: anchors and aliases, tags, several
 * documents, a key twice, keys that are no plain text. Size, depth and the
 * number of nodes are bounded, so a hostile file costs little time and memory.
 *
 * Inside scalars, after parsing (so the text that comes in is never YAML):
 *   ${env:NAME}   the environment's variable; unset is an error
 *   ${file:PATH}  the file's content without the newline at its end; a path
 *                 that is not absolute starts at the configuration's folder
 *   $${           the two characters ${
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_YAML_H
#define RR_YAML_H

#include "problems.h"
#include <rr/arena.h>

enum {
    RR_YAML_BYTES_MAX = 1024 * 1024, /* of a text */
    RR_YAML_DEPTH_MAX = 16,
    RR_YAML_NODES_MAX = 100000,
    RR_YAML_KEYS_MAX = 1000,     /* of one mapping */
    RR_YAML_FILE_MAX = 64 * 1024 /* of a ${file:} */
};

typedef enum rr_yaml_kind { RR_YAML_SCALAR, RR_YAML_LIST, RR_YAML_MAP } rr_yaml_kind;

typedef struct rr_yaml_node rr_yaml_node;

/* All in the arena. */
struct rr_yaml_node {
    rr_yaml_kind kind;
    bool quoted;         /* a quoted or block scalar: never null */
    bool broken;         /* a ${...} in it could not be expanded, which was reported: ignore the node */
    int line, column;    /* from 1 */
    rr_slice text;       /* SCALAR: after ${...}; a NUL follows */
    rr_slice raw;        /* SCALAR: as it stands in the file, for messages: a secret is not in it */
    rr_yaml_node *first; /* LIST and MAP: the first item or value; MAP: in the order of the file */
    rr_yaml_node *next;  /* the next in the same list or mapping */
    rr_yaml_node *last;
    rr_yaml_node *key; /* of a value in a MAP: its key, a scalar */
    size_t count;
};

/* A file that is being read, and where its nodes and problems go. */
typedef struct rr_reading {
    const char *path; /* for messages; its folder is where relative paths start. Outlives the arena */
    rr_arena *arena;
    rr_problems *problems;
} rr_reading;

/* The tree of a text, or NULL if it cannot be read as YAML at all. Anything wrong is in the problems. */
rr_yaml_node *rr_yaml_parse(const rr_reading *reading, rr_slice text);

/* A whole file in the arena, at most `most` bytes, with a NUL behind it. IO: cannot be read; INPUT: larger. The
 * error's text does not repeat the path. */
rr_status rr_yaml_slurp(const char *path, size_t most, rr_arena *arena, rr_slice *text, rr_error *error);

/* The path, as seen from the folder of the file that is being read. In the arena; NULL: memory ran out. */
const char *rr_yaml_beside(const rr_reading *reading, rr_slice path);

/* The value of a key, or NULL. */
const rr_yaml_node *rr_yaml_get(const rr_yaml_node *map, const char *key);

/* A scalar without a value: nothing, ~ or null, not quoted. */
bool rr_yaml_is_null(const rr_yaml_node *node);

/* "a list", "a mapping", "no value", "'TEXT'": what stands there, for messages. Returns text. */
enum { RR_YAML_SEEN_MAX = 96 };
const char *rr_yaml_seen(const rr_yaml_node *node, char text[RR_YAML_SEEN_MAX]);

rr_place rr_yaml_place(const rr_reading *reading, const rr_yaml_node *node);

#endif
