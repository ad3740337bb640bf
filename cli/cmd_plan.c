/* cmd_plan.c - `brimful plan`: what a run would be, without running it. */
#include "cli.h"

#include <signal.h>
#include <unistd.h>

typedef struct plan_args {
    cli_run_args run; /* first: the options of all runs are read into it */
    uint64_t seconds;
    bool json;
} plan_args;

static const cli_option OPTIONS[] = {
    {"seconds", 0, CLI_COUNT, offsetof(plan_args, seconds), "N",
     "count and try for at most N seconds, up to 30 (30)", 30, false, false},
    {"json", 0, CLI_FLAG, offsetof(plan_args, json), NULL, "the plan as one line of JSON", 0, false,
     false},
};

static const char DETAILS[] =
    "Loads the model, counts the pictures, and runs a sample of them for some seconds as `brimful\n"
    "embed` would with the same options, to tell what a run would be: memory per picture, the\n"
    "batch, the stage that limits, how many pictures are unreadable, and the time it will take.\n"
    "It ends early once the batch has settled. No store is written and no file is changed.\n"
    "INPUT is as for embed, but for lists that can be read only once (@- and pipes).\n"
    "\n"
    "exit: 0 done, 1 failed or nothing found, 2 usage, 3 done but an input could not be read to\n"
    "its end, or no picture of the sample could, 130 interrupted";

/* Nothing is begun that would have to be finished. */
static void on_signal(int signal)
{
    (void)signal;
    _exit(CLI_EXIT_INTERRUPTED);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;

    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static bool print(const brim_plan *plan, bool as_json)
{
    char text[BRIM_PLAN_JSON_BYTES];

    if (!as_json) {
        brim_plan_text(plan, text, sizeof(text));
        return fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    }
    return brim_plan_json(plan, text, sizeof(text)) == BRIM_OK && puts(text) >= 0 &&
           fflush(stdout) == 0;
}

static int exit_code(const brim_plan *plan)
{
    bool none_readable = plan->n_sampled == 0 || plan->n_unreadable == plan->n_sampled;

    return plan->n_incomplete > 0 || none_readable ? CLI_EXIT_PARTIAL : CLI_EXIT_OK;
}

static int plan_run(int argc, char **argv)
{
    plan_args args = {0};
    cli_words inputs;
    cli_progress progress;
    brim_plan plan = BRIM_OPTIONS(brim_plan);
    brim_plan_options planning = BRIM_OPTIONS(brim_plan_options);
    brim_error err = {0};

    int rc = cli_parse(&CMD_PLAN, &args, argc, argv, &inputs);
    if (rc == CLI_PARSED) rc = cli_run_check(&CMD_PLAN, &args.run, &inputs);
    if (rc != CLI_PARSED) return rc;

    cli_progress_init(&progress, args.run.quiet, args.run.verbose);
    brim_log log = {cli_progress_log, &progress};
    brim_embed_options options = cli_run_options(&args.run, &inputs);
    options.log = &log;
    if (progress.is_terminal) options.progress = cli_progress_show; /* a log has no use for it */
    options.progress_ctx = &progress;
    options.progress_ms = CLI_PROGRESS_MS;
    planning.seconds = (uint32_t)args.seconds;

    catch_signals();
    brim_status status = brim_plan_make(&options, &planning, &plan, &err);
    cli_progress_clear(&progress);
    if (status != BRIM_OK) return cli_fail(&CMD_PLAN, &err);
    if (plan.n_images == 0) {
        fprintf(stderr, "brimful plan: no pictures found; %llu files are none by their names\n",
                (unsigned long long)plan.n_skipped);
        return CLI_EXIT_FAILED;
    }
    if (!print(&plan, args.json)) {
        fputs("brimful plan: the plan cannot be written to standard output\n", stderr);
        return CLI_EXIT_FAILED;
    }
    return exit_code(&plan);
}

const cli_command CMD_PLAN = {
    .name = "plan",
    .summary = "what a run would be: batch, memory, time",
    .usage = "brimful plan -m MODEL INPUT...",
    .details = DETAILS,
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .takes_run_options = true,
    .run = plan_run,
};
