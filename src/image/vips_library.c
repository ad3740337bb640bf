/*
 * vips_library.c - opens libvips at run time and holds it down.
 *
 * The settings are those of the whole process, as libvips has no others: this is one of the named
 * exceptions to "no global state". A program that uses libvips beside us shares them.
 */
#include "image/vips_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

enum {
    START_BYTES = 32 << 20,
    LOG_ALL_LEVELS = 0xff, /* G_LOG_FLAG_FATAL, G_LOG_FLAG_RECURSION and each G_LOG_LEVEL */
};

typedef void (*log_handler)(const char *domain, int level, const char *words, void *ctx);

/* What is called once, while starting. */
typedef struct starters {
    int (*init)(const char *program);
    void (*concurrency_set)(int n_threads);
    void (*cache_set_max)(int n);
    void (*cache_set_max_mem)(size_t bytes);
    void (*cache_set_max_files)(int n);
    void (*block_untrusted_set)(int blocked);
    void (*operation_block_set)(const char *name, int blocked);
    unsigned (*log_set_handler)(const char *domain, int levels, log_handler handler, void *ctx);
} starters;

typedef struct symbol {
    const char *name;
    size_t at; /* in the struct */
} symbol;

static const symbol FUNCTIONS[] = {
    {"vips_tiffload_buffer", offsetof(brim_vips, load_tiff)},
    {"vips_tiffload_source", offsetof(brim_vips, load_tiff_source)},
    {"vips_source_new_from_descriptor", offsetof(brim_vips, source_new)},
    {"vips_heifload_buffer", offsetof(brim_vips, load_heif)},
    {"vips_jxlload_buffer", offsetof(brim_vips, load_jxl)},
    {"vips_jp2kload_buffer", offsetof(brim_vips, load_jp2k)},
    {"vips_image_get_width", offsetof(brim_vips, image_get_width)},
    {"vips_image_get_height", offsetof(brim_vips, image_get_height)},
    {"vips_image_get_bands", offsetof(brim_vips, image_get_bands)},
    {"vips_image_get_format", offsetof(brim_vips, image_get_format)},
    {"vips_image_get_interpretation", offsetof(brim_vips, image_get_interpretation)},
    {"vips_image_get_typeof", offsetof(brim_vips, image_get_typeof)},
    {"vips_image_get_blob", offsetof(brim_vips, image_get_blob)},
    {"vips_image_get_int", offsetof(brim_vips, image_get_int)},
    {"vips_region_new", offsetof(brim_vips, region_new)},
    {"vips_region_fetch", offsetof(brim_vips, region_fetch)},
    {"vips_type_find", offsetof(brim_vips, type_find)},
    {"vips_error_buffer_copy", offsetof(brim_vips, error_buffer_copy)},
    {"vips_thread_shutdown", offsetof(brim_vips, thread_shutdown)},
    {"g_object_unref", offsetof(brim_vips, unref)},
    {"g_free", offsetof(brim_vips, release)},
};

static const symbol STARTERS[] = {
    {"vips_init", offsetof(starters, init)},
    {"vips_concurrency_set", offsetof(starters, concurrency_set)},
    {"vips_cache_set_max", offsetof(starters, cache_set_max)},
    {"vips_cache_set_max_mem", offsetof(starters, cache_set_max_mem)},
    {"vips_cache_set_max_files", offsetof(starters, cache_set_max_files)},
    {"vips_block_untrusted_set", offsetof(starters, block_untrusted_set)},
    {"vips_operation_block_set", offsetof(starters, operation_block_set)},
    {"g_log_set_handler", offsetof(starters, log_set_handler)},
};

