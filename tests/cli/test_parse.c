/* Tests of cli/parse.c, on a command of its own. */
#include <unistd.h>

#include "cli.h"
#include "support/cmocka_all.h"

typedef struct test_args {
    const char *model, *output;
    uint64_t limit, batch, overlap;
    double share;
    int depth;
    size_t memory;
    bool raw, quiet, nul;
} test_args;

static const cli_option OPTIONS[] = {
    {"model", 'm', CLI_TEXT, offsetof(test_args, model), "MODEL", "a model", 0, false, false},
    {"output", 'o', CLI_TEXT, offsetof(test_args, output), "STORE", "a store", 0, false, false},
    {"limit", 0, CLI_COUNT, offsetof(test_args, limit), "N", "at most N", 0, false, false},
    {"batch", 0, CLI_COUNT, offsetof(test_args, batch), "N|auto", "pictures", 100, true, false},
    {"memory", 0, CLI_BYTES, offsetof(test_args, memory), "SIZE", "ceiling", 0, false, false},
    {"depth", 0, CLI_CHOICE, offsetof(test_args, depth), "scale|clamp|cl", "bits", 0, false, false},
    {"overlap", 0, CLI_COUNT, offsetof(test_args, overlap), "N", "pixels", 9, false, true},
    {"share", 0, CLI_NUMBER, offsetof(test_args, share), "F", "of all", 3, false, false},
    {"raw", 0, CLI_FLAG, offsetof(test_args, raw), NULL, "as they are", 0, false, false},
    {"quiet", 'q', CLI_FLAG, offsetof(test_args, quiet), NULL, "say less", 0, false, false},
    {NULL, '0', CLI_FLAG, offsetof(test_args, nul), NULL, "NUL ends names", 0, false, false},
};

