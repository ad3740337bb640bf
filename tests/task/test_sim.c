/* Tests of src/task/sim.c. */
#include <math.h>

#include "base/hash.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "task/task.h"

/* The record of a key, read as picture i; its memory comes from mem. */
static brim_record read_one(bool normalize, const char *key, size_t i, const brim_alloc *mem)
{
    static const brim_output NOTHING = {.n_dims = 2, .dims = {1000, 0}};
    brim_task task = brim_task_sim(normalize);
    brim_record record = {0};

    assert_int_equal(brim_row_create(mem, key, key, &record.row), BRIM_OK);
    assert_int_equal(brim_task_read(&task, &NOTHING, i, mem, &record, NULL), BRIM_OK);
    assert_int_equal(record.dim, 8);
    return record;
}

static void a_vector_is_the_keys_fingerprint(void **state)
{
    char hash[BRIM_HASH_BYTES], wanted[5];

    (void)state;
    brim_hash_bytes("null:5/0000001", 14, hash);
    brim_record record = read_one(false, "null:5/0000001", 3, brim_heap());
    for (size_t k = 0; k < 8; k++) {
        memcpy(wanted, hash + 4 * k, 4);
        wanted[4] = '\0';
        double number = (double)strtoul(wanted, NULL, 16) / 32768.0 - 1.0;
        assert_true(record.vector[k] == (float)number);
        assert_true(record.vector[k] >= -1 && record.vector[k] < 1);
    }
    brim_record_fini(&record);
}

static void it_does_not_depend_on_its_place_in_the_batch(void **state)
{
    (void)state;
    brim_record first = read_one(true, "a.jpg", 0, brim_heap());
    brim_record last = read_one(true, "a.jpg", 999, brim_heap());
    brim_record other = read_one(true, "b.jpg", 0, brim_heap());
    assert_memory_equal(first.vector, last.vector, 8 * sizeof(float));
    assert_memory_not_equal(first.vector, other.vector, 8 * sizeof(float));
    brim_record_fini(&first);
    brim_record_fini(&last);
    brim_record_fini(&other);
}

static void it_gets_length_1_unless_raw(void **state)
{
    double raw_square = 0, square = 0;

    (void)state;
    brim_record raw = read_one(false, "a.jpg", 0, brim_heap());
    brim_record record = read_one(true, "a.jpg", 0, brim_heap());
    for (size_t k = 0; k < 8; k++) {
        raw_square += (double)raw.vector[k] * raw.vector[k];
        square += (double)record.vector[k] * record.vector[k];
    }
    assert_true(fabs(square - 1.0) < 1e-6);
    for (size_t k = 0; k < 8; k++)
        assert_true(fabs(record.vector[k] - raw.vector[k] / sqrt(raw_square)) < 1e-6);
    brim_record_fini(&raw);
    brim_record_fini(&record);
}

static void a_refusal_of_memory_is_passed_on_as_it_is(void **state)
{
    static const brim_output NOTHING = {.n_dims = 2, .dims = {1, 0}};
    brim_task task = brim_task_sim(true);
    failing_alloc mem;
    brim_record record = {0};
    brim_error err = {0};

    (void)state;
    failing_alloc_init(&mem, 1);
    assert_int_equal(brim_row_create(&mem.base, "k", "k", &record.row), BRIM_OK);
    assert_int_equal(brim_task_read(&task, &NOTHING, 0, &mem.base, &record, &err), BRIM_E_NOMEM);
    assert_string_equal(err.message, "no memory for a vector of 8");
    mem.refusal = BRIM_E_BUDGET;
    assert_int_equal(brim_task_read(&task, &NOTHING, 0, &mem.base, &record, &err), BRIM_E_BUDGET);
    assert_null(record.vector);
    brim_record_fini(&record);
    assert_int_equal(mem.live_bytes, 0);
}

static void is_named_for_the_set(void **state)
{
    (void)state;
    assert_string_equal(brim_task_sim(true).name, "embed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_is_the_keys_fingerprint),
        cmocka_unit_test(it_does_not_depend_on_its_place_in_the_batch),
        cmocka_unit_test(it_gets_length_1_unless_raw),
        cmocka_unit_test(a_refusal_of_memory_is_passed_on_as_it_is),
        cmocka_unit_test(is_named_for_the_set),
    };
    return cmocka_run_group_tests_name("task/sim", tests, NULL, NULL);
}
