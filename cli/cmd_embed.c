/* cmd_embed.c - `brimful embed`: one vector per image, from inputs into a store. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct embed_args {
    const char *model, *store, *precision, *processor, *layer, *root, *device, *bands;
    size_t memory_bytes;
    uint64_t batch, n_threads, limit, max_px, file_timeout_s, trim_every, tile, overlap;
    uint32_t band_numbers[3]; /* what bands says */
    int depth, decode, resample_order;
    bool raw, nul_lists, retry_failed, icc, accept_truncated, json, quiet, verbose;
} embed_args;

static const cli_option OPTIONS[] = {
    {"model", 'm', CLI_TEXT, offsetof(embed_args, model), "MODEL",
     "a model folder as on the Hugging Face hub, or one .onnx file", 0, false, false},
    {"output", 'o', CLI_TEXT, offsetof(embed_args, store), "STORE",
     "a SQLite file for the vectors (default brimful.db)", 0, false, false},
    {"retry-failed", 0, CLI_FLAG, offsetof(embed_args, retry_failed), NULL,
     "do pictures again that failed in an earlier run", 0, false, false},
    {"limit", 0, CLI_COUNT, offsetof(embed_args, limit), "N", "do at most N pictures", 0, false,
     false},
    {"root", 0, CLI_TEXT, offsetof(embed_args, root), "DIR",
     "keys are paths below DIR; lines of lists start there", 0, false, false},
    {NULL, '0', CLI_FLAG, offsetof(embed_args, nul_lists), NULL,
     "lists end their names with NUL (find -print0)", 0, false, false},
    {"layer", 0, CLI_TEXT, offsetof(embed_args, layer), "NAME", "take this output of the model", 0,
     false, false},
    {"raw", 0, CLI_FLAG, offsetof(embed_args, raw), NULL,
     "leave the vectors at the model's length, not 1", 0, false, false},
    {"precision", 0, CLI_TEXT, offsetof(embed_args, precision), "NAME",
     "which model file: fp32, fp16, quantized, ...", 0, false, false},
    {"processor", 0, CLI_TEXT, offsetof(embed_args, processor), "FILE",
     "another preprocessor_config.json", 0, false, false},
    {"tile", 0, CLI_COUNT, offsetof(embed_args, tile), "N",
     "cut pictures into tiles of NxN, keys name#x,y,w,h", 65535, false, false},
    {"overlap", 0, CLI_COUNT, offsetof(embed_args, overlap), "N",
     "pixels that neighbouring tiles share (0)", 65534, false, true},
    {"decode", 0, CLI_CHOICE, offsetof(embed_args, decode), "exact|fast",
     "fast: shrink large pictures while decoding (exact)", 0, false, false},
    {"resample-order", 0, CLI_CHOICE, offsetof(embed_args, resample_order), "13|classic",
     "resize as this Pillow; classic: as up to 12 (13)", 0, false, false},
    {"depth", 0, CLI_CHOICE, offsetof(embed_args, depth), "scale|clamp",
     "clamp: grey of 16 bits as Pillow takes it (scale)", 0, false, false},
    {"bands", 0, CLI_TEXT, offsetof(embed_args, bands), "R,G,B",
     "which bands of many are the colours, as 4,3,2", 0, false, false},
    {"icc", 0, CLI_FLAG, offsetof(embed_args, icc), NULL, "apply embedded colour profiles", 0,
     false, false},
    {"accept-truncated", 0, CLI_FLAG, offsetof(embed_args, accept_truncated), NULL,
     "take files that end early for what they hold", 0, false, false},
    {"memory", 0, CLI_BYTES, offsetof(embed_args, memory_bytes), "SIZE",
     "ceiling of the whole process (80 % of what is free)", 0, false, false},
    {"trim-every", 0, CLI_COUNT, offsetof(embed_args, trim_every), "N",
     "give idle memory back every N batches (when it is short)", UINT32_MAX, false, false},
    {"batch", 0, CLI_COUNT, offsetof(embed_args, batch), "N|auto",
     "pictures in one run of the model (auto)", 65536, true, false},
    {"threads", 0, CLI_COUNT, offsetof(embed_args, n_threads), "N",
     "threads for decoding and for the model (the CPUs allowed)", 1024, false, false},
    {"device", 0, CLI_TEXT, offsetof(embed_args, device), "DEVICE", "cpu", 0, false, false},
    {"max-pixels", 0, CLI_COUNT, offsetof(embed_args, max_px), "N",
     "larger pictures are failures (178956970)", 0, false, false},
    {"file-timeout", 0, CLI_COUNT, offsetof(embed_args, file_timeout_s), "S",
     "a file silent for S seconds is a failure (30)", 86400, false, false},
    {"json", 0, CLI_FLAG, offsetof(embed_args, json), NULL, "a summary on stdout, one line of JSON",
     0, false, false},
    {"quiet", 'q', CLI_FLAG, offsetof(embed_args, quiet), NULL, "say only what went wrong", 0,
     false, false},
    {"verbose", 'v', CLI_FLAG, offsetof(embed_args, verbose), NULL, "say more", 0, false, false},
};

