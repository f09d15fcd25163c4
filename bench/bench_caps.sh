#!/usr/bin/env bash
# Range search through caps and certificates on every search set, whole: all rows, 1000 queries, s from 0.5 to
# 32 mean norms, a process per set. What a test sees is a part of it (tests/search/search_sets.c).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-$PWD/build}
ninja -C "$build" search_sets >/dev/null || exit 1
for set in ../shared/data/*-euclidean ../shared/data/*-angular; do
  if [ -e "$set/base.npy" ]; then basename "$set"; fi
done | xargs -r -P "$(nproc)" -I '{}' bash -o pipefail -c '"$0" full {} 2>&1 | grep -E "^#|ERROR|FAILED|PASSED"' "$build/tests/search_sets"
