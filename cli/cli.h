/*
 * cli.h - what the subcommands share: option tables, exit codes, talking to the user.
 *
 * Results go to stdout or a store, talk goes to stderr. Public headers of the library only.
 */
#ifndef BRIM_CLI_H
#define BRIM_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "brimful/brimful.h"

enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_PARTIAL = 3, /* done, but some rows failed or an input was incomplete */
    CLI_EXIT_INTERRUPTED = 130,
};

/* What cli_parse() returns when there is nothing left to do (--help was answered). */
enum { CLI_PARSED = -1 };

typedef enum cli_kind {
    CLI_FLAG,   /* bool */
    CLI_TEXT,   /* const char * */
    CLI_COUNT,  /* uint64_t, a whole number; "auto" is 0 where the table says so */
    CLI_NUMBER, /* double, above 0 and up to max */
    CLI_BYTES,  /* size_t, as 600MiB */
    CLI_CHOICE, /* int: which of the words in metavar, "scale|clamp", counted from 0 */
} cli_kind;

/* The one place an option is named: parsing and --help are both made from it. */
typedef struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* 0 = none */
    cli_kind kind;
    size_t offset; /* in the command's args */
    const char *metavar;
    const char *help;
    uint64_t max;    /* of a CLI_COUNT or CLI_NUMBER; 0 = no limit */
    bool takes_auto; /* "auto" stands for 0 */
    bool takes_zero;
} cli_option;

typedef struct cli_command {
    const char *name, *summary;
    const char *usage;   /* "brimful embed -m MODEL INPUT... [-o STORE]" */
    const char *details; /* paragraphs for --help */
    const cli_option *options;
    size_t n_options;
    bool takes_run_options; /* its args begin with cli_run_args */
    int (*run)(int argc, char **argv);
} cli_command;

/* What is left of the words after the options. */
typedef struct cli_words {
    const char *const *words;
    size_t n;
} cli_words;

/* What runs a model over pictures takes; CLI_RUN_OPTIONS fills it in. */
typedef struct cli_run_args {
    const char *model, *precision, *processor, *layer, *root, *device, *bands, *policy_name;
    size_t memory_bytes;
    uint64_t batch, n_threads, limit, max_px, file_timeout_s, trim_every, tile, overlap;
    uint64_t max_batch, start_batch, runs_to_double, look_every;
    uint32_t band_numbers[3]; /* what bands says */
    int depth, decode, resample_order;
    brim_policy policy;             /* what policy_name says */
    brim_governor_options governor; /* numbers that are no counts */
    bool raw, nul_lists, icc, accept_truncated, quiet, verbose;
} cli_run_args;

extern const cli_option CLI_RUN_OPTIONS[];
extern const size_t CLI_N_RUN_OPTIONS;

/* CLI_PARSED, or the exit code of a mistake, which is said. */
int cli_run_check(const cli_command *command, cli_run_args *args, const cli_words *words);

/* What was checked, for the library. It borrows from args and inputs. */
brim_embed_options cli_run_options(const cli_run_args *args, const cli_words *inputs);

/*
 * Fills args from argv (argv[0] is the command's name). Words that are no options are moved to the
 * front of argv and told in *words. Returns CLI_PARSED, or the exit code of a command that is
 * already answered: help (0) or a mistake (2), both said.
 */
int cli_parse(const cli_command *command, void *args, int argc, char **argv, cli_words *words);

/* One line on stderr: "brimful embed: words". Returns CLI_EXIT_USAGE. */
int cli_usage(const cli_command *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The error's line on stderr. Returns CLI_EXIT_FAILED. */
int cli_fail(const cli_command *command, const brim_error *err);

/* "600MiB", "6G", "1.5GiB", "123456": bytes, K M G T are powers of 1024. False where it is none. */
bool cli_parse_bytes(const char *text, size_t *out);

/* 6442450944 as "6.0 GiB" */
void cli_print_bytes(FILE *to, size_t bytes);

void cli_print_help(const cli_command *command, FILE *to);

/* How a run is shown while it is on. */
typedef struct cli_progress {
    bool quiet, verbose;
    bool is_terminal; /* one line, rewritten; else a plain line every few seconds */
    bool line_shown;
    double last_shown_s;
} cli_progress;

void cli_progress_init(cli_progress *progress, bool quiet, bool verbose);

/* For brim_embed_options: the callbacks and how often. */
enum { CLI_PROGRESS_MS = 200 };
void cli_progress_show(void *ctx, const brim_progress *now);
void cli_progress_log(void *ctx, brim_log_level level, const char *line);

/* Takes the rewritten line away, so that other words can be said. */
void cli_progress_clear(cli_progress *progress);

extern const cli_command CMD_EMBED;
extern const cli_command CMD_PLAN;
extern const cli_command CMD_SHOW;

#endif /* BRIM_CLI_H */
