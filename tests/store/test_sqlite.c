/* Tests of src/store/sqlite.c. */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/stores.h"
#include "support/child.h"
#include "support/sqlite_faults.h"
#include "support/unprivileged.h"

enum { DIM = 3 };

static const brim_set_spec RETRY = {.task = "embed",
                                    .model = "siglip",
                                    .model_hash = "abc",
                                    .settings = "{\"a\": 1}",
                                    .retry_failed = true};
static const brim_set_spec REPEATING = {.task = "embed",
                                        .model = "siglip",
                                        .model_hash = "abc",
                                        .settings = "{\"a\": 1}",
                                        .may_repeat = true};

static const char COUNTS[] = "SELECT (SELECT count(*) FROM brim_images),"
                             " (SELECT count(*) FROM brim_embeddings),"
                             " (SELECT count(*) FROM brim_failures)";
static const char OUTCOMES[] = "SELECT outcome FROM brim_runs ORDER BY run";

/* DESIGN section 6, column by column; !: part of the primary key. */
static void has_the_tables_of_the_design(void **state)
{
    static const char *const TABLES[][2] = {
        {"brim_images", "image! key path bytes mtime_ns width height columns "},
        {"brim_sets", "set_id! task model model_hash settings settings_hash dim "},
        {"brim_runs", "run! set_id started finished outcome summary "},
        {"brim_embeddings", "set_id! image! vector "},
        {"brim_labels", "set_id! image! rank! label score "},
        {"brim_detections", "set_id! image! n! label score x0 y0 x1 y1 "},
        {"brim_raw_outputs", "set_id! image! name! prompt_id dtype shape data "},
        {"brim_prompts", "prompt_id! text labels token_ids "},
        {"brim_failures", "set_id! image! step reason attempts "},
    };
    const char *path = temp_path(state, "x.db");
    char sql[200];

    brim_store_close(store_open(path));
    for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT name || CASE WHEN pk THEN '!' ELSE '' END FROM pragma_table_info('%s')",
                 TABLES[i][0]);
        assert_string_equal(query(path, sql), TABLES[i][1]);
    }
    assert_string_equal(query(path, "SELECT name FROM pragma_index_info('sqlite_autoindex_brim_"
                                    "sets_1')"),
                        "task model_hash settings_hash ");
}

static void writes_rows_as_other_programs_read_them(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &SPEC);

    commit_one(store, result_of("Mu\xf1oz.png", DIM, 1.0f));
    commit_one(store, failure_of("b\n.jpg", "truncated"));
    assert_int_equal(brim_store_finish(store, "done", "{\"n\": 2}", NULL), BRIM_OK);
    brim_store_close(store);

    /* 1.0, 2.0, 3.0 as float32, low byte first */
    assert_string_equal(query(path, "SELECT set_id, image, hex(vector) FROM brim_embeddings"),
                        "1|1|0000803F0000004000004040 ");
    assert_string_equal(query(path, "SELECT image, key, hex(path), typeof(path), bytes, mtime_ns,"
                                    " width, height, columns FROM brim_images WHERE image=1"),
                        "1|Mu\\xf1oz.png|2F782F4D75F16F7A2E706E67|blob|1234|99|640|480|NULL ");
    assert_string_equal(query(path, "SELECT key, bytes, mtime_ns, width, height FROM brim_images"
                                    " WHERE image=2"),
                        "b\n.jpg|NULL|NULL|NULL|NULL ");
    assert_string_equal(query(path, "SELECT * FROM brim_failures"), "1|2|decode|truncated|1 ");
    assert_string_equal(query(path, "SELECT set_id, task, model, model_hash, settings, dim,"
                                    " length(settings_hash) FROM brim_sets"),
                        "1|embed|siglip|abc|{\"a\": 1}|3|32 ");
    assert_string_equal(query(path, "SELECT run, set_id, outcome, summary,"
                                    " started GLOB '20[0-9]*-*-*T*:*:*Z',"
                                    " finished GLOB '20[0-9]*-*-*T*:*:*Z' FROM brim_runs"),
                        "1|1|done|{\"n\": 2}|1|1 ");
}

