/* Looking at the servers, by whatever plugins there are; and what `run` makes of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "dead_letter.h"
#include "ports.h"
#include "preflight.h"

static rr_status look_at_store(rr_preflight *preflight, rr_error *error)
{
    const rr_config *config = preflight->config;
    const rr_store_ops *ops = rr_ports_store(config->store_url, error);

    if (ops == NULL) {
        return error->status;
    }
    preflight->store_status =
        ops->survey == NULL ? rr_fail(&preflight->store_error, RR_INTERNAL, "this store cannot tell of its server")
                            : ops->survey(config->store_url, &config->store, rr_slice_of(config->prefix),
                                          &preflight->store, &preflight->store_error);
    return RR_OK;
}

static rr_status look_at_source(const rr_source_config *config, rr_preflight_source *look, rr_error *error)
{
    const rr_source_ops *ops = rr_ports_source(config->options.url, error);
    char letter[512];

    if (ops == NULL) {
        return error->status;
    }
    /* Where the dead letters of any record would go. */
    snprintf(letter, sizeof letter, "%s" RR_DEAD_LETTER_EXAMPLE, config->dead_letters);
    look->status = ops->survey == NULL ? rr_fail(&look->error, RR_INTERNAL, "this source cannot tell of its servers")
                                       : ops->survey(&config->options, rr_slice_of(letter), &look->told, &look->error);
    return RR_OK;
}

rr_status rr_preflight_look(rr_preflight *preflight, const rr_config *config, const rr_preflight_hopes *hopes,
                            rr_error *error)
{
    rr_status status;

    *preflight = (rr_preflight){.config = config};
    if (hopes != NULL) {
        preflight->hopes = *hopes;
    }
    preflight->sources = calloc(config->source_count + 1, sizeof *preflight->sources);
    if (preflight->sources == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    status = look_at_store(preflight, error);
    for (size_t k = 0; status == RR_OK && k < config->source_count; k++) {
        status = look_at_source(&config->sources[k], &preflight->sources[k], error);
    }
    return status;
}

/* ---- for `run` ---- */

static rr_status first_unreachable(const rr_preflight *preflight, rr_error *error)
{
    if (preflight->store_status == RR_UNAVAILABLE || preflight->store_status == RR_REFUSED_BY_SERVER) {
        *error = preflight->store_error;
        return error->status;
    }
    for (size_t k = 0; k < preflight->config->source_count; k++) {
        if (preflight->sources[k].status == RR_UNAVAILABLE) {
            *error = preflight->sources[k].error;
            return rr_error_within(error, "source %s", preflight->config->sources[k].name);
        }
    }
    return RR_OK;
}

static bool stops(const rr_finding *finding)
{
    return finding->severity == RR_PREFLIGHT_REFUSE && !finding->row->passes;
}

static void tell_one(const rr_finding *finding, void (*tell)(rr_preflight_severity severity, const char *text))
{
    rr_buf text = {0};

    rr_finding_print(finding, &text);
    rr_buf_char(&text, '\0');
    if (rr_buf_ok(&text)) {
        tell(finding->severity == RR_PREFLIGHT_REFUSE ? RR_PREFLIGHT_WARNING : finding->severity, text.data);
    }
    rr_buf_fini(&text);
}

static rr_status refuse(const rr_finding *finding, size_t more, rr_error *error)
{
    rr_buf text = {0};

    rr_finding_print(finding, &text);
    if (more != 0) {
        rr_buf_format(&text, "; and %zu more, which `reconciler preflight` lists", more);
    }
    rr_fail(error, RR_CONFIG, "%.*s", (int)text.len, text.data == NULL ? "" : text.data);
    rr_buf_fini(&text);
    return RR_CONFIG;
}

static rr_status pass_on(const rr_preflight *preflight, void (*tell)(rr_preflight_severity severity, const char *text),
                         rr_error *error)
{
    const rr_finding *first = NULL;
    size_t stopping = 0;

    for (size_t k = 0; k < preflight->finding_count; k++) {
        const rr_finding *finding = &preflight->findings[k];

        if (!stops(finding)) {
            tell_one(finding, tell);
            continue;
        }
        first = first == NULL ? finding : first;
        stopping++;
    }
    return first == NULL ? RR_OK : refuse(first, stopping - 1, error);
}

rr_status rr_preflight_check(const rr_config *config, void (*tell)(rr_preflight_severity severity, const char *text),
                             rr_error *error)
{
    rr_preflight preflight;
    rr_status status = rr_preflight_look(&preflight, config, NULL, error);

    status = status == RR_OK ? first_unreachable(&preflight, error) : status;
    status = status == RR_OK ? rr_preflight_judge(&preflight, error) : status;
    status = status == RR_OK ? pass_on(&preflight, tell, error) : status;
    rr_preflight_fini(&preflight);
    return status;
}