/* Off even where a later libvips trusts them. What it does not have is passed over. */
static const char *const UNWANTED[] = {
    "VipsForeignLoadMagick", "VipsForeignLoadPdf",     "VipsForeignLoadSvg",
    "VipsForeignLoadRad",    "VipsForeignLoadVips",    "VipsForeignLoadOpenslide",
    "VipsForeignLoadFits",   "VipsForeignLoadOpenexr", "VipsForeignLoadAnalyze",
    "VipsForeignLoadNifti",  "VipsForeignLoadMat",     "VipsForeignLoadMatrix",
    "VipsForeignLoadCsv",    "VipsForeignLoadRaw",
};

/* Not trusted by libvips 8.14 and wanted nevertheless: each file is predicted and limited here. */
static const char *const WANTED[] = {"VipsForeignLoadJp2k", "VipsForeignLoadJxl"};

/* Where libvips could not be opened, why stays set: there is no second try. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static brim_vips library;
static const char *why = "";
static atomic_bool tried;
static char no_library[256];

/*
 * Warnings of libvips, of the libraries behind it, and of GObject where a broken file makes libvips
 * set nonsense: a picture's own trouble comes as a failure.
 */
static void stay_silent(const char *domain, int level, const char *words, void *ctx)
{
    (void)domain;
    (void)level;
    (void)words;
    (void)ctx;
}

static bool look_up(void *handle, const symbol *symbols, size_t n, void *out)
{
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(handle, symbols[i].name);

        if (!function) return false;
        memcpy((char *)out + symbols[i].at, &function, sizeof(function));
    }
    return true;
}

static void hold_down(const starters *start)
{
    start->concurrency_set(1);
    start->cache_set_max(0);
    start->cache_set_max_mem(0);
    start->cache_set_max_files(0);
    start->block_untrusted_set(1);
    for (size_t i = 0; i < sizeof(UNWANTED) / sizeof(UNWANTED[0]); i++)
        start->operation_block_set(UNWANTED[i], 1);
    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
        start->operation_block_set(WANTED[i], 0);
}

/* Never closed again: GLib cannot be unloaded. */
static void start_library(void)
{
    starters start;

    atomic_store(&tried, true);
    void *handle = dlopen("libvips.so.42", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!handle) {
        snprintf(no_library, sizeof(no_library),
                 "which cannot be opened (Debian: apt-get install libvips42): %s", dlerror());
        why = no_library;
        return;
    }
    if (!look_up(handle, FUNCTIONS, sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]), &library) ||
        !look_up(handle, STARTERS, sizeof(STARTERS) / sizeof(STARTERS[0]), &start)) {
        why = "8.13 or later; the one installed is older";
        return;
    }
    start.log_set_handler("VIPS", LOG_ALL_LEVELS, stay_silent, NULL);
    start.log_set_handler("GLib-GObject", LOG_ALL_LEVELS, stay_silent, NULL);
    if (start.init("brimful") != 0) {
        why = "which does not start";
        return;
    }
    hold_down(&start);
    why = NULL;
}

size_t brim_vips_start_bytes(void)
{
    return atomic_load(&tried) ? 0 : START_BYTES;
}

bool brim_vips_start(void)
{
    pthread_once(&once, start_library);
    return !why;
}

brim_status brim_vips_open(const char *what, const char *loader, const brim_vips **out,
                           brim_error *err)
{
    *out = NULL;
    if (!brim_vips_start())
        return brim_fail(err, BRIM_E_UNSUPPORTED, "%s: needs libvips, %s", what, why);
    if (!library.type_find("VipsOperation", loader))
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "%s: the libvips installed is built without this format", what);
    *out = &library;
    return BRIM_OK;
}

void brim_vips_words(const brim_vips *vips, char *out, size_t capacity)
{
    char *words = vips->error_buffer_copy();
    const char *last = words ? words : "";

    for (const char *line = last; *line; line += strspn(line, "\n")) {
        last = line;
        line += strcspn(line, "\n");
    }
    snprintf(out, capacity, "%.*s", (int)strcspn(last, "\n"), last);
    if (out[0] == '\0') snprintf(out, capacity, "libvips does not say why");
    if (words) vips->release(words);
}
