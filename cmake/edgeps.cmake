# Modules, their tests and fuzz targets. What a module links is read from src/LAYERS, the one place
# that lists the arrows.

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes
                    -Wmissing-prototypes -Wvla -Wformat=2 -Wundef)
# Sums come out the same with every compiler.
add_compile_options(-ffp-contract=off)
# snprintf cuts messages on purpose.
add_compile_options($<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
add_compile_definitions(_GNU_SOURCE)
if(EDGEPS_WERROR)
    add_compile_options(-Werror)
endif()
if(EDGEPS_SANITIZE)
    add_compile_options(-fsanitize=${EDGEPS_SANITIZE} -fno-omit-frame-pointer
                        -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${EDGEPS_SANITIZE})
endif()

# Fills EDGEPS_MODULES (lowest layer first) and EDGEPS_ARROWS_<module>.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/LAYERS)
file(STRINGS ${CMAKE_SOURCE_DIR}/src/LAYERS layer_lines REGEX "^[0-9]")
foreach(line IN LISTS layer_lines)
    string(REGEX REPLACE "[+].*" "" line "${line}")
    string(REGEX MATCHALL "[a-z]+" words "${line}")
    list(POP_FRONT words module)
    list(APPEND EDGEPS_MODULES ${module})
    set(EDGEPS_ARROWS_${module} ${words})
endforeach()

# Tests in which threads meet, by name: label "threads", for the preset tsan.
set(EDGEPS_THREADED "^(loop|node)[.]|^base[.]parallel|[.]sensitivity|^place[.]threads|^sim[.]search$")

# Tests of jobs and labs with time limits, by name. Those of node.node are wide, and the commands that
# are not listed run alone.
set(EDGEPS_TIMED "^(node[.][^n]|lab[.]|integration[.](run|fault|flood|mnist|lab|probe))")

# What ./dev test builds of the thread sanitizer's and the fuzzer's preset.
add_custom_target(thread_tests)
add_custom_target(fuzzers)

# edgeps_module(NAME SOURCES a.c ... [LINK target ...] [TESTS a_test.c ...] [FUZZ fuzz_a.c ...])
# Each test file is a program of its own under ctest, called <module>.<file without _test.c>.
function(edgeps_module name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK;TESTS;FUZZ" ${ARGN})
    add_library(${name}_room STATIC ${ARG_SOURCES})
    target_include_directories(${name}_room PUBLIC ${CMAKE_SOURCE_DIR}/src)
    foreach(arrow IN LISTS EDGEPS_ARROWS_${name})
        if(EXISTS ${CMAKE_SOURCE_DIR}/src/${arrow}/CMakeLists.txt)
            target_link_libraries(${name}_room PUBLIC ${arrow}_room)
        endif()
    endforeach()
    target_link_libraries(${name}_room PUBLIC ${ARG_LINK} m)
    foreach(test IN LISTS ARG_TESTS)
        string(REGEX REPLACE "_test[.]c$" "" stem ${test})
        edgeps_test(${name}.${stem} SOURCES ${test} LINK ${name}_room)
    endforeach()
    if(EDGEPS_FUZZ)
        foreach(fuzz IN LISTS ARG_FUZZ)
            string(REGEX REPLACE "[.]c$" "" stem ${fuzz})
            add_executable(${stem} ${fuzz})
            target_link_libraries(${stem} PRIVATE ${name}_room)
            target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
            add_dependencies(fuzzers ${stem})
        endforeach()
    endif()
endfunction()

# edgeps_test(NAME SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds])
# Label "quick" is the default; "slow" tests run in ./dev check-long only.
function(edgeps_test name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
    string(REPLACE "." "_" target "test_${name}")
    add_executable(${target} ${ARG_SOURCES})
    target_compile_definitions(${target} PRIVATE EDGEPS_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                 EDGEPS_BINARY_DIR="${CMAKE_BINARY_DIR}")
    target_link_libraries(${target} PRIVATE ${ARG_LINK} PkgConfig::CMOCKA)
    add_test(NAME ${name} COMMAND ${target})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
        if(EDGEPS_SANITIZE)
            set(ARG_TIMEOUT 300)
        endif()
    endif()
    if(NOT ARG_LABELS)
        set(ARG_LABELS quick)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
    # What takes longest begins first, and of what would spoil each other's time limits one is at
    # work at a time: it mostly waits, and others compute beside it.
    if(name MATCHES "^(node|lab|integration)[.]")
        set_tests_properties(${name} PROPERTIES COST 100)
    endif()
    if(name MATCHES "${EDGEPS_TIMED}")
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK processes)
    endif()
    if(name MATCHES "${EDGEPS_THREADED}")
        add_dependencies(thread_tests ${target})
        set_property(TEST ${name} APPEND PROPERTY LABELS threads)
    endif()
endfunction()
