/* Servers, children, and asking Redis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "publish.h"

enum { WORDS = 32, START_MS = 20000, OUTPUT_MS = 60000, SHOWN_BYTES = 6000, CONFIGURATION = 78 };

const char *rr_world_program;
bool rr_world_full;
unsigned long long rr_world_seed = 1;

int rr_world_main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--full") == 0) {
            rr_world_full = true;
        } else if (strcmp(argv[k], "--seed") == 0 && k + 1 < argc) {
            rr_world_seed = strtoull(argv[++k], NULL, 10);
        } else if (strcmp(argv[k], "--only") == 0 && k + 1 < argc) {
            cmocka_set_test_filter(argv[++k]);
        } else {
            rr_world_program = argv[k];
        }
    }
    if (rr_world_program == NULL) {
        fprintf(stderr, "usage: %s PROGRAM [--full] [--seed N] [--only PATTERN]\n", argv[0]);
        return 64;
    }
    signal(SIGPIPE, SIG_IGN);
    return rr_server_installed(RR_SERVER_NATS) && rr_server_installed(RR_SERVER_REDIS) ? 0 : 77;
}

void rr_nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

long long rr_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- begin and end ---- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void rr_redis_reconnect(rr_world *world)
{
    if (world->link != NULL) {
        redisFree(world->link);
    }
    world->link = redisConnect("127.0.0.1", world->redis.port);
    assert_non_null(world->link);
    assert_int_equal(world->link->err, 0);
}

static int begin(void **state, const char *const *redis)
{
    const char *base = getenv("TMPDIR");
    rr_world *world = calloc(1, sizeof *world);

    *state = world;
    assert_non_null(world);
    snprintf(world->folder, sizeof world->folder, "%s/rr-world-XXXXXX",
             base != NULL && strlen(base) < 32 ? base : "/tmp");
    assert_non_null(mkdtemp(world->folder));
    assert_true(rr_server_start_nats(&world->nats, "http: \"127.0.0.1:-1\"\n"));
    assert_true(rr_server_start_redis(&world->redis, redis));
    rr_redis_reconnect(world);
    rr_nats_reconnect(world);
    rr_stream_make(world, "RESULTS", "results.>", 0);
    rr_stream_make(world, "DEAD", "dead.>", 0);
    return 0;
}

int rr_world_begin(void **state)
{
    return begin(state, NULL);
}

int rr_world_begin_lasting(void **state)
{
    static const char *const lasting[] = {"--appendonly", "yes", "--appendfsync", "everysec", NULL};

    return begin(state, lasting);
}

static void show_log(const rr_child *child)
{
    char *said = rr_child_said(child);
    size_t len = strlen(said);

    print_error("---- %s, exit code %d, signal %d\n", child->log, child->exit_code, child->ended_by);
    fprintf(stderr, "%s\n", len > SHOWN_BYTES ? said + len - SHOWN_BYTES : said);
    free(said);
}

/* A test that passed has waited for its children, so one that still runs is a sign of a failure. */
int rr_world_end(void **state)
{
    rr_world *world = *state;

    for (size_t k = 0; k < world->child_count; k++) {
        if (world->children[k].pid != 0) {
            show_log(&world->children[k]);
            rr_child_kill(&world->children[k]);
        }
    }
    natsConnection_Close(world->connection);
    jsCtx_Destroy(world->js);
    natsConnection_Destroy(world->connection);
    if (world->link != NULL) {
        redisFree(world->link);
    }
    rr_server_fini(&world->nats);
    rr_server_fini(&world->redis);
    nftw(world->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(world);
    return 0;
}

/* ---- configuration ---- */

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    return file;
}

static void write_source(FILE *file, const rr_world *world, const rr_setup *setup)
{
    fprintf(file,
            "sources:\n  - name: %s\n    url: %s\n    stream: RESULTS\n    consumer: %s\n"
            "    create: true\n    dead_letters: %s\n    ack: %s\n    ack_wait: %ds\n",
            setup->source == NULL ? "results" : setup->source,
            setup->nats_url == NULL ? world->nats.url : setup->nats_url,
            setup->consumer == NULL ? "reconciler" : setup->consumer,
            setup->dead_letters == NULL ? "dead" : setup->dead_letters, setup->ack_all ? "all" : "explicit",
            setup->ack_wait_s == 0 ? 2 : setup->ack_wait_s);
    if (setup->batch != 0) {
        fprintf(file, "    batch: %zu\n", setup->batch);
    }
    if (setup->pulls != 0) {
        fprintf(file, "    pulls: %zu\n", setup->pulls);
    }
    fprintf(file, "    routes:\n");
    for (size_t k = 0; setup->names[k] != NULL; k++) {
        fprintf(file, "      - {subject: results.%s, contract: %s}\n", setup->names[k], setup->names[k]);
    }
}

