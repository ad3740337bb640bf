/* Tests of src/job/job.c: what is refused before anything is opened. The rest is tests/e2e. */
#include "brimful/job.h"

#include "support/cmocka_all.h"

/* The options are refused with these words; what they name is not there. */
static void refused(const brim_embed_options *options, const char *words)
{
    brim_job *job = (brim_job *)options;
    brim_error err = {0};

    assert_int_equal(brim_embed_create(options, &job, &err), BRIM_E_ARG);
    assert_null(job);
    if (!strstr(err.message, words)) fail_msg("%s", err.message);
}

static brim_embed_options some_options(void)
{
    brim_embed_options options = BRIM_OPTIONS(brim_embed_options);

    options.model = "/no/such/model";
    options.store = "/no/such/store.db";
    return options;
}

static void options_of_no_size_are_refused(void **state)
{
    brim_embed_options options = {0};

    (void)state;
    refused(&options, "BRIM_OPTIONS");
}

static void choices_that_do_not_exist_are_refused(void **state)
{
    brim_embed_options options = some_options();

    (void)state;
    options.depth = (brim_depth)2;
    refused(&options, "out of range");
    options = some_options();
    options.decode = (brim_decode)-1;
    refused(&options, "out of range");
    options = some_options();
    options.resample_order = (brim_resample_order)7;
    refused(&options, "out of range");
}

static void bands_and_tiles_beyond_all_measure_are_refused(void **state)
{
    brim_embed_options options = some_options();

    (void)state;
    options.bands[1] = 1;
    refused(&options, "three are needed");
    options.bands[0] = options.bands[2] = UINT32_MAX;
    refused(&options, "is beyond");
    options = some_options();
    options.tile = 65536;
    refused(&options, "is beyond");
    options.tile = options.overlap = 64;
    refused(&options, "needs a larger tile");
    options.tile = 0;
    refused(&options, "needs a larger tile");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_no_size_are_refused),
        cmocka_unit_test(choices_that_do_not_exist_are_refused),
        cmocka_unit_test(bands_and_tiles_beyond_all_measure_are_refused),
    };
    return cmocka_run_group_tests_name("job/job", tests, NULL, NULL);
}
