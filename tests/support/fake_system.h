/* fake_system.h - a made-up /proc and /sys below a test's folder. */
#ifndef FAKE_SYSTEM_H
#define FAKE_SYSTEM_H

#include "support/temp_dir.h"

/* Writes text into FOLDER/path, folders on the way made. */
static inline void fake_file(void **state, const char *path, const char *text)
{
    char name[1024];

    snprintf(name, sizeof(name), "%s", path);
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(temp_path(state, name), 0777);
        *slash = '/';
    }
    temp_write_text(state, path, text);
}

#endif /* FAKE_SYSTEM_H */