static void lives_beside_the_users_own_tables(void **state)
{
    static const char *const OURS = "SELECT count(*) FROM sqlite_master WHERE type='table'"
                                    " AND name NOT LIKE 'brim\\_%' ESCAPE '\\'";
    const char *path = temp_path(state, "photos.db");

    query(path, "PRAGMA encoding='UTF-16'; PRAGMA user_version=42;"
                "CREATE TABLE images(file_title TEXT, series); CREATE TABLE sets(x);"
                "INSERT INTO images VALUES('a', 1), ('b', 2)");
    make_store(path, (const char *const[]){"\xc3\xb6.jpg", "b.jpg"}, 2);
    assert_string_equal(query(path, "SELECT * FROM images"), "a|1 b|2 ");
    assert_string_equal(query(path, OURS), "2 ");
    assert_string_equal(query(path, "PRAGMA user_version"), "42 ");
    assert_string_equal(query(path, "SELECT key FROM brim_images ORDER BY key"),
                        "b.jpg \xc3\xb6.jpg ");
    brim_store *store = store_begin(path, &SPEC);
    assert_int_equal(claim(store, "\xc3\xb6.jpg"), BRIM_CLAIM_DONE);
    brim_store_close(store);
}

static void leaves_the_journal_mode_and_no_files_behind(void **state)
{
    static const char *const MODES[] = {"delete", "wal", "truncate", "persist"};
    char name[32], sql[64], wanted[32];

    for (size_t i = 0; i < sizeof(MODES) / sizeof(MODES[0]); i++) {
        snprintf(name, sizeof(name), "%s.db", MODES[i]);
        snprintf(sql, sizeof(sql), "PRAGMA journal_mode=%s; CREATE TABLE t(x)", MODES[i]);
        snprintf(wanted, sizeof(wanted), "%s ", i == 1 ? "wal" : "delete"); /* what a file keeps */
        const char *path = temp_path(state, name);
        query(path, sql);
        make_store(path, (const char *const[]){"a"}, 1);
        assert_string_equal(query(path, "PRAGMA journal_mode"), wanted);
        snprintf(name, sizeof(name), "%s.db-brim-1.lock", MODES[i]);
        assert_int_equal(access(temp_path(state, name), F_OK), -1);
        snprintf(name, sizeof(name), "%s.db-journal", MODES[i]);
        assert_int_equal(access(temp_path(state, name), F_OK), -1);
    }
}

static void a_second_run_finds_what_is_done_and_what_failed(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &SPEC);
    brim_record batch[] = {result_of("a", DIM, 1.0f), failure_of("b", "no such file"),
                           result_of("c", DIM, 2.0f)};
    uint64_t n_done = 99;

    assert_int_equal(brim_store_count_done(store, &n_done, NULL), BRIM_OK);
    assert_int_equal(n_done, 0);
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_TODO);
    assert_int_equal(commit(store, batch, 3, NULL), BRIM_OK);
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_DONE); /* in the same run too */
    brim_store_close(store);

    store = store_begin(path, &SPEC);
    assert_int_equal(brim_store_count_done(store, &n_done, NULL), BRIM_OK);
    assert_int_equal(n_done, 3);
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_DONE);
    assert_int_equal(claim(store, "b"), BRIM_CLAIM_FAILED);
    assert_int_equal(claim(store, "c"), BRIM_CLAIM_DONE);
    assert_int_equal(claim(store, "d"), BRIM_CLAIM_TODO);
    assert_int_equal(claim(store, "A"), BRIM_CLAIM_TODO);
    brim_store_close(store);
}

/* B47: 20 rows, 5 of them fail; plain again; then with --retry-failed, one failing once more. */
static void failures_are_tried_again_when_that_is_asked_for(void **state)
{
    const char *path = temp_path(state, "x.db");
    char name[16];
    int n_failed = 0, n_todo = 0;

    brim_store *store = store_begin(path, &SPEC);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "%02d", i);
        commit_one(store, i % 4 == 0 ? failure_of(name, "missing") : result_of(name, DIM, 0));
    }
    brim_store_close(store);

    store = store_begin(path, &SPEC);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "%02d", i);
        n_failed += claim(store, name) == BRIM_CLAIM_FAILED;
    }
    assert_int_equal(n_failed, 5);
    brim_store_close(store);

    store = store_begin(path, &RETRY);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "%02d", i);
        if (claim(store, name) != BRIM_CLAIM_TODO) continue;
        n_todo++;
        commit_one(store, i == 8 ? failure_of(name, "still missing") : result_of(name, DIM, 0));
    }
    assert_int_equal(n_todo, 5);
    brim_store_close(store);
    assert_string_equal(query(path, COUNTS), "20|19|1 ");
    assert_string_equal(query(path, "SELECT reason, attempts FROM brim_failures"),
                        "still missing|2 ");
    assert_string_equal(query(path, "SELECT count(*), bytes FROM brim_images"
                                    " WHERE bytes IS NOT NULL"),
                        "19|1234 "); /* what is known of a file now is kept */
}

