#!/usr/bin/env bash
# The fitting examples agree with the command bit for bit, from an array and from a file that is not held in memory.
. "$(dirname "$0")/../support/tap.sh"
examples=$BUILD/examples

check "a map from an array, saved, loaded, applied" bash -c "$examples/10_fit_map map.json >printed.csv"
sed -n 's/.*x\[6\]\[2\] = {{\(.*\)}};/\1/p' "$root/examples/10_fit_map.c" | sed 's/}, {/\n/g; s/, /,/g' >x.csv
capball convert printed.csv y.csv --dtype f64 -q # in the fewest digits
check "the command fits the same rows" capball fit x.csv --whiten -o command.json -q
capball embed -m command.json x.csv -o command.csv --dtype f64 -q
check "its images are those of the program, bit for bit" cmp y.csv command.csv
capball embed -m map.json x.csv -o by_program.csv --dtype f64 -q
check "the program's map file gives them too" cmp y.csv by_program.csv
for key in scale center whiten checksum; do
  check "both files have the same $key" bash -c "diff <(grep '\"$key\"' map.json) <(grep '\"$key\"' command.json)"
done

# 160 MB of bytes for a process that has 128 MB of addresses
rows=1250000 cols=128
{ printf '\xd0\x12\x13\x00\x80\x00\x00\x00'; head -c $((rows * cols)) /dev/urandom; } >big.u8bin
check "a file that is larger than memory" bash -c "ulimit -v 131072; $examples/11_fit_file big.u8bin ball.json"
sed 's/^/# /' check.out
check "the command finds the same ball" capball ball big.u8bin -o command.json -q
check "and writes the same file" cmp ball.json command.json
rm -f big.u8bin
finish
