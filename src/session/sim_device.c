/* sim_device.c - the arithmetic of the simulated device, and its file. */
#include "session/sim_device.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"

/* Beyond the capacity by this share of it, a spilling device is as slow as it gets. */
static const double FULL_SPILL_SHARE = 0.1;

/* Of every number in a file, so that no product of them leaves the range of a double; and of a
 * deviation, for the same reason. */
static const double MOST = 1e18, MOST_SIGMA = 10;

/* ---- Random numbers: the same on every machine ---- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In (0, 1]. */
static double next_uniform(uint64_t *state)
{
    return (double)((next_random(state) >> 11) + 1) * 0x1p-53;
}

/* exp of a normal number of deviation sigma (Box and Muller 1958), so its median is 1. */
static double next_lognormal(uint64_t *state, double sigma)
{
    double radius = sqrt(-2.0 * log(next_uniform(state)));

    return exp(sigma * radius * cos(2.0 * 3.14159265358979323846 * next_uniform(state)));
}

/* ---- Runs ---- */

static double cotenant_bytes(const brim_sim_device *device)
{
    double bytes = 0.0;

    for (size_t i = 0; i < device->n_cotenants; i++)
        if (device->n_batches >= device->cotenants[i].after_batches)
            bytes = device->cotenants[i].bytes;
    return bytes;
}

double brim_sim_device_bytes(const brim_sim_device *device, size_t n, uint64_t pixels,
                             uint32_t tokens)
{
    double t = tokens;
    double per_item = device->bytes.per_item + (double)pixels * device->bytes.per_pixel +
                      t * device->bytes.per_token + t * t * device->bytes.per_token_squared;

    return device->bytes.fixed + (double)n * per_item;
}

double brim_sim_device_seconds(const brim_sim_device *device, size_t n, uint64_t pixels)
{
    double per_item = device->seconds.per_item + (double)pixels * device->seconds.per_pixel;
    double n_paid = fmax((double)n, device->seconds.parallel_items);
    double knee = 1.0;

    if (device->seconds.knee_items > 0 && (double)n > device->seconds.knee_items)
        knee += device->seconds.knee_slope * (log2((double)n) - log2(device->seconds.knee_items));
    return device->seconds.fixed + n_paid * per_item * knee;
}

/* What a batch may need before it is refused. */
static double most_bytes(const brim_sim_device *device, double ceiling_bytes)
{
    double most = device->capacity_bytes + device->spill_bytes;

    if (ceiling_bytes > 0 && ceiling_bytes < most) most = ceiling_bytes;
    return most;
}

double brim_sim_device_free_bytes(const brim_sim_device *device, double ceiling_bytes)
{
    double held = device->weights_bytes + cotenant_bytes(device);

    return fmax(0.0, most_bytes(device, ceiling_bytes) - held);
}

static void note_spill(brim_sim_device *device, bool spills)
{
    device->n_spills += spills;
    device->n_spill_entries += spills && !device->is_spilling;
    device->is_spilling = spills;
}

brim_sim_run brim_sim_device_run(brim_sim_device *device, size_t n, uint64_t pixels,
                                 uint32_t tokens, double ceiling_bytes)
{
    brim_sim_run run = {.bytes = brim_sim_device_bytes(device, n, pixels, tokens)};
    double needed = device->weights_bytes + cotenant_bytes(device) + run.bytes;
    double over = needed - device->capacity_bytes;

    if (needed > most_bytes(device, ceiling_bytes)) {
        run.refused = true;
        run.seconds = device->seconds.fixed;
        device->n_refusals++;
        device->seconds_run += run.seconds;
        return run;
    }
    run.seconds = brim_sim_device_seconds(device, n, pixels);
    run.spilled = over > 0;
    if (run.spilled)
        run.seconds *= 1.0 + (device->spill_slowdown - 1.0) *
                                 fmin(1.0, over / (FULL_SPILL_SHARE * device->capacity_bytes));
    if (device->noise_sigma > 0)
        run.seconds *= next_lognormal(&device->noise_state, device->noise_sigma);
    device->n_batches++;
    note_spill(device, run.spilled);
    device->seconds_run += run.seconds;
    device->peak_bytes = fmax(device->peak_bytes, run.bytes);
    return run;
}

