/* A channel plugin in one file: appends each alert to a file, a line each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <rr/plugin.h>

enum { FILE_OPTION, JSON };

static const rr_plugin_option options_table[] = {
    [FILE_OPTION] = {"file", RR_PLUGIN_PATH, .required = true, .help = "the file that alerts are appended to"},
    [JSON] = {"json", RR_PLUGIN_BOOL, .preset = "true", .help = "alerts as JSON; false: as a line for people"},
    RR_PLUGIN_OPTIONS_END,
};

struct rr_channel {
    FILE *file;
    bool json;
};

static rr_status file_open(const rr_channel_options *options, rr_channel **channel, rr_error *error)
{
    const char *path = options->values[FILE_OPTION].text;

    *channel = calloc(1, sizeof **channel);
    if (*channel == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    (*channel)->file = fopen(path, "a");
    (*channel)->json = options->values[JSON].boolean;
    if ((*channel)->file == NULL) {
        free(*channel);
        *channel = NULL;
        return rr_fail(error, RR_IO, "%s cannot be written", path);
    }
    return RR_OK;
}

static void file_close(rr_channel *channel)
{
    fclose(channel->file);
    free(channel);
}

static rr_status file_send(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    for (size_t k = 0; k < count; k++) {
        rr_slice line = channel->json ? messages[k].json : messages[k].text;

        fprintf(channel->file, "%.*s\n", (int)line.len, line.data);
    }
    return fflush(channel->file) == 0 ? RR_OK : rr_fail(error, RR_IO, "an alert cannot be written");
}

static const rr_channel_ops ops = {
    .scheme = "file", .options = options_table, .open = file_open, .close = file_close, .send = file_send};

const rr_plugin rr_plugin_export __asm__("rr_plugin") = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "alert_file",
    .help = "Appends alerts to a file.",
    .channel = &ops,
};
