/*
 * arena_contender.c - one contender of bench/arena: a model in a process of its own, run on
 * request.
 *
 *     bench_arena CONTENDER MODEL OUTPUT FLOATS THREADS PATTERN LIMIT_MIB
 *
 * Says a line of JSON when the model is loaded, answers each line "N H W" of its input with one
 * more, and says a last one at the end of input. FLOATS is the largest input there will be, PATTERN
 * 0 switches the runtime's memory pattern off (`ours` never has it), LIMIT_MIB 0 is no limit. The
 * contenders:
 *
 *     default   ONNX Runtime as it comes, its arena growing by powers of two
 *     same      its arena, growing by what is asked for (kSameAsRequested)
 *     none      without an arena: each tensor from the C heap
 *     counted   the same, but counted: what runs ask for, whoever serves them
 *     ours      a session of ours, whose budget has an arena
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <onnxruntime_c_api.h>
#include <xxhash.h>

#include "brimful/arena.h"
#include "brimful/memory.h"
#include "session/onnx.h"
#include "session/onnx_memory.h"

typedef enum contender { DEFAULT, SAME, NONE, COUNTED, OURS, N_CONTENDERS } contender;
static const char *const NAMES[] = {"default", "same", "none", "counted", "ours"};
enum { GROW_BY_POWERS = 0, GROW_AS_REQUESTED = 1, HEADER_BYTES = 64, SPARE_BYTES = 64 };

static struct {
    contender who;
    const char *model, *output;
    size_t n_floats, limit_bytes;
    int n_threads;
    bool pattern;
} OPTIONS;

typedef struct result {
    bool is_ok;
    uint64_t took_ns, hash;
} result;

static const OrtApi *API;
static OrtMemoryInfo *HOST;
static OrtSession *SESSION;
static char *INPUT;
static brim_budget *BUDGET; /* of `ours`, like its session */
static brim_session *OUR_SESSION;
static float *PIXELS;
static atomic_size_t RESERVED;           /* by the runtime's own arena, as it says in its log */
static atomic_size_t COUNTED_LIVE, PEAK; /* of the contender `counted` */

static void die(const char *what)
{
    fprintf(stderr, "bench_arena: %s\n", what);
    exit(1);
}

static void must(OrtStatus *failure)
{
    if (failure) die(API->GetErrorMessage(failure));
}

/* ---- What the system says ---- */

/* A line of /proc/self/status that counts KiB, in bytes. */
static size_t read_status(const char *name)
{
    char line[256];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");

    if (!file) die("/proc/self/status");
    while (kib == 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0) kib = strtoul(line + strlen(name), NULL, 10);
    fclose(file);
    return kib * 1024;
}

/* The highest resident size starts anew from what it is. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (!file || fputs("5", file) < 0 || fclose(file) != 0) die("/proc/self/clear_refs");
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Theirs ---- */

/* The runtime's arena tells its size whenever it grows; our interface is too old to ask for it. */
static void ORT_API_CALL hear(void *param, OrtLoggingLevel level, const char *category,
                              const char *log_id, const char *location, const char *message)
{
    static const char TOTAL[] = "Total allocated bytes: ";
    const char *found = strstr(message, TOTAL);

    (void)param, (void)level, (void)category, (void)log_id, (void)location;
    if (found) atomic_store(&RESERVED, strtoul(found + sizeof(TOTAL) - 1, NULL, 10));
}

static void *ORT_API_CALL counted_alloc(OrtAllocator *self, size_t bytes)
{
    size_t whole = (bytes + HEADER_BYTES + SPARE_BYTES + 63) / 64 * 64;
    size_t *block = bytes ? aligned_alloc(64, whole) : NULL;

    (void)self;
    if (!block) return NULL;
    *block = bytes;
    size_t live = atomic_fetch_add(&COUNTED_LIVE, bytes) + bytes;
    for (size_t peak = atomic_load(&PEAK); live > peak;)
        if (atomic_compare_exchange_weak(&PEAK, &peak, live)) break;
    return (char *)block + HEADER_BYTES;
}

