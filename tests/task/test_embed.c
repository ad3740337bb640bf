/* Tests of src/task/embed.c. */
#include <float.h>
#include <math.h>

#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "task/task.h"

/* Image i's vector of an output; fails the test where there is none. */
static brim_record read_one(bool normalize, const brim_output *output, size_t i)
{
    brim_task task = brim_task_embed(normalize);
    brim_record record = {0};
    brim_error err = {0};

    if (brim_task_read(&task, output, i, brim_heap(), &record, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return record;
}

static void read_fails(const brim_output *output, size_t i, const char *words)
{
    brim_task task = brim_task_embed(true);
    failing_alloc mem;
    brim_record record = {0};
    brim_error err = {0};

    failing_alloc_init(&mem, 10);
    assert_int_equal(brim_task_read(&task, output, i, &mem.base, &record, &err), BRIM_E_RUNTIME);
    assert_non_null(strstr(err.message, words));
    assert_null(record.vector);
    assert_int_equal(mem.live_bytes, 0);
}

static void takes_each_images_own_row(void **state)
{
    static const float DATA[] = {1, 2, 3, 4, 5, 6};
    const brim_output output = {.data = DATA, .n_dims = 2, .dims = {2, 3}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        brim_record record = read_one(false, &output, i);
        assert_int_equal(record.dim, 3);
        assert_memory_equal(record.vector, DATA + 3 * i, sizeof(float) * 3);
        assert_true(record.vector != DATA + 3 * i); /* a copy: the output is only lent */
        brim_record_fini(&record);
    }
}

static void takes_the_first_token_of_three_dimensions(void **state)
{
    static const float DATA[] = {1, 2, -1, -1, -1, -1, 3, 4, -1, -1, -1, -1};
    const brim_output output = {.data = DATA, .n_dims = 3, .dims = {2, 3, 2}};

    (void)state;
    brim_record record = read_one(false, &output, 1);
    assert_int_equal(record.dim, 2);
    assert_true(record.vector[0] == 3 && record.vector[1] == 4);
    brim_record_fini(&record);
}

/* Pooled feature maps, (n, C, 1, 1). */
static void trailing_dimensions_of_one_are_none(void **state)
{
    static const float DATA[] = {1, 2, 3, 4};
    const brim_output four = {.data = DATA, .n_dims = 4, .dims = {2, 2, 1, 1}};
    const brim_output single = {.data = DATA, .n_dims = 2, .dims = {4, 1}};

    (void)state;
    brim_record record = read_one(false, &four, 1);
    assert_int_equal(record.dim, 2);
    assert_true(record.vector[0] == 3 && record.vector[1] == 4);
    brim_record_fini(&record);
    record = read_one(false, &single, 2); /* but two are needed */
    assert_int_equal(record.dim, 1);
    assert_true(record.vector[0] == 3);
    brim_record_fini(&record);
}

static double length_of(const float *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)v[i] * v[i];
    return sqrt(sum);
}

static void vectors_get_length_1_and_keep_their_direction(void **state)
{
    static float data[4][768];
    const brim_output output = {.data = data[0], .n_dims = 2, .dims = {4, 768}};
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < 768; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[0][i] = (float)(seed >> 8) / (1 << 23) - 1.0f;
        data[1][i] = data[0][i] * 1e30f;  /* its square is no float */
        data[2][i] = data[0][i] * 1e-10f; /* nor is this one's */
    }
    for (size_t i = 0; i < 3; i++) {
        brim_record record = read_one(true, &output, i);
        assert_true(fabs(length_of(record.vector, 768) - 1.0) < 1e-6);
        double scale = length_of(data[i], 768);
        for (size_t k = 0; k < 768; k++)
            assert_true(fabs(record.vector[k] - data[i][k] / scale) < 1e-7);
        brim_record_fini(&record);
    }
}

/* As torch.nn.functional.normalize with eps 1e-12. */
static void nearly_nothing_is_not_stretched(void **state)
{
    static const float DATA[] = {0, 0, 3e-14f, 4e-14f};
    const brim_output output = {.data = DATA, .n_dims = 2, .dims = {2, 2}};

    (void)state;
    brim_record record = read_one(true, &output, 0);
    assert_true(record.vector[0] == 0 && record.vector[1] == 0);
    brim_record_fini(&record);
    record = read_one(true, &output, 1);
    assert_true(fabs(record.vector[0] - 0.03) < 1e-6 && fabs(record.vector[1] - 0.04) < 1e-6);
    brim_record_fini(&record);
}

