/* open.c - which kind of store a name means. */
#include "base/fail.h"
#include "store/store.h"

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), n = strlen(suffix);

    return length >= n && strcmp(text + length - n, suffix) == 0;
}

brim_status brim_store_open(const brim_alloc *mem, const char *name, brim_store **out,
                            brim_error *err)
{
    static const char *const LATER[] = {".npy", ".jsonl", ".parquet"};

    *out = NULL;
    bool later = strcmp(name, "-") == 0 || strncmp(name, "postgresql://", 13) == 0 ||
                 strncmp(name, "postgres://", 11) == 0;
    for (size_t i = 0; i < sizeof(LATER) / sizeof(LATER[0]); i++)
        later = later || ends_with(name, LATER[i]);
    if (later)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "%s: this version writes SQLite stores only (-o photos.db)", name);
    return brim_store_open_sqlite(mem, name, out, err);
}
