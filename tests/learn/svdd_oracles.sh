#!/usr/bin/env bash
# The command against cvxopt and libsvm (through scikit-learn), each where it is installed. TAP.
. "$(dirname "$0")/../support/tap.sh"
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  skip "SVDD against other solvers" "NumPy is not installed"
  finish
  exit 0
fi
OPENBLAS_CORETYPE=SKYLAKEX timeout 250 /usr/bin/python3 "$root/tests/learn/svdd_oracles.py" "$work"
