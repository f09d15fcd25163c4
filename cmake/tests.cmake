# Test programs, examples and benchmarks: one program per file, found by directory.
# They link the static library, so that they can also test internal modules.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA QUIET cmocka)
pkg_check_modules(MPFR QUIET mpfr)

# Tests are compiled more often than they are run, and spend their time in the library; in a Release build those of loops and
# adversaries are worth an optimizer's time.
set(CPB_TEST_OPTIONS -O0)

enable_testing()
add_custom_target(tests) # those that this build runs: ctest.cmake
if(CMOCKA_FOUND AND MPFR_FOUND)
  file(GLOB CPB_TEST_SUPPORT CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.c)
  add_library(cpb_test_support STATIC EXCLUDE_FROM_ALL ${CPB_TEST_SUPPORT})
  target_compile_options(cpb_test_support PUBLIC ${CPB_TEST_OPTIONS})
  set_property(SOURCE ${CPB_TEST_SUPPORT} APPEND PROPERTY COMPILE_OPTIONS -O2) # random numbers for all the others
  target_include_directories(cpb_test_support PUBLIC tests src ${CMOCKA_INCLUDE_DIRS} ${MPFR_INCLUDE_DIRS})
  target_link_libraries(cpb_test_support PUBLIC capball_programs ${CMOCKA_LINK_LIBRARIES} ${MPFR_LINK_LIBRARIES} gmp m)
  file(GLOB CPB_ROOMS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/*)
  list(TRANSFORM CPB_ROOMS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/\\1/*.c")
  file(GLOB CPB_TESTS CONFIGURE_DEPENDS ${CPB_ROOMS})
  set(CPB_COMPUTING_TESTS ${CPB_TESTS})
  list(FILTER CPB_COMPUTING_TESTS INCLUDE REGEX "/loops/|/adversary_|search|recommend_rows|own_functions|scale_goals|/t[189]_")
  set_property(SOURCE ${CPB_COMPUTING_TESTS} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
  foreach(source ${CPB_TESTS})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE cpb_test_support)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  endforeach()

  # A call of every exported function, from the public headers.
  file(GLOB CPB_PUBLIC_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/capball/*.h
       ${PROJECT_SOURCE_DIR}/include/capball/advanced/*.h)
  set(CPB_NULL_CALLS ${PROJECT_SOURCE_DIR}/tests/support/null_calls.py ${PROJECT_SOURCE_DIR}/tests/base/null_objects.c)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/tests/null_calls.inc
                     COMMAND python3 ${CPB_NULL_CALLS} ${CMAKE_BINARY_DIR}/tests/null_calls.inc ${CPB_PUBLIC_HEADERS}
                     DEPENDS ${CPB_NULL_CALLS} ${CPB_PUBLIC_HEADERS} VERBATIM)
  target_sources(null_objects PRIVATE ${CMAKE_BINARY_DIR}/tests/null_calls.inc)
  target_include_directories(null_objects PRIVATE ${CMAKE_BINARY_DIR}/tests)
endif()

# Preloaded, makes the N-th allocation or system call of a program fail; not with sanitizers, which replace malloc.
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h CPB_HAVE_GLIBC)
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CPB_HAVE_GLIBC AND NOT CPB_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND CMOCKA_FOUND AND MPFR_FOUND)
  add_library(fault_shim MODULE EXCLUDE_FROM_ALL tests/faults/fault_shim.c)
  target_include_directories(fault_shim PRIVATE tests)
  target_compile_options(fault_shim PRIVATE -fvisibility=default -fno-builtin)
  target_link_libraries(fault_shim PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(fault_shim PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_library(delay_shim MODULE EXCLUDE_FROM_ALL tests/faults/delay_shim.c)
  target_compile_options(delay_shim PRIVATE -fvisibility=default)
  target_link_libraries(delay_shim PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(delay_shim PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_executable(fault_calls EXCLUDE_FROM_ALL tests/faults/fault_calls.c tests/faults/fault_shim.c)
  target_compile_options(fault_calls PRIVATE -fvisibility=default -fno-builtin)
  target_link_libraries(fault_calls PRIVATE cpb_test_support ${CMAKE_DL_LIBS})
  set_target_properties(fault_calls PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(tests fault_shim delay_shim fault_calls)
endif()

# Under sanitizers only the tests are run; the other programs are only compiled.
function(capball_program name source)
  if(CPB_SANITIZE)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  else()
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
  endif()
endfunction()

add_custom_target(benches)
file(GLOB CPB_BENCH_SUPPORT CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/support/*.c)
add_library(cpb_bench_support STATIC EXCLUDE_FROM_ALL ${CPB_BENCH_SUPPORT})
target_include_directories(cpb_bench_support PUBLIC bench src)
target_link_libraries(cpb_bench_support PUBLIC capball_programs ${CMAKE_DL_LIBS})
# The memory copy used as the roofline, also for benchmarks in Python.
add_library(cpb_roofline SHARED EXCLUDE_FROM_ALL bench/support/roofline.c)
target_include_directories(cpb_roofline PRIVATE bench include)
target_compile_options(cpb_roofline PRIVATE -fvisibility=default)
add_dependencies(benches cpb_roofline)
file(GLOB CPB_BENCHES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.c)
foreach(source ${CPB_BENCHES})
  get_filename_component(name ${source} NAME_WE)
  capball_program(${name} ${source})
  target_link_libraries(${name} PRIVATE cpb_bench_support)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  add_dependencies(benches ${name})
endforeach()

# search_recall writes a page with the wording of the command.
target_sources(search_recall PRIVATE
  ${PROJECT_SOURCE_DIR}/show/recommend_text.c ${PROJECT_SOURCE_DIR}/show/put_text.c)
target_include_directories(search_recall PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(search_recall PRIVATE _GNU_SOURCE)

add_custom_target(examples)
file(GLOB CPB_EXAMPLES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
foreach(source ${CPB_EXAMPLES})
  get_filename_component(name ${source} NAME_WE)
  capball_program(${name} ${source})
  target_link_libraries(${name} PRIVATE capball m)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  add_dependencies(examples ${name})
endforeach()
