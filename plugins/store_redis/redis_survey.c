/* The survey of a Redis server, also of an unfit one: what INFO and CONFIG tell, whether the functions run, and what
 * the user may do. Permissions are tried inside a transaction that is discarded: Redis checks a command when it is
 * queued, and executes none of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_survey.h"

#include <stdio.h>
#include <stdlib.h>

#include "redis_link.h"
#include "redis_resp.h"

enum { WORDS_MAX = 8, TIMEOUT_MS = 2000, OLDEST_MAJOR = 7 };

typedef struct surveying {
    rr_link link;
    bool waits; /* for replicas */
    char *info; /* all of INFO; NULL: not told */
    rr_store_survey *survey;
} surveying;

/* ---- asking ---- */

static rr_status ask(surveying *s, redisReply **reply, const char *const *words, rr_error *error)
{
    size_t count = 0;

    while (words[count] != NULL) {
        count++;
    }
    rr_resp_command(&s->link.out, count);
    for (size_t i = 0; i < count; i++) {
        rr_resp_text(&s->link.out, words[i]);
    }
    return rr_link_exchange(&s->link, reply, error);
}

#define ASK(s, reply, error, ...) ask(s, reply, (const char *const[]){__VA_ARGS__, NULL}, error)

static bool is_error(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR;
}

static bool begins(const redisReply *reply, const char *word)
{
    return reply->str != NULL && strncmp(reply->str, word, strlen(word)) == 0;
}

/* ---- INFO and CONFIG ---- */

/* What follows `name:` at the start of a line of INFO. False: it is not there. */
static bool info_text(const surveying *s, const char *name, char *text, size_t room)
{
    size_t len = strlen(name);
    const char *found = s->info;

    text[0] = '\0';
    while (found != NULL && (found = strstr(found, name)) != NULL) {
        if (found[len] == ':' && (found == s->info || found[-1] == '\n')) {
            snprintf(text, room, "%.*s", (int)strcspn(found + len + 1, "\r\n"), found + len + 1);
            return true;
        }
        found += len;
    }
    return false;
}

static int64_t info_number(const surveying *s, const char *name)
{
    char text[32];

    return info_text(s, name, text, sizeof text) ? strtoll(text, NULL, 10) : RR_NOT_TOLD;
}

static rr_known info_flag(const surveying *s, const char *name)
{
    int64_t number = info_number(s, name);

    return number == RR_NOT_TOLD ? RR_UNKNOWN : rr_known_of(number != 0);
}

static void take_info(surveying *s)
{
    rr_store_survey *survey = s->survey;
    char version[32], role[16];

    if (info_text(s, "redis_version", version, sizeof version)) {
        snprintf(survey->server, sizeof survey->server, "Redis %s", version);
        survey->too_old = rr_known_of(strtol(version, NULL, 10) < OLDEST_MAJOR);
    }
    if (info_text(s, "role", role, sizeof role)) {
        survey->replica = rr_known_of(strcmp(role, "master") != 0);
    }
    survey->cluster = info_flag(s, "cluster_enabled");
    survey->log = info_flag(s, "aof_enabled");
    survey->replicas = info_number(s, "connected_slaves");
    survey->max_memory = info_number(s, "maxmemory");
    survey->used_memory = info_number(s, "used_memory");
    info_text(s, "maxmemory_policy", survey->eviction, sizeof survey->eviction);
}

static rr_status ask_info(surveying *s, rr_error *error)
{
    redisReply *reply = NULL;
    rr_status status = ASK(s, &reply, error, "INFO", "default");

    if (status != RR_OK) {
        return status;
    }
    if (reply->type == REDIS_REPLY_STRING) {
        s->info = strndup(reply->str, (size_t)reply->len);
        status = s->info == NULL ? rr_fail(error, RR_MEMORY, "redis store: memory ran out") : RR_OK;
        take_info(s);
    } else if (is_error(reply) && begins(reply, "NOAUTH")) {
        status = rr_link_fail(&s->link, RR_CONFIG, error, "%s: a password is needed", reply->str);
    } else if (!is_error(reply)) {
        status = rr_link_odd(&s->link, "INFO", error);
    }
    return status;
}

/* The value of one setting; empty where the server does not tell. */
static rr_status ask_setting(surveying *s, const char *name, bool *told, char *value, size_t room, rr_error *error)
{
    redisReply *reply = NULL;
    rr_status status = ASK(s, &reply, error, "CONFIG", "GET", name);

    value[0] = '\0';
    *told = false;
    if (status != RR_OK) {
        return status;
    }
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && reply->element[1]->type == REDIS_REPLY_STRING) {
        snprintf(value, room, "%s", reply->element[1]->str);
        *told = true;
    }
    return RR_OK;
}

