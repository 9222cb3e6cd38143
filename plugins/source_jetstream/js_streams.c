/* Making a stream, for `reconciler streams --create`. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_streams.h"

#include "js_source.h"

static rr_status make(rr_source *source, const char *name, const char *const *subjects, size_t count, rr_error *error)
{
    jsStreamConfig config;
    jsErrCode code = 0;
    natsStatus status;

    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Subjects = (const char **)subjects;
    config.SubjectsLen = (int)count;
    status = js_AddStream(NULL, source->js, &config, NULL, &code);
    return status == NATS_OK ? RR_OK : rr_nats_js_fail(source->nats, status, (int)code, "make the stream", error);
}

rr_status rr_js_make_stream(const rr_source_options *options, const char *name, const char *const *subjects,
                            size_t count, rr_error *error)
{
    rr_source *source;
    rr_error local = {0};
    rr_status status;

    error = error == NULL ? &local : error;
    status = rr_js_open_unbound(options, &source, error);
    if (status != RR_OK) {
        return status;
    }
    status = make(source, name, subjects, count, error);
    rr_js_free(source);
    return status == RR_OK ? RR_OK : rr_error_within(error, "stream %s", name);
}
