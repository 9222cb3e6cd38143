/* `reconciler publish`: publishes JSON lines as protobuf on a contract's subject, for trials and corrections by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "opened.h"

#include "record_proto.h"
#include "records.h"

enum { BATCH = 256 };

typedef struct publishing {
    const rr_args *args;
    rr_opened opened;
    const rr_contract *contract;
    size_t source; /* index in the configuration */
    const char *subject;
    rr_records records;
    rr_arena arena;
    uint64_t published;
} publishing;

/* A subject without wildcards. */
static bool is_plain(const char *subject)
{
    return subject != NULL && *subject != '\0' && strpbrk(subject, "*> \t\r\n") == NULL;
}

/* The consumer of the source delivers this subject, and the source's routes lead it to the contract. */
static bool leads_to(const rr_source_config *source, const char *subject, const rr_contract *contract)
{
    const char *filter = source->options.filter;
    const rr_route *route = rr_source_route(source, rr_slice_of(subject));

    /* A route with a mapping takes messages of another form than ours. */
    return is_plain(subject) && (filter == NULL || rr_subject_matches(filter, rr_slice_of(subject))) && route != NULL &&
           route->under == contract && route->decode_node == NULL;
}

static rr_status find_contract(publishing *p, rr_error *error)
{
    const char *name = rr_args_value(p->args, "contract");
    const rr_contract_list *contracts = &p->opened.config.contracts;

    if (name == NULL && contracts->count != 1) {
        return rr_fail(error, RR_USAGE, "the configuration has %zu contracts: name one with --contract",
                       contracts->count);
    }
    p->contract = name == NULL ? &contracts->items[0] : rr_contracts_find(contracts, rr_slice_of(name));
    return p->contract != NULL ? RR_OK : rr_fail(error, RR_USAGE, "the configuration has no contract named '%s'", name);
}

static bool is_chosen(const publishing *p, const rr_source_config *source)
{
    const char *name = rr_args_value(p->args, "source");

    return name == NULL || strcmp(source->name, name) == 0;
}

/* The first subject of a source that leads to the contract; NULL: none. A route with wildcards is no subject, but the
 * source's filter can be one. */
static const char *subject_of(const publishing *p, const rr_source_config *source)
{
    const char *wanted = rr_args_value(p->args, "subject"), *filter = source->options.filter;

    if (wanted != NULL) {
        return leads_to(source, wanted, p->contract) ? wanted : NULL;
    }
    for (size_t r = 0; r < source->route_count; r++) {
        if (leads_to(source, source->routes[r].subject, p->contract)) {
            return source->routes[r].subject;
        }
    }
    return leads_to(source, filter, p->contract) ? filter : NULL;
}

/* "source a: results.*, results.old.>; source b: >": the routes of the contract. */
static void list_routes(const publishing *p, rr_buf *list)
{
    const rr_config *config = &p->opened.config;

    for (size_t k = 0; k < config->source_count; k++) {
        const rr_source_config *source = &config->sources[k];
        const char *between = list->len == 0 ? "" : "; ";
        size_t found = 0;

        for (size_t r = 0; r < source->route_count && is_chosen(p, source); r++) {
            if (source->routes[r].under != p->contract) {
                continue;
            }
            if (found++ == 0) {
                rr_buf_format(list, "%ssource %s: ", between, source->name);
            } else {
                rr_buf_text(list, ", ");
            }
            rr_buf_format(list, "'%s'", source->routes[r].subject);
        }
        if (found != 0 && source->options.filter != NULL) {
            rr_buf_format(list, " (filter '%s')", source->options.filter);
        }
    }
}

static rr_status fail_route(const publishing *p, rr_error *error)
{
    const char *wanted = rr_args_value(p->args, "subject"), *source = rr_args_value(p->args, "source");
    rr_slice name = p->contract->name;
    rr_buf list = {0};

    list_routes(p, &list);
    if (list.len == 0) {
        rr_fail(error, RR_USAGE, "%s%s feeds contract %.*s", source == NULL ? "no source" : "no route of source ",
                source == NULL ? "" : source, (int)name.len, name.data);
    } else if (wanted != NULL) {
        rr_fail(error, RR_USAGE, "subject '%s' does not lead to contract %.*s, whose routes are: %.*s", wanted,
                (int)name.len, name.data, (int)list.len, list.data);
    } else {
        rr_fail(error, RR_USAGE,
                "no route of contract %.*s is one subject that leads to it: name one that does with --subject. Its "
                "routes are: %.*s",
                (int)name.len, name.data, (int)list.len, list.data);
    }
    rr_buf_fini(&list);
    return RR_USAGE;
}

/* The first source, in the order of the file, with a subject that leads to the contract. */
static rr_status find_route(publishing *p, rr_error *error)
{
    const rr_config *config = &p->opened.config;
    rr_status status = find_contract(p, error);
    bool found = false;

    if (status != RR_OK) {
        return status;
    }
    for (size_t k = 0; k < config->source_count; k++) {
        if (!is_chosen(p, &config->sources[k])) {
            continue;
        }
        found = true;
        p->subject = subject_of(p, &config->sources[k]);
        if (p->subject != NULL) {
            p->source = k;
            return RR_OK;
        }
    }
    return found ? fail_route(p, error)
                 : rr_fail(error, RR_USAGE, "the configuration has no source named '%s'",
                           rr_args_value(p->args, "source"));
}

static rr_status publish_page(publishing *p, rr_publication *page, size_t count, rr_error *error)
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

static rr_status encode_record(publishing *p, const rr_record *record, rr_publication *to, rr_error *error)
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
            status = publish_page(p, page, count, error);
            return status != RR_OK
                       ? status
                       : rr_fail(error, RR_INPUT, "%s: line %llu: %.*s; the %llu records before it are published",
                                 p->records.name, (unsigned long long)p->records.line, (int)why.len, why.bytes,
                                 (unsigned long long)p->published);
        }
        if (decoded == RR_DECODED_RECORD) {
            status = encode_record(p, &record, &page[count++], error);
        }
        if (status == RR_OK && count == BATCH) {
            status = publish_page(p, page, count, error);
            count = 0;
        }
        if (status != RR_OK) {
            return status;
        }
    }
    return status == RR_OK ? publish_page(p, page, count, error) : status;
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
        rr_log(RR_LOG_INFO, "published %llu records on %s, which source %s reads", (unsigned long long)p.published,
               p.subject, p.opened.config.sources[p.source].name);
    }
    rr_records_close(&p.records);
    rr_opened_close(&p.opened);
    rr_arena_fini(&p.arena);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "contract",
     .letter = 'n',
     .argument = "NAME",
     .help = "the contract of the records (default: the only one)"},
    {.name = "source", .argument = "NAME", .help = "only a route of this source (default: the first with a subject)"},
    {.name = "subject",
     .letter = 's',
     .argument = "SUBJECT",
     .help = "the subject, where the contract's routes have wildcards"},
    RR_CLI_END,
};

const rr_command rr_command_publish = {
    .name = "publish",
    .summary = "publish records from JSON lines on a contract's subject",
    .operands = "[RECORDS]",
    .operands_most = 1,
    .options = options,
    .details = "Each record is stored by the stream before the command ends. The subject is that of the contract's\n"
               "first route without wildcards, in the order of the configuration; or that of --subject, which must\n"
               "lead to the contract. Clock lines are skipped: a stream keeps the time at which a record arrives.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .run = run,
};
