/* `reconciler encode`: writes JSON lines as protobuf, the form of records in a stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "buf.h"
#include "cli.h"
#include "record_proto.h"
#include "records.h"

/* Stands for a line that is no record. Nobody can decode it, so both files get the same verdicts. */
static const char undecodable[] = {'\x07'};

static void encode_one(rr_decoded decoded, const rr_record *record, int64_t clock_us, rr_buf *message, rr_buf *out)
{
    rr_buf_clear(message);
    switch (decoded) {
    case RR_DECODED_NOTHING: return;
    case RR_DECODED_CLOCK: rr_clock_to_proto(clock_us, message); break;
    case RR_DECODED_RECORD: rr_record_to_proto(record, message); break;
    default: rr_buf_put(message, undecodable, sizeof undecodable); break;
    }
    rr_delimited_put(out, rr_buf_view(message));
}

static rr_status encode_all(rr_records *records, uint64_t *malformed, rr_error *error)
{
    rr_buf message = {0}, out = {0};
    rr_arena arena;
    rr_status status = RR_OK;
    bool end = false;

    rr_arena_init(&arena, 0);
    while (status == RR_OK && !end) {
        rr_decoded decoded = RR_DECODED_NOTHING;
        rr_record record;
        int64_t clock_us = 0;
        rr_text why;

        status = rr_records_next(records, &arena, &decoded, &record, &clock_us, &why, &end, error);
        if (status == RR_OK && !end) {
            *malformed += decoded == RR_DECODED_MALFORMED || decoded == RR_DECODED_TOO_LARGE;
            encode_one(decoded, &record, clock_us, &message, &out);
            if (!rr_buf_ok(&message) || !rr_buf_ok(&out)) {
                status = rr_fail(error, RR_MEMORY, "no memory to encode a record");
            }
        }
        if (out.len > 65536 || end) {
            rr_cli_out(rr_buf_view(&out));
            rr_buf_clear(&out);
        }
        rr_arena_reset(&arena);
    }
    rr_arena_fini(&arena);
    rr_buf_fini(&message);
    rr_buf_fini(&out);
    return status;
}

static int run(const rr_args *args)
{
    rr_records records;
    rr_error error = {0};
    uint64_t malformed = 0;
    rr_status status = rr_records_open(&records, args->operand_count == 0 ? NULL : args->operands[0], "json", &error);

    if (status == RR_OK) {
        status = encode_all(&records, &malformed, &error);
    }
    rr_records_close(&records);
    if (status == RR_OK && malformed != 0) {
        rr_fail(&error, RR_INPUT, "%llu lines are no records; each is written as a message that cannot be decoded",
                (unsigned long long)malformed);
        rr_cli_fail(args, &error);
        return rr_args_flag(args, "keep-going") ? RR_EXIT_DONE : rr_status_exit_code(RR_INPUT);
    }
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}

static const rr_cli_option options[] = {
    {.name = "keep-going", .help = "exit with 0 even if some lines are no records"},
    RR_CLI_END,
};

const rr_command rr_command_encode = {
    .name = "encode",
    .summary = "write records from JSON lines as protobuf, each after its length",
    .operands = "[RECORDS]",
    .operands_most = 1,
    .options = options,
    .details = "`apply --input protobuf` reads the output. A line that is no record is written as a message that\n"
               "cannot be decoded, so that both files get the same verdicts.\n",
    .ends = RR_CLI_ENDS(INPUT),
    .run = run,
};
