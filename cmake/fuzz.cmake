# Fuzzers of everything that reads foreign bytes: one libFuzzer program per file of fuzz/, with its own
# build of the library under address and undefined sanitizers. Plain loops are enough: what is fuzzed reads and
# parses. Needs clang:
#   CC=clang cmake -G Ninja -B build-fuzz -DCPB_FUZZ=ON -DCPB_PLAIN_LOOPS=ON && ninja -C build-fuzz fuzzers
#   build-fuzz/fuzz/fuzz_reader -max_total_time=60 build-fuzz/fuzz/corpus/reader
option(CPB_FUZZ "build the fuzzers (clang only)" OFF)
add_custom_target(fuzzers)
if(CPB_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CPB_FUZZ needs clang: CC=clang cmake ..")
  endif()
  set(CPB_FUZZ_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_library(cpb_fuzz_objects OBJECT EXCLUDE_FROM_ALL ${CPB_SOURCES})
  target_include_directories(cpb_fuzz_objects PUBLIC include PRIVATE src)
  target_link_libraries(cpb_fuzz_objects PRIVATE ${CPB_NEEDS})
  target_compile_definitions(cpb_fuzz_objects PRIVATE $<TARGET_PROPERTY:cpb_files,COMPILE_DEFINITIONS>)
  target_compile_options(cpb_fuzz_objects PRIVATE ${CPB_FUZZ_FLAGS} -fsanitize=fuzzer-no-link)
  file(GLOB CPB_FUZZERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.c)
  foreach(source ${CPB_FUZZERS})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source} $<TARGET_OBJECTS:cpb_fuzz_objects>)
    target_include_directories(${name} PRIVATE include)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_compile_options(${name} PRIVATE ${CPB_FUZZ_FLAGS} -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE ${CPB_FUZZ_FLAGS} -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${CPB_NEEDS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${PROJECT_SOURCE_DIR}/fuzz/seed_corpus.sh ${name}
      ${PROJECT_SOURCE_DIR}/tests/golden ${CMAKE_BINARY_DIR}/fuzz/corpus)
    add_dependencies(fuzzers ${name})
  endforeach()
  target_link_libraries(fuzz_hdf5 PRIVATE ${CMAKE_DL_LIBS})
  # The whole command: it ends and catches signals where the fuzzer says.
  target_include_directories(fuzz_args PRIVATE cli)
  file(GLOB CPB_FUZZ_COMMAND CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c ${PROJECT_SOURCE_DIR}/show/*.c)
  add_library(cpb_fuzz_command OBJECT EXCLUDE_FROM_ALL ${CPB_FUZZ_COMMAND})
  target_include_directories(cpb_fuzz_command PRIVATE include ${PROJECT_SOURCE_DIR} SYSTEM ${JANSSON_INCLUDE_DIRS})
  target_compile_definitions(cpb_fuzz_command PRIVATE _GNU_SOURCE CLI_HDF5=$<BOOL:${CPB_WITH_hdf5}> CLI_GZ=$<BOOL:${CPB_WITH_zlib}> CLI_ZST=$<BOOL:${CPB_WITH_zstd}> main=capball_main
    exit=fuzz_exit sigaction=fuzz_sigaction)
  target_compile_options(cpb_fuzz_command PRIVATE ${CPB_FUZZ_FLAGS} -fsanitize=fuzzer-no-link)
  target_sources(fuzz_args PRIVATE $<TARGET_OBJECTS:cpb_fuzz_command>)
endif()
