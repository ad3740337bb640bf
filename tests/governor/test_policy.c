/* Tests of src/governor/policy.c. */
#include "brimful/governor.h"
#include "support/cmocka_all.h"

static void every_policy_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(brim_policy_name(BRIM_POLICY_KNEE), "knee");
    assert_string_equal(brim_policy_name(BRIM_POLICY_AIMD), "aimd");
    assert_string_equal(brim_policy_name(BRIM_POLICY_ESTIMATE), "estimate");
    assert_string_equal(brim_policy_name(BRIM_POLICY_WATERMARK), "watermark");
    assert_string_equal(brim_policy_name(BRIM_POLICY_FIXED), "fixed");
    for (int i = 0; i < BRIM_N_POLICIES; i++)
        assert_non_null(brim_policy_name((brim_policy)i));
}

static void what_is_no_policy_has_none(void **state)
{
    (void)state;
    assert_null(brim_policy_name(BRIM_N_POLICIES));
    assert_null(brim_policy_name((brim_policy)-1));
    assert_null(brim_policy_name((brim_policy)1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_has_its_name),
        cmocka_unit_test(what_is_no_policy_has_none),
    };
    return cmocka_run_group_tests_name("governor/policy", tests, NULL, NULL);
}