static void another_model_or_setting_is_another_set(void **state)
{
    brim_set_spec others[] = {SPEC, SPEC, SPEC};
    const char *path = temp_path(state, "x.db");
    uint64_t n_done;

    others[0].model_hash = "other";
    others[1].settings = "{\"a\": 2}";
    others[2].task = "classify";
    make_store(path, (const char *const[]){"a"}, 1);
    for (size_t i = 0; i < 3; i++) {
        brim_store *store = store_begin(path, &others[i]);
        assert_int_equal(claim(store, "a"), BRIM_CLAIM_TODO);
        commit_one(store, result_of("a", 5 + i, 0)); /* with a length of its own */
        assert_int_equal(brim_store_count_done(store, &n_done, NULL), BRIM_OK);
        assert_int_equal(n_done, 1);
        brim_store_close(store);
    }
    assert_string_equal(query(path, COUNTS), "1|4|0 ");
    assert_string_equal(query(path, "SELECT dim FROM brim_sets ORDER BY set_id"), "2 5 6 7 ");

    brim_set_spec renamed = SPEC; /* the model's name is for people */
    renamed.model = "models/siglip";
    brim_store *store = store_begin(path, &renamed);
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_DONE);
    brim_store_close(store);
    assert_string_equal(query(path, "SELECT count(*) FROM brim_sets"), "4 ");
}

static void a_key_that_comes_twice_in_a_run_is_recognised(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &REPEATING);

    assert_int_equal(claim(store, "a"), BRIM_CLAIM_TODO);
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_REPEAT); /* before it is written, too */
    assert_int_equal(claim_path(store, "a", "/elsewhere/a"),
                     BRIM_CLAIM_REPEAT); /* the first wins */
    assert_int_equal(claim(store, "b"), BRIM_CLAIM_TODO);
    commit_one(store, result_of("a", DIM, 0));
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_REPEAT);
    brim_store_close(store);

    store = store_begin(path, &REPEATING); /* another run: another count */
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_DONE);
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_REPEAT);
    brim_store_close(store);
    assert_string_equal(query(path, "SELECT count(*) FROM sqlite_master WHERE name='brim_seen'"),
                        "0 ");
}

static void another_file_under_a_known_key_ends_the_run(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_row *row = NULL;
    brim_claim got;
    brim_error err = {0};

    make_store(path, (const char *const[]){"a"}, 1);
    brim_store *store = store_begin(path, &SPEC);
    assert_int_equal(brim_row_create(brim_heap(), "a", "/y\n/a", &row), BRIM_OK);
    assert_int_equal(brim_store_claim(store, row, &got, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "key a stands for /x/a there, and for /y\\x0a/a now"));
    assert_non_null(strstr(err.message, "--root"));
    brim_row_destroy(row);
    assert_int_equal(brim_row_create(brim_heap(), "a", "/x/", &row), BRIM_OK); /* a prefix */
    assert_int_equal(brim_store_claim(store, row, &got, &err), BRIM_E_ARG);
    brim_row_destroy(row);
    assert_int_equal(claim(store, "a"), BRIM_CLAIM_DONE);
    brim_store_close(store);
}

static void a_vector_of_another_length_leaves_none_of_its_batch(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &SPEC);
    brim_record mixed[] = {result_of("a", DIM, 0), failure_of("b", "bad"),
                           result_of("c", DIM + 1, 0)};
    brim_record later[] = {result_of("e", DIM, 0), result_of("f", DIM + 1, 0)};
    brim_error err = {0};

    assert_int_equal(commit(store, mixed, 3, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "the model gives 4 numbers, set 1 holds 3"));
    assert_string_equal(query(path, COUNTS), "0|0|0 ");
    assert_string_equal(query(path, "SELECT dim FROM brim_sets"), "NULL ");
    commit_one(store, result_of("d", DIM + 1, 0)); /* the length was not settled */
    assert_int_equal(commit(store, later, 2, &err), BRIM_E_ARG);
    assert_string_equal(query(path, COUNTS), "1|1|0 ");
    brim_store_close(store);

    store = store_begin(path, &SPEC); /* it is remembered from run to run */
    brim_record again = result_of("g", DIM, 0);
    assert_int_equal(commit(store, &again, 1, &err), BRIM_E_ARG);
    assert_int_equal(commit(store, &again, 0, &err), BRIM_OK); /* nothing is fine */
    brim_store_close(store);
}

