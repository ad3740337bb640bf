/* Tests of src/base/hash.c. The expected values are those of `xxhsum -H2` (xxHash 0.8.1). */
#include "base/hash.h"
#include "support/cmocka_all.h"
#include "support/temp_dir.h"

static void agrees_with_xxhsum(void **state)
{
    char out[BRIM_HASH_BYTES];
    brim_error err;

    brim_hash_bytes("", 0, out);
    assert_string_equal(out, "99aa06d3014798d86001c324468d497f");
    brim_hash_bytes("brimful", 7, out);
    assert_string_equal(out, "4e9d1f4f7078449d92c84e2055829e26");
    char file[BRIM_HASH_BYTES];
    const char *path = temp_write_text(state, "a", "brimful");
    assert_int_equal(brim_hash_file(path, file, &err), BRIM_OK);
    assert_string_equal(file, out);
}

static void reads_files_longer_than_its_buffer(void **state)
{
    size_t bytes = 300001;
    char *data = calloc(1, bytes);
    char out[BRIM_HASH_BYTES], file[BRIM_HASH_BYTES];

    data[bytes - 1] = 'x';
    brim_hash_bytes(data, bytes, out);
    assert_int_equal(brim_hash_file(temp_write(state, "a", data, bytes), file, NULL), BRIM_OK);
    assert_string_equal(file, out);
    free(data);
}

static void names_a_file_that_is_not_there(void **state)
{
    char out[BRIM_HASH_BYTES];
    brim_error err;

    assert_int_equal(brim_hash_file(temp_path(state, "none"), out, &err), BRIM_E_IO);
    assert_non_null(strstr(err.message, "/none: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agrees_with_xxhsum, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(reads_files_longer_than_its_buffer, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test_setup_teardown(names_a_file_that_is_not_there, temp_dir_setup,
                                        temp_dir_teardown),
    };
    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
