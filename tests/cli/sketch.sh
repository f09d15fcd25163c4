#!/usr/bin/env bash
# Sketches from files to neighbours: the same for any threads and processor, compared with NumPy, and every error.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || python=

seq 0 999 | awk '{ print ($1 * 37) % 101 "," ($1 * 53) % 89 "," ($1 * 71) % 97 "," ($1 * 29) % 83 }' >points.csv
capball convert points.csv queries.csv --rows :20 -q
check "train" capball sketch train points.csv -o sketch.json --bits 128 -q
check "encode" capball sketch encode -m sketch.json points.csv -o codes.u8bin -q
check "search" capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --base points.csv -o ids.ivecs \
  --distances distances.fvecs -q
for isa in plain avx2 avx512; do
  export CPB_ISA=$isa
  check "$isa: the same sketch" bash -c 'capball sketch train points.csv -o s.json --bits 128 -q -t 3 && cmp s.json sketch.json'
  check "$isa: the same codes" bash -c 'capball sketch encode -m sketch.json points.csv -o c.u8bin -q -t 3 && cmp c.u8bin codes.u8bin'
  check "$isa: the same neighbours" bash -c 'capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --base points.csv -o i.ivecs -q -t 3 && cmp i.ivecs ids.ivecs'
done
unset CPB_ISA
check "candidates that are all rows give exact neighbours" bash -c '
  capball sketch search -m sketch.json codes.u8bin queries.csv -k 5 --candidates 1000 --base points.csv -o a.csv -q &&
  capball knn points.csv queries.csv -k 5 -o b.csv -q && cmp a.csv b.csv'
check "the scale is twice the mean norm that fit says" bash -c 'capball fit points.csv -o mean.json -q &&
  s=$(sed -n "s/^ *\"scale\": \([0-9.e+]*\).*/\1/p" mean.json) &&
  capball fit points.csv --scale "$(awk "BEGIN { printf \"%.17g\", 2 * $s }")" -o map.json -q &&
  capball sketch train points.csv -o m.json --map map.json --bits 128 -q && cmp m.json sketch.json'
check "images alone re-rank as well" bash -c 'capball embed -m map.json points.csv -o images.npy -q &&
  capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --embedded images.npy -o e.csv --distances ed.csv -q &&
  capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --base points.csv -o b.csv --distances bd.csv -q &&
  paste -d, ed.csv bd.csv | awk -F, "{ for (i = 1; i <= 3; i++) if ((\$i - \$(i+3))^2 > 1e-8) exit 1 }"'
check "also when they are f16" bash -c 'capball embed -m map.json points.csv -o half.npy --dtype f16 -q &&
  capball sketch search -m sketch.json codes.u8bin queries.csv -k 3 --embedded half.npy -o e.csv -q'
check "a pipe and a file give the same codes" bash -c '
  capball sketch encode -m sketch.json - --format csv -o p.u8bin -q <points.csv && cmp p.u8bin codes.u8bin'
check "a pipe is enough with a scale" bash -c '
  capball sketch train - --format csv -o p.json --goal spread --bits 8 -q <points.csv'
check "every form" bash -c 'for form in principal columns turned; do capball sketch train points.csv -o w.json --form $form --bits 16 -q || exit; done'
check "the form is told, and what it finds" bash -c 'capball sketch train points.csv -o j.json --bytes 5 -q --json |
  grep -qE "^\{\"schema\":\"capball/sketch-train/1\",\"sketch\":\"j.json\",\"dim\":4,\"bits\":[0-9]+,\"variant\":\"joined\",\"form\":\"[a-z]+\",.*\"code_bytes\":[45],\"recall\":\[[01][.0-9]*,[01][.0-9]*\]"'

