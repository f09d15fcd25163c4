#!/usr/bin/env bash
# The library as part of another project, through FetchContent (which is add_subdirectory): it compiles without errors
# under that project's many warnings, and adds nothing but the library. TAP.
. "$(dirname "$0")/../support/tap.sh"
cp "$root/tests/install/outside.c" .
compiler=${CC:-$(command -v clang || echo cc)} # clang takes less time for code that is not optimized
cat >CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.18)
project(host LANGUAGES C)
include(FetchContent)
add_compile_options(-Wall -Wextra -Werror -Wcast-qual -Wfloat-equal -Wmissing-prototypes -Wunused-macros -Wswitch-enum)
FetchContent_Declare(capball SOURCE_DIR "$root")
FetchContent_MakeAvailable(capball)
add_executable(shared outside.c)
target_link_libraries(shared PRIVATE capball::capball)
add_executable(static outside.c)
target_link_libraries(static PRIVATE capball::capball_static)
TEXT

only_the_library() {
  local targets
  targets=$(ninja -C build -t targets all | sed -n 's/: phony$//p' | grep -E '^(tests|benches|examples|fuzzers|capball_cli)$')
  [ -z "$targets" ] || { echo "$targets"; return 1; }
}

installs_nothing() { DESTDIR="$work/nothing" cmake --install build && ! find "$work/nothing" -name '*capball*' | grep .; }

check "configures in a host" cmake -G Ninja -B build -DCMAKE_C_COMPILER="$compiler" -DCPB_PLAIN_LOOPS=ON
check "brings the library's targets alone" only_the_library
check "builds under the host's -Werror" ninja -C build
check "the host's program, shared" build/shared
check "the host's program, static" build/static
check "installs nothing on its own" installs_nothing
finish
