/* run_options.c - the options of all that runs a model over pictures: embed, and the plan of it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

const cli_option CLI_RUN_OPTIONS[] = {
    {"model", 'm', CLI_TEXT, offsetof(cli_run_args, model), "MODEL",
     "a folder as on the Hugging Face hub, one .onnx file, or sim", 0, false, false},
    {"limit", 0, CLI_COUNT, offsetof(cli_run_args, limit), "N", "do at most N pictures", 0, false,
     false},
    {"root", 0, CLI_TEXT, offsetof(cli_run_args, root), "DIR",
     "keys are paths below DIR; lines of lists start there", 0, false, false},
    {NULL, '0', CLI_FLAG, offsetof(cli_run_args, nul_lists), NULL,
     "lists end their names with NUL (find -print0)", 0, false, false},
    {"layer", 0, CLI_TEXT, offsetof(cli_run_args, layer), "NAME", "take this output of the model",
     0, false, false},
    {"raw", 0, CLI_FLAG, offsetof(cli_run_args, raw), NULL,
     "leave the vectors at the model's length, not 1", 0, false, false},
    {"precision", 0, CLI_TEXT, offsetof(cli_run_args, precision), "NAME",
     "which model file: fp32, fp16, quantized, ...", 0, false, false},
    {"processor", 0, CLI_TEXT, offsetof(cli_run_args, processor), "FILE",
     "another preprocessor_config.json", 0, false, false},
    {"tile", 0, CLI_COUNT, offsetof(cli_run_args, tile), "N",
     "cut pictures into tiles of NxN, keys name#x,y,w,h", 65535, false, false},
    {"overlap", 0, CLI_COUNT, offsetof(cli_run_args, overlap), "N",
     "pixels that neighbouring tiles share (0)", 65534, false, true},
    {"decode", 0, CLI_CHOICE, offsetof(cli_run_args, decode), "exact|fast",
     "fast: shrink large pictures while decoding (exact)", 0, false, false},
    {"resample-order", 0, CLI_CHOICE, offsetof(cli_run_args, resample_order), "13|classic",
     "resize as this Pillow; classic: as up to 12 (13)", 0, false, false},
    {"depth", 0, CLI_CHOICE, offsetof(cli_run_args, depth), "scale|clamp",
     "clamp: grey of 16 bits as Pillow takes it (scale)", 0, false, false},
    {"bands", 0, CLI_TEXT, offsetof(cli_run_args, bands), "R,G,B",
     "which bands of many are the colours, as 4,3,2", 0, false, false},
    {"icc", 0, CLI_FLAG, offsetof(cli_run_args, icc), NULL, "apply embedded colour profiles", 0,
     false, false},
    {"accept-truncated", 0, CLI_FLAG, offsetof(cli_run_args, accept_truncated), NULL,
     "take files that end early for what they hold", 0, false, false},
    {"memory", 0, CLI_BYTES, offsetof(cli_run_args, memory_bytes), "SIZE",
     "ceiling of the process, or of a simulated device (80 % of free)", 0, false, false},
    {"trim-every", 0, CLI_COUNT, offsetof(cli_run_args, trim_every), "N",
     "give idle memory back every N batches (when it is short)", UINT32_MAX, false, false},
    {"batch", 0, CLI_COUNT, offsetof(cli_run_args, batch), "N|auto",
     "pictures in one run of the model (auto)", 65536, true, false},
    {"policy", 0, CLI_TEXT, offsetof(cli_run_args, policy_name), "POLICY",
     "sizes batches: knee, aimd, estimate, watermark or fixed (knee)", 0, false, false},
    {"max-batch", 0, CLI_COUNT, offsetof(cli_run_args, max_batch), "N",
     "never more in a batch (65536; aimd, estimate, watermark 64)", 65536, false, false},
    {"start-batch", 0, CLI_COUNT, offsetof(cli_run_args, start_batch), "N",
     "the first (aimd, watermark 32; fixed 8)", 65536, false, false},
    {"within", 0, CLI_NUMBER, offsetof(cli_run_args, governor.within_frac), "F",
     "knee: of the best throughput, that may be missing (0.01)", 1, false, false},
    {"explore", 0, CLI_NUMBER, offsetof(cli_run_args, governor.explore_frac), "F",
     "knee: of the time, to try other sizes (0.01)", 1, false, false},
    {"spill-factor", 0, CLI_NUMBER, offsetof(cli_run_args, governor.spill_factor), "F",
     "knee: so many times slower is a spill (2.5)", 1000000, false, false},
    {"runs-to-double", 0, CLI_COUNT, offsetof(cli_run_args, runs_to_double), "N",
     "aimd: good runs before the batch is doubled (3)", 1000000, false, false},
    {"estimate-frac", 0, CLI_NUMBER, offsetof(cli_run_args, governor.estimate_frac), "F",
     "estimate: of what is free, that may be used (0.8)", 1, false, false},
    {"margin-frac", 0, CLI_NUMBER, offsetof(cli_run_args, governor.margin_frac), "F",
     "estimate: of that, kept as a margin (0.5)", 1, false, false},
    {"bytes-per-pixel", 0, CLI_NUMBER, offsetof(cli_run_args, governor.bytes_per_pixel), "N",
     "estimate: that a pixel takes (12)", 1000000000000, false, false},
    {"bytes-per-token", 0, CLI_NUMBER, offsetof(cli_run_args, governor.bytes_per_token), "N",
     "estimate: that a token of text takes (100)", 1000000000000, false, false},
    {"look-every", 0, CLI_COUNT, offsetof(cli_run_args, look_every), "N",
     "watermark: runs between two looks at what is free (10)", 1000000, false, false},
    {"low-frac", 0, CLI_NUMBER, offsetof(cli_run_args, governor.low_frac), "F",
     "watermark: less free than this: halve (0.2)", 1, false, false},
    {"high-frac", 0, CLI_NUMBER, offsetof(cli_run_args, governor.high_frac), "F",
     "watermark: more free than this: double (0.5)", 1, false, false},
    {"threads", 0, CLI_COUNT, offsetof(cli_run_args, n_threads), "N",
     "threads for decoding and for the model (the CPUs allowed)", 1024, false, false},
    {"device", 0, CLI_TEXT, offsetof(cli_run_args, device), "DEVICE",
     "cpu, or with -m sim a simulated one, sim:FILE.json (cpu)", 0, false, false},
    {"max-pixels", 0, CLI_COUNT, offsetof(cli_run_args, max_px), "N",
     "larger pictures are failures (178956970)", 0, false, false},
    {"file-timeout", 0, CLI_COUNT, offsetof(cli_run_args, file_timeout_s), "S",
     "a file silent for S seconds is a failure (30)", 86400, false, false},
    {"quiet", 'q', CLI_FLAG, offsetof(cli_run_args, quiet), NULL, "say only what went wrong", 0,
     false, false},
    {"verbose", 'v', CLI_FLAG, offsetof(cli_run_args, verbose), NULL, "say more", 0, false, false},
};
const size_t CLI_N_RUN_OPTIONS = sizeof(CLI_RUN_OPTIONS) / sizeof(CLI_RUN_OPTIONS[0]);

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

static bool parse_policy(const char *name, brim_policy *out)
{
    for (int i = 0; i < BRIM_N_POLICIES; i++) {
        *out = (brim_policy)i;
        if (strcmp(name, brim_policy_name(*out)) == 0) return true;
    }
    return false;
}

/* A number that the policy does not look at is a mistake. */
static int check_policy(const cli_command *command, const cli_run_args *args)
{
    enum { KNEE = 1 << BRIM_POLICY_KNEE, AIMD = 1 << BRIM_POLICY_AIMD };
    enum { ESTIMATE = 1 << BRIM_POLICY_ESTIMATE, WATERMARK = 1 << BRIM_POLICY_WATERMARK };
    enum { FIXED = 1 << BRIM_POLICY_FIXED };
    const brim_governor_options *g = &args->governor;
    const struct {
        const char *name;
        bool given;
        unsigned policies; /* that look at it */
    } numbers[] = {
        {"start-batch", args->start_batch > 0, AIMD | WATERMARK | FIXED},
        {"within", g->within_frac > 0, KNEE},
        {"explore", g->explore_frac > 0, KNEE},
        {"spill-factor", g->spill_factor > 0, KNEE},
        {"runs-to-double", args->runs_to_double > 0, AIMD},
        {"estimate-frac", g->estimate_frac > 0, ESTIMATE},
        {"margin-frac", g->margin_frac > 0, ESTIMATE},
        {"bytes-per-pixel", g->bytes_per_pixel > 0, ESTIMATE},
        {"bytes-per-token", g->bytes_per_token > 0, ESTIMATE},
        {"look-every", args->look_every > 0, WATERMARK},
        {"low-frac", g->low_frac > 0, WATERMARK},
        {"high-frac", g->high_frac > 0, WATERMARK},
    };
    double low = g->low_frac > 0 ? g->low_frac : 0.2;
    double high = g->high_frac > 0 ? g->high_frac : 0.5;

    if (args->batch > 0 && args->policy != BRIM_POLICY_KNEE && args->policy != BRIM_POLICY_FIXED)
        return cli_usage(command, "--batch %llu is --policy fixed, not %s",
                         (unsigned long long)args->batch, brim_policy_name(args->policy));
    brim_policy policy = args->batch > 0 ? BRIM_POLICY_FIXED : args->policy;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].given && !(numbers[i].policies & 1u << policy))
            return cli_usage(command, "--%s: of no use with --policy %s", numbers[i].name,
                             brim_policy_name(policy));
    if (g->spill_factor > 0 && g->spill_factor < 1)
        return cli_usage(command, "--spill-factor %g: not 1 or more", g->spill_factor);
    if (args->batch > 0 && args->start_batch > 0)
        return cli_usage(command, "--start-batch: of no use with --batch");
    if (low >= high)
        return cli_usage(command, "--low-frac %g: not below --high-frac %g", low, high);
    return CLI_PARSED;
}

