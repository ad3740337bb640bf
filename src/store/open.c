/* open.c - which kind of store a name means. */
#include "base/fail.h"
#include "base/text.h"
#include "store/store.h"

brim_status brim_store_open(const brim_alloc *mem, const char *name, brim_store **out,
                            brim_error *err)
{
    static const char *const LATER[] = {".npy", ".jsonl", ".parquet"};

    *out = NULL;
    bool later = strcmp(name, "-") == 0 || strncmp(name, "postgresql://", 13) == 0 ||
                 strncmp(name, "postgres://", 11) == 0;
    for (size_t i = 0; i < sizeof(LATER) / sizeof(LATER[0]); i++)
        later = later || brim_ends_with(name, LATER[i]);
    if (later)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "%s: this version writes SQLite stores only (-o photos.db)", name);
    return brim_store_open_sqlite(mem, name, out, err);
}
