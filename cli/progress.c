/*
 * progress.c - a run as it is seen: one line that is rewritten on a terminal, a plain line every
 * few seconds anywhere else, so that a log file holds no control characters and stays short.
 */
#include "cli.h"

#include <unistd.h>

static const double PLAIN_EVERY_S = 10.0;

void cli_progress_init(cli_progress *progress, bool quiet, bool verbose)
{
    *progress = (cli_progress){
        .quiet = quiet, .verbose = verbose, .is_terminal = isatty(STDERR_FILENO) == 1};
}

void cli_progress_clear(cli_progress *progress)
{
    if (progress->line_shown) fputs("\r\033[K", stderr);
    progress->line_shown = false;
}

void cli_progress_show(void *ctx, const brim_progress *now)
{
    cli_progress *progress = ctx;
    char line[160];

    if (progress->quiet) return;
    if (!progress->is_terminal && now->elapsed_s - progress->last_shown_s < PLAIN_EVERY_S) return;
    progress->last_shown_s = now->elapsed_s;
    brim_progress_line(now, line, sizeof(line));
    flockfile(stderr);
    if (progress->is_terminal) {
        fprintf(stderr, "\r\033[K%s", line);
        progress->line_shown = true;
    } else {
        fprintf(stderr, "%s\n", line);
    }
    fflush(stderr);
    funlockfile(stderr);
}

/* May come from any of the library's threads, while the line above is being drawn. */
void cli_progress_log(void *ctx, brim_log_level level, const char *line)
{
    cli_progress *progress = ctx;

    if (level == BRIM_LOG_DETAIL && !progress->verbose) return;
    if (level == BRIM_LOG_NOTE && progress->quiet) return;
    flockfile(stderr);
    cli_progress_clear(progress);
    fprintf(stderr, "%s%s\n", level == BRIM_LOG_WARNING ? "warning: " : "", line);
    funlockfile(stderr);
}
