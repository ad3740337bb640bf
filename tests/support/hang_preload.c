/*
 * hang_preload.c - LD_PRELOAD for end-to-end tests: opening a file whose path holds "hangs-opening"
 * never comes back, as on a network mount that went away.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    va_list args;

    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    while (strstr(path, "hangs-opening"))
        pause();
    return next(path, flags, mode);
}
