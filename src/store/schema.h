/* schema.h - the tables of a store. All names carry brim_: the user's own tables live beside. */
#ifndef BRIM_STORE_SCHEMA_H
#define BRIM_STORE_SCHEMA_H

/* One image once, however many sets it is in. path: absolute, raw bytes; width, height: upright. */
#define BRIM_SCHEMA_IMAGES                                                                         \
    "CREATE TABLE IF NOT EXISTS brim_images("                                                      \
    " image INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, path BLOB, bytes INTEGER,"              \
    " mtime_ns INTEGER, width INTEGER, height INTEGER, columns TEXT);"

/* A set is "this task with this model and these settings"; a run is one start of the command. */
#define BRIM_SCHEMA_SETS                                                                           \
    "CREATE TABLE IF NOT EXISTS brim_sets("                                                        \
    " set_id INTEGER PRIMARY KEY, task TEXT NOT NULL, model TEXT, model_hash TEXT NOT NULL,"       \
    " settings TEXT NOT NULL, settings_hash TEXT NOT NULL, dim INTEGER,"                           \
    " UNIQUE(task, model_hash, settings_hash));"                                                   \
    "CREATE TABLE IF NOT EXISTS brim_runs("                                                        \
    " run INTEGER PRIMARY KEY, set_id INTEGER NOT NULL, started TEXT NOT NULL, finished TEXT,"     \
    " outcome TEXT NOT NULL, summary TEXT);"

/* vector: float32, little-endian. scores and boxes belong to the tasks that come later. */
#define BRIM_SCHEMA_RESULTS                                                                        \
    "CREATE TABLE IF NOT EXISTS brim_embeddings("                                                  \
    " set_id INTEGER NOT NULL, image INTEGER NOT NULL, vector BLOB NOT NULL,"                      \
    " PRIMARY KEY(set_id, image));"                                                                \
    "CREATE TABLE IF NOT EXISTS brim_labels("                                                      \
    " set_id INTEGER NOT NULL, image INTEGER NOT NULL, rank INTEGER NOT NULL, label TEXT,"         \
    " score REAL, PRIMARY KEY(set_id, image, rank));"                                              \
    "CREATE TABLE IF NOT EXISTS brim_detections("                                                  \
    " set_id INTEGER NOT NULL, image INTEGER NOT NULL, n INTEGER NOT NULL, label TEXT,"            \
    " score REAL, x0 REAL, y0 REAL, x1 REAL, y1 REAL, PRIMARY KEY(set_id, image, n));"             \
    "CREATE TABLE IF NOT EXISTS brim_raw_outputs("                                                 \
    " set_id INTEGER NOT NULL, image INTEGER NOT NULL, name TEXT NOT NULL, prompt_id INTEGER,"     \
    " dtype TEXT, shape TEXT, data BLOB, PRIMARY KEY(set_id, image, name));"                       \
    "CREATE TABLE IF NOT EXISTS brim_prompts("                                                     \
    " prompt_id INTEGER PRIMARY KEY, text TEXT, labels TEXT, token_ids TEXT);"

/* Images all of whose tiles have results. */
#define BRIM_SCHEMA_TILED                                                                          \
    "CREATE TABLE IF NOT EXISTS brim_tiled("                                                       \
    " set_id INTEGER NOT NULL, image INTEGER NOT NULL, PRIMARY KEY(set_id, image)) WITHOUT ROWID;"

#define BRIM_SCHEMA_FAILURES                                                                       \
    "CREATE TABLE IF NOT EXISTS brim_failures("                                                    \
    " set_id INTEGER NOT NULL, image INTEGER NOT NULL, step TEXT NOT NULL, reason TEXT NOT NULL,"  \
    " attempts INTEGER NOT NULL, PRIMARY KEY(set_id, image));"

/* What a model file's fingerprint was when it had this size and time: only a cache. */
#define BRIM_SCHEMA_HASHES                                                                         \
    "CREATE TABLE IF NOT EXISTS brim_file_hashes("                                                 \
    " path BLOB PRIMARY KEY, bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"                   \
    " hash TEXT NOT NULL) WITHOUT ROWID;"

#define BRIM_SCHEMA                                                                                \
    BRIM_SCHEMA_IMAGES BRIM_SCHEMA_SETS BRIM_SCHEMA_RESULTS BRIM_SCHEMA_TILED BRIM_SCHEMA_FAILURES \
        BRIM_SCHEMA_HASHES

#endif /* BRIM_STORE_SCHEMA_H */
