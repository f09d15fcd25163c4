# For shell tests: the command on PATH, a temporary directory, and TAP output.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$(cd "${BUILD:-$root/build}" && pwd)
export LC_ALL=C PATH="$BUILD:$PATH"
unset NO_COLOR CPB_ISA
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
count=0

# verdict STATUS TEXT: one case, passes when STATUS is 0.
verdict() {
  count=$((count + 1))
  if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

# check TEXT COMMAND..: passes when the command succeeds.
check() {
  local text=$1 status=0
  shift
  "$@" >"$work"/check.out 2>"$work"/check.err || status=$?
  verdict "$status" "$text"
  if [ "$status" != 0 ]; then sed 's/^/# /' "$work"/check.out "$work"/check.err; fi
}

# refuses TEXT CODE PATTERN COMMAND..: passes when it exits with CODE, prints nothing to stdout, and its error matches PATTERN.
refuses() {
  local text=$1 code=$2 pattern=$3 status=0 complains=0
  shift 3
  "$@" >"$work"/check.out 2>"$work"/check.err || status=$?
  grep -Eq -- "$pattern" "$work"/check.err || complains=$?
  [ "$status" = "$code" ] && [ ! -s "$work"/check.out ] && [ "$complains" = 0 ]
  verdict $? "$text"
  if [ "$status" != "$code" ]; then echo "# exit code $status, wanted $code"; fi
  if [ "$complains" != 0 ]; then sed 's/^/# /' "$work"/check.err; fi
}

skip() {
  count=$((count + 1))
  echo "ok $count - $1 # SKIP $2"
}

finish() { echo "1..$count"; }
