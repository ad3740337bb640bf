/*
 * throw.cc - raises std::bad_alloc, the one way in which an allocator may refuse ONNX Runtime.
 *
 * Returning NULL ends the process. The exception passes through C frames of our allocator, which is
 * compiled with -fexceptions for it, and is caught by the runtime, which makes a status of it.
 */
#include <new>

#include "session/throw.h"

void brim_throw_bad_alloc(void)
{
    throw std::bad_alloc();
}
