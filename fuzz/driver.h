/*
 * driver.h - what the fuzz targets share.
 *
 * A target is one function, LLVMFuzzerTestOneInput(). libFuzzer feeds it, or, without that,
 * driver.c's main() does: with files and folders of files.
 */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "brimful/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What must hold whatever the input is; not an assert(), which release builds leave out. */
#define FUZZ_MUST(TRUTH)                                                                           \
    do {                                                                                           \
        if (!(TRUTH)) fuzz_fail(__FILE__, __LINE__, #TRUTH);                                       \
    } while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *words);

/* An account that counts what is taken and how much that was at most. */
typedef struct fuzz_account {
    brim_alloc base;
    size_t live_bytes, peak_bytes;
} fuzz_account;

void fuzz_account_init(fuzz_account *account);

#endif /* FUZZ_DRIVER_H */
