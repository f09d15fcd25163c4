# One object library per module (cpb_core, cpb_threads, cpb_files, cpb_json), and both libraries made of them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
  foreach(isa avx2 avx512)
    set_source_files_properties(src/loop/loop_${isa}.c src/loop/rows_${isa}.c src/loop/rows_double_${isa}.c
      PROPERTIES COMPILE_OPTIONS "${${isa}}")
  endforeach()
  set_source_files_properties(src/loop/bytes_avx512.c PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vnni")
  set_source_files_properties(src/loop/bytes_amx.c PROPERTIES COMPILE_OPTIONS "${avx512};-mamx-tile;-mamx-int8")
  set_source_files_properties(src/loop/popcount_avx512.c PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vpopcntdq")
  # On x86-64 these serve processors without AVX2, and judge the others: small code is worth more there than speed.
  set_source_files_properties(src/loop/loop_plain.c src/loop/loop_v128.c PROPERTIES COMPILE_OPTIONS
    $<$<CONFIG:Release>:-O2>)
endif()

# The walks are written in the registers they take: -O3 finds nothing more in them, in twice the time. Roots that set errno are
# not vectorised.
file(GLOB CPB_WALKS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/loop/rows_*.c)
set_property(SOURCE ${CPB_WALKS} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>
  $<$<C_COMPILER_ID:GNU>:-fno-gcse> -fno-math-errno)
# Under sanitizers only the rooms that compute are worth an optimizer's time; they see every loop, the walks included. Where loops
# are unrolled, clang takes most of its own for pointers that might wrap: what lies beyond an array the address sanitizer sees.
if(CPB_SANITIZE)
  file(GLOB CPB_COMPUTING CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/core/*.c ${PROJECT_SOURCE_DIR}/src/loop/*.c
    ${PROJECT_SOURCE_DIR}/src/scale/*.c ${PROJECT_SOURCE_DIR}/src/learn/*.c)
  set_property(SOURCE ${CPB_COMPUTING} APPEND PROPERTY COMPILE_OPTIONS -O1)
endif()
if(CPB_SANITIZE MATCHES undefined)
  file(GLOB CPB_LOOPS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/loop/*.c)
  set_property(SOURCE ${CPB_LOOPS} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=pointer-overflow)
endif()

set(CPB_NEEDS_core m)
set(CPB_NEEDS_threads Threads::Threads)
set(CPB_NEEDS_json capball::jansson)
set(CPB_NEEDS_files)
foreach(library hdf5 zlib zstd)
  if(CPB_WITH_${library})
    string(REGEX REPLACE "lib$" "" target ${library})
    list(APPEND CPB_NEEDS_files capball::${target})
  endif()
endforeach()

set(CPB_OBJECTS)
set(CPB_NEEDS)
foreach(module ${CPB_EVERY_MODULE})
  if(CPB_WITH_${module})
    add_library(cpb_${module} OBJECT ${CPB_SOURCES_${module}})
    set_target_properties(cpb_${module} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(cpb_${module} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(cpb_${module} PRIVATE _FILE_OFFSET_BITS=64)
    target_link_libraries(cpb_${module} PRIVATE ${CPB_NEEDS_${module}})
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

add_library(capball SHARED ${CPB_OBJECTS})
add_library(capball_static STATIC ${CPB_OBJECTS})
add_library(capball::capball ALIAS capball)
add_library(capball::capball_static ALIAS capball_static)
# Before 1.0 every minor version may break the last one's callers.
set_target_properties(capball PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(capball_static PROPERTIES OUTPUT_NAME capball)
foreach(library capball capball_static)
  target_include_directories(${library} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE ${CPB_NEEDS})
endforeach()