void rr_world_configure(rr_world *world, const char *name, const rr_setup *setup, char *path)
{
    FILE *file;

    snprintf(world->contracts, sizeof world->contracts, "%s/%s-contracts.yaml", world->folder, name);
    file = create(world->contracts);
    fprintf(file, "contracts:\n%s", setup->contracts);
    fclose(file);
    snprintf(path, RR_WORLD_PATH, "%s/%s.yaml", world->folder, name);
    file = create(path);
    fprintf(file, "store: {url: \"%s/0\"", setup->redis_url == NULL ? world->redis.url : setup->redis_url);
    if (setup->redis_timeout_ms != 0) {
        fprintf(file, ", timeout: %dms", setup->redis_timeout_ms);
    }
    if (setup->wait_replicas != 0) {
        fprintf(file, ", wait_replicas: %d", setup->wait_replicas);
    }
    fprintf(file, "}\n");
    write_source(file, world, setup);
    fprintf(file, "alerts: %s\ncontracts_file: %s-contracts.yaml\n", setup->alerts == NULL ? "[log]" : setup->alerts,
            name);
    fclose(file);
}

/* ---- children ---- */

/* In the child: becomes the program. */
static void become(const char *const *words, pid_t parent, int out, const char *log)
{
    const char *argv[WORDS + 2] = {rr_world_program};
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || fd < 0) {
        _exit(127);
    }
    for (size_t k = 0; k < WORDS && words[k] != NULL; k++) {
        argv[k + 1] = words[k];
    }
    dup2(out < 0 ? fd : out, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(rr_world_program, (char *const *)argv);
    _exit(127);
}

static rr_child *spawn(rr_world *world, const char *const *words, int out)
{
    pid_t parent = getpid();
    rr_child *child;

    assert_true(world->child_count < RR_WORLD_CHILDREN);
    child = &world->children[world->child_count++];
    snprintf(child->log, sizeof child->log, "%s/child-%zu.log", world->folder, world->child_count);
    unlink(child->log);
    fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        become(words, parent, out, child->log);
    }
    assert_true(child->pid > 0);
    return child;
}

rr_child *rr_child_start(rr_world *world, const char *const *words)
{
    return spawn(world, words, -1);
}

rr_child *rr_child_run(rr_world *world, const char *config, const char *more)
{
    const char *words[] = {"run", "--config", config, more, NULL};
    rr_child *child = rr_child_start(world, words);

    rr_child_wait_for(child, " running", START_MS);
    return child;
}

void rr_child_signal(const rr_child *child, int number)
{
    assert_true(child->pid > 0);
    assert_int_equal(kill(child->pid, number), 0);
}

/* True if it is over. */
static bool reap(rr_child *child, int options)
{
    int status;
    pid_t got = child->pid == 0 ? 0 : waitpid(child->pid, &status, options);

    if (got == child->pid && child->pid != 0) {
        child->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        child->ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        child->pid = 0;
    }
    return child->pid == 0;
}

/* The time that an idle machine needs at most; a busy one may need several times as much. It only bounds a hang. */
static long long patience(int within_ms)
{
    return 6LL * within_ms;
}

static int wait_end(rr_child *child, int within_ms)
{
    long long until = rr_now_ms() + patience(within_ms);

    while (!reap(child, WNOHANG)) {
        if (rr_now_ms() > until) {
            fail_msg("%s: still running after %lld ms", child->log, patience(within_ms));
        }
        rr_nap_ms(5);
    }
    return child->exit_code;
}

int rr_child_wait(rr_child *child, int within_ms)
{
    int code = wait_end(child, within_ms);

    if (code != 0 && code != CONFIGURATION) {
        show_log(child); /* no test expects it */
    }
    return code;
}

int rr_child_stop(rr_child *child, int within_ms)
{
    rr_child_signal(child, SIGTERM);
    return rr_child_wait(child, within_ms);
}

void rr_child_kill(rr_child *child)
{
    kill(child->pid, SIGKILL);
    while (!reap(child, 0)) {}
}

static char *read_all(const char *path)
{
    size_t len = 0, room = 65536;
    char *text = malloc(room);
    FILE *file = fopen(path, "r");

    assert_non_null(text);
    while (file != NULL) {
        size_t got = fread(text + len, 1, room - len - 1, file);

        len += got;
        if (got == 0) {
            fclose(file);
            break;
        }
        if (len + 1 == room) {
            room *= 2;
            text = realloc(text, room);
            assert_non_null(text);
        }
    }
    text[len] = '\0';
    return text;
}

char *rr_child_said(const rr_child *child)
{
    return read_all(child->log);
}

bool rr_child_has_said(const rr_child *child, const char *text)
{
    char *said = rr_child_said(child);
    bool has = strstr(said, text) != NULL;

    free(said);
    return has;
}