static void runs_tell_how_they_ended(void **state)
{
    const char *path = temp_path(state, "x.db");

    brim_store_close(store_begin(path, &SPEC)); /* never finished, as if killed */
    brim_store *store = store_begin(path, &SPEC);
    assert_string_equal(query(path, OUTCOMES), "killed running ");
    assert_int_equal(brim_store_finish(store, "stopped", "{}", NULL), BRIM_OK);
    brim_store_close(store);
    brim_set_spec other = SPEC;
    other.model_hash = "other";
    brim_store *beside = store_begin(path, &other);
    store = store_begin(path, &SPEC); /* a running neighbour is no victim */
    assert_string_equal(query(path, OUTCOMES), "killed stopped running running ");
    brim_store_close(store);
    brim_store_close(beside);
}

static bool begin_in_child(void *path)
{
    brim_store *store = store_begin(path, &SPEC);

    commit_one(store, result_of("from the child", DIM, 0));
    return true;
}

static void a_second_process_is_told_who_is_running(void **state)
{
    char path[4096], wanted[64];
    brim_error err = {0};

    snprintf(path, sizeof(path), "%s", temp_path(state, "x.db"));
    pid_t pid = child_start(begin_in_child, path);
    assert_true(pid > 0);
    brim_store *store = store_open(path);
    assert_int_equal(brim_store_begin(store, &SPEC, &err), BRIM_E_BUSY);
    snprintf(wanted, sizeof(wanted), "process %ld ", (long)pid);
    assert_non_null(strstr(err.message, wanted));
    brim_store_close(store);
    assert_string_equal(query(path, OUTCOMES), "running "); /* the run that is on is left alone */

    child_kill(pid);
    store = store_begin(path, &SPEC);
    assert_string_equal(query(path, OUTCOMES), "killed running ");
    assert_int_equal(claim(store, "from the child"), BRIM_CLAIM_DONE);
    brim_store_close(store);
}

typedef struct blocker {
    sqlite3 *db;
    long n_before;
} blocker;

/* Lets go once somebody has really run into the lock. */
static void *hold_until_somebody_waits(void *arg)
{
    blocker *self = arg;

    while (FAULTS.n_refusals == self->n_before)
        usleep(1000);
    sqlite3_exec(self->db, "COMMIT", NULL, NULL, NULL);
    return NULL;
}

