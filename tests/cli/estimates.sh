#!/usr/bin/env bash
# Principal sketches from files to neighbours: the same for any threads and processor, bounds that make the search exact, and
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
for per in 1 2 4; do
  check "train with $per bits per direction" capball sketch train points.csv -o sketch.json --bits 64 --bits-per $per -q
  check "$per: encode" capball sketch encode -m sketch.json points.csv -o codes.u8bin -q
  check "$per: 14 bytes per row" bash -c '[ "$(stat -c %s codes.u8bin)" = $((8 + n * 14)) ]'
  check "$per: until the certain bound it is exact search" bash -c '
    capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --base points.csv --bound certain -o ids.csv --distances d.csv 2>said &&
    cmp ids.csv right.csv && cmp d.csv right_distances.csv &&
    grep -qE "^capball sketch search: [0-9.]+ rows read per query, [0-9.]+ % of all; proven: no other row is nearer$" said'
  for isa in $isas; do
    export CPB_ISA=$isa
    check "$per, $isa: the same sketch, codes and estimates" bash -c '
      capball sketch train points.csv -o s.json --bits 64 --bits-per '$per' -q -t 3 && cmp s.json sketch.json &&
      capball sketch encode -m sketch.json points.csv -o c.u8bin -q -t 3 && cmp c.u8bin codes.u8bin &&
      capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 -o i.csv --distances e.csv -q -t 3 &&
      { [ -e first.'$per' ] || cp e.csv first.'$per'; } && cmp e.csv first.'$per
    unset CPB_ISA
  done
done
check "the number of bits per direction is chosen and told" bash -c '
  capball sketch train points.csv -o chosen.json --bits 64 --json 2>said >facts &&
  grep -qE "64 bits \(principal\), [124] per direction, (random|learned|turned) rotation, 14 bytes per row" said &&
  grep -qE "\"variant\":\"principal\".*\"bits_per\":[124],\"code_bytes\":14,\"recall\":(1|0\.[0-9]+)" facts'
check "f32 factors" bash -c 'capball sketch train points.csv -o wide.json --bits 64 --factors f32 -q &&
  capball sketch encode -m wide.json points.csv -o wide.u8bin -q && [ "$(stat -c %s wide.u8bin)" = $((8 + n * 20)) ]'
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
capball sketch train points.csv -o one.json --bits 64 --bits-per 1 -q
capball sketch encode -m one.json points.csv -o one.u8bin -q
check "differing bits as a first look" capball sketch search -m one.json one.u8bin queries.csv -k 3 --by-bits --base points.csv -o b.csv -q

# what goes wrong
capball sketch train points.csv -o old.json --variant embedded --bits 64 -q
capball sketch encode -m old.json points.csv -o old.u8bin -q
sed 's/"spread": 0/"spread": 7/' sketch.json >forged.json
sed 's/"version": 2/"version": 1/' sketch.json >earlier.json
capball sketch train points.csv -o other.json --bits 64 --bits-per 4 --seed 1 -q
capball sketch encode -m other.json points.csv -o other.u8bin -q
refuses "three bits per direction" 2 '--bits-per: there is no B "3"; there are 1, 2 or 4' capball sketch train points.csv -o x.json --bits-per 3
refuses "bits per direction of balls" 2 '--bits-per is for the variant principal' capball sketch train points.csv -o x.json --variant embedded --bits-per 2
refuses "a tolerance for principal" 2 '--tolerance is for the variants embedded and centred' capball sketch train points.csv -o x.json --tolerance 0
refuses "a bound without rows" 2 '--bound reads rows of --base: give it' capball sketch search -m sketch.json codes.u8bin queries.csv --bound certain -o x.csv
refuses "a bound and candidates" 2 '--bound and --candidates exclude each other' capball sketch search -m sketch.json codes.u8bin queries.csv --bound certain --candidates 50 --base points.csv -o x.csv
refuses "a confidence without a bound" 2 '--confidence is for --bound probable' capball sketch search -m sketch.json codes.u8bin queries.csv --confidence 0.9 -o x.csv
refuses "a confidence of 1" 2 '--confidence must be a number in \[0.5,1\), got "1"' capball sketch search -m sketch.json codes.u8bin queries.csv --bound probable --confidence 1 --base points.csv -o x.csv
refuses "a bound of balls" 1 '--bound needs estimates, and old.json is embedded' capball sketch search -m old.json old.u8bin queries.csv --bound certain --base points.csv -o x.csv
refuses "differing bits of levels" 1 '--by-bits needs one bit per direction, and sketch.json has 4' capball sketch search -m sketch.json codes.u8bin queries.csv --by-bits -o x.csv
refuses "codes without factors" 1 'old.u8bin has 8 columns, but codes of sketch.json have 14' capball sketch search -m sketch.json old.u8bin queries.csv -o x.csv
refuses "codes of another sketch" 1 'other.u8bin row [0-9]+ is not the code of points.csv row [0-9]+ under sketch.json' capball sketch search -m sketch.json other.u8bin queries.csv --bound certain --base points.csv -o x.csv
refuses "a base of other rows" 1 'queries.csv: there are 20 rows, but '$n' codes' capball sketch search -m sketch.json codes.u8bin queries.csv -k 2 --bound certain --base queries.csv -o x.csv
refuses "a forged sketch" 1 'forged.json: ' capball sketch encode -m forged.json points.csv -o x.u8bin
refuses "an earlier version" 1 'earlier.json: is of version 1, wanted 2' capball sketch encode -m earlier.json points.csv -o x.u8bin

# real data
set=bigann10k-sift-128-euclidean
if [ $n != 2000 ]; then
  :
elif [ ! -e "$data/$set/base.npy" ]; then
  skip "$set" "../shared/data/$set is not here"
else
  capball convert "$data/$set/queries.npy" q.npy --rows :100 -q
  capball sketch train "$data/$set/base.npy" -o real.json --bits 512 --bits-per 4 -q
  capball sketch encode -m real.json "$data/$set/base.npy" -o real.u8bin -q
  capball knn "$data/$set/base.npy" q.npy -k 10 -o right.npy -q
  check "$set: until the certain bound it is exact search, of few rows" bash -c '
    capball sketch search -m real.json real.u8bin q.npy -k 10 --base "'"$data/$set"'/base.npy" --bound certain -o ids.npy 2>said &&
    cmp ids.npy right.npy && awk "{ exit !(\$4 < 450) }" said'
fi
finish
