/* main.c - the command: a table of subcommands. */
#include "cli.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const cli_command *const COMMANDS[] = {&CMD_EMBED, &CMD_PLAN, &CMD_SHOW};
enum { N_COMMANDS = sizeof(COMMANDS) / sizeof(COMMANDS[0]) };

static void print_overview(FILE *to)
{
    fputs("brimful - vision models over any number of images: memory to the brim, never over it\n"
          "\nusage: brimful COMMAND ...\n\ncommands:\n",
          to);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    fputs("\nbrimful COMMAND --help tells the options of one; brimful --version the version.\n",
          to);
}

/*
 * Decoders' blocks are to go back to the system when they are freed. Left to itself, glibc raises
 * this threshold to 32 MiB after the first large block, and then each thread's heap keeps what one
 * huge picture has needed.
 */
static void return_large_blocks(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

int main(int argc, char **argv)
{
    return_large_blocks();
    setenv("ORT_DISABLE_TELEMETRY", "1", 1); /* before any thread could look */
    if (argc < 2) {
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        print_overview(stdout);
        return CLI_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("brimful %s (ONNX Runtime %s)\n", brim_version(), brim_runtime_version());
        return CLI_EXIT_OK;
    }
    bool help = strcmp(argv[1], "help") == 0;
    const char *name = help ? argv[2] : argv[1];
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, COMMANDS[i]->name) != 0) continue;
        if (!help) return COMMANDS[i]->run(argc - 1, argv + 1);
        cli_print_help(COMMANDS[i], stdout);
        return CLI_EXIT_OK;
    }
    return cli_usage(NULL, "no such command: %s", name);
}
