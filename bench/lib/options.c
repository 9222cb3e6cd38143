/* Command lines of the benchmark's programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option names[] = {
    {"nats", required_argument, NULL, 'n'},
    {"stream", required_argument, NULL, 's'},
    {"consumer", required_argument, NULL, 'c'},
    {"ack", required_argument, NULL, 'a'},
    {"redis-port", required_argument, NULL, 'r'},
    {"batch", required_argument, NULL, 'b'},
    {"count", required_argument, NULL, 'N'},
    {"workload", required_argument, NULL, 'w'},
    {"start", required_argument, NULL, 't'},
    {"file", required_argument, NULL, 'f'},
    {"one-by-one", no_argument, NULL, '1'},
    {"pulls", no_argument, NULL, 'p'},
    {"nats-pid", required_argument, NULL, 'x'},
    {"redis-pid", required_argument, NULL, 'y'},
    {NULL, 0, NULL, 0},
};

void bench_fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static void take(bench_options *options, int letter, const char *value)
{
    switch (letter) {
    case 'n': options->nats = value; break;
    case 's': options->stream = value; break;
    case 'c': options->consumer = value; break;
    case 'a': options->ack_all = strcmp(value, "all") == 0; break;
    case 'r': options->redis_port = atoi(value); break;
    case 'b': options->batch = strtoull(value, NULL, 10); break;
    case 'N': options->count = strtoull(value, NULL, 10); break;
    case 'w': options->workload = value; break;
    case 't': options->start_us = strtoll(value, NULL, 10); break;
    case 'f': options->file = value; break;
    case '1': options->one_by_one = true; break;
    case 'p': options->pulls = true; break;
    case 'x': options->nats_pid = atoi(value); break;
    case 'y': options->redis_pid = atoi(value); break;
    default: exit(64);
    }
}

void bench_options_read(bench_options *options, int argc, char **argv)
{
    int letter;

    *options = (bench_options){.batch = 1024};
    while ((letter = getopt_long(argc, argv, "+", names, NULL)) != -1) {
        take(options, letter, optarg);
    }
    options->rest = optind;
    if (options->batch == 0 || options->batch > 65536) {
        fprintf(stderr, "bench: --batch: 1 to 65536\n");
        exit(64);
    }
}
