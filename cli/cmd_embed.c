/* cmd_embed.c - `brimful embed`: one vector per image, from inputs into a store. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

typedef struct embed_args {
    cli_run_args run; /* first: the options of all runs are read into it */
    const char *store;
    bool retry_failed, json;
} embed_args;

static const cli_option OPTIONS[] = {
    {"output", 'o', CLI_TEXT, offsetof(embed_args, store), "STORE",
     "a SQLite file for the vectors (default brimful.db)", 0, false, false},
    {"retry-failed", 0, CLI_FLAG, offsetof(embed_args, retry_failed), NULL,
     "do pictures again that failed in an earlier run", 0, false, false},
    {"json", 0, CLI_FLAG, offsetof(embed_args, json), NULL, "a summary on stdout, one line of JSON",
     0, false, false},
};

static const char DETAILS[] =
    "INPUT is a file, a folder (with all below it), @LIST with a name on each line (@- is\n"
    "standard input), or null:COUNT[:WxH], so many grey pictures without files. Each picture\n"
    "ends as a vector or as a failure with its reason, exactly once; a run that was interrupted\n"
    "or killed goes on where it stood when it is started again.\n"
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
    if (!args->run.quiet) say_passed_over(c);
    if (c->n_failed > 0)
        fprintf(stderr, "%llu failed: brimful show %s --failures\n",
                (unsigned long long)c->n_failed, store);
    if (args->run.quiet) return;
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
    brim_report_limit_line(report, memory, sizeof(memory));
    fprintf(stderr, "%s\n", memory);
}

static bool print_json(const brim_report *report)
{
    char line[BRIM_REPORT_JSON_BYTES];

    return brim_report_json(report, line, sizeof(line)) == BRIM_OK && puts(line) >= 0 &&
           fflush(stdout) == 0;
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
    if (rc == CLI_PARSED) rc = cli_run_check(&CMD_EMBED, &args.run, &inputs);
    if (rc != CLI_PARSED) return rc;

    if (!args.store) args.store = "brimful.db";
    cli_progress_init(&progress, args.run.quiet, args.run.verbose);
    brim_log log = {cli_progress_log, &progress};
    brim_embed_options options = cli_run_options(&args.run, &inputs);
    options.store = args.store;
    options.retry_failed = args.retry_failed;
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
    .takes_run_options = true,
    .run = embed_run,
};