int cli_run_check(const cli_command *command, cli_run_args *args, const cli_words *words)
{
    brim_error err = {0};

    if (!args->model) return cli_usage(command, "no model: give one with -m MODEL");
    if (words->n == 0) return cli_usage(command, "no INPUT: give a folder of pictures");
    if (args->bands && !parse_bands(args->bands, args->band_numbers))
        return cli_usage(command, "--bands %s: not three numbers from 1, as 4,3,2", args->bands);
    if (args->overlap >= args->tile && args->overlap > 0)
        return cli_usage(command, "--overlap %llu: needs a larger --tile",
                         (unsigned long long)args->overlap);
    if (brim_embed_check_device(args->model, args->device, &err) != BRIM_OK)
        return cli_usage(command, "%s", err.message);
    if (args->policy_name && !parse_policy(args->policy_name, &args->policy))
        return cli_usage(command, "--policy %s: not one of knee, aimd, estimate, watermark, fixed",
                         args->policy_name);
    return check_policy(command, args);
}

static brim_governor_options governor_options(const cli_run_args *args)
{
    brim_governor_options options = args->governor;

    options.struct_bytes = sizeof(options);
    options.policy = args->policy;
    options.max_batch = (uint32_t)args->max_batch;
    options.start_batch = (uint32_t)args->start_batch;
    options.runs_to_double = (uint32_t)args->runs_to_double;
    options.look_every = (uint32_t)args->look_every;
    return options;
}

