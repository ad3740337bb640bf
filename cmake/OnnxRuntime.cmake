# OnnxRuntime.cmake - the imported target onnxruntime::onnxruntime, out of the folder ONNXRUNTIME_ROOT: the official archive
# unpacked, or what tools/setup.sh leaves in its cache. The environment variable of that name serves where -D is not given.

set(ONNXRUNTIME_ROOT "$ENV{ONNXRUNTIME_ROOT}" CACHE PATH "folder of ONNX Runtime: include/ and lib/")

set(where PATHS "${ONNXRUNTIME_ROOT}" NO_DEFAULT_PATH NO_CACHE)
find_path(onnxruntime_include onnxruntime_c_api.h ${where}
    PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session)
find_library(onnxruntime_library onnxruntime ${where} PATH_SUFFIXES lib lib64)
unset(where)

if(NOT onnxruntime_include OR NOT onnxruntime_library)
    message(FATAL_ERROR "ONNX Runtime is not in ONNXRUNTIME_ROOT='${ONNXRUNTIME_ROOT}': `make` fetches it, or give "
        "-DONNXRUNTIME_ROOT=FOLDER with the official archive unpacked (include/, lib/)")
endif()

add_library(onnxruntime::onnxruntime SHARED IMPORTED)
set_target_properties(onnxruntime::onnxruntime PROPERTIES
    IMPORTED_LOCATION "${onnxruntime_library}"
    INTERFACE_INCLUDE_DIRECTORIES "${onnxruntime_include}")