/* ---- The file ---- */

typedef struct sim_file {
    const char *path;
    brim_error *err;
} sim_file;

/* A number of that range, left as it is where the name is missing. */
static brim_status read_number(const sim_file *file, const json_t *from, const char *name,
                               double least, double most, double *out)
{
    const json_t *value = json_object_get(from, name);

    if (!value) return BRIM_OK;
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= least && number <= most))
        return brim_fail(file->err, BRIM_E_FORMAT, "%s: %s: not a number from %g to %g", file->path,
                         name, least, most);
    *out = number;
    return BRIM_OK;
}

/* Where a number goes. */
typedef struct field {
    const char *name;
    double least;
    double *to;
} field;

/* An object of these numbers; NULL: it is not there. Names that are none of them are mistakes. */
static brim_status read_numbers(const sim_file *file, const char *what, const json_t *from,
                                const field *fields, size_t n)
{
    const char *name;
    json_t *value;

    if (!from) return BRIM_OK;
    if (!json_is_object(from))
        return brim_fail(file->err, BRIM_E_FORMAT, "%s: %s: not an object", file->path, what);
    json_object_foreach((json_t *)from, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < n; i++)
            known |= strcmp(name, fields[i].name) == 0;
        if (!known)
            return brim_fail(file->err, BRIM_E_FORMAT, "%s: %s.%s: no such setting", file->path,
                             what, name);
    }
    brim_status status = BRIM_OK;
    for (size_t i = 0; i < n && status == BRIM_OK; i++)
        status = read_number(file, from, fields[i].name, fields[i].least, MOST, fields[i].to);
    return status;
}

static brim_status read_clock(const sim_file *file, const json_t *root, brim_sim_device *out)
{
    const json_t *clock = json_object_get(root, "clock");
    const char *text = json_string_value(clock);

    if (!clock || (text && strcmp(text, "virtual") == 0)) return BRIM_OK;
    if (!text || strcmp(text, "real") != 0)
        return brim_fail(file->err, BRIM_E_FORMAT, "%s: clock: neither \"virtual\" nor \"real\"",
                         file->path);
    out->is_real_time = true;
    return BRIM_OK;
}

static brim_status read_cotenants(const sim_file *file, const json_t *list, brim_sim_device *out)
{
    if (!list) return BRIM_OK;
    if (!json_is_array(list) || json_array_size(list) > BRIM_SIM_MAX_COTENANTS)
        return brim_fail(file->err, BRIM_E_FORMAT, "%s: cotenant: not a list of at most %d",
                         file->path, BRIM_SIM_MAX_COTENANTS);
    for (size_t i = 0; i < json_array_size(list); i++) {
        double after = 0.0;
        brim_sim_cotenant *one = &out->cotenants[i];
        const field fields[] = {{"after_batches", 0, &after}, {"bytes", 0, &one->bytes}};
        brim_status status = read_numbers(file, "cotenant", json_array_get(list, i), fields, 2);
        if (status != BRIM_OK) return status;
        one->after_batches = after < 0x1p63 ? (uint64_t)after : UINT64_MAX;
        if (i > 0 && one->after_batches < out->cotenants[i - 1].after_batches)
            return brim_fail(file->err, BRIM_E_FORMAT,
                             "%s: cotenant: after_batches must not become smaller", file->path);
        out->n_cotenants++;
    }
    return BRIM_OK;
}

static brim_status read_name(const sim_file *file, const json_t *root, brim_sim_device *out)
{
    const json_t *name = json_object_get(root, "name");

    if (!name) return BRIM_OK;
    if (!json_is_string(name) || json_string_length(name) >= sizeof(out->name))
        return brim_fail(file->err, BRIM_E_FORMAT, "%s: name: not a text of less than %zu bytes",
                         file->path, sizeof(out->name));
    memcpy(out->name, json_string_value(name), json_string_length(name) + 1);
    return BRIM_OK;
}

