/*
 * job.h - a whole run as one object: options in, results in a store.
 *
 * Fill brim_embed_options, then brim_embed_create(), brim_job_run(), brim_job_destroy():
 * examples/embed.c is the whole of it.
 *
 * ONNX Runtime's telemetry is switched off by putting ORT_DISABLE_TELEMETRY=1 into the process's
 * environment before the first model is loaded, unless the variable is there already.
 *
 * Threads: a job belongs to one thread; brim_job_stop() may be called from any, and from a signal
 * handler.
 */
#ifndef BRIMFUL_JOB_H
#define BRIMFUL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/arena.h"
#include "brimful/governor.h"
#include "brimful/image.h"
#include "brimful/log.h"
#include "brimful/memory.h"
#include "brimful/observe.h"
#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct brim_job brim_job;

/*
 * Start from BRIM_OPTIONS(brim_embed_options), set model, inputs and store, change what you need; 0
 * or NULL means "the default". What it points to is borrowed until brim_job_destroy().
 */
typedef struct brim_embed_options {
    size_t struct_bytes; /* set by BRIM_OPTIONS; lets later versions add fields */

    const char *model; /* a model folder, one .onnx file, or "sim": a simulated device */
    const char
        *precision; /* "fp32" (default), "fp16", "quantized", ...: which file of the folder */
    const char *processor; /* another preprocessor_config.json than the model's */
    const char *layer;     /* output to take; NULL = image_embeds, embedding, pooler_output, or the
                              first token of last_hidden_state */
    bool raw;              /* leave vectors at the length they have, instead of 1 */

    const char *const *inputs; /* files, folders, "@list", "null:COUNT[:WxH]" */
    size_t n_inputs;
    const char *root; /* keys are relative to it, and so are the lines of lists */
    bool nul_lists;   /* lists end their names with NUL */

    brim_depth depth;
    brim_decode decode;
    brim_resample_order resample_order;
    uint32_t bands[3]; /* of pictures with many bands those that are red, green and blue, from 1;
                          all 0 = the first three of 3 or 4, else the picture is a failure */
    bool apply_icc;    /* convert by embedded colour profiles to sRGB, instead of ignoring them */
    bool accept_truncated; /* files that end early are results, with what they hold */
    uint32_t tile;    /* pixels of a side: each picture is cut into tiles, each with a vector of
                         its own under the key "name#x,y,w,h"; 0 = whole pictures */
    uint32_t overlap; /* pixels that neighbouring tiles share, fewer than tile */

    const char *store;
    bool retry_failed; /* do rows again that failed in an earlier run */
    uint64_t limit;    /* rows to do at most; 0 = all */

    size_t memory_bytes; /* hard limit of the whole process; 0 = 80 % of what is free. Of a
                            simulated device: of its memory, weights included */
    uint32_t trim_every; /* batches after which idle memory goes back to the system; 0 = kept
                            until memory is short */
    uint32_t n_threads;  /* 0 = the CPUs we may use */
    uint32_t batch;      /* pictures in a run of the model, which is BRIM_POLICY_FIXED with that
                            number; 0 = auto: the governor's choice */
    brim_governor_options governor; /* how auto is chosen; all 0 = the knee */
    const char *device;             /* "cpu" (default), or "sim:FILE.json": a simulated device */
    uint64_t max_px;                /* of one picture, or one row of its tiles; 0 = 178,956,970 */
    uint32_t file_timeout_s;        /* a file that gives no byte that long is a failure; 0 = 30 */

    const brim_log *log;
    void (*progress)(void *ctx,
                     const brim_progress *progress); /* from the thread in brim_job_run() */
    void *progress_ctx;
    uint32_t progress_ms; /* between two calls; 0 = 500 */
} brim_embed_options;

/*
 * What a run did. Memory is told as it was at the run's end; peaks are since the job was made.
 * Limit and peaks are those of the device where it has memory of its own, with the weights in it.
 */
typedef struct brim_report {
    size_t struct_bytes;        /* set by BRIM_OPTIONS */
    bool stopped;               /* ended early by brim_job_stop() */
    uint64_t n_known;           /* rows that the set held before, failures included */
    size_t limit_bytes;         /* --memory */
    size_t peak_bytes;          /* the most that was held by all accounts, idle pages included */
    size_t peak_live_bytes;     /* the same without idle pages */
    size_t peak_resident_bytes; /* of the process, as the system counts (VmHWM); 0 = unknown */
    size_t unrouted_bytes;      /* measured: libraries, weights, SQLite, stacks, and a tenth more */
    brim_account_usage accounts[BRIM_N_ACCOUNTS];
    brim_arena_usage arena;
    double huge_frac; /* of the arena's resident bytes, those in huge pages; below 0 = unknown */
    double load_s;    /* to load the model and open everything */
    brim_work work;
    brim_progress counts; /* last: it may grow */
} brim_report;

/*
 * Is there such a device, and does this model go with it? One line that says what does. Also part
 * of brim_embed_create(): for those who want to know before.
 */
BRIM_API brim_status brim_embed_check_device(const char *model, const char *device,
                                             brim_error *err);

/*
 * Opens the model, the inputs and the store, and begins a run in it. On success *out is the
 * caller's, to be given to brim_job_destroy(); on failure *out is NULL and err says in one line
 * what to do. BRIM_E_BUSY: another process runs in the same set of the same store.
 */
BRIM_API brim_status brim_embed_create(const brim_embed_options *options, brim_job **out,
                                       brim_error *err);

/*
 * Runs to the end, once. BRIM_OK also when single rows failed (see report) and when the run was
 * stopped. report, which may be NULL, is filled in any case.
 */
BRIM_API brim_status brim_job_run(brim_job *job, brim_report *report, brim_error *err);

/*
 * The job's memory, borrowed until brim_job_destroy(): accounts can be read, peaks reset and idle
 * pages given back at any time, from any thread (memory.h, arena.h).
 */
BRIM_API brim_budget *brim_job_budget(brim_job *job);

/* Asks the run to finish its batches, write them and end. */
BRIM_API void brim_job_stop(brim_job *job);

/* Accepts NULL. */
BRIM_API void brim_job_destroy(brim_job *job);

/* Enough for any report as JSON. */
enum { BRIM_REPORT_JSON_BYTES = 16384 };

/* The report as one line of JSON; never cut: BRIM_E_ARG and "" where capacity is short. */
BRIM_API brim_status brim_report_json(const brim_report *report, char *out, size_t capacity);

/*
 * "memory: limit 2.0 GiB, held at most 310 MiB (...); arena ...; 0 refusals, 0 splits" into out
 * (capacity bytes, cut where it is short): where memory went, for people. Returns the length.
 */
BRIM_API size_t brim_report_memory_line(const brim_report *report, char *out, size_t capacity);

/*
 * "decoding limits: the model waited 78 % of the time" or "the model limits: it was busy 97 % of
 * the time", in the same way: which stage the others waited for.
 */
BRIM_API size_t brim_report_limit_line(const brim_report *report, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_JOB_H */
