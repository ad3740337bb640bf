/* cmd_show.c - `brimful show`: what a store holds. */
#include "cli.h"

#include <inttypes.h>

typedef struct show_args {
    bool failures, runs;
} show_args;

static const cli_option OPTIONS[] = {
    {"failures", 0, CLI_FLAG, offsetof(show_args, failures), NULL,
     "each failure: set, step, key, reason", 0, false, false},
    {"runs", 0, CLI_FLAG, offsetof(show_args, runs), NULL, "each run with its summary", 0, false,
     false},
};

static void print_safe(const char *text)
{
    char line[4096];

    brim_escape_line(text ? text : "", line, sizeof(line));
    fputs(line, stdout);
}

static void show_set(void *ctx, const brim_set_info *info)
{
    uint64_t *n_sets = ctx;

    (*n_sets)++;
    printf("set %" PRId64 ": %s with ", info->set_id, info->task);
    print_safe(info->model);
    printf("\n  results   %" PRId64, info->n_results);
    if (info->dim > 0) printf(" vectors of %" PRId64 " numbers", info->dim);
    printf("\n  failures  %" PRId64 "\n  runs      %" PRId64 "\n  model     ", info->n_failures,
           info->n_runs);
    print_safe(info->model_hash);
    printf("\n  settings  ");
    print_safe(info->settings);
    putchar('\n');
}

static void show_run(void *ctx, const brim_run_info *info)
{
    (void)ctx;
    printf("run %" PRId64 " of set %" PRId64 ": ", info->run, info->set_id);
    print_safe(info->outcome);
    printf(", started ");
    print_safe(info->started);
    if (info->finished) {
        printf(", finished ");
        print_safe(info->finished);
    }
    if (info->summary) {
        printf("\n  ");
        print_safe(info->summary);
    }
    putchar('\n');
}

/* Tab-separated, to be cut and sorted by other programs; escapes keep tabs out of the fields. */
static void show_failure(void *ctx, const brim_failure_info *info)
{
    (void)ctx;
    printf("%" PRId64 "\t", info->set_id);
    print_safe(info->step);
    putchar('\t');
    print_safe(info->key);
    putchar('\t');
    print_safe(info->reason);
    putchar('\n');
}

static int show_run_command(int argc, char **argv)
{
    show_args args = {0};
    cli_words words;
    brim_error err = {0};
    uint64_t n_sets = 0;

    int rc = cli_parse(&CMD_SHOW, &args, argc, argv, &words);
    if (rc != CLI_PARSED) return rc;
    if (words.n > 1) return cli_usage(&CMD_SHOW, "one STORE at a time");

    bool sets = !args.failures && !args.runs;
    brim_store_visitor visitor = {
        .set = sets ? show_set : NULL,
        .run = args.runs ? show_run : NULL,
        .failure = args.failures ? show_failure : NULL,
        .ctx = &n_sets,
    };
    const char *store = words.n == 1 ? words.words[0] : "brimful.db";
    if (brim_store_visit(store, &visitor, &err) != BRIM_OK) return cli_fail(&CMD_SHOW, &err);
    if (sets && n_sets == 0) puts("no sets");
    return CLI_EXIT_OK;
}

const cli_command CMD_SHOW = {
    .name = "show",
    .summary = "sets, runs, counts and failures of a store",
    .usage = "brimful show [STORE] [--failures | --runs]",
    .details =
        "STORE is a SQLite file (default brimful.db). Without options its sets are listed: a set\n"
        "is one task with one model and its settings.",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .run = show_run_command,
};
