#!/usr/bin/env bash
# Sketches from files to neighbours: the same for any threads and processor, bounds that make the search exact, and
# every error. With the word brief, as under sanitizers, fewer rows, one instruction set and no real data.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
export n=2000
isas="plain avx2 avx512"
[ "${1:-}" != brief ] || { n=160 && isas=avx2; }

seq 0 $((n - 1)) | awk '{ print ($1 * 37) % 101 "," ($1 * 53) % 89 "," ($1 * 71) % 97 "," ($1 * 29) % 83 / 4 "," $1 % 7 / 9 }' >points.csv
capball convert points.csv queries.csv --rows :20 -q
capball knn points.csv queries.csv -k 3 -o right.csv --distances right_distances.csv -q
export bytes
for form in principal columns turned; do
  check "train $form" capball sketch train points.csv -o sketch.json --bits 64 --form $form -q
  check "$form: encode" capball sketch encode -m sketch.json points.csv -o codes.u8bin -q
  check "$form: at most 10 bytes per row" bash -c '[ "$(stat -c %s codes.u8bin)" -le $((8 + n * 10)) ]'
  check "$form: until the certain bound it is exact search" bash -c '
    capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --base points.csv --bound certain -o ids.csv --distances d.csv 2>said &&
    cmp ids.csv right.csv && cmp d.csv right_distances.csv &&
    grep -qE "^capball sketch search: [0-9.]+ rows read per query, [0-9.]+ % of all; proven: no other row is nearer$" said'
  for isa in $isas; do
    export CPB_ISA=$isa
    check "$form, $isa: the same sketch, codes and estimates" bash -c '
      capball sketch train points.csv -o s.json --bits 64 --form '$form' -q -t 3 && cmp s.json sketch.json &&
      capball sketch encode -m sketch.json points.csv -o c.u8bin -q -t 3 && cmp c.u8bin codes.u8bin &&
      capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 -o i.csv --distances e.csv -q -t 3 &&
      { [ -e first.'$form' ] || cp e.csv first.'$form'; } && cmp e.csv first.'$form
    unset CPB_ISA
  done
done
check "the form is chosen and told" bash -c '
  capball sketch train points.csv -o chosen.json --bytes 6 2>said &&
  grep -qE "6 bytes per row: [0-9]+ of [0-9]+ directions \((principal|columns|signs|turned)\), [02] of numbers" said &&
  grep -qE "held-out rows: of the 10 nearest, [0-9.]+ % are among the 10 best estimates, [0-9.]+ % among 100" said'
check "candidates re-ranked from the rows" bash -c '
  capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --candidates $n --base points.csv -o ids.csv -q && cmp ids.csv right.csv'
check "or from their images" bash -c 'capball fit points.csv -o map.json -q && s=$(sed -n "s/^ *\"scale\": \([0-9.e+]*\).*/\1/p" sketch.json) &&
  capball fit points.csv --scale "$s" -o map.json -q && capball embed -m map.json points.csv -o images.npy -q &&
  capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --candidates $n --embedded images.npy -o e.csv -q && cmp e.csv right.csv'
check "the probable bound" capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --base points.csv --bound probable --confidence 0.99 -o p.csv -q
check "codes are concatenated as rows are" bash -c '
  capball convert points.csv a.csv --rows :$((n / 3)) -q && capball convert points.csv b.csv --rows $((n / 3)): -q &&
  capball sketch encode -m sketch.json a.csv -o a.u8bin -q && capball sketch encode -m sketch.json b.csv -o b.u8bin -q &&
  cmp <(tail -c +9 codes.u8bin) <(tail -c +9 a.u8bin; tail -c +9 b.u8bin)'
old=$root/tests/golden/v03_principal
check "differing bits of an earlier release" bash -c 'capball sketch search -m '$old'1_sketch.json '$old'1.u8bin '$root'/tests/golden/rows_60x3.csv -k 3 --by-bits -o b.csv -q'

# what goes wrong
cp "$root/tests/golden/v01_x86_sketch.json" old.json && cp "$root/tests/golden/rows_60x3.csv" old.csv
capball sketch encode -m old.json old.csv -o old.u8bin -q
capball sketch train points.csv -o bare.json --bytes 3 --form principal -q
sed 's/"spread": 0/"spread": 7/' sketch.json >forged.json
sed 's/"version": 3/"version": 2/' sketch.json >earlier.json
capball sketch train points.csv -o other.json --bits 64 --form turned --sample 120 -q
capball sketch encode -m other.json points.csv -o other.u8bin -q
refuses "an unknown form" 2 '--form: there is no FORM "third"' capball sketch train points.csv -o x.json --form third
refuses "a bound without rows" 2 '--bound reads rows of --base: give it' capball sketch search -m sketch.json codes.u8bin queries.csv --bound certain -o x.csv
refuses "a bound and candidates" 2 '--bound and --candidates exclude each other' capball sketch search -m sketch.json codes.u8bin queries.csv --bound certain --candidates 50 --base points.csv -o x.csv
refuses "a confidence without a bound" 2 '--confidence is for --bound probable' capball sketch search -m sketch.json codes.u8bin queries.csv --confidence 0.9 -o x.csv
refuses "a confidence of 1" 2 '--confidence must be a number in \[0.5,1\), got "1"' capball sketch search -m sketch.json codes.u8bin queries.csv --bound probable --confidence 1 --base points.csv -o x.csv
refuses "a bound of balls" 1 '--bound needs estimates, and old.json is embedded' capball sketch search -m old.json old.u8bin old.csv --bound certain --base old.csv -o x.csv
refuses "differing bits of bytes" 1 '--by-bits needs one bit per direction, and sketch.json is joined' capball sketch search -m sketch.json codes.u8bin queries.csv --by-bits -o x.csv
refuses "codes of another width" 1 'old.u8bin has [0-9]+ columns, but codes of sketch.json have [0-9]+' capball sketch search -m sketch.json old.u8bin queries.csv -o x.csv
refuses "codes of another sketch" 1 'other.u8bin row [0-9]+ is not the code of points.csv row [0-9]+ under sketch.json' capball sketch search -m sketch.json other.u8bin queries.csv --bound certain --base points.csv -o x.csv
refuses "a base of other rows" 1 'queries.csv: there are 20 rows, but '$n' codes' capball sketch search -m sketch.json codes.u8bin queries.csv -k 2 --bound certain --base queries.csv -o x.csv
refuses "a forged sketch" 1 'forged.json: ' capball sketch encode -m forged.json points.csv -o x.u8bin
refuses "an earlier version" 1 'earlier.json: is of version 2, wanted 3' capball sketch encode -m earlier.json points.csv -o x.u8bin

# real data
set=bigann10k-sift-128-euclidean
if [ $n != 2000 ]; then
  :
elif [ ! -e "$data/$set/base.npy" ]; then
  skip "$set" "../shared/data/$set is not here"
else
  capball convert "$data/$set/queries.npy" q.npy --rows :100 -q
  capball sketch train "$data/$set/base.npy" -o real.json --bytes 64 -q
  capball sketch encode -m real.json "$data/$set/base.npy" -o real.u8bin -q
  capball knn "$data/$set/base.npy" q.npy -k 10 -o right.npy -q
  check "$set: until the certain bound it is exact search, of few rows" bash -c '
    capball sketch search -m real.json real.u8bin q.npy -k 10 --base "'"$data/$set"'/base.npy" --bound certain -o ids.npy 2>said &&
    cmp ids.npy right.npy && awk "{ exit !(\$4 < 450) }" said'
fi
finish