static void ORT_API_CALL counted_free(OrtAllocator *self, void *p)
{
    (void)self;
    if (!p) return;
    size_t *block = (size_t *)((char *)p - HEADER_BYTES);
    atomic_fetch_sub(&COUNTED_LIVE, *block);
    free(block);
}

static const OrtMemoryInfo *ORT_API_CALL counted_info(const OrtAllocator *self)
{
    (void)self;
    return HOST;
}

static void register_counted(OrtEnv *env)
{
    static OrtAllocator ALLOCATOR = {.version = ORT_API_VERSION,
                                     .Alloc = counted_alloc,
                                     .Free = counted_free,
                                     .Info = counted_info,
                                     .Reserve = counted_alloc};

    must(API->RegisterAllocator(env, &ALLOCATOR));
}

/* The runtime's own arena, shared by the environment, which is the one way to give it options. */
static void register_theirs(OrtEnv *env, int growth)
{
    OrtMemoryInfo *info = NULL;
    OrtArenaCfg *config = NULL;

    must(API->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
    must(API->CreateArenaCfg(OPTIONS.limit_bytes, growth, -1, -1, &config));
    must(API->CreateAndRegisterAllocator(env, info, config));
    API->ReleaseArenaCfg(config);
    API->ReleaseMemoryInfo(info);
}

/* Returns whether the session is to take what was registered. */
static bool register_allocator(OrtEnv *env)
{
    bool is_plain = OPTIONS.who == NONE || (OPTIONS.who == DEFAULT && OPTIONS.limit_bytes == 0);

    if (OPTIONS.who == COUNTED)
        register_counted(env);
    else if (!is_plain)
        register_theirs(env, OPTIONS.who == SAME ? GROW_AS_REQUESTED : GROW_BY_POWERS);
    return !is_plain;
}

static OrtEnv *make_environment(void)
{
    OrtEnv *env = NULL;

    setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    API = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    if (!API) die("ONNX Runtime is too old");
    must(API->CreateEnvWithCustomLogger(hear, NULL, ORT_LOGGING_LEVEL_INFO, "bench", &env));
    must(API->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &HOST));
    return env;
}

/* With the settings of src/session/onnx.c, but for memory. */
static void load_theirs(void)
{
    OrtEnv *env = make_environment();
    OrtSessionOptions *options = NULL;
    OrtAllocator *names = NULL;

    must(API->CreateSessionOptions(&options));
    must(API->SetSessionExecutionMode(options, ORT_SEQUENTIAL));
    must(API->SetIntraOpNumThreads(options, OPTIONS.n_threads));
    must(API->SetInterOpNumThreads(options, 1));
    must(API->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    must(API->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_ERROR));
    must(API->AddSessionConfigEntry(options, "session.intra_op.allow_spinning", "0"));
    if (register_allocator(env))
        must(API->AddSessionConfigEntry(options, "session.use_env_allocators", "1"));
    if (OPTIONS.who == NONE) must(API->DisableCpuMemArena(options));
    if (!OPTIONS.pattern) must(API->DisableMemPattern(options));
    must(API->CreateSession(env, OPTIONS.model, options, &SESSION));
    API->ReleaseSessionOptions(options);
    must(API->GetAllocatorWithDefaultOptions(&names));
    must(API->SessionGetInputName(SESSION, 0, names, &INPUT));
}

static uint64_t hash_value(OrtValue *value)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    void *data = NULL;
    size_t n = 0;

    must(API->GetTensorTypeAndShape(value, &info));
    must(API->GetTensorShapeElementCount(info, &n));
    must(API->GetTensorMutableData(value, &data));
    API->ReleaseTensorTypeAndShapeInfo(info);
    return XXH64(data, n * sizeof(float), 0);
}