static const char DETAILS[] =
    "INPUT is a file, a folder (with all below it), or @LIST with a name on each line (@- is\n"
    "standard input). Each picture ends as a vector or as a failure with its reason, exactly "
    "once;\n"
    "a run that was interrupted or killed goes on where it stood when it is started again.\n"
    "First Ctrl-C: finish the open batch and end; second: stop now.\n"
    "\n"
    "exit: 0 done, 1 failed or nothing found, 2 usage, 3 done but some pictures failed or an\n"
    "input could not be read to its end, 130 interrupted";

/* The signal handler's: a job to stop, and whether it was asked before. */
static brim_job *volatile running_job;
static volatile sig_atomic_t n_signals;

static void on_signal(int signal)
{
    static const char WORDS[] = "\nfinishing the open batch; once more to stop now\n";

    int saved = errno;

    (void)signal;
    if (n_signals++ > 0 || !running_job) _exit(CLI_EXIT_INTERRUPTED);
    brim_job_stop(running_job);
    ssize_t told = write(STDERR_FILENO, WORDS, sizeof(WORDS) - 1);
    (void)told;
    errno = saved;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    struct sigaction before;
    /* Who starts us in the background has Ctrl-C ignored, and means it. */
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* A pipe that closed or a file-size limit is an error to report, not a death. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

static bool is_nothing_found(const brim_report *report)
{
    const brim_progress *c = &report->counts;

    return c->n_done + c->n_failed + c->n_already + c->n_failed_earlier + c->n_repeats == 0;
}

static int exit_code(const brim_report *report)
{
    if (report->stopped) return CLI_EXIT_INTERRUPTED;
    if (is_nothing_found(report) && report->n_known == 0) return CLI_EXIT_FAILED;
    if (report->counts.n_failed > 0 || report->counts.n_incomplete > 0) return CLI_EXIT_PARTIAL;
    return CLI_EXIT_OK;
}

static void say_passed_over(const brim_progress *c)
{
    if (c->n_already > 0)
        fprintf(stderr, "%llu were done before\n", (unsigned long long)c->n_already);
    if (c->n_failed_earlier > 0)
        fprintf(stderr, "%llu failed earlier, use --retry-failed\n",
                (unsigned long long)c->n_failed_earlier);
    if (c->n_repeats > 0)
        fprintf(stderr, "%llu came twice under the same key and were done once\n",
                (unsigned long long)c->n_repeats);
    if (c->n_skipped > 0)
        fprintf(stderr, "%llu files are no pictures by their names\n",
                (unsigned long long)c->n_skipped);
    if (c->n_incomplete > 0)
        fprintf(stderr, "%llu inputs could not be read to their end\n",
                (unsigned long long)c->n_incomplete);
}

static void say_report(const brim_report *report, const embed_args *args)
{
    const brim_progress *c = &report->counts;
    char store[512], memory[512];

    brim_escape_line(args->store, store, sizeof(store));
    if (is_nothing_found(report)) {
        fprintf(stderr, "brimful embed: no pictures found; %llu files are none by their names\n",
                (unsigned long long)c->n_skipped);
        return;
    }
    if (!args->quiet) say_passed_over(c);
    if (c->n_failed > 0)
        fprintf(stderr, "%llu failed: brimful show %s --failures\n",
                (unsigned long long)c->n_failed, store);
    if (args->quiet) return;
    if (c->n_done + c->n_failed == 0) {
        fprintf(stderr, "%s\n",
                report->stopped ? "stopped before anything was done" : "nothing left to do");
        return;
    }
    fprintf(stderr, "%s: %llu vector%s written to %s, %.1f s, %.1f rows/s, peak ",
            report->stopped ? "stopped" : "done", (unsigned long long)c->n_done,
            c->n_done == 1 ? "" : "s", store, c->elapsed_s, c->rows_per_s);
    cli_print_bytes(stderr, report->peak_resident_bytes);
    fputs(report->stopped ? "; the same command goes on from here\n" : "\n", stderr);
    brim_report_memory_line(report, memory, sizeof(memory));
    fprintf(stderr, "%s\n", memory);
}

static bool print_json(const brim_report *report)
{
    char line[BRIM_REPORT_JSON_BYTES];

    return brim_report_json(report, line, sizeof(line)) == BRIM_OK && puts(line) >= 0 &&
           fflush(stdout) == 0;
}

/* "4,3,2" */
static bool parse_bands(const char *text, uint32_t out[3])
{
    for (int i = 0; i < 3; i++) {
        size_t n = strspn(text, "0123456789");
        if (n == 0 || n > 5 || text[n] != (i < 2 ? ',' : '\0')) return false;
        out[i] = (uint32_t)strtoul(text, NULL, 10);
        if (out[i] == 0) return false;
        text += n + 1;
    }
    return true;
}

static int check_args(embed_args *args, const cli_words *words)
{
    if (!args->store) args->store = "brimful.db";
    if (!args->model) return cli_usage(&CMD_EMBED, "no model: give one with -m MODEL");
    if (words->n == 0) return cli_usage(&CMD_EMBED, "no INPUT: give a folder of pictures");
    if (args->bands && !parse_bands(args->bands, args->band_numbers))
        return cli_usage(&CMD_EMBED, "--bands %s: not three numbers from 1, as 4,3,2", args->bands);
    if (args->overlap >= args->tile && args->overlap > 0)
        return cli_usage(&CMD_EMBED, "--overlap %llu: needs a larger --tile",
                         (unsigned long long)args->overlap);
    if (args->device && strcmp(args->device, "cpu") != 0)
        return cli_usage(&CMD_EMBED, "--device %s: this version runs on the cpu only",
                         args->device);
    return CLI_PARSED;
}

static int embed_run(int argc, char **argv)
{
    embed_args args = {0};
    cli_words inputs;
    cli_progress progress;
    brim_job *job = NULL;
    brim_report report = BRIM_OPTIONS(brim_report);
    brim_error err = {0};

    int rc = cli_parse(&CMD_EMBED, &args, argc, argv, &inputs);
    if (rc == CLI_PARSED) rc = check_args(&args, &inputs);
    if (rc != CLI_PARSED) return rc;

    cli_progress_init(&progress, args.quiet, args.verbose);
    brim_log log = {cli_progress_log, &progress};
    brim_embed_options options = BRIM_OPTIONS(brim_embed_options);
    options.model = args.model;
    options.precision = args.precision;
    options.processor = args.processor;
    options.layer = args.layer;
    options.raw = args.raw;
    options.inputs = inputs.words;
    options.n_inputs = inputs.n;
    options.root = args.root;
    options.nul_lists = args.nul_lists;
    options.store = args.store;
    options.retry_failed = args.retry_failed;
    options.limit = args.limit;
    options.memory_bytes = args.memory_bytes;
    options.trim_every = (uint32_t)args.trim_every;
    options.n_threads = (uint32_t)args.n_threads;
    options.batch = (uint32_t)args.batch;
    options.max_px = args.max_px;
    options.depth = (brim_depth)args.depth;
    options.decode = (brim_decode)args.decode;
    options.resample_order = (brim_resample_order)args.resample_order;
    options.apply_icc = args.icc;
    options.accept_truncated = args.accept_truncated;
    options.tile = (uint32_t)args.tile;
    options.overlap = (uint32_t)args.overlap;
    memcpy(options.bands, args.band_numbers, sizeof(options.bands));
    options.file_timeout_s = (uint32_t)args.file_timeout_s;
    options.log = &log;
    options.progress = cli_progress_show;
    options.progress_ctx = &progress;
    options.progress_ms = CLI_PROGRESS_MS;

    catch_signals();
    brim_status status = brim_embed_create(&options, &job, &err);
    if (status != BRIM_OK) return cli_fail(&CMD_EMBED, &err);
    running_job = job;
    status = brim_job_run(job, &report, &err);
    running_job = NULL;
    brim_job_destroy(job);

    cli_progress_clear(&progress);
    if (status != BRIM_OK) return cli_fail(&CMD_EMBED, &err);
    say_report(&report, &args);
    if (args.json && !print_json(&report)) {
        fputs("brimful embed: the summary cannot be written to standard output\n", stderr);
        return CLI_EXIT_FAILED;
    }
    return exit_code(&report);
}

const cli_command CMD_EMBED = {
    .name = "embed",
    .summary = "one vector per image",
    .usage = "brimful embed -m MODEL INPUT... [-o STORE]",
    .details = DETAILS,
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .run = embed_run,
};
