/* Tests of src/store/record.c. */
#include "store/record.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

static void owns_its_row_and_vector(void **state)
{
    failing_alloc mem;
    brim_record record = {0};

    (void)state;
    failing_alloc_init(&mem, 2);
    assert_int_equal(brim_row_create(&mem.base, "a", "/a", &record.row), BRIM_OK);
    size_t row_bytes = mem.live_bytes;
    assert_int_equal(brim_record_take_vector(&record, &mem.base, 768), BRIM_OK);
    assert_int_equal(record.dim, 768);
    assert_int_equal(mem.live_bytes, row_bytes + 768 * sizeof(float));
    record.vector[767] = 1.0f;
    brim_record_fini(&record);
    assert_int_equal(mem.live_bytes, 0);
    assert_null(record.row);
    assert_null(record.vector);
    brim_record_fini(&record); /* a zero one is fine */
}

static void refuses_vectors_that_cannot_be(void **state)
{
    failing_alloc mem;
    brim_record record = {0};

    (void)state;
    failing_alloc_init(&mem, 10);
    assert_int_equal(brim_record_take_vector(&record, &mem.base, 0), BRIM_E_ARG);
    assert_int_equal(brim_record_take_vector(&record, &mem.base, SIZE_MAX / 4 + 1), BRIM_E_ARG);
    assert_null(record.vector);
    assert_int_equal(mem.calls_left, 10);
}

static void a_refusal_of_memory_is_passed_on_as_it_is(void **state)
{
    failing_alloc mem;
    brim_record record = {0};

    (void)state;
    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_record_take_vector(&record, &mem.base, 4), BRIM_E_NOMEM);
    mem.refusal = BRIM_E_BUDGET;
    assert_int_equal(brim_record_take_vector(&record, &mem.base, 4), BRIM_E_BUDGET);
    assert_null(record.vector);
    brim_record_fini(&record);
}

static void names_every_step(void **state)
{
    (void)state;
    assert_string_equal(brim_step_name(BRIM_STEP_READ), "read");
    assert_string_equal(brim_step_name(BRIM_STEP_DECODE), "decode");
    assert_string_equal(brim_step_name(BRIM_STEP_MODEL), "model");
    assert_string_equal(brim_step_name((brim_step)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owns_its_row_and_vector),
        cmocka_unit_test(refuses_vectors_that_cannot_be),
        cmocka_unit_test(a_refusal_of_memory_is_passed_on_as_it_is),
        cmocka_unit_test(names_every_step),
    };
    return cmocka_run_group_tests_name("store/record", tests, NULL, NULL);
}