static result run_theirs(size_t n, size_t height, size_t width)
{
    const int64_t shape[] = {(int64_t)n, 3, (int64_t)height, (int64_t)width};
    OrtValue *input = NULL, *output = NULL;
    result got = {0};

    must(API->CreateTensorWithDataAsOrtValue(HOST, PIXELS, n * 3 * height * width * sizeof(float),
                                             shape, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                             &input));
    uint64_t start_ns = now_ns();
    OrtStatus *failure = API->Run(SESSION, NULL, (const char *const *)&INPUT,
                                  (const OrtValue *const *)&input, 1, &OPTIONS.output, 1, &output);
    got.took_ns = now_ns() - start_ns;
    got.is_ok = !failure;
    if (failure && OPTIONS.limit_bytes == 0) must(failure);
    if (!failure) got.hash = hash_value(output);
    start_ns = now_ns();
    API->ReleaseValue(output);
    got.took_ns += now_ns() - start_ns;
    API->ReleaseValue(input);
    API->ReleaseStatus(failure);
    return got;
}

/* ---- Ours ---- */

static void load_ours(void)
{
    brim_error err = {0};
    brim_arena *arena = NULL;
    brim_arena_options arena_options = BRIM_OPTIONS(brim_arena_options);

    if (brim_budget_create(OPTIONS.limit_bytes, &BUDGET, &err) != BRIM_OK) die(err.message);
    arena_options.limit_bytes = brim_budget_limit_bytes(BUDGET);
    if (brim_arena_create(&arena_options, &arena, &err) != BRIM_OK) die(err.message);
    brim_budget_set_arena(BUDGET, arena);
    brim_onnx_options options = {.path = OPTIONS.model,
                                 .n_threads = (uint32_t)OPTIONS.n_threads,
                                 .layer = OPTIONS.output,
                                 .budget = BUDGET};
    if (brim_session_open_onnx(brim_heap(), &options, &OUR_SESSION, &err) != BRIM_OK)
        die(err.message);
}

static result run_ours(size_t n, size_t height, size_t width)
{
    brim_error err = {0};
    brim_output out = {0};
    result got = {0};
    size_t n_values = 1;

    uint64_t start_ns = now_ns();
    brim_status status =
        brim_session_run(OUR_SESSION, PIXELS, n, (uint32_t)height, (uint32_t)width, &out, &err);
    got.took_ns = now_ns() - start_ns;
    got.is_ok = status == BRIM_OK;
    if (status != BRIM_OK && (status != BRIM_E_BUDGET || OPTIONS.limit_bytes == 0))
        die(err.message);
    for (size_t i = 0; i < out.n_dims; i++)
        n_values *= out.dims[i];
    if (got.is_ok) got.hash = XXH64(out.data, n_values * sizeof(float), 0);
    start_ns = now_ns();
    brim_session_give_back(OUR_SESSION);
    got.took_ns += now_ns() - start_ns;
    return got;
}

static brim_arena_usage arena_usage(void)
{
    return BUDGET ? brim_arena_usage_now(brim_budget_arena(BUDGET)) : (brim_arena_usage){0};
}

/* ---- The talk ---- */

/* Noise, the same for all. Touched before anything is measured. */
static void make_pixels(void)
{
    uint32_t state = 1;

    PIXELS = malloc(OPTIONS.n_floats * sizeof(float));
    if (!PIXELS) die("no memory for the input");
    for (size_t i = 0; i < OPTIONS.n_floats; i++) {
        state = state * 1664525u + 1013904223u;
        PIXELS[i] = (float)(state >> 8) / (float)(1u << 23) - 1.0f;
    }
}

