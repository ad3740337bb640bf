/* observation.c - observations as lines of a log. */
#include "governor/observation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/line.h"

size_t brim_observation_write(const brim_observation *seen, char *out, size_t capacity)
{
    brim_line line = brim_line_begin(out, capacity);

    brim_line_add(&line, "%s %zu %" PRIu64 " %" PRIu32 " %.17g", seen->refused ? "refused" : "ran",
                  seen->n_items, seen->shape.pixels, seen->shape.tokens, seen->seconds);
    if (!seen->refused) brim_line_add(&line, " %zu", seen->peak_bytes);
    if (!seen->refused && seen->has_pressure) brim_line_add(&line, " pressure");
    return line.length;
}

bool brim_observation_read(const char *line, brim_observation *out)
{
    char kind[16] = "", pressure[16] = "";

    *out = (brim_observation){0};
    int n =
        sscanf(line, "%15s %zu %" SCNu64 " %" SCNu32 " %lf %zu %15s", kind, &out->n_items,
               &out->shape.pixels, &out->shape.tokens, &out->seconds, &out->peak_bytes, pressure);
    out->refused = strcmp(kind, "refused") == 0;
    out->has_pressure = n == 7 && strcmp(pressure, "pressure") == 0;
    if (out->refused) return n >= 5;
    return strcmp(kind, "ran") == 0 && n >= 6;
}

size_t brim_offer_write(const brim_offer *offer, char *out, size_t capacity)
{
    brim_line line = brim_line_begin(out, capacity);

    brim_line_add(&line, "offer %" PRIu64 " %" PRIu32 " %zu %" PRIu32 " = %zu", offer->shape.pixels,
                  offer->shape.tokens, offer->budget_bytes, offer->most_items, offer->n_items);
    return line.length;
}

bool brim_offer_read(const char *line, brim_offer *out)
{
    return sscanf(line, "offer %" SCNu64 " %" SCNu32 " %zu %" SCNu32 " = %zu", &out->shape.pixels,
                  &out->shape.tokens, &out->budget_bytes, &out->most_items, &out->n_items) == 5;
}