/* B46, second half. The user's program may read or write; claims and commits wait, and go on. */
static void waits_for_other_programs_locks(void **state)
{
    static const char *const LOCKS[] = {"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE",
                                        "BEGIN; SELECT count(*) FROM t"};
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &SPEC);
    char name[16];

    query(path, "CREATE TABLE t(x)");
    for (int i = 0; i < 3; i++) {
        blocker other = {NULL, FAULTS.n_refusals};
        pthread_t thread;
        assert_int_equal(sqlite3_open(path, &other.db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(other.db, LOCKS[i], NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(pthread_create(&thread, NULL, hold_until_somebody_waits, &other), 0);
        snprintf(name, sizeof(name), "%d", i);
        if (i == 1) assert_int_equal(claim(store, name), BRIM_CLAIM_TODO);
        commit_one(store, result_of(name, DIM, 0));
        pthread_join(thread, NULL);
        assert_true(FAULTS.n_refusals > other.n_before);
        sqlite3_close(other.db);
    }
    brim_store_close(store);
    assert_string_equal(query(path, COUNTS), "3|3|0 ");
}

static void a_lock_that_never_ends_is_told(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &SPEC), *second = NULL;
    brim_record record = result_of("a", DIM, 0);
    brim_error err = {0}, late = {0};

    FAULTS.locked = true;
    brim_status status = commit(store, &record, 1, &err);
    brim_status opened = brim_store_open(brim_heap(), path, &second, &late);
    sqlite_faults_none();
    assert_int_equal(status, BRIM_E_BUSY);
    assert_non_null(strstr(err.message, "x.db: another program has held it locked for 30 s"));
    assert_int_equal(opened, BRIM_E_BUSY);
    assert_null(second);
    commit_one(store, result_of("a", DIM, 0)); /* and afterwards all is well */
    brim_store_close(store);
    assert_string_equal(query(path, COUNTS), "1|1|0 ");
}

/* Fills the disk after the 1st, 2nd, ... change of a file, until a whole run fits. */
static void a_full_disk_is_told_and_what_was_written_stays(void **state)
{
    bool complete = false;
    char name[32];

    for (long allowed = 0; !complete; allowed++) {
        brim_store *store = NULL;
        brim_error err = {0};
        snprintf(name, sizeof(name), "%ld.db", allowed);
        const char *path = temp_path(state, name);
        FAULTS.changes_left = allowed;
        brim_status status = brim_store_open(brim_heap(), path, &store, &err);
        if (status == BRIM_OK) status = brim_store_begin(store, &SPEC, &err);
        int n_batches = 0;
        for (; status == BRIM_OK && n_batches < 3; n_batches++) {
            brim_record batch[2];
            snprintf(name, sizeof(name), "a%d", n_batches);
            batch[0] = result_of(name, 600, 0); /* more than a page */
            snprintf(name, sizeof(name), "b%d", n_batches);
            batch[1] = failure_of(name, "bad");
            status = commit(store, batch, 2, &err);
            if (status != BRIM_OK) break;
        }
        if (status == BRIM_OK) status = brim_store_finish(store, "done", "{}", &err);
        complete = status == BRIM_OK;
        FAULTS.changes_left = -1; /* room again */
        if (!complete) {
            assert_int_equal(status, BRIM_E_IO);
            assert_non_null(strstr(err.message, "the disk is full"));
        }
        brim_store_close(store);

        store = store_begin(path, &SPEC);
        char wanted[64];
        snprintf(wanted, sizeof(wanted), "%d|%d|%d ", 2 * n_batches, n_batches, n_batches);
        assert_string_equal(query(path, COUNTS), wanted);
        assert_string_equal(query(path, "PRAGMA integrity_check"), "ok ");
        brim_store_close(store);
        assert_true(allowed < 1000);
    }
}

/* The process is killed at its 1st, 2nd, ... change of a file: a batch is there whole or not at
 * all. */
static void a_crash_leaves_whole_batches_only(void **state)
{
    bool complete = false;
    int seen[4] = {0};
    char name[32];

    for (long allowed = 0; !complete; allowed++) {
        int how = 0;
        snprintf(name, sizeof(name), "%ld.db", allowed);
        const char *path = temp_path(state, name);
        make_store(path, NULL, 0);
        pid_t pid = fork();
        if (pid == 0) {
            brim_store *store = store_begin(path, &SPEC);
            FAULTS.kills = true;
            FAULTS.changes_left = allowed;
            for (int i = 0; i < 2; i++) {
                brim_record batch[] = {result_of(i ? "a1" : "a0", 600, 0),
                                       failure_of(i ? "b1" : "b0", "bad"),
                                       result_of(i ? "c1" : "c0", 600, 0)};
                if (commit(store, batch, 3, NULL) != BRIM_OK) _exit(1);
            }
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &how, 0), pid);
        complete = WIFEXITED(how);
        if (complete) assert_int_equal(WEXITSTATUS(how), 0);

        brim_store *store = store_begin(path, &SPEC);
        const char *counts = query(path, COUNTS);
        int n = counts[0] - '0';
        assert_true(strcmp(counts, "0|0|0 ") == 0 || strcmp(counts, "3|2|1 ") == 0 ||
                    strcmp(counts, "6|4|2 ") == 0);
        seen[n / 3]++;
        assert_int_equal(claim(store, "a0"), n >= 3 ? BRIM_CLAIM_DONE : BRIM_CLAIM_TODO);
        assert_int_equal(claim(store, "b1"), n >= 6 ? BRIM_CLAIM_FAILED : BRIM_CLAIM_TODO);
        assert_string_equal(query(path, "PRAGMA integrity_check"), "ok ");
        brim_store_close(store);
        assert_true(allowed < 200);
    }
    assert_true(seen[0] > 2 && seen[1] > 2 && seen[2] >= 1); /* the sweep went through both */
}

