# Sourced with $mib, $runs and $d set: $capball, a file of $rows random rows of f32 at $work/in.fbin, and a clock.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
capball=${BUILD:-$root/build}/capball
rows=$((mib * 1048576 / (4 * d)))
work=$(mktemp -d -p "${WORK:-/dev/shm}")
trap 'rm -rf "$work"' EXIT

/usr/bin/python3 - "$work/in.fbin" "$rows" "$d" <<'PYTHON'
import sys
import numpy as np
path, rows, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random = np.random.default_rng(1)
with open(path, "wb") as file:
    np.array([rows, d], "<u4").tofile(file)
    while rows > 0:
        block = min(rows, 65536)
        random.standard_normal((block, d), dtype="f4").tofile(file)
        rows -= block
PYTHON

seconds() { # seconds COMMAND..: wall time on stdout
  local start=$EPOCHREALTIME
  "$@" >/dev/null
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
}
least() { awk -v a="$1" -v b="$2" 'BEGIN { print a == "" || b < a ? b : a }'; }
