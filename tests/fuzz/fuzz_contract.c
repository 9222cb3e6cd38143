/* Contract YAML: what is read prints as text that reads as the same contract, of the same fingerprint; the same text
 * as a configuration is read or refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"
#include "kit.h"

static void check_contract(const rr_contract *contract)
{
    static rr_buf first, second;
    char print[RR_FINGERPRINT_LEN + 1], again[RR_FINGERPRINT_LEN + 1];
    rr_contract_list list;
    rr_problems problems = {0};

    rr_buf_clear(&first);
    rr_buf_clear(&second);
    rr_buf_text(&first, "contracts:\n");
    rr_contract_print(contract, &first);
    RR_MUST(rr_contracts_parse("printed", rr_buf_view(&first), &list, &problems) == RR_OK && list.count == 1);
    rr_buf_text(&second, "contracts:\n");
    rr_contract_print(&list.items[0], &second);
    RR_MUST(rr_buf_ok(&first) && rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second)));
    RR_MUST(rr_contract_fingerprint(contract, print) && rr_contract_fingerprint(&list.items[0], again));
    RR_MUST(strcmp(print, again) == 0);
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rr_slice text = {(const char *)data, size};
    rr_contract_list list;
    rr_config config;
    rr_problems problems = {0};
    rr_status status;

    status = rr_contracts_parse("input", text, &list, &problems);
    RR_MUST(status == RR_OK || problems.errors != 0);
    for (size_t k = 0; status == RR_OK && k < list.count; k++) {
        check_contract(&list.items[k]);
    }
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);

    problems = (rr_problems){0};
    status = rr_config_parse("input", text, &config, &problems);
    RR_MUST(status == RR_OK || problems.errors != 0);
    rr_config_fini(&config);
    rr_problems_fini(&problems);
    return 0;
}