/* A limit on file sizes, as a quota, is refused with another code than a full disk. */
static void a_file_size_limit_is_told(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &SPEC);
    struct rlimit before, tight;
    brim_record record = result_of("big", 100000, 0);
    brim_error err = {0};

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 200000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    brim_status status = commit(store, &record, 1, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, BRIM_E_IO);
    assert_non_null(strstr(err.message, "x.db: "));
    assert_non_null(strstr(err.message, "writing failed; a quota"));
    commit_one(store, result_of("small", 3, 0));
    brim_store_close(store);
    assert_string_equal(query(path, COUNTS), "1|1|0 ");
}

static void a_folder_that_lost_its_rights_is_told(void **state)
{
    const char *path = temp_path(state, "d/x.db");
    brim_error err = {0};

    temp_mkdir(state, "d");
    brim_store_close(store_open(path));
    chmod(path, 0666);
    chmod(temp_path(state, "d"), 0555);
    if (!drop_root(*state)) skip();
    brim_store *store = NULL;
    brim_status opened = brim_store_open(brim_heap(), path, &store, NULL);
    brim_status status = opened == BRIM_OK ? brim_store_begin(store, &SPEC, &err) : opened;
    brim_store_close(store);
    regain_root();
    chmod(temp_path(state, "d"), 0777);
    assert_int_equal(opened, BRIM_OK); /* nothing had to be written yet */
    assert_int_equal(status, BRIM_E_IO);
    assert_non_null(strstr(err.message, "x.db: not writable, or its folder is not"));
}

static void remembers_the_hash_of_a_file_until_it_changes(void **state)
{
    const char *path = temp_path(state, "x.db");
    char hash[33] = "";

    brim_store *store = store_open(path);
    assert_false(brim_store_recall_hash(store, "/m\xff", 10, 20, hash, sizeof(hash)));
    brim_store_remember_hash(store, "/m\xff", 10, 20, "0123");
    assert_true(brim_store_recall_hash(store, "/m\xff", 10, 20, hash, sizeof(hash)));
    assert_string_equal(hash, "0123");
    assert_false(brim_store_recall_hash(store, "/m", 10, 20, hash, sizeof(hash)));
    assert_false(brim_store_recall_hash(store, "/m\xff", 11, 20, hash, sizeof(hash)));
    assert_false(brim_store_recall_hash(store, "/m\xff", 10, 21, hash, sizeof(hash)));
    assert_false(brim_store_recall_hash(store, "/m\xff", 10, 20, hash, 4)); /* cut: no hash */
    brim_store_remember_hash(store, "/m\xff", 11, 21, "4567"); /* the file's newer self */
    brim_store_close(store);

    store = store_open(path);
    assert_true(brim_store_recall_hash(store, "/m\xff", 11, 21, hash, sizeof(hash)));
    assert_string_equal(hash, "4567");
    assert_false(brim_store_recall_hash(store, "/m\xff", 10, 20, hash, sizeof(hash)));
    brim_store_close(store);
    assert_string_equal(query(path, "SELECT count(*) FROM brim_file_hashes"), "1 ");
}

enum { N_CLAIMERS = 3, N_KEYS = 60 };

static void *claim_them_all(void *arg)
{
    char name[16];

    for (int i = 0; i < N_KEYS; i++) {
        snprintf(name, sizeof(name), "%d", i);
        claim(arg, name);
    }
    return NULL;
}

static void any_thread_may_claim_while_another_writes(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_store *store = store_begin(path, &REPEATING);
    pthread_t threads[N_CLAIMERS];
    char name[16];

    for (int i = 0; i < N_CLAIMERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_them_all, store), 0);
    for (int i = 0; i < N_KEYS; i++) {
        snprintf(name, sizeof(name), "%d", i);
        commit_one(store, result_of(name, DIM, 0));
    }
    for (int i = 0; i < N_CLAIMERS; i++)
        pthread_join(threads[i], NULL);
    brim_store_close(store);
    assert_string_equal(query(path, COUNTS), "60|60|0 ");
}

/* SQLite's own memory: the 1st request refused, then the 2nd, ... */
static sqlite3_mem_methods sqlite_memory;
static atomic_long sqlite_requests_left = -1;

