/* bench_options: what every program of the benchmark is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_options {
    const char *nats; /* nats://127.0.0.1:PORT */
    const char *stream, *consumer;
    bool ack_all;
    int redis_port;
    size_t batch;            /* records taken at once; 1024 */
    uint64_t count;          /* records of the stream */
    const char *workload;    /* workload.h */
    int64_t start_us;        /* start of the windows; all programs of a run agree on it */
    const char *file;        /* write there instead of into the stream */
    bool one_by_one;         /* baseline: one round trip a record */
    bool pulls;              /* baseline: pulls of its own instead of the library's fetch */
    int nats_pid, redis_pid; /* measure; 0: none */
    int rest;                /* index of the first argument that is no option */
} bench_options;

/* Reads them, or says what is wrong and exits with 64. */
void bench_options_read(bench_options *options, int argc, char **argv);

/* Prints and exits with 1. */
void bench_fail(const char *what, const char *why) __attribute__((noreturn));

#endif