# what goes wrong
printf '1,2,3\n4,5,6\n' >three.csv
awk 'NR == 8 { $0 = "1,nan,3,4" } 1' points.csv >nan_base.csv
printf '1,2,3,4\n5,6,nan,8\n' >nan.csv
: >empty.csv
printf '\0\0\0\0\20\0\0\0' >none.u8bin
head -c 300 sketch.json >cut.json
sed 's/"seed": "0"/"seed": "1"/' sketch.json >forged.json
capball sketch train points.csv -o short.json --bits 64 -q
capball fit points.csv -o white.json --whiten -q
capball sketch train points.csv -o other.json --bits 128 --seed 1 -q
capball sketch encode -m other.json points.csv -o other.u8bin -q
capball fit points.csv --scale 60 -o scaled.json -q
capball embed -m scaled.json points.csv -o scaled.npy -q
capball fit points.csv --center none -o moved.json -q
capball embed -m moved.json points.csv -o moved.npy -q
touch -d '2 seconds ago' -- *
touch -d '1 second ago' stamp
refuses "no second word" 2 'sketch has several commands, name one of them: train, encode, search, curve' capball sketch
refuses "another second word" 2 'sketch has no command "tarin", name one of these' capball sketch tarin points.csv
refuses "bits that are no bytes" 2 '--bits must be a multiple of 8, got 12' capball sketch train points.csv -o x.json --bits 12
refuses "bits and bytes" 2 '--bits and --bytes exclude each other' capball sketch train points.csv -o x.json --bits 64 --bytes 8
refuses "two bytes" 2 '--bytes must be a whole number in \[3,8192\], got "2"' capball sketch train points.csv -o x.json --bytes 2
refuses "a map and a scale" 2 'exclude each other' capball sketch train points.csv -o x.json --map map.json --scale 1
refuses "a norm from a pipe" 2 'a pipe can be read once' capball sketch train - --format csv -o x.json
refuses "a whitened map" 1 'white.json: the map has a whitening; a sketch is made from a centre and a scale alone' capball sketch train points.csv -o x.json --map white.json
refuses "a map of another d" 1 'three.csv has 3 columns, but map.json embeds rows of 4' capball sketch train three.csv -o x.json --map map.json
refuses "no data to train on" 1 'empty.csv' capball sketch train empty.csv -o x.json
refuses "one row to train on" 1 'a sketch is trained on at least 2 rows, got 1' capball sketch train - --format csv --scale 1 -o x.json < <(echo 1,2)
refuses "NaN to train on" 1 'nan.csv: row 1 holds NaN' capball sketch train nan.csv -o x.json
refuses "a map as a sketch" 1 'map.json: holds a "map", wanted a "sketch"' capball sketch encode -m map.json points.csv -o x.u8bin
refuses "a cut sketch" 1 'cut.json: line' capball sketch encode -m cut.json points.csv -o x.u8bin
refuses "a forged sketch" 1 'forged.json: its numbers have checksum' capball sketch encode -m forged.json points.csv -o x.u8bin
refuses "rows of another d" 1 'three.csv has 3 columns, but sketch.json encodes rows of 4' capball sketch encode -m sketch.json three.csv -o x.u8bin
refuses "NaN to encode" 1 'nan.csv: row 1 holds NaN' capball sketch encode -m sketch.json nan.csv -o x.u8bin
refuses "nothing to encode" 1 'empty.csv' capball sketch encode -m sketch.json empty.csv -o x.u8bin
refuses "codes of other bits" 1 'codes.u8bin has 18 columns, but codes of short.json have 10' capball sketch search -m short.json codes.u8bin queries.csv -o x.csv
refuses "codes that are none" 1 'points.csv has 4 columns, but codes of sketch.json have 18' capball sketch search -m sketch.json points.csv queries.csv -o x.csv
refuses "no codes" 1 'none.u8bin has no rows' capball sketch search -m sketch.json none.u8bin queries.csv -o x.csv
refuses "queries of another d" 1 'three.csv has 3 columns, but queries of sketch.json have 4' capball sketch search -m sketch.json codes.u8bin three.csv -o x.csv
refuses "more neighbours than codes" 1 'codes.u8bin: 2000 neighbours asked for, more than the number of codes, 1000' capball sketch search -m sketch.json codes.u8bin queries.csv -k 2000 -o x.csv
refuses "fewer candidates than neighbours" 2 '5 candidates cannot contain 10 neighbours' capball sketch search -m sketch.json codes.u8bin queries.csv --candidates 5 --base points.csv -o x.csv
refuses "candidates for nothing" 2 'give one of them' capball sketch search -m sketch.json codes.u8bin queries.csv --candidates 50 -o x.csv
refuses "a base of other rows" 1 'queries.csv: there are 20 rows, but 1000 codes' capball sketch search -m sketch.json codes.u8bin queries.csv -k 2 --base queries.csv -o x.csv
refuses "NaN in the base" 1 'nan_base.csv: row 7 holds NaN' capball sketch search -m sketch.json codes.u8bin queries.csv --candidates 1000 --base nan_base.csv -o x.csv
refuses "codes of another sketch" 1 'other.u8bin row ([0-9]+) is not the code of points.csv row [0-9]+ under sketch.json' capball sketch search -m sketch.json other.u8bin queries.csv --base points.csv -o x.csv
refuses "images of another scale" 1 'codes.u8bin row [0-9]+ is not the code of the image scaled.npy row' capball sketch search -m sketch.json codes.u8bin queries.csv --embedded scaled.npy -o x.csv
refuses "images of another centre" 1 'is not the code of the image moved.npy row' capball sketch search -m sketch.json codes.u8bin queries.csv --embedded moved.npy -o x.csv
refuses "images of another d" 1 'points.csv has 4 columns, but embedded rows of sketch.json have 5' capball sketch search -m sketch.json codes.u8bin queries.csv --embedded points.csv -o x.csv
refuses "NaN to ask" 1 'nan.csv: row 1 holds NaN' capball sketch search -m sketch.json codes.u8bin nan.csv -o x.csv
check "and nothing is left behind" bash -c '[ -z "$(find . -newer stamp ! -name "check.*" -type f)" ]'

# real data: what a code stands for, and what it finds, against NumPy
set=sift-bsds-128-euclidean
if [ -z "$python" ]; then
  skip "$set" "no NumPy to compare with"
elif [ ! -e "$data/$set/base.npy" ]; then
  skip "$set" "../shared/data/$set is not here"
else
  capball convert "$data/$set/base.npy" x.npy --rows :8000 -q
  capball sketch train x.npy -o full.json --bytes 32 --sample 4096 -q
  capball sketch encode -m full.json x.npy -o codes.npy -q
  check "$set: bounds hold for the rows that codes stand for" $python -c '
import json, numpy as np
s = json.load(open("full.json")); x = (np.load("x.npy").astype("f8") - s["center"]) / s["scale"]; codes = np.load("codes.npy")
G = np.array(s["normals"]).reshape(s["directions"], 129)[:, :128]; v = np.zeros((len(x), len(G))); at = 0; centres = np.array(s["centres"])
for j, (first, count) in enumerate(np.array(s["books"]).astype(int).reshape(-1, 2)):
    book = centres[at:at + 256 * count].reshape(count, 256); at += 256 * count
    v[:, first:first + count] += book[:, codes[:, j]].T
low, step, e_low, ratio, gamma = s["tables"]; f = np.float32(low + step * codes[:, -2]).astype("f8")
e = np.float32(e_low * ratio ** codes[:, -1].astype("f8")) * (1 + 1e-6)
off = np.linalg.norm(x - (f[:, None] * v) @ G, axis=1)
assert (off <= e).all() and (off > 0.9 * e).mean() > 0.9, (off / e).max()'
fi
finish
