#!/usr/bin/env bash
# A caller built against older headers: every struct that begins with its size loses its last member, and the
# program runs against the present library. TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cases=0 failures=0

check() { # name command ..
  local name=$1
  shift
  cases=$((cases + 1))
  if "$@" >"$work/log" 2>&1; then
    echo "ok $cases - $name"
  else
    failures=$((failures + 1))
    echo "not ok $cases - $name"
    sed 's/^/# /' "$work/log"
  fi
}

# Without the last member of each sized struct; a source's are all used by inline code.
cut_members() {
  mkdir -p "$work/older/capball/advanced"
  for header in include/capball/*.h include/capball/advanced/*.h; do
    awk '
      /^typedef struct cpb_[a-z_]+ \{$/ { inside = 1; sized = 0; held = ""; holds = 0 }
      !inside { print; next }
      /size_t size;/ { sized = 1 }
      /^} cpb_/ {
        if (!sized) printf "%s", held
        inside = 0; held = ""; print; next
      }
      # a member begins at two spaces and a word; what follows it (comments) goes with it
      /^  [a-z].*;/ { printf "%s", held; held = "" }
      /^typedef struct/ { print; next }
      { held = held $0 "\n" }' "$header" >"$work/older/${header#include/}"
  done
  ! diff -q include/capball/ball.h "$work/older/capball/ball.h"
}

compile() { # headers program
  ${CC:-cc} -std=c17 -Wall -Wextra -Werror -D_GNU_SOURCE -I"$1" tests/install/older.c -o "$2" -L"$build" -lcapball -lm \
    -Wl,-rpath,"$(realpath "$build")"
}

smaller() { # every size that the older program prints is below ours
  paste <("$work/older.run" | tr ' ' '\n') <("$work/own.run" | tr ' ' '\n') | awk '{ print } !($1 < $2) { bad = 1 } END { exit bad }'
}

check "headers without the last members" cut_members
check "a program against them" compile "$work/older" "$work/older.run"
check "runs with the library as it is" "$work/older.run"
check "the same program against the headers as they are" compile include "$work/own.run"
check "runs, too" "$work/own.run"
check "its structs are larger" smaller
echo "1..$cases"
[ "$failures" = 0 ]
