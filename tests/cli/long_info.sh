#!/usr/bin/env bash
# `info` of more rows than it holds in memory.
. "$(dirname "$0")/../support/tap.sh"

# Norms in a range of 1e-8: a file is read twice, a pipe is not.
awk 'BEGIN { for (i = 0; i < 1100000; i++) printf "%.12f\n", 1 + (i % 10) * 1.1e-9 }' >narrow.csv
capball info narrow.csv --json >narrow.json
grep -q '"exact":true.*"counts":\[110000,110000,110000,110000,110000,110000,110000,110000,110000,110000\]' narrow.json
verdict $? "info counts narrow norms exactly, whatever the number of rows"
capball info - --format csv --json <narrow.csv | grep -q '"rows":1100000.*"exact":false'
verdict $? "and says of a long pipe that it cannot"
finish
