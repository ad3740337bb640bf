/*
 * sample.c - reservoir sampling: of the rows so far each is in the sample with the same chance.
 *
 * The sample is shuffled at its end, so that any beginning of it is a sample too: a probe seldom
 * gets through all of it.
 */
#include "job/sample.h"

#include "base/clock.h"
#include "base/fail.h"
#include "source/null.h"

enum { ROWS_BYTES = BRIM_SAMPLE_ROWS * sizeof(brim_row *) };

/* The next number below n of a sequence that is always the same (splitmix64). */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % n;
}

/* Takes row over. */
static void consider(brim_sample *sample, brim_row *row, uint64_t *random)
{
    uint64_t at = sample->n_images++;

    if (at >= BRIM_SAMPLE_ROWS) at = random_below(random, at + 1);
    if (at >= BRIM_SAMPLE_ROWS) {
        brim_row_destroy(row);
        return;
    }
    brim_row_destroy(sample->rows[at]);
    sample->rows[at] = row;
    if (sample->n_rows <= at) sample->n_rows = at + 1;
}

static void shuffle(brim_sample *sample, uint64_t *random)
{
    for (size_t n = sample->n_rows; n > 1; n--) {
        size_t i = (size_t)random_below(random, n);
        brim_row *last = sample->rows[n - 1];
        sample->rows[n - 1] = sample->rows[i];
        sample->rows[i] = last;
    }
}

/* How many rows a lone null:COUNT has, which are all alike; 0 = it must be walked. */
static uint64_t known_count(const brim_source_options *options)
{
    brim_null_spec spec;

    if (options->n_inputs != 1 || !brim_null_is_input(options->inputs[0])) return 0;
    return brim_null_read(options->inputs[0], &spec, NULL) == BRIM_OK ? spec.count : 0;
}

/* BRIM_END: all rows were seen. BRIM_OK: the time is over. */
static brim_status walk(brim_sample *sample, brim_source *source, uint64_t limit, uint64_t until_ns,
                        uint64_t known, brim_error *err)
{
    uint64_t random = 0;
    brim_status status = BRIM_OK;

    while (status == BRIM_OK && brim_now_ns() < until_ns) {
        brim_row *row;
        if (limit > 0 && sample->n_images == limit) status = BRIM_END;
        if (known > 0 && sample->n_images == BRIM_SAMPLE_ROWS) {
            sample->n_images = known;
            status = BRIM_END;
        }
        if (status == BRIM_OK) status = brim_source_next(source, &row, err);
        if (status == BRIM_OK) consider(sample, row, &random);
    }
    shuffle(sample, &random);
    return status;
}

brim_status brim_sample_draw(const brim_alloc *mem, const brim_source_options *options,
                             uint64_t limit, uint64_t until_ns, brim_sample *sample,
                             brim_error *err)
{
    brim_source_options counting = *options;
    brim_source *source = NULL;
    uint64_t known = known_count(options);
    brim_status status;

    counting.counting = true;
    if (limit > 0 && known > limit) known = limit;
    *sample = (brim_sample){.mem = mem};
    sample->rows = brim_alloc_zeroed(mem, ROWS_BYTES, &status);
    if (!sample->rows) return brim_fail(err, status, "no memory for a sample of names");
    status = brim_source_open(mem, &counting, &source, err);
    if (status == BRIM_OK) status = walk(sample, source, limit, until_ns, known, err);
    if (source) {
        sample->n_skipped = atomic_load(&source->counts.n_skipped);
        sample->n_incomplete = atomic_load(&source->counts.n_incomplete);
    }
    brim_source_close(source);
    sample->is_counted = status == BRIM_END;
    if (status == BRIM_OK || status == BRIM_END) return BRIM_OK;
    brim_sample_fini(sample);
    return status;
}

void brim_sample_fini(brim_sample *sample)
{
    for (size_t i = 0; i < sample->n_rows; i++)
        brim_row_destroy(sample->rows[i]);
    brim_alloc_release(sample->mem, sample->rows, ROWS_BYTES);
    *sample = (brim_sample){0};
}

/* ---- The source ---- */

typedef struct sample_source {
    brim_source base; /* first: a brim_source pointer is a pointer to us */
    const brim_alloc *mem;
    const brim_sample *sample;
    size_t at;
    bool again;
} sample_source;

static brim_status sample_source_next(brim_source *base, brim_row **out, brim_error *err)
{
    sample_source *self = (sample_source *)base;

    *out = NULL;
    if (self->sample->n_rows == 0) return BRIM_END;
    if (self->at == self->sample->n_rows) {
        self->at = 0;
        self->again = true;
    }
    const brim_row *row = self->sample->rows[self->at++];
    brim_status status = brim_row_create_part(row, "", out);
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for the next name");
    (*out)->null_width = row->null_width;
    (*out)->null_height = row->null_height;
    if (self->again) (*out)->key = "";
    return BRIM_OK;
}

static void sample_source_close(brim_source *base)
{
    sample_source *self = (sample_source *)base;

    brim_alloc_release(self->mem, self, sizeof(*self));
}

static const struct brim_source_ops SAMPLE_SOURCE_OPS = {
    .next = sample_source_next,
    .close = sample_source_close,
};

brim_status brim_sample_open_source(const brim_alloc *mem, const brim_sample *sample,
                                    brim_source **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    sample_source *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for a sample of names");
    self->base.ops = &SAMPLE_SOURCE_OPS;
    self->mem = mem;
    self->sample = sample;
    *out = &self->base;
    return BRIM_OK;
}
