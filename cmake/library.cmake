# One object library per module (cpb_core, cpb_threads, cpb_files, cpb_json), and both libraries built from them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
  foreach(isa avx2 avx512)
    set_source_files_properties(src/loops/loop_${isa}.c src/loops/rows_${isa}.c src/loops/rows_double_${isa}.c
      src/sphere/layer_${isa}.c src/sketch/sketch_${isa}.c PROPERTIES COMPILE_OPTIONS "${${isa}}")
  endforeach()
  set_source_files_properties(src/loops/bytes_avx2.c PROPERTIES COMPILE_OPTIONS "${avx2}")
  set_source_files_properties(src/loops/bytes_avx512.c PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vnni")
  set_source_files_properties(src/loops/bytes_amx.c PROPERTIES COMPILE_OPTIONS "${avx512};-mamx-tile;-mamx-int8")
  set_source_files_properties(src/sketch/byte_scan_avx512.c PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vbmi")
  set_source_files_properties(src/loops/popcount_avx512.c PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vpopcntdq")
endif()

# Rooms whose loops are in plain C, which gcc vectorises for any number of elements only if told so; those that scan rows are faster
# with -O3, and with roots that do not set errno and comparisons that cannot trap.
file(GLOB CPB_VECTORISED CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/loops/loop_*.c ${PROJECT_SOURCE_DIR}/src/ball/*.c)
set_property(SOURCE ${CPB_VECTORISED} APPEND PROPERTY COMPILE_OPTIONS -fno-math-errno
  $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-ftree-vectorize>
  $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-fvect-cost-model=dynamic>)
file(GLOB CPB_UNROLLED CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/loops/bytes_*.c
  ${PROJECT_SOURCE_DIR}/src/search/*.c ${PROJECT_SOURCE_DIR}/src/sketch/*.c)
list(REMOVE_ITEM CPB_UNROLLED ${CPB_COLD})
set_property(SOURCE ${CPB_UNROLLED} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> -fno-math-errno -fno-trapping-math)

# The walks use registers explicitly. Roots that set errno are not vectorised.
file(GLOB CPB_WALKS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/loops/rows_*.c ${PROJECT_SOURCE_DIR}/src/sphere/layer_*.c)
set_property(SOURCE ${CPB_WALKS} APPEND PROPERTY COMPILE_OPTIONS $<$<C_COMPILER_ID:GNU>:-fno-gcse> -fno-math-errno)
# Under sanitizers only the modules that compute in plain C are worth an optimizer's time. The loops of instruction sets are not:
# with checks inserted, clang takes two minutes to optimize them, and the tests run them for seconds. They are instrumented like
# the rest, the walks, which are long, with a call per access instead of code in place. Where loops are unrolled, clang takes most
# of its own for pointers that might wrap: what is beyond an array the address sanitizer sees.
if(CPB_SANITIZE)
  file(GLOB CPB_COMPUTING CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/*.c ${PROJECT_SOURCE_DIR}/src/statistics/*.c
    ${PROJECT_SOURCE_DIR}/src/loops/loop_plain.c)
  set_property(SOURCE ${CPB_COMPUTING} APPEND PROPERTY COMPILE_OPTIONS -O1)
endif()
if(CPB_SANITIZE MATCHES address)
  set_property(SOURCE ${CPB_WALKS} APPEND PROPERTY COMPILE_OPTIONS $<$<C_COMPILER_ID:Clang>:-mllvm>
    $<$<C_COMPILER_ID:Clang>:-asan-instrumentation-with-call-threshold=0>)
endif()
# Fuzzers follow the branches of whatever checks its input. In the loops behind it, counting branches and comparisons would only
# take time, of the compiler and of every test.
if(CPB_FUZZ)
  set(CPB_FUZZED ${CPB_SOURCES})
  list(FILTER CPB_FUZZED EXCLUDE REGEX "/src/(ball|loops|search|sketch)/|/src/base/(blocks|pool|tell|system_)")
  set_property(SOURCE ${CPB_FUZZED} APPEND PROPERTY COMPILE_OPTIONS -fsanitize=fuzzer-no-link)
endif()
if(CPB_SANITIZE MATCHES undefined)
  file(GLOB CPB_LOOPS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/loops/*.c)
  set_property(SOURCE ${CPB_LOOPS} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=pointer-overflow)
  set_property(SOURCE ${CPB_WALKS} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=null) # as ASan reports, too
endif()

set(CPB_NEEDS_core m $<$<BOOL:${WIN32}>:shell32>)
set(CPB_NEEDS_threads Threads::Threads)
set(CPB_NEEDS_files)
foreach(library hdf5 zlib zstd)
  if(CPB_WITH_${library})
    string(REGEX REPLACE "lib$" "" target ${library})
    list(APPEND CPB_NEEDS_files capball::${target})
  endif()
endforeach()

# Nothing is thrown through C: a debugger and perf find the frames of a Release build in its debugging information. backtrace(3)
# and C++ exceptions of callbacks, which must not leave them, need the tables.
option(CPB_UNWIND "tables to unwind the stack in Release builds, too: 110 KB" OFF)
set(CPB_OBJECTS)
set(CPB_NEEDS)
foreach(module ${CPB_EVERY_MODULE})
  if(CPB_WITH_${module})
    add_library(cpb_${module} OBJECT ${CPB_SOURCES_${module}})
    set_target_properties(cpb_${module} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(cpb_${module} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(cpb_${module} PRIVATE _FILE_OFFSET_BITS=64 CPB_BUILDING)
    if(WIN32 AND NOT CPB_PYTHON) # a DLL exports what it names
      target_compile_definitions(cpb_${module} PRIVATE "CPB_API=__declspec(dllexport)")
    endif()
    target_link_libraries(cpb_${module} PRIVATE ${CPB_NEEDS_${module}})
    if(NOT CPB_UNWIND)
      target_compile_options(cpb_${module} PRIVATE $<$<CONFIG:Release>:-fno-asynchronous-unwind-tables>
        $<$<CONFIG:Release>:-fno-unwind-tables>)
    endif()
    list(APPEND CPB_OBJECTS $<TARGET_OBJECTS:cpb_${module}>)
    list(APPEND CPB_NEEDS ${CPB_NEEDS_${module}})
  endif()
endforeach()
foreach(library hdf5 zlib zstd)
  if(CPB_WITH_${library})
    string(TOUPPER ${library} name)
    target_compile_definitions(cpb_files PRIVATE CPB_HAVE_${name})
  endif()
endforeach()

if(CPB_WEB) # which links the objects itself
  return()
endif()

# libhdf5 on demand: the table of its functions is filled by dlopen in the shared library and in the programs of this
# tree, and by the linker in the static library, which must work in programs without a dynamic loader.
set(CPB_OBJECTS_STATIC ${CPB_OBJECTS})
set(CPB_NEEDS_STATIC ${CPB_NEEDS})
if(CPB_WITH_hdf5)
  function(capball_hdf5_calls name)
    add_library(${name} OBJECT ${CPB_HDF5_CALLS})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name} PRIVATE CPB_HAVE_HDF5 ${ARGN})
    target_link_libraries(${name} PRIVATE capball::hdf5)
  endfunction()
  capball_hdf5_calls(cpb_hdf5_linked)
  list(APPEND CPB_OBJECTS_STATIC $<TARGET_OBJECTS:cpb_hdf5_linked>)
endif()
if(CPB_HDF5_LIBRARY)
  capball_hdf5_calls(cpb_hdf5_loaded CPB_HDF5_LIBRARY="${CPB_HDF5_LIBRARY}")
  capball_hdf5_calls(cpb_hdf5_program CPB_HDF5_LIBRARY="${CPB_HDF5_LIBRARY}" CPB_HDF5_EVERYWHERE=true)
  list(REMOVE_ITEM CPB_NEEDS capball::hdf5)
  list(APPEND CPB_NEEDS ${CMAKE_DL_LIBS})
  add_library(capball_programs STATIC EXCLUDE_FROM_ALL ${CPB_OBJECTS} $<TARGET_OBJECTS:cpb_hdf5_program>)
  list(APPEND CPB_OBJECTS $<TARGET_OBJECTS:cpb_hdf5_loaded>)
  if(NOT CPB_HDF5_PLACE IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES) # which the linker searches by default
    list(APPEND CMAKE_BUILD_RPATH ${CPB_HDF5_PLACE})
  endif()
else()
  set(CPB_OBJECTS ${CPB_OBJECTS_STATIC})
  add_library(capball_programs INTERFACE)
  target_link_libraries(capball_programs INTERFACE capball_static)
endif()

add_library(capball SHARED ${CPB_OBJECTS})
add_library(capball_static STATIC ${CPB_OBJECTS_STATIC})
add_library(capball::capball ALIAS capball)
add_library(capball::capball_static ALIAS capball_static)
# Before 1.0 every minor version may break the ABI.
set_target_properties(capball PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(capball_static PROPERTIES OUTPUT_NAME capball)
foreach(library capball capball_static)
  target_include_directories(${library} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(capball PRIVATE ${CPB_NEEDS})
target_link_libraries(capball_static PRIVATE ${CPB_NEEDS_STATIC})
if(CPB_HDF5_LIBRARY)
  target_include_directories(capball_programs PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(capball_programs PRIVATE ${CPB_NEEDS})
endif()
