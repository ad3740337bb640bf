/* version.c - the versions of the library and of its runtime, as loaded. */
#include "brimful/version.h"

#include <onnxruntime_c_api.h>

#define TEXT_OF(x)  #x
#define TEXT_OF2(x) TEXT_OF(x)

const char *brim_version(void)
{
    return TEXT_OF2(BRIM_VERSION_MAJOR) "." TEXT_OF2(BRIM_VERSION_MINOR) "." TEXT_OF2(
        BRIM_VERSION_PATCH);
}

const char *brim_runtime_version(void)
{
    return OrtGetApiBase()->GetVersionString();
}
