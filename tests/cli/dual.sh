#!/usr/bin/env bash
# `capball dual` against 60-digit values (dual_cases.py wrote them), and its own inverse.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/tap.sh"
python=$(command -v /usr/bin/python3 || command -v python3) || {
  skip "dual against 60 digits" "no python3 to compare decimals"
  finish
  exit 0
}
"$python" "$here/dual_check.py" "$here/dual_cases.jsonl"
