/* dtype.h - what the elements of a tensor are. */
#ifndef BRIM_BASE_DTYPE_H
#define BRIM_BASE_DTYPE_H

#include <stddef.h>

typedef enum brim_dtype { BRIM_F32, BRIM_F16, BRIM_I64, BRIM_DTYPE_OTHER } brim_dtype;

/* Bytes of an element; 0 for what is of no known kind. */
static inline size_t brim_dtype_bytes(brim_dtype dtype)
{
    switch (dtype) {
    case BRIM_F32:
        return 4;
    case BRIM_F16:
        return 2;
    case BRIM_I64:
        return 8;
    case BRIM_DTYPE_OTHER:
        break;
    }
    return 0;
}

#endif /* BRIM_BASE_DTYPE_H */
