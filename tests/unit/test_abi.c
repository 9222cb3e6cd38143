/* A plugin of another build passes structs to the program and takes its own. Where one of them has changed and the number
 * has not, neither side notices. Whoever changes a struct finds this test, raises RR_PLUGIN_ABI, and then the numbers
 * here. They are those of 64-bit machines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rr/plugin.h>

static void structs_are_those_of_the_abi(void **state)
{
    (void)state;
    if (sizeof(void *) != 8) {
        skip();
    }
    assert_int_equal(RR_PLUGIN_ABI, 5);
    assert_int_equal(sizeof(rr_plugin), 64);
    assert_int_equal(sizeof(rr_store_ops), 168);
    assert_int_equal(sizeof(rr_store_options), 56);
    assert_int_equal(sizeof(rr_store_survey), 1000);
    assert_int_equal(sizeof(rr_load), 1064);
    assert_int_equal(sizeof(rr_parts_read), 1112);
    assert_int_equal(sizeof(rr_side), 40);
    assert_int_equal(sizeof(rr_swap), 1216);
    assert_int_equal(sizeof(rr_log_entry), 32);
    assert_int_equal(sizeof(rr_source_ops), 128);
    assert_int_equal(sizeof(rr_source_options), 192);
    assert_int_equal(sizeof(rr_source_info), 152);
    assert_int_equal(sizeof(rr_source_survey), 4000);
    assert_int_equal(sizeof(rr_delivery), 88);
    assert_int_equal(sizeof(rr_publication), 1112);
    assert_int_equal(sizeof(rr_channel_ops), 40);
    assert_int_equal(sizeof(rr_channel_options), 104);
    assert_int_equal(sizeof(rr_alert_message), 80);
    assert_int_equal(sizeof(rr_decoder_ops), 56);
    assert_int_equal(sizeof(rr_decoder_options), 16);
    assert_int_equal(sizeof(rr_decoder_message), 56);
    assert_int_equal(sizeof(rr_plugin_option), 32);
    assert_int_equal(sizeof(rr_plugin_value), 40);
    assert_int_equal(sizeof(rr_error), 1028);
    assert_int_equal(sizeof(rr_arena), 48);
}

/* What the numbers of the answers mean is a part of it. */
static void answers_are_those_of_the_abi(void **state)
{
    (void)state;
    assert_int_equal(RR_SWAP_UNKNOWN, 0);
    assert_int_equal(RR_SWAP_WON, 1);
    assert_int_equal(RR_SWAP_LOST, 2);
    assert_int_equal(RR_SWAP_FAILED, 3);
    assert_int_equal(RR_DECODER_RECORDS, 0);
    assert_int_equal(RR_DECODER_SKIP, 1);
    assert_int_equal(RR_DECODER_MALFORMED, 2);
    assert_int_equal(RR_DECODER_NO_MEMORY, 3);
    assert_int_equal(RR_PLUGIN_TEXT, 0);
    assert_int_equal(RR_PLUGIN_BOOL, 1);
    assert_int_equal(RR_PLUGIN_INTEGER, 2);
    assert_int_equal(RR_PLUGIN_DURATION, 3);
    assert_int_equal(RR_PLUGIN_PATH, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_are_those_of_the_abi),
        cmocka_unit_test(answers_are_those_of_the_abi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