brim_embed_options cli_run_options(const cli_run_args *args, const cli_words *inputs)
{
    brim_embed_options options = BRIM_OPTIONS(brim_embed_options);

    options.model = args->model;
    options.precision = args->precision;
    options.processor = args->processor;
    options.layer = args->layer;
    options.raw = args->raw;
    options.inputs = inputs->words;
    options.n_inputs = inputs->n;
    options.root = args->root;
    options.nul_lists = args->nul_lists;
    options.limit = args->limit;
    options.memory_bytes = args->memory_bytes;
    options.trim_every = (uint32_t)args->trim_every;
    options.n_threads = (uint32_t)args->n_threads;
    options.batch = (uint32_t)args->batch;
    options.governor = governor_options(args);
    options.device = args->device;
    options.max_px = args->max_px;
    options.depth = (brim_depth)args->depth;
    options.decode = (brim_decode)args->decode;
    options.resample_order = (brim_resample_order)args->resample_order;
    options.apply_icc = args->icc;
    options.accept_truncated = args->accept_truncated;
    options.tile = (uint32_t)args->tile;
    options.overlap = (uint32_t)args->overlap;
    memcpy(options.bands, args->band_numbers, sizeof(options.bands));
    options.file_timeout_s = (uint32_t)args->file_timeout_s;
    return options;
}