static brim_status check_names(const sim_file *file, const json_t *root)
{
    static const char *const NAMES[] = {"name",          "clock", "capacity_bytes",
                                        "weights_bytes", "bytes", "spill",
                                        "seconds",       "noise", "cotenant"};
    const char *name;
    json_t *value;

    if (!json_is_object(root))
        return brim_fail(file->err, BRIM_E_FORMAT, "%s: not a JSON object", file->path);
    json_object_foreach((json_t *)root, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
            known |= strcmp(name, NAMES[i]) == 0;
        if (!known)
            return brim_fail(file->err, BRIM_E_FORMAT, "%s: %s: no such setting", file->path, name);
    }
    return BRIM_OK;
}

static brim_status read_device(const sim_file *file, const json_t *root, brim_sim_device *out)
{
    double seed = 0.0;
    const field bytes[] = {{"fixed", 0, &out->bytes.fixed},
                           {"per_item", 0, &out->bytes.per_item},
                           {"per_pixel", 0, &out->bytes.per_pixel},
                           {"per_token", 0, &out->bytes.per_token},
                           {"per_token_squared", 0, &out->bytes.per_token_squared}};
    const field seconds[] = {{"fixed", 0, &out->seconds.fixed},
                             {"per_item", 0, &out->seconds.per_item},
                             {"per_pixel", 0, &out->seconds.per_pixel},
                             {"parallel_items", 1, &out->seconds.parallel_items},
                             {"knee_items", 0, &out->seconds.knee_items},
                             {"knee_slope", 0, &out->seconds.knee_slope}};
    const field spill[] = {{"bytes", 0, &out->spill_bytes}, {"slowdown", 1, &out->spill_slowdown}};
    const field noise[] = {{"seed", 0, &seed}, {"sigma", 0, &out->noise_sigma}};

    brim_status status = check_names(file, root);
    if (status == BRIM_OK) status = read_name(file, root, out);
    if (status == BRIM_OK) status = read_clock(file, root, out);
    if (status == BRIM_OK)
        status = read_number(file, root, "capacity_bytes", 1, MOST, &out->capacity_bytes);
    if (status == BRIM_OK && out->capacity_bytes <= 0)
        status = brim_fail(file->err, BRIM_E_FORMAT, "%s: capacity_bytes: missing", file->path);
    if (status == BRIM_OK)
        status = read_number(file, root, "weights_bytes", 0, MOST, &out->weights_bytes);
    if (status == BRIM_OK)
        status = read_numbers(file, "bytes", json_object_get(root, "bytes"), bytes, 5);
    if (status == BRIM_OK)
        status = read_numbers(file, "seconds", json_object_get(root, "seconds"), seconds, 6);
    if (status == BRIM_OK)
        status = read_numbers(file, "spill", json_object_get(root, "spill"), spill, 2);
    if (status == BRIM_OK)
        status = read_numbers(file, "noise", json_object_get(root, "noise"), noise, 2);
    if (status == BRIM_OK)
        status = read_number(file, json_object_get(root, "noise"), "sigma", 0, MOST_SIGMA,
                             &out->noise_sigma);
    if (status == BRIM_OK) status = read_cotenants(file, json_object_get(root, "cotenant"), out);
    out->noise_state = seed < 0x1p63 ? (uint64_t)seed : 0;
    return status;
}

/* Takes root over. */
static brim_status take_root(const sim_file *file, json_t *root, const json_error_t *trouble,
                             brim_sim_device *out)
{
    *out = (brim_sim_device){.spill_slowdown = 1.0, .seconds.parallel_items = 1.0};
    if (!root && json_error_code(trouble) == json_error_cannot_open_file)
        return brim_fail(file->err, BRIM_E_IO, "%s: cannot be read", file->path);
    if (!root)
        return brim_fail(file->err, BRIM_E_FORMAT, "%s: line %d: %s", file->path, trouble->line,
                         trouble->text);
    brim_status status = read_device(file, root, out);
    json_decref(root);
    return status;
}

brim_status brim_sim_device_load(const char *path, brim_sim_device *out, brim_error *err)
{
    sim_file file = {path, err};
    json_error_t trouble;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &trouble);

    return take_root(&file, root, &trouble, out);
}

brim_status brim_sim_device_parse(const char *text, size_t bytes, const char *name,
                                  brim_sim_device *out, brim_error *err)
{
    sim_file file = {name, err};
    json_error_t trouble;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &trouble);

    return take_root(&file, root, &trouble, out);
}
