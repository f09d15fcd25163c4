#!/usr/bin/env bash
# What CTest is told of a test: its cases are counted, and none is lost when it crashes, hangs or stops early.
. "$(dirname "$0")/../support/tap.sh"

# counted TEXT CODE SUMMARY KIND COMMAND
counted() {
  local code=0
  TEST_SECONDS=1 "$root/tests/support/run_tap" "$4" "$5" >out 2>&1 || code=$?
  [ "$code" = "$2" ] && grep -qx "# counted: $3" out
  verdict $? "$1"
}

counted "cases" 0 '2 passed, 0 failed, 1 skipped' tap 'echo 1..3; echo ok 1; echo "ok 2 - x # SKIP y"; echo ok 3'
counted "a failed case" 1 '1 passed, 1 failed, 0 skipped' tap 'echo 1..2; echo ok 1; echo not ok 2'
counted "all skipped" 77 '0 passed, 0 failed, 1 skipped' tap 'echo 1..1; echo "ok 1 - x # SKIP y"'
counted "a crash" 1 '1 passed, 1 failed, 0 skipped' tap 'echo 1..1; echo ok 1; kill -SEGV $$'
counted "an early end" 1 '1 passed, 1 failed, 0 skipped' tap 'echo 1..2; echo ok 1'
counted "no case" 1 '0 passed, 1 failed, 0 skipped' tap 'echo 1..0'
counted "no plan" 1 '1 passed, 1 failed, 0 skipped' tap 'echo ok 1'
counted "no end" 1 '0 passed, 1 failed, 0 skipped' tap 'sleep 5'
counted "no TAP" 0 '1 passed, 0 failed, 0 skipped' any 'echo hello'
counted "no TAP, a failure" 1 '0 passed, 1 failed, 0 skipped' any 'exit 3'
counted "a folder and no input" 0 '1 passed, 0 failed, 0 skipped' any 'cd "$WORK" && ! read -r line'
finish