static rr_status ask_settings(surveying *s, rr_error *error)
{
    rr_store_survey *survey = s->survey;
    char value[256];
    bool told;
    rr_status status = ask_setting(s, "appendfsync", &told, value, sizeof value, error);

    if (status == RR_OK) {
        snprintf(survey->log_sync, sizeof survey->log_sync, "%s", value);
        status = ask_setting(s, "save", &told, value, sizeof value, error);
    }
    if (status == RR_OK) {
        survey->snapshots = told ? rr_known_of(value[0] != '\0') : RR_UNKNOWN;
        status = ask_setting(s, "lazyfree-lazy-expire", &told, value, sizeof value, error);
    }
    if (status == RR_OK) {
        survey->lazy_expire = told ? rr_known_of(strcmp(value, "yes") == 0) : RR_UNKNOWN;
    }
    return status;
}

static rr_status ask_user(surveying *s, rr_error *error)
{
    redisReply *reply = NULL;
    rr_status status = ASK(s, &reply, error, "ACL", "WHOAMI");

    if (status == RR_OK) {
        snprintf(s->survey->user, sizeof s->survey->user, "%s",
                 reply->type == REDIS_REPLY_STRING ? reply->str : s->link.url.user);
    }
    return status;
}

/* ---- what this user may do ---- */

/* Commands that the store sends, or that its functions call, with valid arguments; %K: a key below the prefix. */
static const char *const needed[][WORDS_MAX] = {
    {"MGET", "%K"},
    {"GET", "%K"},
    {"GETRANGE", "%K", "0", "1"},
    {"SET", "%K", "x"},
    {"MSET", "%K", "x"},
    {"DEL", "%K"},
    {"EXISTS", "%K"},
    {"TYPE", "%K"},
    {"PERSIST", "%K"},
    {"PEXPIREAT", "%K", "1"},
    {"HSET", "%K", "f", "x"},
    {"HMGET", "%K", "f"},
    {"HGETALL", "%K"},
    {"ZADD", "%K", "1", "x"},
    {"ZREM", "%K", "x"},
    {"ZRANDMEMBER", "%K", "1"},
    {"XADD", "%K", "*", "f", "x"},
    {"XACK", "%K", "rr", "0-0"},
    {"XGROUP", "CREATE", "%K", "rr", "0"},
    {"XREADGROUP", "GROUP", "rr", "x", "STREAMS", "%K", ">"},
    {"XAUTOCLAIM", "%K", "rr", "x", "1000", "0-0"},
    {"SCAN", "0"},
    {"INFO", "server"},
    {"FCALL", "rr", "0"},
    {"FUNCTION", "LIST"},
};

/* Only where replicas are waited for. In a transaction it does not wait. */
static const char *const needed_to_wait[WORDS_MAX] = {"WAIT", "1", "1"};

static void name_command(const char *const *words, char *text, size_t room)
{
    bool has_sub = strcmp(words[0], "XGROUP") == 0;

    snprintf(text, room, "%s%s%s", words[0], has_sub ? " " : "", has_sub ? words[1] : "");
}

static void deny(surveying *s, const char *name, const redisReply *reply)
{
    rr_store_survey *survey = s->survey;
    size_t len = strlen(survey->denied);
    const char *about_keys = strstr(reply->str, "key") != NULL ? " (on our keys)" : "";

    snprintf(survey->denied + len, sizeof survey->denied - len, "%s%s%s", len == 0 ? "" : ", ", name, about_keys);
}

/* Notes an error that refuses writes, whatever the command. */
static bool refuses_writes(surveying *s, const redisReply *reply)
{
    static const char *const words[] = {"OOM",     "MISCONF", "NOREPLICAS", "READONLY",
                                        "LOADING", "BUSY",    "MASTERDOWN", "CLUSTERDOWN"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (begins(reply, words[i])) {
            if (s->survey->writes_error[0] == '\0') {
                snprintf(s->survey->writes_error, sizeof s->survey->writes_error, "%s", reply->str);
            }
            return true;
        }
    }
    return false;
}

