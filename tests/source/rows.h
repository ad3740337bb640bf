/* rows.h - all rows of a source, kept for looking at, and a sink for its words. */
#ifndef ROWS_H
#define ROWS_H

#include <stdio.h>
#include <stdlib.h>

#include "source/source.h"
#include "support/cmocka_all.h"

enum { MAX_ROWS = 4096 };

/* Zero is an empty one. */
typedef struct rows {
    brim_row *all[MAX_ROWS];
    size_t n;
} rows;

/* Takes rows until there are no more; returns what ended it. */
static inline brim_status rows_take(rows *self, brim_source *source, brim_error *err)
{
    brim_row *row;
    brim_status status;

    while ((status = brim_source_next(source, &row, err)) == BRIM_OK) {
        assert_true(self->n < MAX_ROWS);
        self->all[self->n++] = row;
    }
    assert_null(row);
    return status;
}

static inline void rows_free(rows *self)
{
    while (self->n > 0)
        brim_row_destroy(self->all[--self->n]);
}

static inline const brim_row *rows_find(const rows *self, const char *key)
{
    for (size_t i = 0; i < self->n; i++)
        if (strcmp(self->all[i]->key, key) == 0) return self->all[i];
    return NULL;
}

static int rows_compare(const void *a, const void *b)
{
    return strcmp((*(brim_row *const *)a)->key, (*(brim_row *const *)b)->key);
}

/* All keys, sorted, a space behind each. Holds until the next call. */
static inline const char *rows_keys(rows *self)
{
    static char keys[MAX_ROWS * 32];
    size_t length = 0;

    qsort(self->all, self->n, sizeof(self->all[0]), rows_compare);
    keys[0] = '\0';
    for (size_t i = 0; i < self->n; i++)
        length += (size_t)snprintf(keys + length, sizeof(keys) - length, "%s ", self->all[i]->key);
    assert_true(length < sizeof(keys));
    return keys;
}

/* The last line said, and how many there were. */
typedef struct said {
    int n;
    char line[600];
} said;

static inline void said_write(void *ctx, brim_log_level level, const char *line)
{
    said *self = ctx;

    (void)level;
    self->n++;
    snprintf(self->line, sizeof(self->line), "%s", line);
}

#endif /* ROWS_H */
