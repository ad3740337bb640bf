/* fuzz_null.c - what stands behind "null:", as an INPUT and as the rows that it gives. */
#include <string.h>

#include "driver.h"
#include "source/null.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char input[256] = "null:";
    brim_source *source;
    brim_null_spec spec;
    brim_row *row;
    brim_error err = {0};
    fuzz_account mem;

    if (bytes > sizeof(input) - 6) return 0;
    memcpy(input + 5, data, bytes);
    fuzz_account_init(&mem);
    brim_status status = brim_source_open_null(&mem.base, input, &source, &err);
    FUZZ_MUST(status == brim_null_read(input, &spec, NULL));
    FUZZ_MUST((status == BRIM_OK) == (source != NULL));
    FUZZ_MUST(status == BRIM_OK || err.message[0]);
    for (uint64_t i = 0; status == BRIM_OK && i <= spec.count && i < 100; i++) {
        brim_status next = brim_source_next(source, &row, &err);
        FUZZ_MUST(next == (i < spec.count ? BRIM_OK : BRIM_END));
        if (next != BRIM_OK) break;
        FUZZ_MUST(strncmp(row->key, input, strlen(input)) == 0);
        FUZZ_MUST(row->null_width > 0 && row->null_height > 0);
        brim_row_destroy(row);
    }
    brim_source_close(source);
    FUZZ_MUST(mem.live_bytes == 0);
    return 0;
}
