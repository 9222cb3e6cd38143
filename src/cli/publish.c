/* `reconciler publish`: JSON lines to protobuf on a contract's subject, to try things, and to correct by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "opened.h"

#include "record_proto.h"
#include "records.h"

enum { BATCH = 256 };

typedef struct publishing {
    const rr_args *args;
    rr_opened opened;
    size_t source; /* which of the configuration's */
    const char *subject;
    rr_records records;
    rr_arena arena;
    uint64_t published;
} publishing;

static bool is_plain(const char *subject)
{
    return subject != NULL && strpbrk(subject, "*> \t") == NULL;
}

/* The source and the subject that feed a contract. */
static rr_status find_route(publishing *p, rr_error *error)
{
    const char *name = rr_args_value(p->args, "contract"), *subject = rr_args_value(p->args, "subject");
    const rr_config *config = &p->opened.config;

    if (name == NULL && config->contracts.count != 1) {
        return rr_fail(error, RR_USAGE, "the configuration has %zu contracts: say which with --contract",
                       config->contracts.count);
    }
    name = name == NULL ? config->sources[0].routes[0].contract : name;
    for (size_t k = 0; k < config->source_count; k++) {
        for (size_t r = 0; r < config->sources[k].route_count; r++) {
            const rr_route *route = &config->sources[k].routes[r];
            const char *own = is_plain(route->subject) ? route->subject : config->sources[k].options.filter;

            if (strcmp(route->contract, name) != 0) {
                continue;
            }
            p->source = k;
            p->subject = subject != NULL ? subject : own;
            if (!is_plain(p->subject)) {
                return rr_fail(error, RR_USAGE,
                               "contract %s is fed from '%s', which is no single subject: say which with --subject",
                               name, route->subject);
            }
            return RR_OK;
        }
    }
    return rr_fail(error, RR_USAGE, "no source feeds a contract named '%s'", name);
}

static rr_status send_page(publishing *p, rr_publication *page, size_t count, rr_error *error)
{
    rr_bound_source *source = &p->opened.sources[p->source];
    rr_status status = count == 0 ? RR_OK : source->ops->publish(source->source, page, count, error);

    for (size_t k = 0; k < count && status == RR_OK; k++) {
        if (page[k].error.status != RR_OK) {
            *error = page[k].error;
            status = error->status;
        } else {
            p->published++;
        }
    }
    rr_arena_reset(&p->arena);
    return status;
}

static rr_status encode(publishing *p, const rr_record *record, rr_publication *to, rr_error *error)
{
    rr_buf message = {0};

    rr_record_to_proto(record, &message);
    *to = (rr_publication){.subject = rr_slice_of(p->subject)};
    to->payload = rr_buf_ok(&message) ? rr_arena_copy(&p->arena, rr_buf_view(&message)) : (rr_slice){NULL, 0};
    rr_buf_fini(&message);
    return to->payload.data == NULL ? rr_fail(error, RR_MEMORY, "no memory to encode a record") : RR_OK;
}

static rr_status publish_all(publishing *p, rr_error *error)
{
    rr_publication page[BATCH];
    size_t count = 0;
    rr_status status = RR_OK;

    for (;;) {
        rr_decoded decoded = RR_DECODED_NOTHING;
        rr_record record;
        int64_t clock_us;
        rr_text why;
        bool end;

        status = rr_records_next(&p->records, &p->arena, &decoded, &record, &clock_us, &why, &end, error);
        if (status != RR_OK || end) {
            break;
        }
        if (decoded == RR_DECODED_MALFORMED || decoded == RR_DECODED_TOO_LARGE) {
            status = send_page(p, page, count, error);
            return status != RR_OK
                       ? status
                       : rr_fail(error, RR_INPUT, "%s: line %llu: %.*s; the %llu records before it are published",
                                 p->records.name, (unsigned long long)p->records.line, (int)why.len, why.bytes,
                                 (unsigned long long)p->published);
        }
        if (decoded == RR_DECODED_RECORD) {
            status = encode(p, &record, &page[count++], error);
        }
        if (status == RR_OK && count == BATCH) {
            status = send_page(p, page, count, error);
            count = 0;
        }
        if (status != RR_OK) {
            return status;
        }
    }
    return status == RR_OK ? send_page(p, page, count, error) : status;
}

static int run(const rr_args *args)
{
    publishing p = {.args = args};
    rr_error error = {0};
    rr_status status = rr_opened_read(&p.opened, args, &error);

    rr_arena_init(&p.arena, 0);
    if (status == RR_OK) {
        status = find_route(&p, &error);
    }
    if (status == RR_OK) {
        status = rr_opened_reader(&p.opened, p.source, &error);
    }
    if (status == RR_OK) {
        status = rr_records_open(&p.records, args->operand_count == 0 ? NULL : args->operands[0], "json", &error);
    }
    if (status == RR_OK) {
        status = publish_all(&p, &error);
    }
    if (status == RR_OK) {
        rr_log(RR_LOG_INFO, "published %llu records on %s", (unsigned long long)p.published, p.subject);
    }
    rr_records_close(&p.records);
    rr_opened_close(&p.opened);
    rr_arena_fini(&p.arena);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "contract", .letter = 'n', .argument = "NAME", .help = "whose subject (default: the only one)"},
    {.name = "subject",
     .letter = 's',
     .argument = "SUBJECT",
     .help = "another subject, where the contract's has wildcards"},
    RR_CLI_END,
};

const rr_command rr_command_publish = {
    .name = "publish",
    .summary = "publish records from JSON lines on a contract's subject",
    .operands = "[RECORDS]",
    .operands_most = 1,
    .options = options,
    .details = "Each record is stored by the stream before the command ends. Clock lines are skipped: in a queue\n"
               "the time of arrival is the clock.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .run = run,
};