static bool refuses_memory(void)
{
    if (sqlite_requests_left < 0) return false;
    if (sqlite_requests_left > 0) sqlite_requests_left--;
    return sqlite_requests_left == 0;
}

static void *malloc_or_not(int bytes)
{
    return refuses_memory() ? NULL : sqlite_memory.xMalloc(bytes);
}

static void *realloc_or_not(void *p, int bytes)
{
    return refuses_memory() ? NULL : sqlite_memory.xRealloc(p, bytes);
}

static brim_status whole_walk(const char *path, brim_error *err)
{
    brim_store *store = NULL;
    brim_row *row = NULL;
    brim_claim got;
    uint64_t n_done;
    brim_record batch[] = {result_of("a", DIM, 0), failure_of("b", "bad")};
    const brim_record *const records[] = {&batch[0], &batch[1]};
    char hash[33];

    assert_int_equal(brim_row_create(brim_heap(), "a", "/x/a", &row), BRIM_OK);
    brim_status status = brim_store_open(brim_heap(), path, &store, err);
    if (status == BRIM_OK) {
        brim_store_remember_hash(store, "/m", 1, 2, "0123");
        brim_store_recall_hash(store, "/m", 1, 2, hash, sizeof(hash));
        status = brim_store_begin(store, &REPEATING, err);
    }
    if (status == BRIM_OK) status = brim_store_claim(store, row, &got, err);
    if (status == BRIM_OK && got == BRIM_CLAIM_TODO)
        status = brim_store_commit(store, records, 2, err);
    if (status == BRIM_OK) status = brim_store_count_done(store, &n_done, err);
    if (status == BRIM_OK) status = brim_store_finish(store, "done", "{}", err);
    brim_store_close(store);
    brim_row_destroy(row);
    brim_record_fini(&batch[0]);
    brim_record_fini(&batch[1]);
    return status;
}

static void survives_every_failed_allocation(void **state)
{
    const char *path = temp_path(state, "x.db");
    brim_status status = BRIM_E_NOMEM;

    for (long allowed = 1; status != BRIM_OK; allowed++) {
        brim_error err = {0};
        unlink(path);
        sqlite_requests_left = allowed;
        status = whole_walk(path, &err);
        bool refused = sqlite_requests_left == 0;
        sqlite_requests_left = -1;
        if (status != BRIM_OK && status != BRIM_E_NOMEM) fail_msg("%ld: %s", allowed, err.message);
        if (status == BRIM_OK && refused) status = BRIM_E_NOMEM; /* it could do without */
        assert_true(allowed < 20000);
    }
    assert_string_equal(query(path, COUNTS), "2|1|1 ");
    assert_string_equal(query(path, "PRAGMA integrity_check"), "ok ");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(has_the_tables_of_the_design),
        TEST(writes_rows_as_other_programs_read_them),
        TEST(lives_beside_the_users_own_tables),
        TEST(leaves_the_journal_mode_and_no_files_behind),
        TEST(a_second_run_finds_what_is_done_and_what_failed),
        TEST(failures_are_tried_again_when_that_is_asked_for),
        TEST(another_model_or_setting_is_another_set),
        TEST(a_key_that_comes_twice_in_a_run_is_recognised),
        TEST(another_file_under_a_known_key_ends_the_run),
        TEST(a_vector_of_another_length_leaves_none_of_its_batch),
        TEST(runs_tell_how_they_ended),
        TEST(a_second_process_is_told_who_is_running),
        TEST(waits_for_other_programs_locks),
        TEST(a_lock_that_never_ends_is_told),
        TEST(a_full_disk_is_told_and_what_was_written_stays),
        TEST(a_crash_leaves_whole_batches_only),
        TEST(a_file_size_limit_is_told),
        TEST(a_folder_that_lost_its_rights_is_told),
        TEST(remembers_the_hash_of_a_file_until_it_changes),
        TEST(any_thread_may_claim_while_another_writes),
        TEST(survives_every_failed_allocation),
    };
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory);
    sqlite3_mem_methods patched = sqlite_memory;
    patched.xMalloc = malloc_or_not;
    patched.xRealloc = realloc_or_not;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &patched);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every request comes to us */
    sqlite_faults_install();
    return cmocka_run_group_tests_name("store/sqlite", tests, NULL, NULL);
}
