# Tests that are not the unit test of one source file: the command, the checks of the tree, the
# end-to-end runs. "slow" labels what `make check` leaves out.

function(brim_check name)
    add_test(NAME check/${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(check/${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS lint)
endfunction()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
brim_check(layers ${Python3_EXECUTABLE} tools/check_layers.py ${PROJECT_BINARY_DIR}/layers.txt)
brim_check(banned ${Python3_EXECUTABLE} tools/check_banned.py)
if(NOT BRIM_SANITIZE)
    brim_check(format tools/check_format.sh)
    brim_check(tidy tools/check_tidy.sh ${PROJECT_BINARY_DIR})
    set_tests_properties(check/tidy PROPERTIES LABELS "lint;slow")
endif()

# The command's own parts.
foreach(part size parse)
    set(source tests/cli/test_${part}.c)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${source})
        brim_test(cli/${part} ${source})
        target_link_libraries(test_cli_${part} PRIVATE cli_objects)
    endif()
endforeach()

# The same programs at length.
foreach(test memory/arena session/onnx_memory)
    string(REPLACE "/" "_" target "test_${test}")
    if(TARGET ${target})
        add_test(NAME ${test}_long COMMAND ${target} long)
        set_tests_properties(${test}_long PROPERTIES
            LABELS slow TIMEOUT 1800 ENVIRONMENT "${BRIM_SANITIZER_OPTIONS}")
    endif()
endforeach()

# The program that the documentation quotes.
add_executable(example_embed examples/embed.c)
target_compile_options(example_embed PRIVATE ${BRIM_WARNINGS})
target_link_libraries(example_embed PRIVATE brimful)

# End to end: the built command against Python. Each file of tests/e2e is one test.
if(BRIM_TEST_PYTHON)
    # Makes the system calls of chosen files hang or fail, for tests of what cannot be had otherwise.
    add_library(hang_preload MODULE tests/support/hang_preload.c)
    target_link_libraries(hang_preload PRIVATE ${CMAKE_DL_LIBS})
    # The readers and the resampler alone, to be compared with Pillow's.
    add_executable(parity_tool tests/image/parity_tool.c)
    target_include_directories(parity_tool PRIVATE src tests)
    target_compile_options(parity_tool PRIVATE ${BRIM_WARNINGS})
    target_link_libraries(parity_tool PRIVATE brimful_inside)
    file(GLOB e2e CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/e2e/test_*.py)
    foreach(path ${e2e})
        get_filename_component(name ${path} NAME_WE)
        string(REPLACE "test_" "" name ${name})
        add_test(NAME e2e/${name}
            COMMAND ${BRIM_TEST_PYTHON} -m pytest -q -p no:cacheprovider ${path}
            WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
        set_tests_properties(e2e/${name} PROPERTIES ENVIRONMENT
            "BRIMFUL=$<TARGET_FILE:brimful_cli>;BRIMFUL_EXAMPLE=$<TARGET_FILE:example_embed>;\
BRIMFUL_HANG=$<TARGET_FILE:hang_preload>;BRIMFUL_PARITY=$<TARGET_FILE:parity_tool>;BRIMFUL_CACHE=${BRIM_CACHE};\
BRIMFUL_SANITIZE=${BRIM_SANITIZE};PYTHONDONTWRITEBYTECODE=1;${BRIM_SANITIZER_OPTIONS}" TIMEOUT 900)
        if(name MATCHES "^slow_")
            set_tests_properties(e2e/${name} PROPERTIES LABELS slow)
        endif()
    endforeach()
endif()