static const cli_command COMMAND = {
    .name = "test",
    .summary = "a test",
    .usage = "brimful test WORD...",
    .details = "Details.",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static test_args args;
static cli_words words;
static char said[2048]; /* on stdout and stderr */

/* Parses the words of one line, divided by blanks; what is said goes into `said`. */
static int parse(const char *line)
{
    static char copy[2048];
    static char *argv[64];
    int argc = 0, out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    FILE *file = tmpfile();

    assert_non_null(file);
    args = (test_args){0};
    words = (cli_words){0};
    snprintf(copy, sizeof(copy), "test %s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = strcmp(word, "''") == 0 ? strchr(word, '\0') : word;
    argv[argc] = NULL;

    fflush(stdout);
    fflush(stderr);
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    int rc = cli_parse(&COMMAND, &args, argc, argv, &words);
    fflush(stdout);
    fflush(stderr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
    fclose(file);
    return rc;
}

static void parses(const char *line)
{
    if (parse(line) != CLI_PARSED) fail_msg("%s: %s", line, said);
    assert_string_equal(said, "");
}

/* A mistake is said in one line that begins and ends as all do. */
static void refuses(const char *line, const char *wanted)
{
    char whole[1024];

    assert_int_equal(parse(line), CLI_EXIT_USAGE);
    snprintf(whole, sizeof(whole), "brimful test: %s (see brimful test --help)\n", wanted);
    assert_string_equal(said, whole);
}

static void fills_every_kind_of_field(void **state)
{
    (void)state;
    parses("--model siglip -o x.db --limit 12 --batch 100 --memory 6GiB --raw -q -0");
    assert_string_equal(args.model, "siglip");
    assert_string_equal(args.output, "x.db");
    assert_int_equal(args.limit, 12);
    assert_int_equal(args.batch, 100);
    assert_int_equal(args.memory, (size_t)6 << 30);
    assert_true(args.raw && args.quiet && args.nul);
    assert_int_equal(words.n, 0);
}

static void values_may_hang_on_their_option(void **state)
{
    (void)state;
    parses("--model=a=b -ox.db --limit=7");
    assert_string_equal(args.model, "a=b");
    assert_string_equal(args.output, "x.db");
    assert_int_equal(args.limit, 7);
    parses("-m -dash --output --model"); /* a value is whatever stands there */
    assert_string_equal(args.model, "-dash");
    assert_string_equal(args.output, "--model");
}

static void what_is_not_named_stays_as_it_is(void **state)
{
    (void)state;
    parses("");
    assert_null(args.model);
    assert_int_equal(args.limit, 0);
    assert_false(args.raw || args.quiet || args.nul);
    assert_int_equal(words.n, 0);
}

static void words_come_in_order_from_anywhere_between_the_options(void **state)
{
    (void)state;
    parses("a -m siglip b - --raw @c -q -- -m --help");
    assert_int_equal(words.n, 6);
    assert_string_equal(words.words[0], "a");
    assert_string_equal(words.words[1], "b");
    assert_string_equal(words.words[2], "-");
    assert_string_equal(words.words[3], "@c");
    assert_string_equal(words.words[4], "-m");
    assert_string_equal(words.words[5], "--help");
    assert_string_equal(args.model, "siglip");
    assert_true(args.raw && args.quiet);
}

static void of_two_values_the_last_counts(void **state)
{
    (void)state;
    parses("--limit 3 --batch 5 --limit 4 --batch auto");
    assert_int_equal(args.limit, 4);
    assert_int_equal(args.batch, 0);
}

static void mistakes_name_the_option_and_the_value(void **state)
{
    (void)state;
    refuses("--nonsense", "no such option: --nonsense");
    refuses("--mod x", "no such option: --mod");
    refuses("--models x", "no such option: --models");
    refuses("--=x", "no such option: --=x");
    refuses("-x", "no such option: -x");
    refuses("-m", "-m wants MODEL");
    refuses("a --limit", "--limit wants N");
    refuses("--model ''", "--model: an empty MODEL");
    refuses("--model=", "--model: an empty MODEL");
    refuses("--raw=1", "--raw takes no value");
    refuses("-qv", "-q takes no value");
    refuses("--memory much", "--memory much: not a size such as 600MiB or 6GiB");
    refuses("--memory 0", "--memory 0: not a size such as 600MiB or 6GiB");
}

static void counts_are_whole_numbers_in_their_range(void **state)
{
    static const char *const WRONG[] = {
        "0", "-1", "+1", "1.5", "1e3", "0x10", "ten", "auto", "18446744073709551616"};
    char line[64], wanted[128];

    (void)state;
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        snprintf(line, sizeof(line), "--limit %s", WRONG[i]);
        snprintf(wanted, sizeof(wanted), "--limit %s: not a whole number above 0", WRONG[i]);
        refuses(line, wanted);
    }
    refuses("--limit ''", "--limit : not a whole number above 0");
    refuses("--batch 101", "--batch 101: not a whole number in range, nor auto");
    refuses("--batch automatic", "--batch automatic: not a whole number in range, nor auto");
    parses("--limit 18446744073709551615");
    assert_true(args.limit == UINT64_MAX);
}

static void a_choice_is_one_of_its_words(void **state)
{
    (void)state;
    parses("--depth clamp");
    assert_int_equal(args.depth, 1);
    parses("--depth=cl");
    assert_int_equal(args.depth, 2);
    parses("--depth clamp --depth scale");
    assert_int_equal(args.depth, 0);
    refuses("--depth c", "--depth c: not one of scale|clamp|cl");
    refuses("--depth scale|clamp", "--depth scale|clamp: not one of scale|clamp|cl");
    refuses("--depth ''", "--depth : not one of scale|clamp|cl");
}

static void zero_counts_where_the_table_says_so(void **state)
{
    (void)state;
    parses("--overlap 9 --overlap 0");
    assert_int_equal(args.overlap, 0);
    refuses("--overlap 10", "--overlap 10: not a whole number in range");
}

/* Words come from scripts and file names: what they hold is never sent to the terminal. */
static void hostile_words_are_escaped_and_never_overrun(void **state)
{
    char line[1500];

    (void)state;
    refuses("--\x1b[31m\xff", "no such option: --\\x1b[31m\\xff");
    refuses("-\n", "no such option: -\\x0a");
    memset(line, 'n', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    memcpy(line, "--", 2);
    assert_int_equal(parse(line), CLI_EXIT_USAGE);
    assert_true(strlen(said) > 900 && strlen(said) < 1200);
    memcpy(line + 60, " ''", 3); /* an option's name is only 58 long, and then a word */
    assert_int_equal(parse(line), CLI_EXIT_USAGE);
}

static void numbers_are_above_0_and_within_reach(void **state)
{
    static const char *const BAD[] = {"0",   "-1",  "3.01", "inf", "nan",
                                      "0x1", "1,5", "1.5x", "e",   "."};
    char line[64], wanted[128];

    (void)state;
    parses("--share 0.25");
    assert_true(args.share == 0.25);
    parses("--share 1e-9");
    assert_true(args.share == 1e-9);
    parses("--share 3");
    assert_true(args.share == 3);
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        snprintf(line, sizeof(line), "--share=%s", BAD[i]);
        snprintf(wanted, sizeof(wanted), "--share %s: not a number above 0 and up to 3", BAD[i]);
        refuses(line, wanted);
    }
}

static void help_is_made_from_the_table(void **state)
{
    (void)state;
    assert_int_equal(parse("--help"), CLI_EXIT_OK);
    assert_string_equal(said, "test - a test\n\nusage: brimful test WORD...\n\nDetails.\n\n"
                              "options:\n"
                              "  -m, --model MODEL           a model\n"
                              "  -o, --output STORE          a store\n"
                              "      --limit N               at most N\n"
                              "      --batch N|auto          pictures\n"
                              "      --memory SIZE           ceiling\n"
                              "      --depth scale|clamp|cl  bits\n"
                              "      --overlap N             pixels\n"
                              "      --share F               of all\n"
                              "      --raw                   as they are\n"
                              "  -q, --quiet                 say less\n"
                              "  -0                          NUL ends names\n"
                              "  -h, --help                  this text\n");
    assert_int_equal(parse("a -q -h --nonsense"), CLI_EXIT_OK);
    assert_int_equal(parse("--nonsense --help"), CLI_EXIT_USAGE); /* the first word counts */
}

/* A command that runs a model has the options of all of them behind its own. */
static void options_of_runs_are_shared(void **state)
{
    static const cli_option OWN[] = {
        {"seconds", 0, CLI_COUNT, sizeof(cli_run_args), "N", "at most", 0, false, false},
    };
    const cli_command command = {
        .name = "test", .options = OWN, .n_options = 1, .takes_run_options = true};
    struct {
        cli_run_args run;
        uint64_t seconds;
    } own = {0};
    char *argv[] = {"test", "-m", "siglip", "--seconds", "7", "photos", "--batch", "5", NULL};
    cli_words inputs;

    (void)state;
    assert_int_equal(cli_parse(&command, &own, 8, argv, &inputs), CLI_PARSED);
    assert_int_equal(cli_run_check(&command, &own.run, &inputs), CLI_PARSED);
    brim_embed_options options = cli_run_options(&own.run, &inputs);
    assert_int_equal(own.seconds, 7);
    assert_string_equal(options.model, "siglip");
    assert_int_equal(options.batch, 5);
    assert_int_equal(options.n_inputs, 1);
    assert_string_equal(options.inputs[0], "photos");
    assert_int_equal(options.struct_bytes, sizeof(options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_every_kind_of_field),
        cmocka_unit_test(values_may_hang_on_their_option),
        cmocka_unit_test(what_is_not_named_stays_as_it_is),
        cmocka_unit_test(words_come_in_order_from_anywhere_between_the_options),
        cmocka_unit_test(of_two_values_the_last_counts),
        cmocka_unit_test(mistakes_name_the_option_and_the_value),
        cmocka_unit_test(counts_are_whole_numbers_in_their_range),
        cmocka_unit_test(a_choice_is_one_of_its_words),
        cmocka_unit_test(zero_counts_where_the_table_says_so),
        cmocka_unit_test(hostile_words_are_escaped_and_never_overrun),
        cmocka_unit_test(numbers_are_above_0_and_within_reach),
        cmocka_unit_test(help_is_made_from_the_table),
        cmocka_unit_test(options_of_runs_are_shared),
    };
    return cmocka_run_group_tests_name("cli/parse", tests, NULL, NULL);
}
