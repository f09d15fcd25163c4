#!/usr/bin/env bash
# The requested gap is reached on every outlier set of the shared data, hard and soft, with the command. TAP.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
sets=("$data"/outlier-*/base.npy)
if [ ! -f "${sets[0]}" ]; then
  skip "gaps on the outlier sets" "../shared/data is not there"
  finish
  exit 0
fi
gap_of() { sed -n 's/.*"gap": \([^,]*\),.*/\1/p' "$1"; }
small() { awk -v gap="$1" 'BEGIN { exit !(gap <= 1e-9) }'; }
for base in "${sets[@]}"; do
  name=$(basename "$(dirname "$base")")
  for nu in "" 0.01 0.1 0.5; do
    capball ball "$base" -o m.json -q ${nu:+--nu "$nu"}
    small "$(gap_of m.json)"
    verdict $? "$name ${nu:+nu $nu}: gap $(gap_of m.json) <= 1e-9"
  done
done
finish
