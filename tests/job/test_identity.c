/* Tests of src/job/identity.c. The model files here are only bytes: nobody loads them. */
#include "job/identity.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/fail.h"
#include "support/cmocka_all.h"
#include "support/fake_system.h"
#include "support/unprivileged.h"

/* An external_data entry as it stands in a model; n is its name's length as one octal escape. */
#define NAMED(n, name)                                                                             \
    "\x0a\x08"                                                                                     \
    "location"                                                                                     \
    "\x12" n name

/* A store that only remembers hashes: as a table, and counting what is asked. */
typedef struct memory_store {
    brim_store base;
    struct {
        char path[PATH_MAX], hash[BRIM_HASH_BYTES];
        int64_t bytes, mtime_ns;
    } known[64];
    size_t n;
    int n_read; /* files that had to be read */
} memory_store;

static bool memory_recall(brim_store *base, const char *path, int64_t bytes, int64_t mtime_ns,
                          char *out, size_t capacity)
{
    memory_store *self = (memory_store *)base;

    for (size_t i = 0; i < self->n; i++)
        if (strcmp(self->known[i].path, path) == 0 && self->known[i].bytes == bytes &&
            self->known[i].mtime_ns == mtime_ns)
            return snprintf(out, capacity, "%s", self->known[i].hash) < (int)capacity;
    return false;
}

static void memory_remember(brim_store *base, const char *path, int64_t bytes, int64_t mtime_ns,
                            const char *hash)
{
    memory_store *self = (memory_store *)base;

    self->n_read++;
    assert_int_equal(path[0], '/');
    if (self->n == 64) return;
    snprintf(self->known[self->n].path, PATH_MAX, "%s", path);
    snprintf(self->known[self->n].hash, BRIM_HASH_BYTES, "%s", hash);
    self->known[self->n].bytes = bytes;
    self->known[self->n++].mtime_ns = mtime_ns;
}

static const struct brim_store_ops MEMORY_OPS = {.recall_hash = memory_recall,
                                                 .remember_hash = memory_remember};

/* The hash of FOLDER/onnx as an empty store finds it. Holds until the next but three. */
static const char *identify(void **state, const char *onnx)
{
    static char hashes[4][BRIM_HASH_BYTES];
    static memory_store store;
    static int at;
    brim_error err = {0};

    store = (memory_store){.base = {&MEMORY_OPS}};
    at = (at + 1) % 4;
    if (brim_identify_model(&store.base, temp_path(state, onnx), hashes[at], &err) != BRIM_OK)
        fail_msg("%s", err.message);
    assert_int_equal(strlen(hashes[at]), BRIM_HASH_BYTES - 1);
    return hashes[at];
}

static void a_model_in_one_file_is_that_files_hash(void **state)
{
    char hash[BRIM_HASH_BYTES];

    brim_hash_bytes("weights inside", 14, hash);
    fake_file(state, "m/model.onnx", "weights inside");
    assert_string_equal(identify(state, "m/model.onnx"), hash);
    fake_file(state, "m/model.onnx", "weights inside!");
    assert_string_not_equal(identify(state, "m/model.onnx"), hash);
}

static void data_files_that_it_names_are_part_of_it(void **state)
{
    fake_file(state, "m/model.onnx",
              "x" NAMED("\017", "model.onnx_data") "y" NAMED("\010", "more.bin") "z");
    const char *alone = identify(state, "m/model.onnx");
    fake_file(state, "m/model.onnx_data", "numbers");
    const char *with = identify(state, "m/model.onnx");
    assert_string_not_equal(alone, with);
    fake_file(state, "m/model.onnx_data", "numberz");
    const char *changed = identify(state, "m/model.onnx");
    assert_string_not_equal(with, changed);
    fake_file(state, "m/more.bin", "numbers");
    assert_string_not_equal(changed, identify(state, "m/model.onnx"));
    fake_file(state, "m/more.bin", "numberz");
    fake_file(state, "m/model.onnx_data", "numbers"); /* exchanged: another model too */
    const char *exchanged = identify(state, "m/model.onnx");
    fake_file(state, "m/more.bin", "numbers");
    fake_file(state, "m/model.onnx_data", "numberz");
    assert_string_not_equal(exchanged, identify(state, "m/model.onnx"));
}

static void other_files_beside_it_are_none_of_its_business(void **state)
{
    static const char *const OTHERS[] = {"m/other.bin", "m/config.json", "m/MatMul_12", "m/a"};

    /* Names that stand in the model, as those of its nodes do, are no data files yet. */
    fake_file(state, "m/model.onnx", "a config.json onnx::MatMul_12 location other.bin");
    const char *before = identify(state, "m/model.onnx");
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        fake_file(state, OTHERS[i], "something");
        assert_string_equal(identify(state, "m/model.onnx"), before);
    }
}

