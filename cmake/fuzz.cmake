# Fuzzers of everything that reads untrusted input: one libFuzzer program per file of fuzz/, over the library and the
# command of a build under address and undefined sanitizers. Needs clang:
#   CC=clang CXX=clang++ cmake -G Ninja -B build-asan -DCPB_SANITIZE=address,undefined -DCPB_FUZZ=ON && ninja -C build-asan fuzzers
#   build-asan/fuzz/fuzz_reader -max_total_time=60 build-asan/fuzz/corpus/reader
add_custom_target(fuzzers)
if(CPB_FUZZ)
  file(GLOB CPB_FUZZERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.c)
  foreach(source ${CPB_FUZZERS})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source} ${CPB_OBJECTS}) # whole, so that every counter is there
    target_include_directories(${name} PRIVATE include src)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${CPB_NEEDS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${PROJECT_SOURCE_DIR}/fuzz/seed_corpus.sh ${name}
      ${PROJECT_SOURCE_DIR}/tests/golden ${CMAKE_BINARY_DIR}/fuzz/corpus)
    add_dependencies(fuzzers ${name})
  endforeach()
  target_link_libraries(fuzz_hdf5 PRIVATE ${CMAKE_DL_LIBS})
  target_compile_options(capball_command PRIVATE -fsanitize=fuzzer-no-link)
  # The whole command: the fuzzer controls how it exits and handles signals.
  add_library(cpb_fuzz_main OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cli/main.c)
  target_compile_definitions(cpb_fuzz_main PRIVATE main=capball_main)
  target_link_libraries(cpb_fuzz_main PRIVATE capball_command)
  target_sources(fuzz_args PRIVATE $<TARGET_OBJECTS:cpb_fuzz_main>)
  target_link_libraries(fuzz_args PRIVATE capball_command)
  target_link_options(fuzz_args PRIVATE LINKER:--wrap=exit,--wrap=sigaction)
endif()
