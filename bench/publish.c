/* Records one workload: into a stream, file-backed and made for it, or into a file, each behind its length.
 * Without a workload it only makes the stream, for what is published below its name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "delimited.h"
#include "link.h"
#include "record_proto.h"
#include "workload.h"

enum { PENDING = 4096, FLUSH_BYTES = 1 << 16 };

static void make_stream(jsCtx *js, const char *name, const char *subject)
{
    const char *subjects[] = {subject};
    jsStreamConfig config;
    jsErrCode code = 0;

    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    bench_nats_check(js_AddStream(NULL, js, &config, NULL, &code), "add stream");
}

static void only_stream(const bench_options *options)
{
    bench_link link;
    char subject[128];

    snprintf(subject, sizeof subject, "%s.>", options->stream);
    bench_link_connect(&link, options);
    make_stream(link.js, options->stream, subject);
    bench_link_close(&link);
}

static void to_stream(const bench_options *options, bench_workload *workload)
{
    bench_link link;
    jsCtx *js = NULL;
    jsOptions with;
    jsPubOptions complete;
    char subject[128];
    rr_buf message = {0};
    rr_record record;

    snprintf(subject, sizeof subject, "bench.%s", options->stream);
    bench_link_connect(&link, options);
    make_stream(link.js, options->stream, subject);
    jsOptions_Init(&with);
    with.PublishAsync.MaxPending = PENDING;
    bench_nats_check(natsConnection_JetStream(&js, link.connection, &with), "JetStream");
    for (uint64_t at = 0; at < options->count; at++) {
        bench_workload_next(workload, &record);
        rr_buf_clear(&message);
        rr_record_to_proto(&record, &message);
        bench_nats_check(js_PublishAsync(js, subject, message.data, (int)message.len, NULL), "publish");
    }
    jsPubOptions_Init(&complete);
    complete.MaxWait = 60000;
    bench_nats_check(js_PublishAsyncComplete(js, &complete), "publish");
    jsCtx_Destroy(js);
    bench_link_close(&link);
    rr_buf_fini(&message);
}

static void to_file(const bench_options *options, bench_workload *workload)
{
    FILE *file = fopen(options->file, "wb");
    rr_buf message = {0}, out = {0};
    rr_record record;

    if (file == NULL) {
        bench_fail(options->file, "cannot be written");
    }
    for (uint64_t at = 0; at < options->count; at++) {
        bench_workload_next(workload, &record);
        rr_buf_clear(&message);
        rr_record_to_proto(&record, &message);
        rr_delimited_put(&out, rr_buf_view(&message));
        if (out.len > FLUSH_BYTES || at + 1 == options->count) {
            fwrite(out.data, 1, out.len, file);
            rr_buf_clear(&out);
        }
    }
    if (fclose(file) != 0) {
        bench_fail(options->file, "cannot be written");
    }
    rr_buf_fini(&message);
    rr_buf_fini(&out);
}

int main(int argc, char **argv)
{
    bench_options options;
    bench_workload *workload;

    bench_options_read(&options, argc, argv);
    if (options.workload == NULL) {
        only_stream(&options);
        return 0;
    }
    workload = bench_workload_new(options.workload, options.count, options.start_us);
    if (options.file != NULL) {
        to_file(&options, workload);
    } else {
        to_stream(&options, workload);
    }
    bench_workload_free(workload);
    return 0;
}
