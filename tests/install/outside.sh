#!/usr/bin/env bash
# Installs into an empty directory and builds a program outside the tree against it: through pkg-config shared
# and static, and through CMake shared and static. TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^#define CPB_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' include/capball/status.h | paste -sd.)
wanted="capball $version"
cases=0 failures=0

check() { # name command ..
  local name=$1
  shift
  cases=$((cases + 1))
  if ("$@") >"$work/log" 2>&1; then
    echo "ok $cases - $name"
  else
    failures=$((failures + 1))
    echo "not ok $cases - $name"
    sed 's/^/# /' "$work/log"
  fi
}

says_version() { local said; said=$("$@") && echo "$said" && [[ $said == "$wanted"* ]]; }

prefix="$work/stage/opt/capball"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
cc=${CC:-cc}

through_pkg_config() { # extra flags of pkg-config
  cp "$root/tests/install/outside.c" "$work/" && cd "$work" &&
    $cc -std=c17 -Wall -Wextra -Werror outside.c -o outside $(pkg-config --cflags --libs "$@" capball) &&
    says_version ./outside
}

through_static_archive() {
  local libs
  libs=$(pkg-config --static --libs capball) && cd "$work" &&
    $cc -std=c17 outside.c -o outside-static $(pkg-config --cflags capball) ${libs/-lcapball/"$prefix/lib/libcapball.a"} &&
    ! ldd outside-static | grep -q libcapball && says_version ./outside-static
}

# Nothing shared at all: pkg-config has to name whatever a static dependency needs itself.
through_static_program() {
  cd "$work" && $cc -std=c17 outside.c -o outside-alone -static $(pkg-config --static --cflags --libs capball) &&
    ! ldd outside-alone && says_version ./outside-alone
}

# Nothing installed knows where it or what it needs lay when it was built.
no_absolute_path() {
  ! grep -nE '(^|[^A-Za-z0-9_.}$])/(usr|lib|opt|home|tmp|work|root)/|\.so\b.*/|'"$root" \
    "$prefix"/lib/pkgconfig/*.pc "$prefix"/lib/cmake/capball/*.cmake | grep -v '_IMPORT_PREFIX'
}

through_cmake() {
  mkdir -p "$work/cmake" && cd "$work/cmake" && cp "$root/tests/install/outside.c" . && cat >CMakeLists.txt <<'TEXT' &&
cmake_minimum_required(VERSION 3.18)
project(outside LANGUAGES C)
find_package(capball @ REQUIRED)
add_executable(shared outside.c)
target_link_libraries(shared capball::capball)
add_executable(static outside.c)
target_link_libraries(static capball::capball_static)
TEXT
    sed -i "s/@/${version%.*}/" CMakeLists.txt &&
    cmake -G Ninja -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" && ninja -C build &&
    says_version build/shared && ! ldd build/static | grep -q libcapball && says_version build/static
}

# Every header that is installed is one that the program includes.
all_headers() {
  diff <(cd "$prefix/include" && ls capball/advanced/*.h capball/capball.h) \
    <(sed -n 's/#include <\(capball.*\)>/\1/p' "$root/tests/install/outside.c")
}

# A status that nobody looks at is a warning.
unused_status() {
  printf '#include <capball/capball.h>\nvoid f(cpb_view x, cpb_out y) { cpb_embed(x, y, 1, NULL); }\n' >"$work/unused.c"
  ! $cc -std=c17 -Werror -c -o "$work/unused.o" $(pkg-config --cflags capball) "$work/unused.c" 2>"$work/unused.log" &&
    grep unused "$work/unused.log"
}

man_page_and_completions() {
  [ ! -e "$prefix/bin/capball" ] || {
    says_version "$prefix/bin/capball" --version && [ -s "$prefix/share/man/man1/capball.1" ] &&
      bash -n "$prefix/share/bash-completion/completions/capball"
  }
}

check "make install DESTDIR PREFIX" make --no-print-directory install DESTDIR="$work/stage" PREFIX=/opt/capball
check "the shared library has a SONAME link" test -L "$prefix/lib/libcapball.so.${version%.*}"
check "the program includes every advanced header" all_headers
check "a status that is not used is a warning" unused_status
check "pkg-config, shared" through_pkg_config
check "pkg-config, static archive" through_static_archive
check "pkg-config, a program without any shared library" through_static_program
check "CMake package, shared and static" through_cmake
check "no absolute path in what is installed" no_absolute_path
check "command, manual page and completions" man_page_and_completions
echo "1..$cases"
[ "$failures" = 0 ]
