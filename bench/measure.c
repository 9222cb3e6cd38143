/* Makes a consumer, starts a program on it, and watches the acknowledgements until all are there.
 *
 *   bench_measure OPTIONS -- PROGRAM ARGUMENTS...
 *
 * Prints one line of name=value: records a second from the first to the last
 * acknowledgement that was seen, microseconds of processor a record of
 * nats-server, redis-server and the program in that time, the program's peak
 * memory, and the same for the first and the last twentieth, for what gets
 * slower as it grows. Times on the processor are those of the kernel's clock of
 * each process, all its threads together.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link.h"

enum { POLL_US = 10000, SAMPLE_ROOM = 65536, IDLE_S = 60, EXIT_S = 20, SKIP = 1000 };

typedef struct sample {
    uint64_t done; /* acknowledged */
    double time_s, nats_s, redis_s, client_s;
    long peak_kib;
} sample;

static sample samples[SAMPLE_ROOM];
static size_t sample_count;

static double clock_s(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : 0;
}

static double cpu_s(pid_t pid)
{
    clockid_t clock;

    return pid != 0 && clock_getcpuclockid(pid, &clock) == 0 ? clock_s(clock) : 0;
}

static long peak_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "VmHWM: %ld", &kib);
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

static void make_consumer(bench_link *link)
{
    jsConsumerConfig config;
    jsErrCode code = 0;

    jsConsumerConfig_Init(&config);
    config.Durable = link->options->consumer;
    config.AckPolicy = link->options->ack_all ? js_AckAll : js_AckExplicit;
    config.MaxAckPending = 65536;
    config.AckWait = INT64_C(120) * 1000000000;
    bench_nats_check(js_AddConsumer(NULL, link->js, link->options->stream, &config, NULL, &code), "add consumer");
}

static uint64_t floor_now(bench_link *link)
{
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    uint64_t floor;

    bench_nats_check(js_GetConsumerInfo(&info, link->js, link->options->stream, link->options->consumer, NULL, &code),
                     "consumer info");
    floor = info->AckFloor.Stream;
    jsConsumerInfo_Destroy(info);
    return floor;
}

static pid_t start(char **argv)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(argv[0], argv);
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    return pid;
}

static void take_sample(const bench_options *options, pid_t pid, uint64_t done)
{
    if (sample_count == SAMPLE_ROOM || (sample_count != 0 && samples[sample_count - 1].done == done)) {
        return;
    }
    samples[sample_count++] =
        (sample){done,       clock_s(CLOCK_MONOTONIC),    cpu_s(options->nats_pid), cpu_s(options->redis_pid),
                 cpu_s(pid), pid == 0 ? 0 : peak_kib(pid)};
}

/* Leaves it as it is, since the clock of a program that was waited for is gone. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

/* False: it ended, or nothing was acknowledged for a minute. */
static bool watch(bench_link *link, pid_t pid)
{
    double since = clock_s(CLOCK_MONOTONIC);

    for (uint64_t seen = 0, done = 0; done < link->options->count; seen = done) {
        done = floor_now(link);
        if (done != seen) {
            since = clock_s(CLOCK_MONOTONIC);
            take_sample(link->options, pid, done);
        } else if (clock_s(CLOCK_MONOTONIC) - since > IDLE_S) {
            return false;
        } else if (has_ended(pid)) {
            /* The last acknowledgement may be seen after the program's end. */
            nats_Sleep(200);
            done = floor_now(link);
            take_sample(link->options, pid, done);
            return done >= link->options->count;
        }
        usleep(POLL_US);
    }
    return true;
}

static void end(pid_t pid)
{
    for (int i = 0; i < EXIT_S * 20; i++) {
        if (waitpid(pid, NULL, WNOHANG) != 0) {
            return;
        }
        usleep(50000);
    }
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

static const sample *at_least(uint64_t done)
{
    for (size_t k = 0; k < sample_count; k++) {
        if (samples[k].done >= done) {
            return &samples[k];
        }
    }
    return &samples[sample_count - 1];
}

static void print_part(const char *prefix, const sample *from, const sample *to)
{
    double records = to->done > from->done ? (double)(to->done - from->done) : 1;

    printf(" %srate=%.0f %swall_us=%.3f %snats_us=%.3f %sredis_us=%.3f %sclient_us=%.3f", prefix,
           records / (to->time_s - from->time_s), prefix, (to->time_s - from->time_s) * 1e6 / records, prefix,
           (to->nats_s - from->nats_s) * 1e6 / records, prefix, (to->redis_s - from->redis_s) * 1e6 / records, prefix,
           (to->client_s - from->client_s) * 1e6 / records);
}

/* Of a program that has ended nothing is known any more. */
static long highest_peak(void)
{
    long kib = 0;

    for (size_t k = 0; k < sample_count; k++) {
        kib = samples[k].peak_kib > kib ? samples[k].peak_kib : kib;
    }
    return kib;
}

static void print(const bench_options *options)
{
    uint64_t part = options->count / 20;

    printf("records=%llu peak_kib=%ld", (unsigned long long)options->count, highest_peak());
    print_part("", &samples[0], &samples[sample_count - 1]);
    print_part("begin_", at_least(SKIP), at_least(SKIP + part));
    print_part("end_", at_least(options->count - part), &samples[sample_count - 1]);
    printf("\n");
}

int main(int argc, char **argv)
{
    bench_options options;
    bench_link link;
    jsErrCode code = 0;
    bool good;
    pid_t pid;

    bench_options_read(&options, argc, argv);
    if (options.rest >= argc) {
        bench_fail("usage", "bench_measure OPTIONS -- PROGRAM ARGUMENTS");
    }
    bench_link_connect(&link, &options);
    make_consumer(&link);
    pid = start(argv + options.rest);
    good = pid > 0 && watch(&link, pid);
    end(pid);
    js_DeleteConsumer(link.js, options.stream, options.consumer, NULL, &code);
    if (!good || sample_count < 2) {
        bench_fail(argv[options.rest], "did not acknowledge everything, or too little to measure");
    }
    print(&options);
    bench_link_close(&link);
    return 0;
}