void rr_child_wait_for(const rr_child *child, const char *text, int within_ms)
{
    long long until = rr_now_ms() + patience(within_ms);

    while (!rr_child_has_said(child, text)) {
        if (rr_now_ms() > until || reap((rr_child *)child, WNOHANG)) {
            if (rr_child_has_said(child, text)) {
                return;
            }
            if (child->pid == 0) {
                show_log(child); /* the logs of the others are shown at the end */
                fail_msg("%s: it ended before it said \"%s\"", child->log, text);
            }
            fail_msg("%s: it did not say \"%s\" in %lld ms", child->log, text, patience(within_ms));
        }
        rr_nap_ms(5);
    }
}

static const char *last_words(const rr_child *child, char **said)
{
    const char *line;

    *said = rr_child_said(child);
    line = strstr(*said, "left: ");
    if (line == NULL) {
        show_log(child);
        fail_msg("%s: it did not say how it left", child->log);
    }
    return line;
}

unsigned long long rr_child_count_before(const rr_child *child, const char *word)
{
    char *said;
    const char *line = last_words(child, &said), *at = strstr(line, word);
    unsigned long long number;

    assert_non_null(at);
    while (at > line && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    number = strtoull(at, NULL, 10);
    free(said);
    return number;
}

unsigned long long rr_child_count_after(const rr_child *child, const char *word)
{
    char *said;
    const char *line = last_words(child, &said), *at = strstr(line, word);
    unsigned long long number;

    assert_non_null(at);
    number = strtoull(at + strlen(word), NULL, 10);
    free(said);
    return number;
}

char *rr_world_output(rr_world *world, const char *const *words, int *exit_code)
{
    char path[RR_WORLD_PATH];
    rr_child *child;
    int out, code;

    snprintf(path, sizeof path, "%s/out", world->folder);
    out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    child = spawn(world, words, out);
    close(out);
    code = wait_end(child, OUTPUT_MS);
    if (code != 0 && exit_code == NULL) {
        show_log(child);
    }
    if (exit_code == NULL) {
        assert_int_equal(code, 0);
        world->child_count--; /* it has ended, and its log is not needed */
    } else {
        *exit_code = code;
    }
    return read_all(path);
}

/* ---- Redis ---- */

redisReply *rr_redis_ask(rr_world *world, const char *const *words)
{
    const char *argv[WORDS];
    redisReply *reply;
    int count = 0;

    for (; count < WORDS && words[count] != NULL; count++) {
        argv[count] = words[count];
    }
    reply = redisCommandArgv(world->link, count, argv, NULL);
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fail_msg("redis: %s: %s", words[0], reply == NULL ? world->link->errstr : reply->str);
    }
    return reply;
}

char *rr_redis_get(rr_world *world, const char *key)
{
    redisReply *reply = rr_redis_ask(world, (const char *[]){"GET", key, NULL});
    char *value = reply->type == REDIS_REPLY_STRING ? strndup(reply->str, (size_t)reply->len) : NULL;

    freeReplyObject(reply);
    return value;
}

long long rr_redis_integer(rr_world *world, const char *const *words)
{
    redisReply *reply = rr_redis_ask(world, words);
    long long number = reply->integer;

    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    freeReplyObject(reply);
    return number;
}

long long rr_redis_info(rr_world *world, const char *section, const char *name)
{
    redisReply *reply = rr_redis_ask(world, (const char *[]){"INFO", section, NULL});
    const char *at = strstr(reply->str, name);
    long long number;

    assert_non_null(at);
    number = strtoll(at + strlen(name) + 1, NULL, 10);
    freeReplyObject(reply);
    return number;
}

long long rr_redis_calls(rr_world *world, const char *command)
{
    redisReply *reply = rr_redis_ask(world, (const char *[]){"INFO", "commandstats", NULL});
    char wanted[64];
    long long calls = 0;

    snprintf(wanted, sizeof wanted, "cmdstat_%s%s", command, command[0] == '\0' ? "" : ":");
    for (const char *at = reply->str; (at = strstr(at, wanted)) != NULL;) {
        at = strstr(at, "calls=");
        assert_non_null(at);
        calls += strtoll(at + strlen("calls="), NULL, 10);
    }
    freeReplyObject(reply);
    return calls;
}

long long rr_wait(rr_world *world, bool (*true_now)(rr_world *, const void *), const void *context, int within_ms,
                  const char *what)
{
    long long begun = rr_now_ms();

    while (!true_now(world, context)) {
        if (rr_now_ms() - begun > patience(within_ms)) {
            fail_msg("waited %lld ms for %s", rr_now_ms() - begun, what);
        }
        rr_nap_ms(20);
    }
    return rr_now_ms() - begun;
}
