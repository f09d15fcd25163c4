#!/usr/bin/env bash
# For editors, IDEs and CI: ctest knows every test program, and the
# presets of CMake are the builds of the Makefile. TAP.
. "$(dirname "$0")/../support/tap.sh"
cd "$root" || exit 1

same_programs() {
  diff <(for room in src/*/; do printf '%s\n' "tests/${room#src/}"*.c; done | sed 's|.*/||; s|\.c$||' | sort) \
    <(ctest --test-dir "$BUILD" -N | sed -n 's|^ *Test *#[0-9]*: tests/||p' | sort)
}
runs_one() { ctest --test-dir "$BUILD" -R '^tests/t7_hemisphere$' | grep -q '100% tests passed, 0 tests failed out of 1'; }

# Every variable of a preset is one of the Makefile's, and the other way round.
same_build() { # preset
  diff <(cmake --preset "$1" -N | sed -n 's/^  \([A-Z_]*\)="\(.*\)"$/\1=\2/p' | grep -v '^CMAKE_C_COMPILER=' | sort) \
    <(make -n "build-$1" CC=cc | grep -- "-B build-$1 " | grep -oE -- "-D[A-Z_]+=('[^']*'|[^ ]+)" | tr -d "'" | sed 's/^-D//' | grep -v '^CMAKE_C_COMPILER=' | sort)
}

has_tests() { ctest --test-dir "$BUILD" -N | grep -q '^Total Tests: [1-9]'; }
if ctest --help | grep -q -- --test-dir && has_tests; then
  check "ctest lists every test program" same_programs
  check "ctest runs one" runs_one
else
  skip "ctest" "it is older than 3.20, or this build has no tests"
fi
if cmake --preset default -N >/dev/null 2>&1; then
  for preset in asan tsan; do check "the preset $preset is make build-$preset" same_build "$preset"; done
else
  skip "presets" "cmake is older than 3.21"
fi
check "make check is in make help" bash -c "make help | grep -q '^make check '"
finish
