#!/usr/bin/env bash
# Builds and runs ball_cgal.cpp if CGAL (Debian: libcgal-dev) and a C++ compiler are installed. TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v "${CXX:-c++}" >/dev/null || ! echo '#include <CGAL/version.h>' | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1; then
  printf '1..1\nok 1 - enclosing ball against CGAL # SKIP CGAL (libcgal-dev) and a C++ compiler are not installed\n'
  exit 0
fi
for source in check point_sets; do
  "${CC:-cc}" -std=c17 -D_DEFAULT_SOURCE -O1 -Itests -Iinclude -c "tests/support/$source.c" -o "$work/$source.o" || exit 1
done
"${CXX:-c++}" -std=c++17 -O1 -Itests -Iinclude tests/ball/ball_cgal.cpp "$work"/*.o -o "$work/ball_cgal" \
  "$build/libcapball.a" -lcmocka -lgmp -lmpfr -lm -lpthread || exit 1
timeout 200 "$work/ball_cgal"
