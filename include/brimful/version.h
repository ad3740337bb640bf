/* version.h - which brimful this is. */
#ifndef BRIMFUL_VERSION_H
#define BRIMFUL_VERSION_H

#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BRIM_VERSION_MAJOR 0
#define BRIM_VERSION_MINOR 1
#define BRIM_VERSION_PATCH 0

/* One number that grows with the version: 1.2.3 is 10203. */
#define BRIM_VERSION (BRIM_VERSION_MAJOR * 10000 + BRIM_VERSION_MINOR * 100 + BRIM_VERSION_PATCH)

/* "0.1.0", of the library that is really loaded; the headers may be another's. */
BRIM_API const char *brim_version(void);

/* "1.32.0": ONNX Runtime, as loaded. */
BRIM_API const char *brim_runtime_version(void);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_VERSION_H */
