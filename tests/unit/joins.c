/* Asserts instead of returning errors: a test has no use for them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "joins.h"

#include <stdio.h>

#include "must.h"
#include "record_json.h"

void joins_open(joins *j, const char *contract)
{
    rr_problems problems = {0};
    rr_buf yaml = {0}, text = {0};

    *j = (joins){0};
    rr_buf_format(&yaml, "contracts:\n- name: c\n%s", contract);
    if (rr_contracts_parse("test.yaml", rr_buf_view(&yaml), &j->contracts, &problems) != RR_OK) {
        rr_problems_print(&problems, &text);
        printf("%.*s", (int)text.len, text.data);
        RR_MUST(!"the contract can be read");
    }
    j->contract = &j->contracts.items[0];
    rr_arena_init(&j->arena, 0);
    rr_unit_init(&j->unit, j->contract);
    rr_problems_fini(&problems);
    rr_buf_fini(&yaml);
    rr_buf_fini(&text);
}

void joins_close(joins *j)
{
    rr_contracts_fini(&j->contracts);
    rr_arena_fini(&j->arena);
}

rr_record joins_record(joins *j, const char *json)
{
    rr_buf line = {0};
    rr_record record;
    rr_text why = {.len = 0};
    int64_t clock_us;

    rr_buf_format(&line, "{\"business_key\":\"k\",\"metric_version\":\"v1\",%s}", json);
    RR_MUST(rr_record_from_json(rr_buf_view(&line), &j->arena, &record, &clock_us, &why) == RR_DECODED_RECORD);
    RR_MUST(rr_arena_reserve(&j->arena, rr_admit_need(j->contract, &record)));
    if (rr_admit(j->contract, &record, &j->arena, &why) != RR_REASON_NONE) {
        printf("%s: %.*s\n", json, (int)why.len, why.bytes);
        RR_MUST(!"the record is admitted");
    }
    rr_buf_fini(&line);
    return record;
}

void joins_take(joins *j, const char *json)
{
    rr_record record = joins_record(j, json);

    RR_MUST(rr_arena_reserve(&j->arena, rr_join_need(&j->unit, &record)));
    j->joined = rr_join(&j->unit, &record, &j->arena, &j->outcome);
}

rr_joined joins_probe(joins *j, const char *json, rr_outcome *outcome)
{
    rr_record record = joins_record(j, json);
    rr_slice named = rr_part_id(j->contract, &record, &j->arena);
    rr_unit written = j->unit, probe;
    const rr_part *part = rr_unit_part(&j->unit, named);
    char *bytes;

    written.spilled = true;
    bytes = rr_arena_take(&j->arena, rr_unit_write_need(&written));
    RR_MUST(rr_unit_read(&probe, j->contract, (rr_slice){bytes, rr_unit_write(&written, bytes)}, &j->arena));
    if (part != NULL) {
        bytes = rr_arena_take(&j->arena, rr_part_write_need(&written, part));
        RR_MUST(rr_part_read(&probe, named, (rr_slice){bytes, rr_part_write(&written, part, bytes)}, &j->arena));
    }
    RR_MUST(rr_arena_reserve(&j->arena, rr_join_need(&probe, &record)));
    return rr_join(&probe, &record, &j->arena, outcome);
}
