#!/usr/bin/env bash
# Every command over 1e-300 .. 1e300: correct, or one error message. `tests/cli/ranges.sh long` tests all powers, `brief` one each.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/tap.sh"
python=$(command -v /usr/bin/python3 || command -v python3) || {
  skip "every command over 1e+-300" "no python3 to compare numbers"
  finish
  exit 0
}
"$python" "$here/range_check.py" "$@"
