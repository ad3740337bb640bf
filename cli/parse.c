/* parse.c - words of the command line into a command's args, by its option table; --help from the
 * same. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int cli_usage(const cli_command *command, const char *fmt, ...)
{
    char words[1024], line[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    brim_escape_line(words, line, sizeof(line));
    if (command)
        fprintf(stderr, "brimful %s: %s (see brimful %s --help)\n", command->name, line,
                command->name);
    else
        fprintf(stderr, "brimful: %s (see brimful --help)\n", line);
    return CLI_EXIT_USAGE;
}

int cli_fail(const cli_command *command, const brim_error *err)
{
    fprintf(stderr, "brimful %s: %s\n", command->name, err->message);
    return CLI_EXIT_FAILED;
}

/* ---- A command's options: its own, then those of all runs ---- */

static size_t n_options(const cli_command *command)
{
    return command->n_options + (command->takes_run_options ? CLI_N_RUN_OPTIONS : 0);
}

static const cli_option *option_at(const cli_command *command, size_t i)
{
    return i < command->n_options ? &command->options[i] : &CLI_RUN_OPTIONS[i - command->n_options];
}

/* ---- Help ---- */

/* "-m, --model MODEL" */
static int write_words(const cli_option *option, char *out, size_t capacity)
{
    char letter[8] = "    ";

    if (option->letter)
        snprintf(letter, sizeof(letter), option->name ? "-%c, " : "-%c", option->letter);
    const char *name = option->name ? option->name : "";
    return snprintf(out, capacity, "%s%s%s%s%s", letter, option->name ? "--" : "", name,
                    option->metavar ? " " : "", option->metavar ? option->metavar : "");
}

static void print_option(const cli_option *option, int width, FILE *to)
{
    char words[64];

    write_words(option, words, sizeof(words));
    fprintf(to, "  %-*s  %s\n", width, words, option->help);
}

void cli_print_help(const cli_command *command, FILE *to)
{
    static const cli_option HELP = {
        .name = "help", .letter = 'h', .kind = CLI_FLAG, .help = "this text"};
    int width = 24;

    fprintf(to, "%s - %s\n\nusage: %s\n\n%s\n\noptions:\n", command->name, command->summary,
            command->usage, command->details);
    for (size_t i = 0; i < n_options(command); i++) {
        int n = write_words(option_at(command, i), NULL, 0);
        if (n > width) width = n;
    }
    for (size_t i = 0; i < n_options(command); i++)
        print_option(option_at(command, i), width, to);
    print_option(&HELP, width, to);
}

/* ---- Words ---- */

static const cli_option *find_long(const cli_command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < n_options(command); i++) {
        const cli_option *option = option_at(command, i);
        if (option->name && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0)
            return option;
    }
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    for (size_t i = 0; i < n_options(command); i++)
        if (option_at(command, i)->letter == letter) return option_at(command, i);
    return NULL;
}

static bool parse_count(const cli_option *option, const char *text, uint64_t *out)
{
    char *end;

    if (option->takes_auto && strcmp(text, "auto") == 0) {
        *out = 0;
        return true;
    }
    if (strspn(text, "0123456789") != strlen(text) || *text == '\0') return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && (*out > 0 || option->takes_zero) &&
           (option->max == 0 || *out <= option->max);
}

/* Digits as anybody writes them: strtod alone would take "inf" and "0x1p3" too. */
static bool parse_number(const cli_option *option, const char *text, double *out)
{
    char *end;

    if (strspn(text, "0123456789.e+-") != strlen(text) || *text == '\0') return false;
    *out = strtod(text, &end);
    return *end == '\0' && *out > 0 && (option->max == 0 || *out <= (double)option->max);
}

/* Which of the words "a|b|c"; -1 where it is none of them. */
static int parse_choice(const char *words, const char *text)
{
    size_t length = strlen(text);

    for (int i = 0;; i++) {
        size_t n = strcspn(words, "|");
        if (n == length && memcmp(words, text, n) == 0) return i;
        if (words[n] == '\0') return -1;
        words += n + 1;
    }
}

/* CLI_PARSED or CLI_EXIT_USAGE. */
static int set_option(const cli_command *command, void *args, const cli_option *option,
                      const char *shown, const char *value)
{
    char *field = (char *)args + option->offset;
    uint64_t count;
    double number;
    size_t bytes;
    int choice;

    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return CLI_PARSED;
    case CLI_TEXT:
        if (*value == '\0') return cli_usage(command, "%s: an empty %s", shown, option->metavar);
        *(const char **)field = value;
        return CLI_PARSED;
    case CLI_COUNT:
        if (!parse_count(option, value, &count))
            return cli_usage(command, "%s %s: not a whole number%s%s", shown, value,
                             option->max          ? " in range"
                             : option->takes_zero ? ""
                                                  : " above 0",
                             option->takes_auto ? ", nor auto" : "");
        *(uint64_t *)field = count;
        return CLI_PARSED;
    case CLI_CHOICE:
        choice = parse_choice(option->metavar, value);
        if (choice < 0)
            return cli_usage(command, "%s %s: not one of %s", shown, value, option->metavar);
        *(int *)field = choice;
        return CLI_PARSED;
    case CLI_NUMBER:
        if (!parse_number(option, value, &number))
            return cli_usage(command, "%s %s: not a number above 0 and up to %llu", shown, value,
                             (unsigned long long)option->max);
        *(double *)field = number;
        return CLI_PARSED;
    case CLI_BYTES:
        if (!cli_parse_bytes(value, &bytes))
            return cli_usage(command, "%s %s: not a size such as 600MiB or 6GiB", shown, value);
        *(size_t *)field = bytes;
        return CLI_PARSED;
    }
    return CLI_PARSED;
}

/* Takes argv[*at], an option, with its value; *at is moved to its last word. */
static int take_option(const cli_command *command, void *args, int argc, char **argv, int *at)
{
    const char *word = argv[*at];
    const char *value = NULL;
    const cli_option *option;
    char shown[64];

    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_long(command, word + 2, length);
        if (word[2 + length] == '=') value = word + 2 + length + 1;
        snprintf(shown, sizeof(shown), "--%.*s", (int)(length < 40 ? length : 40), word + 2);
    } else {
        option = find_letter(command, word[1]);
        if (word[2] != '\0') value = word + 2;
        snprintf(shown, sizeof(shown), "-%c", word[1]);
    }
    if (!option) return cli_usage(command, "no such option: %s", word);
    if (option->kind == CLI_FLAG) {
        if (value) return cli_usage(command, "%s takes no value", shown);
    } else if (!value) {
        if (*at + 1 >= argc) return cli_usage(command, "%s wants %s", shown, option->metavar);
        value = argv[++*at];
    }
    return set_option(command, args, option, shown, value);
}

int cli_parse(const cli_command *command, void *args, int argc, char **argv, cli_words *words)
{
    bool only_words = false;
    size_t n = 0;

    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (only_words || word[0] != '-' || word[1] == '\0') {
            argv[n++] = argv[i];
        } else if (strcmp(word, "--") == 0) {
            only_words = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            cli_print_help(command, stdout);
            return CLI_EXIT_OK;
        } else {
            int rc = take_option(command, args, argc, argv, &i);
            if (rc != CLI_PARSED) return rc;
        }
    }
    *words = (cli_words){(const char *const *)argv, n};
    return CLI_PARSED;
}
