/* The preflight of `run`: which findings prevent the start, and what `run` is told of the others. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight.h"

static rr_status find_unreachable(const rr_preflight *preflight, rr_error *error)
{
    if (rr_is_outage(preflight->store_status)) {
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

static bool prevents_start(const rr_finding *finding)
{
    return finding->severity == RR_PREFLIGHT_REFUSE && !finding->row->is_transient;
}

static void tell_finding(const rr_finding *finding, void (*tell)(rr_preflight_severity severity, const char *text))
{
    rr_buf text = {0};

    rr_finding_print(finding, &text);
    rr_buf_char(&text, '\0');
    if (rr_buf_ok(&text)) {
        tell(finding->severity == RR_PREFLIGHT_REFUSE ? RR_PREFLIGHT_WARNING : finding->severity, text.data);
    }
    rr_buf_fini(&text);
}

static rr_status refuse_start(const rr_finding *finding, size_t more, rr_error *error)
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

static rr_status tell_findings(const rr_preflight *preflight,
                               void (*tell)(rr_preflight_severity severity, const char *text), rr_error *error)
{
    const rr_finding *first = NULL;
    size_t preventing = 0;

    for (size_t k = 0; k < preflight->finding_count; k++) {
        const rr_finding *finding = &preflight->findings[k];

        if (!prevents_start(finding)) {
            tell_finding(finding, tell);
            continue;
        }
        first = first == NULL ? finding : first;
        preventing++;
    }
    return first == NULL ? RR_OK : refuse_start(first, preventing - 1, error);
}

rr_status rr_preflight_check(const rr_config *config, void (*tell)(rr_preflight_severity severity, const char *text),
                             rr_error *error)
{
    rr_preflight preflight;
    rr_status status = rr_preflight_survey(&preflight, config, NULL, error);

    status = status == RR_OK ? find_unreachable(&preflight, error) : status;
    status = status == RR_OK ? rr_preflight_judge(&preflight, error) : status;
    status = status == RR_OK ? tell_findings(&preflight, tell, error) : status;
    rr_preflight_fini(&preflight);
    return status;
}