static void one_image_that_is_not_finite_fails_alone(void **state)
{
    const float data[] = {1, NAN, 3, 4, INFINITY, 0, -INFINITY, 0, FLT_MAX, FLT_MAX};
    const brim_output output = {.data = data, .n_dims = 2, .dims = {5, 2}};

    (void)state;
    read_fails(&output, 0, "not finite");
    read_fails(&output, 2, "not finite");
    read_fails(&output, 3, "not finite");
    brim_record record = read_one(true, &output, 1);
    assert_true(fabsf(record.vector[0] - 0.6f) < 1e-6f);
    brim_record_fini(&record);
    record = read_one(true, &output, 4);
    assert_true(fabsf(record.vector[0] - 0.7071068f) < 1e-6f);
    brim_record_fini(&record);
}

static void answers_without_a_vector_in_them_are_told(void **state)
{
    static const float DATA[8];

    (void)state;
    read_fails(&(brim_output){.data = DATA, .n_dims = 4, .dims = {1, 2, 2, 2}}, 0, "4 dimensions");
    read_fails(&(brim_output){.data = DATA, .n_dims = 1, .dims = {8}}, 0, "1 dimensions");
    read_fails(&(brim_output){.data = DATA, .n_dims = 2, .dims = {8, 0}}, 0, "empty");
    read_fails(&(brim_output){.data = NULL, .n_dims = 3, .dims = {8, 0, 4}}, 0, "empty");
}

static void a_refusal_of_memory_is_passed_on_as_it_is(void **state)
{
    static const float DATA[] = {1, 2};
    const brim_output output = {.data = DATA, .n_dims = 2, .dims = {1, 2}};
    brim_task task = brim_task_embed(true);
    failing_alloc mem;
    brim_record record = {0};
    brim_error err = {0};

    (void)state;
    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_task_read(&task, &output, 0, &mem.base, &record, &err), BRIM_E_NOMEM);
    assert_non_null(strstr(err.message, "no memory"));
    mem.refusal = BRIM_E_BUDGET;
    assert_int_equal(brim_task_read(&task, &output, 0, &mem.base, &record, &err), BRIM_E_BUDGET);
    assert_null(record.vector);
    failing_alloc_init(&mem, 1);
    assert_int_equal(brim_task_read(&task, &output, 0, &mem.base, &record, NULL), BRIM_OK);
    brim_record_fini(&record);
    assert_int_equal(mem.live_bytes, 0);
}

static void layers_are_judged_before_the_run(void **state)
{
    static const struct {
        size_t n_dims;
        int64_t dims[5];
        brim_status wanted;
    } CASES[] = {
        {2, {-1, 768}, BRIM_OK},
        {3, {-1, 197, 768}, BRIM_OK},
        {3, {-1, -1, -1}, BRIM_OK},
        {4, {-1, 1280, 1, 1}, BRIM_OK},
        {4, {8, 64, 7, 7}, BRIM_E_ARG},
        {1, {-1}, BRIM_E_ARG},
        {4, {-1, 64, -1, -1}, BRIM_E_ARG},
        {5, {1, 2, 3, 4, 1}, BRIM_E_ARG},
        {0, {0}, BRIM_E_ARG},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_port layer = {.name = "map\n", .n_dims = CASES[i].n_dims};
        brim_error err = {0};
        memcpy(layer.dims, CASES[i].dims, sizeof(CASES[i].dims));
        assert_int_equal(brim_task_embed_check(&layer, &err), CASES[i].wanted);
        if (CASES[i].wanted == BRIM_OK) continue;
        assert_non_null(strstr(err.message, "layer map\\x0a has"));
        assert_non_null(strstr(err.message, "--layer"));
    }
}

static void is_named_for_the_set(void **state)
{
    (void)state;
    assert_string_equal(brim_task_embed(true).name, "embed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_each_images_own_row),
        cmocka_unit_test(takes_the_first_token_of_three_dimensions),
        cmocka_unit_test(trailing_dimensions_of_one_are_none),
        cmocka_unit_test(vectors_get_length_1_and_keep_their_direction),
        cmocka_unit_test(nearly_nothing_is_not_stretched),
        cmocka_unit_test(one_image_that_is_not_finite_fails_alone),
        cmocka_unit_test(answers_without_a_vector_in_them_are_told),
        cmocka_unit_test(a_refusal_of_memory_is_passed_on_as_it_is),
        cmocka_unit_test(layers_are_judged_before_the_run),
        cmocka_unit_test(is_named_for_the_set),
    };
    return cmocka_run_group_tests_name("task/embed", tests, NULL, NULL);
}