static void data_files_may_lie_in_folders_of_their_own(void **state)
{
    fake_file(state, "m/model.onnx", NAMED("\015", "w/weights.bin"));
    fake_file(state, "m/w/weights.bin", "numbers");
    const char *before = identify(state, "m/model.onnx");
    fake_file(state, "m/w/weights.bin", "numberz");
    assert_string_not_equal(identify(state, "m/model.onnx"), before);
}

static void a_name_longer_than_one_length_byte_is_found(void **state)
{
    static const char MODEL[] = NAMED("\x82\x01", "");
    char model[400], name[140] = "m/";

    memset(name + 2, 'n', 130); /* 130 is 0x82 0x01 */
    snprintf(model, sizeof(model), "%s%s", MODEL, name + 2);
    fake_file(state, "m/model.onnx", model);
    const char *before = identify(state, "m/model.onnx");
    fake_file(state, name, "numbers");
    assert_string_not_equal(identify(state, "m/model.onnx"), before);
}

static void folders_and_pipes_with_a_named_name_are_passed_over(void **state)
{
    alarm(60);
    fake_file(state, "m/model.onnx", NAMED("\004", "onnx") NAMED("\004", "pipe"));
    const char *before = identify(state, "m/model.onnx");
    fake_file(state, "m/onnx/model_fp16.onnx", "x");
    assert_int_equal(mkfifo(temp_path(state, "m/pipe"), 0666), 0);
    assert_string_equal(identify(state, "m/model.onnx"), before);
    alarm(0);
}

/* Whatever a stranger writes behind the mark: nothing is read beyond the file, nothing is found. */
static void mentions_that_are_cut_short_are_passed_over(void **state)
{
    static const char *const MODELS[] = {
        "\x0a\x08"
        "location"
        "\x12",
        "\x0a\x08"
        "location"
        "\x12\x05"
        "data",
        "\x0a\x08"
        "location"
        "\x12\xff\xff\xff\xff\xff"
        "data.bin",
        "\x0a\x08"
        "location"
        "\x12\xff",
    };
    char hash[BRIM_HASH_BYTES];

    fake_file(state, "m/data", "numbers");
    for (size_t i = 0; i < sizeof(MODELS) / sizeof(MODELS[0]); i++) {
        brim_hash_bytes(MODELS[i], strlen(MODELS[i]), hash);
        fake_file(state, "m/model.onnx", MODELS[i]);
        assert_string_equal(identify(state, "m/model.onnx"), hash);
    }
}

static void the_place_of_the_folder_does_not_matter(void **state)
{
    fake_file(state, "a/model.onnx", NAMED("\010", "data.bin"));
    fake_file(state, "b/renamed.onnx", NAMED("\010", "data.bin"));
    fake_file(state, "a/data.bin", "numbers");
    fake_file(state, "b/data.bin", "numbers");
    const char *here = identify(state, "a/model.onnx");
    assert_string_equal(identify(state, "b/renamed.onnx"), here);
}

static void links_lead_to_the_same_model(void **state)
{
    fake_file(state, "blobs/1234", "weights and" NAMED("\010", "data.bin"));
    fake_file(state, "blobs/5678", "numbers");
    fake_file(state, "plain/model.onnx", "weights and" NAMED("\010", "data.bin"));
    fake_file(state, "plain/data.bin", "numbers");
    temp_mkdir(state, "snapshot"); /* as the hub's cache lays them out */
    assert_int_equal(symlink("../blobs/1234", temp_path(state, "snapshot/model.onnx")), 0);
    assert_int_equal(symlink("../blobs/5678", temp_path(state, "snapshot/data.bin")), 0);
    assert_string_equal(identify(state, "snapshot/model.onnx"),
                        identify(state, "plain/model.onnx"));
}

static void what_the_store_remembers_is_not_read_again(void **state)
{
    static memory_store store;
    char first[BRIM_HASH_BYTES], second[BRIM_HASH_BYTES];
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1, .tv_nsec = 5}};

    fake_file(state, "m/model.onnx", NAMED("\010", "data.bin"));
    fake_file(state, "m/data.bin", "numbers");
    const char *path = temp_path(state, "m/model.onnx"), *data = temp_path(state, "m/data.bin");
    store = (memory_store){.base = {&MEMORY_OPS}};
    assert_int_equal(brim_identify_model(&store.base, path, first, NULL), BRIM_OK);
    assert_int_equal(store.n_read, 2);
    assert_int_equal(brim_identify_model(&store.base, path, second, NULL), BRIM_OK);
    assert_int_equal(store.n_read, 2);
    assert_string_equal(first, second);
    assert_int_equal(utimensat(AT_FDCWD, data, times, 0), 0); /* touched: looked at again */
    assert_int_equal(brim_identify_model(&store.base, path, second, NULL), BRIM_OK);
    assert_int_equal(store.n_read, 3);
    assert_string_equal(first, second);
}

