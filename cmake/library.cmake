# libedgeps: the planner's rooms as a shared and a static library, with what is installed beside them.
# What the library offers are the headers listed here, each to be included as <edgeps/room/name.h>.
# Their declarations stand between EDGEPS_API_BEGIN and EDGEPS_API_END; the shared library exports
# these and nothing else.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(public_headers
    base/api.h base/err.h base/mem.h network/network.h network/route.h network/generate.h job/job.h problem/problem.h plan/plan.h plan/plan_set.h
    cost/cost.h cost/sensitivity.h place/place.h place/shards.h adapt/adapt.h adapt/history.h
    adapt/trace.h meter/meter.h formats/network_json.h formats/topology.h formats/network_csv.h formats/iperf.h
    formats/plan_json.h formats/problem_json.h formats/quantity.h)

# These rooms, and all that they include.
set(rooms adapt meter formats)
set(waiting ${rooms})
while(waiting)
    list(POP_FRONT waiting room)
    foreach(arrow IN LISTS EDGEPS_ARROWS_${room})
        if(NOT arrow IN_LIST rooms)
            list(APPEND rooms ${arrow})
            list(APPEND waiting ${arrow})
        endif()
    endforeach()
endwhile()

foreach(room IN LISTS rooms)
    list(APPEND objects $<TARGET_OBJECTS:${room}_room>)
    get_target_property(links ${room}_room INTERFACE_LINK_LIBRARIES)
    list(FILTER links EXCLUDE REGEX "_room$")
    list(APPEND outside ${links})
endforeach()
list(REMOVE_DUPLICATES outside)

add_library(libedgeps SHARED ${objects})
target_link_libraries(libedgeps PRIVATE ${outside})
# A function of the same name in the program does not take the place of the library's own.
target_link_options(libedgeps PRIVATE -Wl,-Bsymbolic -Wl,--no-undefined)
target_include_directories(libedgeps INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Versions 0.x promise no binary interface from one to the next.
set_target_properties(libedgeps PROPERTIES
    OUTPUT_NAME edgeps EXPORT_NAME edgeps LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

add_library(libedgeps_static STATIC ${objects})
set_target_properties(libedgeps_static PROPERTIES OUTPUT_NAME edgeps LINKER_LANGUAGE C)

# Rooms include each other as "room/name.h"; outside the folder is called edgeps.
foreach(header IN LISTS public_headers)
    set(made ${CMAKE_BINARY_DIR}/include/edgeps/${header})
    get_filename_component(folder ${made} DIRECTORY)
    add_custom_command(
        OUTPUT ${made} DEPENDS ${CMAKE_SOURCE_DIR}/src/${header}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND sed "s,#include \"\\(.*\\)\",#include <edgeps/\\1>," ${CMAKE_SOURCE_DIR}/src/${header}
                > ${made}
        VERBATIM)
    list(APPEND made_headers ${made})
endforeach()
add_custom_target(public_headers ALL DEPENDS ${made_headers})

# A test builds the examples against the installed library. Here they are known to clang-tidy.
file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/library/*.c)
foreach(example IN LISTS examples)
    get_filename_component(stem ${example} NAME_WE)
    add_executable(example_${stem} EXCLUDE_FROM_ALL ${example})
    target_include_directories(example_${stem} PRIVATE ${CMAKE_BINARY_DIR}/include)
    target_link_libraries(example_${stem} PRIVATE libedgeps)
    add_dependencies(example_${stem} public_headers)
endforeach()

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(packaging/edgeps.pc.in edgeps.pc @ONLY)
write_basic_package_version_file(edgepsConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS libedgeps EXPORT edgepsConfig)
install(TARGETS libedgeps_static)
install(DIRECTORY ${CMAKE_BINARY_DIR}/include/edgeps DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/edgeps.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(EXPORT edgepsConfig NAMESPACE edgeps:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/edgeps)
install(FILES ${CMAKE_BINARY_DIR}/edgepsConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/edgeps)
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