static rr_status try_command(surveying *s, const char *const *words, const char *key, rr_error *error)
{
    const char *filled[WORDS_MAX + 1] = {NULL};
    redisReply *reply = NULL;
    char name[64];
    rr_status status;

    for (size_t i = 0; i < WORDS_MAX && words[i] != NULL; i++) {
        filled[i] = strcmp(words[i], "%K") == 0 ? key : words[i];
    }
    status = ask(s, &reply, filled, error);
    if (status != RR_OK) {
        return status;
    }
    if (is_error(reply) && begins(reply, "NOPERM")) {
        name_command(words, name, sizeof name);
        deny(s, name, reply);
    } else if (is_error(reply)) {
        refuses_writes(s, reply);
    }
    return RR_OK;
}

static rr_status end_trial(surveying *s, rr_error *error)
{
    redisReply *reply = NULL;

    return ASK(s, &reply, error, "DISCARD");
}

/* Where even MULTI is not permitted, nothing is tried here: FCALL below still tells. */
static rr_status try_commands(surveying *s, rr_slice prefix, rr_error *error)
{
    redisReply *reply = NULL;
    char key[256];
    bool begun;
    rr_status status = ASK(s, &reply, error, "MULTI");

    if (status != RR_OK) {
        return status;
    }
    begun = !is_error(reply);
    snprintf(key, sizeof key, "%.*s:{preflight:key}:v", (int)(prefix.len > 128 ? 128 : prefix.len), prefix.data);
    for (size_t i = 0; begun && status == RR_OK && i < sizeof needed / sizeof *needed; i++) {
        status = try_command(s, needed[i], key, error);
    }
    if (begun && status == RR_OK && s->waits) {
        status = try_command(s, needed_to_wait, key, error);
    }
    return begun && status == RR_OK ? end_trial(s, error) : status;
}

/* ---- functions ---- */

static void note_function_error(surveying *s, const char *doing, const redisReply *reply)
{
    s->survey->functions = RR_NO;
    snprintf(s->survey->functions_error, sizeof s->survey->functions_error, "%s: %s", doing, reply->str);
}

static rr_status call_function(surveying *s, rr_error *error)
{
    redisReply *reply = NULL;
    rr_status status = ASK(s, &reply, error, "FCALL", s->link.functions.identity, "0");

    if (status != RR_OK) {
        return status;
    }
    s->survey->functions = RR_YES;
    if (is_error(reply) && refuses_writes(s, reply)) {
        s->survey->functions = RR_UNKNOWN;
    } else if (is_error(reply)) {
        note_function_error(s, "FCALL", reply);
    }
    return RR_OK;
}

static rr_status load_functions(surveying *s, rr_error *error)
{
    redisReply *reply = NULL;
    bool loaded;
    rr_status status;

    rr_buf_slice(&s->link.out, rr_buf_view(&s->link.functions.load));
    status = rr_link_exchange(&s->link, &reply, error);
    if (status != RR_OK) {
        return status;
    }
    loaded = !is_error(reply) || strstr(reply->str, "already exists") != NULL;
    if (!loaded && !refuses_writes(s, reply)) {
        note_function_error(s, "FUNCTION LOAD", reply);
    }
    return loaded ? call_function(s, error) : RR_OK;
}

/* ---- all of it ---- */

static rr_status ask_all(surveying *s, rr_slice prefix, rr_error *error)
{
    rr_status status = rr_link_begin(&s->link, error);

    status = status == RR_OK ? ask_info(s, error) : status;
    status = status == RR_OK ? ask_settings(s, error) : status;
    status = status == RR_OK ? ask_user(s, error) : status;
    status = status == RR_OK ? try_commands(s, prefix, error) : status;
    return status == RR_OK ? load_functions(s, error) : status;
}

rr_status rr_redis_survey(const char *url, const rr_store_options *options, rr_slice prefix, rr_store_survey *survey,
                          rr_error *error)
{
    rr_store_options given = options == NULL ? (rr_store_options){0} : *options;
    surveying s = {.survey = survey, .waits = given.wait_replicas != 0};
    rr_status status;

    *survey = (rr_store_survey){.replicas = RR_NOT_TOLD, .max_memory = RR_NOT_TOLD, .used_memory = RR_NOT_TOLD};
    snprintf(survey->server, sizeof survey->server, "Redis");
    status = rr_link_open(&s.link, url, given.password, given.timeout_ms > 0 ? given.timeout_ms : TIMEOUT_MS, error);
    s.link.surveys = true;
    status = status == RR_OK ? ask_all(&s, prefix, error) : status;
    rr_link_close(&s.link);
    explicit_bzero(s.link.url.password, sizeof s.link.url.password);
    free(s.info);
    return status;
}
