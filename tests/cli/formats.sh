#!/usr/bin/env bash
# Round trips through every format of the command, by extension and by name, from a file and a pipe.
. "$(dirname "$0")/../support/tap.sh"

# Whole numbers 0..100 and no row that ends in 0: every element type holds them, and sparse text keeps d.
awk -v OFS=, 'BEGIN { for (i = 0; i < 257; i++) print i % 101, (i * 7) % 89, 1 + i % 13 }' >base.csv

formats=$(capball completion bash | sed -n "s/.*'convert --to') words='\([^']*\)'.*/\1/p")
[ "$(wc -w <<<"$formats")" = 13 ]
verdict $? "thirteen formats"
for format in $formats; do
  if [ "$format" = hdf5 ] && ! capball --version | grep -q 'HDF5: yes'; then
    skip hdf5 "built without HDF5"
    continue
  fi
  check "$format by extension" bash -c "capball convert base.csv x.$format -q && capball convert x.$format - --to csv | cmp - base.csv"
  check "$format by name" bash -c "capball convert base.csv named --to $format -q &&
    capball convert named - --format $format --to csv | cmp - base.csv"
  check "$format: info counts its rows" bash -c "capball info x.$format | grep -q '^rows *257$'"
  check "$format: two passes of a fit" bash -c "capball fit x.$format -o m.json -q && grep -q '\"dim\": 3' m.json"
  check "$format: a cut of rows" bash -c "capball convert x.$format - --to csv --rows 100:200 | cmp - <(sed -n 101,200p base.csv)"
  case $format in
  hdf5 | libsvm) refuses "$format from a pipe" 1 'capball convert: ' bash -c "capball convert - y.csv --format $format <x.$format" ;;
  *) check "$format through pipes" bash -c "capball convert - - --format $format --to csv <x.$format | cmp - base.csv" ;;
  esac
done

capball fit base.csv -o map.json -q
# Rows of floats have an arithmetic of their own: the same bits through every format that holds the same type.
capball embed -m map.json base.csv -o y.fvecs
capball convert base.csv floats.npy --dtype f32 -q
capball embed -m map.json floats.npy -o floats.fvecs
for format in fvecs fbin npy csv; do
  case $format in fvecs | fbin) wanted=floats.fvecs ;; *) wanted=y.fvecs ;; esac
  check "embedding through $format is the same" bash -c "capball convert base.csv in.$format -q &&
    capball embed -m map.json in.$format -o out.$format --dtype f32 -q && capball convert out.$format same.fvecs && cmp same.fvecs $wanted"
done
check "half floats hold the sphere" bash -c "capball embed -m map.json base.csv -o y.f16bin -q && capball info y.f16bin | grep -q 'f16'"
for isa in plain avx2 avx512; do
  if CPB_ISA=$isa capball --version | grep -q "loops: $isa"; then
    CPB_ISA=$isa capball embed -m map.json base.csv -o z.fvecs -q && cmp y.fvecs z.fvecs
    verdict $? "$isa gives the same bits"
  else
    skip "$isa gives the same bits" "this machine has no $isa"
  fi
done
finish
