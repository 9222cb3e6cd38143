/* rr_schema: the messages and enums of a protobuf descriptor set.
 *
 * A descriptor set is what `protoc --descriptor_set_out=F --include_imports`,
 * `protoc-c` with the same options, and `buf build -o F.binpb` write. It is
 * read once, at start. Everything is in the caller's arena, and nothing points
 * into the bytes afterwards. The result is read-only; threads may share it.
 *
 * Messages may contain themselves, directly or over others: who follows
 * `field.message` has to bound the depth.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PROTO_SCHEMA_H
#define RR_PROTO_SCHEMA_H

#include <rr/arena.h>
#include <rr/error.h>

#include "proto_reader.h"

enum {
    RR_SCHEMA_NESTING_MAX = 32, /* messages declared inside messages */
    RR_SCHEMA_NAME_MAX = 1024   /* bytes of a full name */
};

/* The numbers of descriptor.proto. */
typedef enum rr_schema_type {
    RR_SCHEMA_DOUBLE = 1,
    RR_SCHEMA_FLOAT,
    RR_SCHEMA_INT64,
    RR_SCHEMA_UINT64,
    RR_SCHEMA_INT32,
    RR_SCHEMA_FIXED64,
    RR_SCHEMA_FIXED32,
    RR_SCHEMA_BOOL,
    RR_SCHEMA_STRING,
    RR_SCHEMA_GROUP,
    RR_SCHEMA_MESSAGE,
    RR_SCHEMA_BYTES,
    RR_SCHEMA_UINT32,
    RR_SCHEMA_ENUM,
    RR_SCHEMA_SFIXED32,
    RR_SCHEMA_SFIXED64,
    RR_SCHEMA_SINT32,
    RR_SCHEMA_SINT64
} rr_schema_type;

/* Types of google.protobuf that mean more than their fields say. Only where the fields are those of the real type. */
typedef enum rr_schema_known {
    RR_SCHEMA_KNOWN_NONE,
    RR_SCHEMA_KNOWN_TIMESTAMP, /* 1: int64 seconds, 2: int32 nanos */
    RR_SCHEMA_KNOWN_DURATION,  /* the same */
    RR_SCHEMA_KNOWN_WRAPPER    /* Int64Value and the like; 1: value, of implicit presence */
} rr_schema_known;

typedef struct rr_schema_message rr_schema_message;
typedef struct rr_schema_enum rr_schema_enum;
typedef struct rr_schema_oneof rr_schema_oneof;

typedef struct rr_schema_file {
    rr_slice name;    /* "acme/v1/results.proto" */
    rr_slice package; /* "acme.v1"; may be empty */
    bool proto3;      /* else proto2 */
} rr_schema_file;

typedef struct rr_schema_field {
    rr_slice name, json_name;
    uint32_t number;
    rr_schema_type type;
    bool repeated; /* a map too */
    bool packed;   /* how a writer puts it; readers have to take both forms */
    bool
        has_presence; /* absent and zero differ: proto2, proto3 `optional`, a member of a oneof, a message. Never if repeated */
    bool required;                     /* proto2 */
    rr_slice type_name;                /* MESSAGE, GROUP, ENUM: its full name; else empty */
    const rr_schema_message *message;  /* MESSAGE, GROUP: the type; else NULL. A map's is an entry, see map_entry */
    const rr_schema_enum *enumeration; /* ENUM: the type; else NULL */
    const rr_schema_oneof *oneof;      /* NULL: in none. The made-up oneof of a proto3 `optional` is none */
} rr_schema_field;

/* At most one of its fields is there: a later one on the wire clears the others. */
struct rr_schema_oneof {
    rr_slice name;
    const rr_schema_field **fields; /* by number; at least one */
    size_t field_count;
};

struct rr_schema_message {
    rr_slice name; /* full, without a dot before it: "acme.v1.Pane.Kind" */
    const rr_schema_file *file;
    const rr_schema_field *fields; /* by number, each number once */
    size_t field_count;
    const rr_schema_oneof *oneofs;
    size_t oneof_count;
    bool map_entry;        /* of a `map<K, V>` field; then field 1 is the key, field 2 the value, both are there */
    rr_schema_known known; /* google.protobuf.Timestamp and the like */
};

typedef struct rr_schema_enum_value {
    rr_slice name;
    int32_t number; /* several names may have one (allow_alias) */
} rr_schema_enum_value;

struct rr_schema_enum {
    rr_slice name; /* full, as of messages */
    const rr_schema_file *file;
    const rr_schema_enum_value *values; /* in the order of the file */
    size_t value_count;
};

/* The arrays are for iterating, to propose names for instance. Both are ordered by name (rr_slice_compare). */
typedef struct rr_schema {
    const rr_schema_file *files; /* in the order of the set */
    size_t file_count;
    const rr_schema_message *messages; /* nested ones and entries of maps too */
    size_t message_count;
    const rr_schema_enum *enums;
    size_t enum_count;
} rr_schema;

/* Reads a descriptor set.
 *
 * arena    takes everything; the bytes may go afterwards. Give it a cap: a hostile set takes up to some 30 times its bytes
 * error    CONFIG with a sentence that ends with what to do, without the file's path: the caller puts it before.
 *          MEMORY: the arena is exhausted
 *
 * Wrong are: bytes that are no descriptor set, an import that the set lacks (the sentence names it, the file that
 * imports it, and --include_imports), a type that no file defines, a name or field number that is there twice, a file
 * of an edition. Unknown fields, options, services and extensions are skipped. A default of proto2 is not kept. A file
 * that is in the set twice with the same bytes counts once, so sets may be joined with `cat`. */
rr_status rr_schema_read(rr_slice set, rr_arena *arena, rr_schema *schema, rr_error *error);

/* Look-ups; NULL: there is none. A name of a message or enum is full, a dot before it is fine. */
const rr_schema_message *rr_schema_find_message(const rr_schema *schema, rr_slice name);
const rr_schema_enum *rr_schema_find_enum(const rr_schema *schema, rr_slice name);

/* By the name of the .proto, or else by the JSON name. */
const rr_schema_field *rr_schema_find_field(const rr_schema_message *message, rr_slice name);
const rr_schema_field *rr_schema_field_numbered(const rr_schema_message *message, uint32_t number);

/* Of several names of one number the first counts. */
const rr_schema_enum_value *rr_schema_find_value(const rr_schema_enum *enumeration, rr_slice name);
const rr_schema_enum_value *rr_schema_value_numbered(const rr_schema_enum *enumeration, int32_t number);

/* The wire type that one value of a type has (a packed field is BYTES). */
rr_proto_wire rr_schema_wire(rr_schema_type type);

/* The word of a .proto: "int64", "message". */
const char *rr_schema_type_word(rr_schema_type type);

/* A map<K, V>. */
static inline bool rr_schema_is_map(const rr_schema_field *field)
{
    return field->repeated && field->message != NULL && field->message->map_entry;
}

#endif
