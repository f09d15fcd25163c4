#!/usr/bin/env bash
# The command against cvxopt and libsvm (through scikit-learn), each if it is installed. TAP.
. "$(dirname "$0")/../support/tap.sh"
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  skip "SVDD against other solvers" "NumPy is not installed"
  finish
  exit 0
fi
# OpenBLAS takes new processors for old ones; what it is told must be there.
if grep -q avx512f /proc/cpuinfo 2>/dev/null; then export OPENBLAS_CORETYPE=SKYLAKEX; fi
timeout 250 /usr/bin/python3 "$root/tests/ball/svdd_oracles.py" "$work"
