#!/usr/bin/env bash
# Range search through caps and certificates on every search set, whole: all rows, 1000 queries, s from 0.5 to
# 32 mean norms. What a test sees is a part of it (tests/edge/search_sets.c).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-$PWD/build}
ninja -C "$build" search_sets >/dev/null
"$build/tests/search_sets" full
