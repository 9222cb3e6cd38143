/* The survey: asks the servers of the store and of each source for their settings, through their plugins. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "dead_letter.h"
#include "ports.h"
#include "preflight.h"

static rr_status survey_store(rr_preflight *preflight, rr_error *error)
{
    const rr_config *config = preflight->config;
    const rr_store_ops *ops = rr_ports_store(config->store_url, error);

    if (ops == NULL) {
        return error->status;
    }
    preflight->store_status =
        ops->survey == NULL
            ? rr_fail(&preflight->store_error, RR_INTERNAL, "this store cannot report the settings of its server")
            : ops->survey(config->store_url, &config->store, rr_slice_of(config->prefix), &preflight->store,
                          &preflight->store_error);
    return RR_OK;
}

static rr_status survey_source(const rr_source_config *config, rr_preflight_source *source, rr_error *error)
{
    const rr_source_ops *ops = rr_ports_source(config->options.url, error);
    char letter[512];

    if (ops == NULL) {
        return error->status;
    }
    /* A subject that a dead letter of this source could have. */
    snprintf(letter, sizeof letter, "%s" RR_DEAD_LETTER_EXAMPLE, config->dead_letters);
    source->status = ops->survey == NULL
                         ? rr_fail(&source->error, RR_INTERNAL, "this source cannot report the settings of its servers")
                         : ops->survey(&config->options, rr_slice_of(letter), &source->survey, &source->error);
    return RR_OK;
}

rr_status rr_preflight_survey(rr_preflight *preflight, const rr_config *config, const rr_preflight_expected *expected,
                              rr_error *error)
{
    rr_status status;

    *preflight = (rr_preflight){.config = config};
    if (expected != NULL) {
        preflight->expected = *expected;
    }
    preflight->sources = calloc(config->source_count + 1, sizeof *preflight->sources);
    if (preflight->sources == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    status = survey_store(preflight, error);
    for (size_t k = 0; status == RR_OK && k < config->source_count; k++) {
        status = survey_source(&config->sources[k], &preflight->sources[k], error);
    }
    return status;
}
