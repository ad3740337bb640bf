/* stores.h - stores and their rows in few words, and a look into them with plain SQL. */
#ifndef STORES_H
#define STORES_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "store/store.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/temp_dir.h"

static const brim_set_spec SPEC = {
    .task = "embed", .model = "siglip", .model_hash = "abc", .settings = "{\"a\": 1}"};

static inline brim_store *store_open(const char *path)
{
    brim_store *store = NULL;
    brim_error err = {0};

    if (brim_store_open(brim_heap(), path, &store, &err) != BRIM_OK) fail_msg("%s", err.message);
    return store;
}

/* Opens the store and begins in the set. */
static inline brim_store *store_begin(const char *path, const brim_set_spec *spec)
{
    brim_store *store = store_open(path);
    brim_error err = {0};

    if (brim_store_begin(store, spec, &err) != BRIM_OK) fail_msg("%s", err.message);
    return store;
}

static inline brim_claim claim_path(brim_store *store, const char *name, const char *path)
{
    brim_row *row = NULL;
    brim_claim claim;
    brim_error err = {0};

    assert_int_equal(brim_row_create(brim_heap(), name, path, &row), BRIM_OK);
    if (brim_store_claim(store, row, &claim, &err) != BRIM_OK) fail_msg("%s", err.message);
    brim_row_destroy(row);
    return claim;
}

/* The row "NAME" at "/x/NAME". */
static inline brim_claim claim(brim_store *store, const char *name)
{
    char path[600];

    snprintf(path, sizeof(path), "/x/%s", name);
    return claim_path(store, name, path);
}

/* A result: dim numbers value, value + 1, ... */
static inline brim_record result_of(const char *name, size_t dim, float value)
{
    brim_record record = {.file_bytes = 1234, .mtime_ns = 99, .width = 640, .height = 480};
    char path[600];

    snprintf(path, sizeof(path), "/x/%s", name);
    assert_int_equal(brim_row_create(brim_heap(), name, path, &record.row), BRIM_OK);
    assert_int_equal(brim_record_take_vector(&record, brim_heap(), dim), BRIM_OK);
    for (size_t i = 0; i < dim; i++)
        record.vector[i] = value + (float)i;
    return record;
}

/* A failure: the file was never read. */
static inline brim_record failure_of(const char *name, const char *reason)
{
    brim_record record = {.file_bytes = -1, .mtime_ns = -1, .step = BRIM_STEP_DECODE};
    char path[600];

    snprintf(path, sizeof(path), "/x/%s", name);
    assert_int_equal(brim_row_create(brim_heap(), name, path, &record.row), BRIM_OK);
    brim_fail(&record.error, BRIM_E_FORMAT, "%s", reason);
    return record;
}

/* Writes the records in one transaction and frees them. */
static inline brim_status commit(brim_store *store, brim_record *records, size_t n, brim_error *err)
{
    const brim_record *pointers[64];

    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        pointers[i] = &records[i];
    brim_status status = brim_store_commit(store, pointers, n, err);
    for (size_t i = 0; i < n; i++)
        brim_record_fini(&records[i]);
    return status;
}

static inline void commit_one(brim_store *store, brim_record record)
{
    brim_error err = {0};

    if (commit(store, &record, 1, &err) != BRIM_OK) fail_msg("%s", err.message);
}

/* A store at path with a result of each name; n counts them. */
static inline void make_store(const char *path, const char *const *names, size_t n)
{
    brim_store *store = store_begin(path, &SPEC);

    for (size_t i = 0; i < n; i++)
        commit_one(store, result_of(names[i], 2, (float)i));
    assert_int_equal(brim_store_finish(store, "done", "{}", NULL), BRIM_OK);
    brim_store_close(store);
}

static int query_row(void *ctx, int n, char **values, char **names)
{
    char *out = ctx;

    (void)names;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(out);
        snprintf(out + length, 4096 - length, "%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
    }
    strncat(out, " ", 4095 - strlen(out));
    return 0;
}

/* What a query gives: columns joined by |, a space behind each row. Holds until the next but one.
 */
static inline const char *query(const char *path, const char *sql)
{
    static char results[2][4096];
    static int at;
    char *out = results[at++ % 2], *message = NULL;
    sqlite3 *db = NULL;

    out[0] = '\0';
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, query_row, out, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
    return out;
}

#endif /* STORES_H */