/* Moves and fresh pages are counted since the start. */
static void say_run(size_t n, size_t height, size_t width)
{
    if (n * 3 * height * width > OPTIONS.n_floats) die("a larger input than was said");
    result got = BUDGET ? run_ours(n, height, width) : run_theirs(n, height, width);
    brim_arena_usage usage = arena_usage();

    printf("{\"ns\": %llu, \"ok\": %s, \"hash\": \"%016llx\", \"moves\": %llu, \"fresh\": %llu}\n",
           (unsigned long long)got.took_ns, got.is_ok ? "true" : "false",
           (unsigned long long)got.hash, (unsigned long long)usage.n_moves,
           (unsigned long long)usage.n_fresh_pages);
}

static void say_loaded(size_t before_bytes, uint64_t load_ns)
{
    size_t peak_bytes = read_status("VmHWM:");

    malloc_trim(0); /* what loading leaves behind is not what is compared */
    printf("{\"resident_before_bytes\": %zu, \"load_peak_bytes\": %zu, \"loaded_bytes\": %zu, "
           "\"load_s\": %.3f, \"loaded_reserved_bytes\": %zu}\n",
           before_bytes, peak_bytes, read_status("VmRSS:"), (double)load_ns / 1e9,
           BUDGET ? arena_usage().reserved_bytes : atomic_load(&RESERVED));
}

/* What a contender cannot know is left out. */
static void say_held(void)
{
    brim_arena_usage usage = arena_usage();

    printf("{\"run_peak_bytes\": %zu", read_status("VmHWM:"));
    if (OPTIONS.who == COUNTED) printf(", \"peak_live_bytes\": %zu", atomic_load(&PEAK));
    if (OPTIONS.who == DEFAULT || OPTIONS.who == SAME)
        printf(", \"peak_reserved_bytes\": %zu", atomic_load(&RESERVED));
    if (BUDGET)
        printf(", \"peak_live_bytes\": %zu, \"peak_reserved_bytes\": %zu, \"page_bytes\": %zu, "
               "\"peak_windows\": %zu, \"n_blocks\": %llu, \"n_strayed\": %llu, "
               "\"n_refusals\": %llu, \"n_failed_moves\": %llu, \"arena_huge_frac\": %.3f",
               usage.peak_live_bytes, usage.peak_reserved_bytes, usage.page_bytes,
               usage.peak_windows, (unsigned long long)usage.n_blocks,
               (unsigned long long)brim_onnx_memory_count().n_strayed,
               (unsigned long long)usage.n_refusals, (unsigned long long)usage.n_failed_moves,
               brim_arena_huge_frac(brim_budget_arena(BUDGET)));
    printf("}\n");
}

static void parse(int argc, char **argv)
{
    if (argc != 8)
        die("usage: bench_arena CONTENDER MODEL OUTPUT FLOATS THREADS PATTERN LIMIT_MIB");
    while (OPTIONS.who < N_CONTENDERS && strcmp(argv[1], NAMES[OPTIONS.who]) != 0)
        OPTIONS.who++;
    if (OPTIONS.who == N_CONTENDERS) die("no such contender");
    OPTIONS.model = argv[2];
    OPTIONS.output = argv[3];
    OPTIONS.n_floats = strtoul(argv[4], NULL, 10);
    OPTIONS.n_threads = (int)strtol(argv[5], NULL, 10);
    OPTIONS.pattern = strcmp(argv[6], "0") != 0;
    OPTIONS.limit_bytes = strtoul(argv[7], NULL, 10) << 20;
}

int main(int argc, char **argv)
{
    char line[256];

    parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    make_pixels();
    size_t before_bytes = read_status("VmRSS:");
    forget_peak();
    uint64_t start_ns = now_ns();
    if (OPTIONS.who == OURS)
        load_ours();
    else
        load_theirs();
    say_loaded(before_bytes, now_ns() - start_ns);

    forget_peak();
    while (fgets(line, sizeof(line), stdin)) {
        size_t n, height, width;
        if (sscanf(line, "%zu %zu %zu", &n, &height, &width) != 3) die("not N H W");
        say_run(n, height, width);
    }
    say_held();
    return 0; /* what is left goes with the process */
}
