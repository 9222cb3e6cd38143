/* set: writes what Redis holds once more, by plain pipelined SETs with expiry of the same bytes.
 *
 *   bench_set PORT PID
 *
 * Reads all cells (keys "rr:{...}:v1..."), empties the database, sets them (create) and sets them again (update),
 * a batch of 1024 in one round trip. Prints the server's and this program's processor time a record.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 1024 };

typedef struct cell {
    char *key, *value;
    size_t key_len, value_len;
} cell;

static cell *cells;
static size_t cell_count, cell_room;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench_set: %s\n", what);
    exit(1);
}

static double cpu_s(pid_t pid)
{
    struct timespec now = {0};
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) == 0) {
        clock_gettime(clock, &now);
    }
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void keep(const redisReply *key, const redisReply *value)
{
    if (value == NULL || value->type != REDIS_REPLY_STRING) {
        return;
    }
    if (cell_count == cell_room) {
        cell_room = cell_room == 0 ? 1024 : cell_room * 2;
        cells = realloc(cells, cell_room * sizeof *cells);
    }
    cells[cell_count++] = (cell){strndup(key->str, key->len), strndup(value->str, value->len), key->len, value->len};
}

static void read_page(redisContext *redis, char *cursor)
{
    redisReply *page = redisCommand(redis, "SCAN %s MATCH rr:{*}:v1:* COUNT 1000", cursor), *reply;
    size_t count = page == NULL ? 0 : page->element[1]->elements;

    if (page == NULL) {
        fail(redis->errstr);
    }
    for (size_t k = 0; k < count; k++) {
        redisAppendCommand(redis, "GET %b", page->element[1]->element[k]->str, page->element[1]->element[k]->len);
    }
    for (size_t k = 0; k < count; k++) {
        if (redisGetReply(redis, (void **)&reply) != REDIS_OK) {
            fail(redis->errstr);
        }
        keep(page->element[1]->element[k], reply);
        freeReplyObject(reply);
    }
    snprintf(cursor, 32, "%s", page->element[0]->str);
    freeReplyObject(page);
}

static void set_some(redisContext *redis, size_t first, size_t end, const char *expiry)
{
    void *reply;

    for (size_t k = first; k < end; k++) {
        const char *words[] = {"SET", cells[k].key, cells[k].value, "PXAT", expiry};
        size_t lens[] = {3, cells[k].key_len, cells[k].value_len, 4, strlen(expiry)};

        redisAppendCommandArgv(redis, 5, words, lens);
    }
    for (size_t k = first; k < end; k++) {
        if (redisGetReply(redis, &reply) != REDIS_OK) {
            fail(redis->errstr);
        }
        freeReplyObject(reply);
    }
}

static void pass(redisContext *redis, pid_t server, const char *name)
{
    double server_s = cpu_s(server), own_s = cpu_s(0), since = now_s();
    char expiry[32];

    snprintf(expiry, sizeof expiry, "%lld", ((long long)time(NULL) + 8 * 86400) * 1000);
    for (size_t first = 0; first < cell_count; first += BATCH) {
        set_some(redis, first, first + BATCH < cell_count ? first + BATCH : cell_count, expiry);
    }
    printf(" %s_rate=%.0f %s_redis_us=%.3f %s_client_us=%.3f", name, (double)cell_count / (now_s() - since), name,
           (cpu_s(server) - server_s) * 1e6 / (double)cell_count, name, (cpu_s(0) - own_s) * 1e6 / (double)cell_count);
}

int main(int argc, char **argv)
{
    redisContext *redis = argc == 3 ? redisConnect("127.0.0.1", atoi(argv[1])) : NULL;
    char cursor[32] = "0";
    size_t bytes = 0;

    if (redis == NULL || redis->err != 0) {
        fail("usage: bench_set PORT PID, and redis-server must be there");
    }
    redis->reader->maxbuf = 0;
    do {
        read_page(redis, cursor);
    } while (strcmp(cursor, "0") != 0);
    if (cell_count == 0) {
        fail("there are no cells");
    }
    for (size_t k = 0; k < cell_count; k++) {
        bytes += cells[k].value_len;
    }
    freeReplyObject(redisCommand(redis, "FLUSHALL"));
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): fail() ends the program where there are none. */
    printf("cells=%zu value_bytes=%zu", cell_count, bytes / cell_count);
    pass(redis, atoi(argv[2]), "create");
    pass(redis, atoi(argv[2]), "update");
    printf("\n");
    redisFree(redis);
    return 0;
}
