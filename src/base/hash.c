/* hash.c - fingerprints by libxxhash. */
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fail.h"

enum { CHUNK_BYTES = 1 << 16 };

static void write_digest(XXH128_hash_t digest, char out[BRIM_HASH_BYTES])
{
    snprintf(out, BRIM_HASH_BYTES, "%016llx%016llx", (unsigned long long)digest.high64,
             (unsigned long long)digest.low64);
}

void brim_hash_bytes(const void *data, size_t bytes, char out[BRIM_HASH_BYTES])
{
    write_digest(XXH3_128bits(data, bytes), out);
}

uint64_t brim_hash_64(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

brim_status brim_hash_file(const char *path, char out[BRIM_HASH_BYTES], brim_error *err)
{
    brim_status status = BRIM_OK;
    char chunk[CHUNK_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    out[0] = '\0';
    if (fd < 0) return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
    XXH3_state_t *state = XXH3_createState();
    if (!state) {
        status = brim_fail(err, BRIM_E_NOMEM, "%s: no memory to read it", path);
        goto out;
    }

    XXH3_128bits_reset(state);
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            status = brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
            goto out;
        }
        if (n == 0) break;
        XXH3_128bits_update(state, chunk, (size_t)n);
    }
    write_digest(XXH3_128bits_digest(state), out);

out:
    XXH3_freeState(state);
    close(fd);
    return status;
}
