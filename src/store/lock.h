/*
 * lock.h - one process at a time in one set of a store.
 *
 * The lock is the kernel's, on a small file beside the database, so it ends with its process
 * however that ends. (Never on the database itself: closing any handle of it would drop SQLite's
 * own locks.)
 */
#ifndef BRIM_STORE_LOCK_H
#define BRIM_STORE_LOCK_H

#include <limits.h>
#include <stdint.h>

#include "brimful/status.h"

/* {.fd = -1} holds nothing. */
typedef struct brim_set_lock {
    int fd;
    char path[PATH_MAX];
} brim_set_lock;

/* BRIM_E_BUSY names the process that holds it. database is an absolute path. */
brim_status brim_set_lock_take(brim_set_lock *lock, const char *database, int64_t set_id,
                               brim_error *err);

/* Gives it up and removes the file; fine without a lock. */
void brim_set_lock_drop(brim_set_lock *lock);

#endif /* BRIM_STORE_LOCK_H */
