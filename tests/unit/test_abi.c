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
    assert_int_equal(sizeof(rr_plugin), 56);
    assert_int_equal(sizeof(rr_store_ops), 160);
    assert_int_equal(sizeof(rr_store_options), 40);
    assert_int_equal(sizeof(rr_store_survey), 1000);
    assert_int_equal(sizeof(rr_load), 1064);
    assert_int_equal(sizeof(rr_parts_read), 1112);
    assert_int_equal(sizeof(rr_side), 40);
    assert_int_equal(sizeof(rr_swap), 1216);
    assert_int_equal(sizeof(rr_log_entry), 32);
    assert_int_equal(sizeof(rr_source_ops), 120);
    assert_int_equal(sizeof(rr_source_options), 176);
    assert_int_equal(sizeof(rr_source_info), 152);
    assert_int_equal(sizeof(rr_source_survey), 4000);
    assert_int_equal(sizeof(rr_delivery), 88);
    assert_int_equal(sizeof(rr_publication), 1112);
    assert_int_equal(sizeof(rr_channel_ops), 32);
    assert_int_equal(sizeof(rr_channel_options), 88);
    assert_int_equal(sizeof(rr_alert_message), 80);
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_are_those_of_the_abi),
        cmocka_unit_test(answers_are_those_of_the_abi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