static void a_relative_name_is_looked_for_where_we_stand(void **state)
{
    static memory_store store;
    char here[BRIM_HASH_BYTES], before[PATH_MAX];
    brim_error err = {0};

    fake_file(state, "m/model.onnx", NAMED("\010", "data.bin"));
    fake_file(state, "m/data.bin", "numbers");
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(temp_path(state, "m")), 0);
    store = (memory_store){.base = {&MEMORY_OPS}};
    brim_status status = brim_identify_model(&store.base, "model.onnx", here, &err);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, BRIM_OK);
    assert_string_equal(here, identify(state, "m/model.onnx"));
}

static void fails(void **state, const char *name, const char *wanted)
{
    static memory_store store;
    char hash[BRIM_HASH_BYTES];
    brim_error err = {0};

    store = (memory_store){.base = {&MEMORY_OPS}};
    brim_status status = brim_identify_model(&store.base, temp_path(state, name), hash, &err);
    regain_root();
    assert_int_equal(status, BRIM_E_IO);
    assert_non_null(strstr(err.message, wanted));
}

static void says_what_cannot_be_read(void **state)
{
    fails(state, "m/gone.onnx", "gone.onnx: No such file");
    fake_file(state, "m/empty.onnx", "");
    fails(state, "m/empty.onnx", "empty.onnx: cannot be read");
    fails(state, "m", ": ");
    fake_file(state, "m/model.onnx", NAMED("\010", "data.bin"));
    fake_file(state, "m/data.bin", "numbers");
    chmod(temp_path(state, "m/data.bin"), 0);
    if (!drop_root(*state)) skip();
    fails(state, "m/model.onnx", "data.bin: Permission denied");
}

static void the_size_of_a_model_is_that_of_all_its_files(void **state)
{
    const char *model = "m/model.onnx";
    static const char NAMES[] =
        NAMED("\010", "data.bin") NAMED("\010", "data.bin") NAMED("\010", "more.bin")
            NAMED("\010", "data.bin") NAMED("\010", "gone.bin") NAMED("\010", "link.bin");
    const uint64_t own = sizeof(NAMES) - 1;

    fake_file(state, model, NAMES);
    assert_int_equal(brim_model_bytes(temp_path(state, model), UINT64_MAX), own);
    fake_file(state, "m/data.bin", "12345");
    fake_file(state, "m/more.bin", "1234567");
    fake_file(state, "m/other.bin", "123456789");
    assert_int_equal(brim_model_bytes(temp_path(state, model), UINT64_MAX), own + 12);
    /* another name of the same bytes */
    assert_int_equal(symlink("data.bin", temp_path(state, "m/link.bin")), 0);
    assert_int_equal(brim_model_bytes(temp_path(state, model), UINT64_MAX), own + 12);
    /* enough is enough */
    assert_int_equal(brim_model_bytes(temp_path(state, model), own + 3), own + 5);
    assert_int_equal(brim_model_bytes(temp_path(state, model), 1), own);
}

static void what_cannot_be_read_has_no_size(void **state)
{
    fake_file(state, "m/empty.onnx", "");
    assert_int_equal(brim_model_bytes(temp_path(state, "m/empty.onnx"), 9), 0);
    assert_int_equal(brim_model_bytes(temp_path(state, "m/gone.onnx"), 9), 0);
    assert_int_equal(brim_model_bytes(temp_path(state, "m"), 9), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_model_in_one_file_is_that_files_hash),
        TEST(data_files_that_it_names_are_part_of_it),
        TEST(other_files_beside_it_are_none_of_its_business),
        TEST(folders_and_pipes_with_a_named_name_are_passed_over),
        TEST(data_files_may_lie_in_folders_of_their_own),
        TEST(a_name_longer_than_one_length_byte_is_found),
        TEST(mentions_that_are_cut_short_are_passed_over),
        TEST(the_place_of_the_folder_does_not_matter),
        TEST(links_lead_to_the_same_model),
        TEST(what_the_store_remembers_is_not_read_again),
        TEST(a_relative_name_is_looked_for_where_we_stand),
        TEST(says_what_cannot_be_read),
        TEST(the_size_of_a_model_is_that_of_all_its_files),
        TEST(what_cannot_be_read_has_no_size),
    };
    return cmocka_run_group_tests_name("job/identity", tests, NULL, NULL);
}
