/* What hiredis calls for each part of a reply. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_reply.h"

enum { KEPT_BYTES = 4 << 20 };

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/* A reply with `more` bytes behind it, in its place within the array that it is part of. */
static redisReply *make(const redisReadTask *task, int type, size_t more)
{
    redisReply *reply = rr_arena_take(task->privdata, sizeof *reply + more);

    if (reply != NULL) {
        *reply = (redisReply){.type = type};
        if (task->parent != NULL) {
            redisReply *parent = task->parent->obj;

            parent->element[task->idx] = reply;
        }
    }
    return reply;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    redisReply *reply = make(task, task->type, len + 1);

    if (reply != NULL) {
        reply->str = (char *)(reply + 1);
        reply->len = len;
        memcpy(reply->str, text, len);
        reply->str[len] = '\0';
    }
    return reply;
}

static void *make_array(const redisReadTask *task, element_count count)
{
    redisReply *reply;

    if ((uint64_t)count > SIZE_MAX / 2 / sizeof *reply->element) {
        return NULL;
    }
    reply = make(task, task->type, (size_t)count * sizeof *reply->element);
    if (reply != NULL) {
        reply->elements = (size_t)count;
        reply->element = (redisReply **)(void *)(reply + 1);
    }
    return reply;
}

static void *make_integer(const redisReadTask *task, long long value)
{
    redisReply *reply = make(task, task->type, 0);

    if (reply != NULL) {
        reply->integer = value;
    }
    return reply;
}

static void *make_nil(const redisReadTask *task)
{
    return make(task, REDIS_REPLY_NIL, 0); /* the task says a string */
}

#if HIREDIS_MAJOR >= 1
/* No Redis sends these in the protocol that is used here. But without these functions hiredis hands out a number as a
 * pointer. */
static void *make_double(const redisReadTask *task, double value, char *text, size_t len)
{
    (void)value;
    return make_string(task, text, len);
}

static void *make_bool(const redisReadTask *task, int value)
{
    return make_integer(task, value);
}
#endif

static void free_nothing(void *reply)
{
    (void)reply;
}

void rr_replies_into(redisReader *reader, rr_arena *arena)
{
    static redisReplyObjectFunctions functions = {
        .createString = make_string,
        .createArray = make_array,
        .createInteger = make_integer,
        .createNil = make_nil,
#if HIREDIS_MAJOR >= 1
        .createDouble = make_double,
        .createBool = make_bool,
#endif
        .freeObject = free_nothing
    };

    reader->fn = &functions;
    reader->privdata = arena;
}

void rr_replies_next(rr_arena *arena)
{
    if (arena->held > KEPT_BYTES) {
        rr_arena_fini(arena);
    } else {
        rr_arena_reset(arena);
    }
}
