#!/usr/bin/env bash
# Every error gives a message and an exit code, and leaves no output and no temporary files. With the word brief, as under
# sanitizers, less data.
. "$(dirname "$0")/../support/tap.sh"

rows=60000
[ "${1:-}" != brief ] || rows=20000
printf '3,4\n6,8\n0,1\n' >points.csv
printf '3,4\nnan,8\n0,1\n' >nan.csv
printf '3,4\n6,inf\n0,1\n' >inf.csv
printf '1,2,3\n4,5,6\n' >three.csv
printf '7,7\n7,7\n' >same.csv
printf '1,2,3\n2,4,7\n3,6,1\n5,10,2\n9,18,4\n' >line.csv
capball fit points.csv -o map.json -q
capball fit three.csv -o map3.json -q
sed 's/"scale": 3/"scale": 4/' map.json >forged.json
head -c 100 map.json >cut.json
nothing_new() { [ -z "$(find . -newer stamp ! -name 'check.*' -type f)" ]; }
untouched() { # untouched TEXT: no file appeared since the stamp
  nothing_new
  verdict $? "$1 leaves nothing behind"
}
touch -d '2 seconds ago' points.csv nan.csv inf.csv three.csv same.csv line.csv map.json map3.json forged.json cut.json
touch -d '1 second ago' stamp

refuses "no command" 2 '^capball: hyperplanes' capball
refuses "an unknown command" 2 'there is no command "embd"; did you mean "embed"' capball embd
refuses "a command far from all" 2 'there is no command "xyzzy"$' capball xyzzy
refuses "an unknown option" 2 '^capball fit: there is no option --golas?; did you mean --goal' capball fit points.csv -o m.json --gola mean
refuses "an unknown letter" 2 '^capball fit: there is no option -z' capball fit points.csv -z
refuses "a goal that is none" 2 'no GOAL "hemispher"; did you mean "hemisphere"' capball fit points.csv -o m.json --goal hemispher
refuses "a format that is none" 2 'no FORMAT "fvec"; did you mean "fvecs"' capball info points.csv --format fvec
refuses "an extension that is none" 2 'no format is called .fvec; did you mean .fvecs' capball info points.fvec
refuses "a pipe without a format" 2 'name its format with --format' capball info -
refuses "a flag with a value" 2 '--whiten takes no value' capball fit points.csv -o m.json --whiten=3
refuses "an option without its value" 2 '--goal needs a value' capball fit points.csv -o m.json --goal
refuses "a missing option" 2 '--output FILE is missing' capball fit points.csv
refuses "a missing operand" 2 'name the output by --output FILE or as the second operand' capball convert points.csv
refuses "an operand too many" 2 'unexpected operand "c.csv"' capball convert points.csv b.csv c.csv
refuses "a scale of 0" 2 '--scale must be a number > 0, got "0"' capball fit points.csv -o m.json --scale 0
refuses "a scale that is none" 2 '--scale must be a number > 0, got "nan"' capball fit points.csv -o m.json --scale nan
# Values that no data could make right are wrong usage, of every option of every command.
capball index build points.csv -o points.index -q
while read -r option value command; do
  # shellcheck disable=SC2086
  refuses "--$option $value" 2 "^capball [a-z ]*: --$option" capball $command "--$option=$value"
done <<'LIST'
nu 2 ball points.csv -o m.json
nu 0 ball points.csv -o m.json
nu nan ball points.csv -o m.json
gap -1 ball points.csv -o m.json
gap inf ball points.csv -o m.json
ridge -1 ball points.csv -o m.json --whiten
ridge nan fit points.csv -o m.json --whiten
offset inf ball points.csv -o m.json --nu .5 --kernel polynomial
degree 1001 ball points.csv -o m.json --nu .5 --kernel polynomial
headroom .5 fit points.csv -o m.json --transform lift-cosine
target 1 fit points.csv -o m.json --goal recall
radius -1 range points.csv points.csv -o m.jsonl
radius nan index range points.index points.csv
radius -1 index range points.index points.csv
radius inf wrap points.csv points.csv -o m.csv --engine-command x
radius 0 query -m map.json points.csv -o m.csv
score-error inf rescore -m map.json points.csv points.csv --embedded points.csv -o m.csv
within -1 rescore -m map.json points.csv points.csv --embedded points.csv -o m.csv
timeout 0 wrap points.csv points.csv -o m.csv --engine-command x
sample 100000000000 abid points.csv
sample 100000000000 sketch train points.csv -o m.json
bits 12 sketch train points.csv -o m.json
bytes 2 sketch train points.csv -o m.json
LIST
rm -f points.index
# A named pipe that nobody reads: what cannot be written to it is refused before it is opened.
mkfifo pipe.index pipe.npy pipe.csv
refuses "an index to a pipe" 1 'pipe.index: an index can only be written to a regular file' timeout 20 capball index build points.csv -o pipe.index
refuses "an index from a pipe" 1 'pipe.index: this is not an index' timeout 20 capball index info pipe.index
refuses "an index in a pipe" 1 'pipe.index: this is not an index' timeout 20 capball index add pipe.index points.csv
refuses "a counted file to a pipe" 1 'pipe.npy: the header of npy counts the rows' timeout 20 capball convert points.csv -o pipe.npy
cat pipe.csv >read.csv &
check "text to a pipe" timeout 20 capball convert points.csv -o pipe.csv
wait
check "arrives" cmp points.csv read.csv
rm -f pipe.index pipe.npy pipe.csv read.csv
refuses "threads that are none" 2 '--threads must be a whole number' capball info points.csv --threads -1
refuses "scale and goal" 2 'exclude each other' capball fit points.csv -o m.json --scale 1 --goal mean
refuses "rows backwards" 2 '--rows must be A:B' capball convert points.csv b.csv --rows 3:1
refuses "a median from a pipe" 2 'reads the data 2 times' capball fit - --format csv -o m.json --goal median
refuses "a law that is none" 2 'there is no law "T99"' capball theory T99
refuses "neither map nor scale" 2 'exactly one of' capball dual
refuses "integers on the sphere" 2 'which u8 cannot hold' capball embed -m map.json points.csv -o y.u8bin

refuses "more threads than there can be" 2 '--threads: a pool takes at most' capball info points.csv --threads 100000
refuses "a type the format does not have" 2 '--dtype: y.fvecs: fvecs files cannot hold f64' capball convert points.csv y.fvecs --dtype f64
refuses "an empty output" 2 '--output needs a value' capball fit points.csv -o ''
refuses "an empty operand" 2 'operand 1 is empty' capball info ''
refuses "a fit over its data" 2 'the output points.csv is the same file as the input points.csv' capball fit points.csv -o points.csv
refuses "a fit over its pole" 2 'the output ./three.csv is the same file as the input three.csv' capball fit points.csv --pole three.csv -o ./three.csv
refuses "a fit over its centre" 2 'the same file' capball fit points.csv --center three.csv -o three.csv
refuses "an embedding over its map" 2 'output map.json is the same file as the input map.json' capball embed -m map.json points.csv -o map.json --to csv
refuses "an embedding over its data" 2 'the same file' capball embed -m map.json points.csv -o points.csv
refuses "an unembedding over its data" 2 'the same file' capball unembed -m map.json three.csv -o three.csv
refuses "a conversion over its input" 2 'the same file' capball convert points.csv points.csv --rows 1:
refuses "a conversion over its input by a link" 2 'the same file' \
  bash -c 'ln -s points.csv link.csv; capball convert points.csv link.csv; code=$?; rm link.csv; exit $code'
refuses "a conversion that feeds itself" 2 'the output \(standard output\) is the same file' \
  bash -c 'capball convert points.csv - --to csv >>points.csv'
refuses "a pipe that feeds itself" 2 'the same file as the input standard input' \
  bash -c 'capball convert - points.csv --format csv <points.csv'

refuses "a missing file" 1 '^capball info: none.csv: .*No such file' capball info none.csv
refuses "a missing map" 1 '^capball embed: none.json: .*No such file' capball embed -m none.json points.csv -o y.npy
refuses "a map of another d" 1 'points.csv has 2 columns, but map3.json embeds rows of 3' capball embed -m map3.json points.csv -o y.npy
refuses "a point of another d" 1 'three.csv has 3 columns, but map3.json unembeds rows of 4' capball unembed -m map3.json three.csv -o y.npy
refuses "a forged map" 1 '^capball embed: forged.json.*checksum' capball embed -m forged.json points.csv -o y.npy
refuses "half a map" 1 '^capball embed: cut.json' capball embed -m cut.json points.csv -o y.npy
refuses "NaN in a fit" 1 '^capball fit: nan.csv: row 1 holds NaN' capball fit nan.csv -o m.json
refuses "inf in a fit" 1 '^capball fit: inf.csv: row 1 holds inf' capball fit inf.csv -o m.json
refuses "NaN in an embedding" 1 '^capball embed: nan.csv: row 1 holds NaN' capball embed -m map.json nan.csv -o y.npy
refuses "rows without a scale" 1 'cannot be a scale; give one with --scale' capball fit same.csv -o m.json
refuses "a column that depends" 1 'line.csv: column 1 depends linearly .* give a ridge' capball fit line.csv -o m.json --whiten
refuses "equal rows" 1 'all rows are equal' capball fit same.csv -o m.json --whiten
printf '1,2\n3,2\n4,2\n7,2\n' >constant.csv
refuses "a constant column" 1 'column 1 does not vary, .* give a ridge' capball fit constant.csv -o m.json --whiten
check "a constant column with a ridge" capball fit constant.csv -o m.json --whiten --ridge 1e-6 -q
rm -f m.json
refuses "a ridge without whitening" 2 '[-]-ridge goes with --whiten' capball fit constant.csv -o m.json --ridge 1
rm -f constant.csv
refuses "rows that are not there" 1 'has 3 rows, --rows 2:9 asks for more' \
  bash -c 'capball convert points.csv p.fbin && capball convert p.fbin b.csv --rows 2:9; code=$?; rm -f p.fbin; exit $code'
refuses "fractions as integers" 1 'row 0' bash -c 'echo 1.5,2 | capball convert - y.u8bin --format csv'
refuses "no scale for a hemisphere" 1 'same.csv: the largest norm about the centre is 0, which cannot be a scale' capball fit same.csv -o m.json --goal hemisphere
refuses "a pole that is none" 1 'zero.csv: a pole of length 0 has no direction' \
  bash -c 'echo 0,0,0 >zero.csv; capball fit points.csv -o m.json --pole zero.csv; code=$?; rm zero.csv; exit $code'
refuses "a header that is a row with a slip" 1 'line 1, column 1: "1O" is not a number' bash -c 'printf "1O,2\n3,4\n" | capball info - -f csv'
refuses "a header that is a row of hexadecimal numbers" 1 'line 1, column 1: "0x1p0" is not a number' bash -c 'printf "0x1p0,0x1.8p3\n1,2\n" | capball info - -f csv'
refuses "a header that is a row of numbers beyond double" 1 'line 1, column 2: "1e999" is not a number' bash -c 'printf "a,1e999\n1,2\n" | capball info - -f csv --columns 2'
refuses "control characters in a name" 1 'capball info: ./\\x1b\[2J\.csv: cannot open' capball info $'./\033[2J.csv'
refuses "control characters in a word" 2 'no command "\\x1b\[2J\\xc2\\x9b"' capball $'\033[2J\302\233'
refuses "a word that is not UTF-8" 2 'no command "a\\xff"' capball $'a\377'
refuses "an umlaut stays one" 2 $'no command "\303\244"' capball $'\303\244'
refuses "a directory that is not there" 1 'nowhere' capball embed -m map.json points.csv -o nowhere/y.npy
refuses "SQL over the data" 2 'output points.csv is the same file as the input points.csv' capball ball points.csv -o m.json --sql points.csv
refuses "a picture over the labels" 2 'output ./points.svg is the same file' \
  bash -c 'cp points.csv points.svg; touch -r points.csv points.svg; capball score -m map.json three.csv --labels points.svg -o s.csv --plot ./points.svg; code=$?; rm points.svg; exit $code'
refuses "statistics over a piece" 2 'the same file as the input same.csv' capball merge points.csv same.csv -o same.csv
refuses "two outputs of one name" 2 'the outputs x.csv and ./x.csv are one file' capball knn points.csv points.csv -k 1 -o x.csv --distances ./x.csv
refuses "two outputs through a link" 2 'the outputs x.csv and l/y.csv are one file' \
  bash -c 'mkdir l; ln -s ../x.csv l/y.csv; capball knn points.csv points.csv -k 1 -o x.csv --distances l/y.csv; code=$?; rm -r l; exit $code'
refuses "two data sets of one output" 2 'the outputs h.hdf5:a and h.hdf5:b are one file' capball knn points.csv points.csv -k 1 -o h.hdf5:a --distances h.hdf5:b
refuses "two outputs to one pipe" 2 'two outputs are "-"' capball ball points.csv -o - --sql -
refuses "data and JSON in one pipe" 2 '--json goes to standard output' capball score -m map.json points.csv -o - --to csv --json
refuses "two inputs from one pipe" 2 '2 inputs are "-"' capball knn - - -k 1 -o x.csv
refuses "row numbers as f16" 2 'x.f16bin: row numbers are i32 or i64, but f16bin files hold f16' capball knn points.csv points.csv -k 1 -o x.f16bin
refuses "a type without distances" 2 '--dtype is the type of --distances' capball knn points.csv points.csv -k 1 -o x.npy --dtype f16
refuses "a type the distances cannot have" 2 '--dtype: x.fvecs: fvecs files cannot hold f64' capball knn points.csv points.csv -k 1 -o x.npy --distances x.fvecs --dtype f64
refuses "a type the scores cannot have" 2 '--dtype: x.fvecs: fvecs files cannot hold f64' capball score -m map.json points.csv -o x.fvecs --dtype f64
refuses "neighbours into a pipe without a format" 2 'name its format with --to' capball knn points.csv points.csv -k 1 -o -
refuses "distances in no format" 2 'no format is called .foo; give a file with one of .fvecs' capball knn points.csv points.csv -k 1 -o x.npy --distances x.foo
refuses "weights from a pipe" 2 'a pipe has no extension: give a file with one of' capball ball points.csv -o m.json --nu 1 --weights -
refuses "no neighbours" 2 '--neighbours must be a whole number >= 1, got "0"' capball knn points.csv points.csv -k 0 -o x.npy
refuses "an empty sample" 2 '--sample must be a whole number >= 1, got "0"' capball abid points.csv --sample 0
refuses "a picture that is none" 2 '--plot writes .svg or .png, got "p.foo"' capball abid points.csv --plot p.foo
refuses "a line with one field" 1 'line 2 has 1 field, the first line has 2' bash -c 'printf "1,2\n3\n" | capball info - -f csv'
[ $rows = 20000 ] || refuses "a line longer than a line may be" 1 'line 1 has more than 536870912 bytes, or a quote is never closed' \
  bash -c 'truncate -s 536870913 long.csv; capball info long.csv; code=$?; rm long.csv; exit $code'
untouched "every refusal"

check "names of bytes are names" bash -c 'printf "0x00,0x1f\n1,2\n" | capball info - -f csv | grep -qx "names     0x00, 0x1f"'
check "--header yes takes them for names" bash -c 'printf "0x1p0,1e999\n1,2\n" | capball info - -f csv --header yes | grep -qx "names     0x1p0, 1e999"'
check "a long decimal is read as its digits and exponent say" bash -c 'printf "0.%0100000d1e100001,-2%0100000d.0e-100000\n" 0 0 |
  capball convert - - -f csv --to csv | grep -qx "1,-2"'
check "in JSON, too" bash -c 'printf "{\"ball\":{\"c\":[0.%0100000d1e100001],\"r\":1}}\n" 0 | capball dual --scale 1 |
  diff - <(printf "{\"ball\":{\"c\":[1],\"r\":1}}\n" | capball dual --scale 1)'
check "subnormal numbers have the fewest digits" bash -c 'printf "5e-324,2.5e-320\n1e-45,1.2e-40\n" >tiny.csv
  [ "$(capball convert tiny.csv - --to csv)" = "$(cat tiny.csv)" ] &&
  [ "$(capball convert tiny.csv - --to csv --dtype f32 --rows 1:)" = 1e-45,1.2e-40 ]'
check "--format is that of the operand -" bash -c 'capball knn points.csv - -f csv -k 1 -o - --to csv <points.csv | diff - <(seq 0 2)'
check "--seed, --first-row and --threads may be 0" capball fit points.csv -o zero.json --seed 0 --first-row 0 --threads 0 -q
check "outputs that are no files may share a name" bash -c 'ln -s /dev/null n.csv && capball knn points.csv points.csv -k 1 -o n.csv --distances n.csv'
check "distances in text are f64" bash -c 'printf "0,0\n1,1\n" >ab.csv; printf "0,0\n" >a.csv
  capball knn ab.csv a.csv -k 2 -o i.csv --distances d.csv && [ "$(cat d.csv)" = 0,1.4142135623730951 ] &&
  capball knn ab.csv a.csv -k 2 -o i.csv --distances d.csv --dtype f32 && [ "$(cat d.csv)" = 0,1.4142135 ] &&
  capball knn ab.csv a.csv -k 2 -o i.npy --distances d.npy --dtype f64 && grep -aq "<i4" i.npy && grep -aq "<f8" d.npy'
check "sketch --help explains its commands" bash -c 'capball sketch --help | diff - <(capball help sketch) &&
  [ "$(capball sketch -h | grep -c "^capball sketch")" = 4 ]'

capball fit nan.csv --skip-bad -o skip.json 2>skip.err
grep -q 'bad rows left out: 1$' skip.err
verdict $? "--skip-bad says how many"

for line in '{' '[1]' '{"bal":{"c":[1],"r":1}}' '{"ball":{"c":[1],"r":-1}}' '{"ball":{"c":[1]}}' '{"ball":{"c":["x"],"r":1}}' \
  '{"ball":{"c":[1],"r":1},"cap":{"p":[0,1],"b":0}}' '{"empty":{}}' '{"ellipsoid":{"c":[1,2],"axis":[1],"r1":1,"r2":2}}' \
  '{"ellipsoid":{"c":[0,0],"G":[[1,2],[2,1]]}}' '{"cap":{"p":[0,0],"b":0}}' '{"ball":{"c":[1e999],"r":1}}' \
  '{"halfspace":{"n":[0,0],"h":1}}' '{"ball":{"c":[1],"r":1,"radius":2}}' '{"id":1}'; do
  printf '{"ball":{"c":[1],"r":1}}\n%s\n{"ball":{"c":[1],"r":1}}\n' "$line" >bad.jsonl
  code=0
  capball dual --scale 1 bad.jsonl >dual.out 2>dual.err || code=$?
  [ "$code" = 1 ] && [ "$(wc -l <dual.out)" = 1 ] && grep -q '^capball dual: bad.jsonl, line 2: ' dual.err
  verdict $? "dual refuses $line"
done

# A full disk, an interruption and a sudden death leave the old output as it was.
awk -v OFS=, -v n="$rows" 'BEGIN { srand(1); for (i = 0; i < n; i++) print rand(), rand(), rand(), rand() }' >big.csv
capball convert big.csv big.fbin
capball fit big.fbin -o big.json -q
echo old >big.npy
cp big.npy old.npy
code=0
(ulimit -f 200; capball embed -m big.json big.fbin -o big.npy) 2>full.err || code=$?
[ "$code" = 1 ] && grep -q '^capball embed: big.npy: ' full.err && cmp -s big.npy old.npy
verdict $? "a full disk is an error, and the old output stays"
[ -z "$(find . -name '*big.npy*' ! -name big.npy)" ]
verdict $? "a full disk leaves no temporary file"

mkfifo slow
{ cat big.csv; exec sleep 60; } >slow &
feeder=$!
capball embed -m big.json - --format csv -o big.npy -q <slow 2>int.err &
reader=$!
sleep 0.4
start=$EPOCHSECONDS
kill -INT "$reader" 2>/dev/null
code=0
wait "$reader" || code=$?
[ "$code" = 130 ] && [ $((EPOCHSECONDS - start)) -le 30 ] && [ ! -s int.err ] && cmp -s big.npy old.npy &&
  [ -z "$(find . -name '*big.npy*' ! -name big.npy)" ]
verdict $? "an interruption ends with 130 at once, leaves the old output and no litter"
kill "$feeder" 2>/dev/null
{ wait "$feeder"; } 2>/dev/null

awk 'BEGIN { srand(4); for (i = 0; i < 60000; i++) print rand() + i % 7 "," rand() "," rand() "," rand() }' >clouds.csv
capball ball clouds.csv --balls 200 --nu 0.5 -o balls.json -q 2>int.err &
fitter=$!
sleep 1
start=$EPOCHREALTIME
kill -INT "$fitter"
code=0
wait "$fitter" || code=$?
[ "$code" = 130 ] && [ $(((${EPOCHREALTIME/./} - ${start/./}) / 1000)) -le 3000 ] && [ ! -s int.err ] && [ ! -e balls.json ]
verdict $? "a fit of several balls, too"

{ cat big.csv; exec sleep 60; } >slow &
feeder=$!
capball embed -m big.json slow --format csv -o big.npy -q 2>/dev/null &
reader=$!
sleep 0.3
kill -KILL "$reader" 2>/dev/null
{ wait "$reader"; } 2>/dev/null
kill "$feeder" 2>/dev/null
wait "$feeder" 2>/dev/null
cmp -s big.npy old.npy
verdict $? "a sudden death leaves the old output"

capball embed -m big.json big.fbin -o once.npy -q
for i in 1 2 3; do
  capball embed -m big.json big.fbin -o twice.npy -q --threads 1 &
  capball embed -m big.json big.fbin -o twice.npy -q --threads 2
  wait
  cmp once.npy twice.npy || break
done
verdict $? "two writers of one output leave one whole file, whatever the threads"

printf '1e308,1e308\n1e308,0\n1e308,1e308\n' >huge.csv
capball info huge.csv | grep -q 'mean 1.27614e+308'
verdict $? "huge norms have a mean"

printf '1e155,0\n-1e155,0\n0,2e155\n-2e155,1e154\n' >wide.csv
capball ball wide.csv --nu 0.5 -o wide.json --json -q | grep -q '"lower_bound":null,"converged":true' && grep -q '"lower_bound": null,' wide.json
verdict $? "a bound beyond double is null"
lines() { yes '{"ball":{"c":[1],"r":1}}'; }
lines | env --default-signal=PIPE capball dual --scale 1 2>pipe.err | head -n 1 >/dev/null
[ "${PIPESTATUS[1]}" = 141 ] && [ ! -s pipe.err ]
verdict $? "a reader that goes away ends the command by SIGPIPE, without a message"
lines | env --ignore-signal=PIPE capball dual --scale 1 2>pipe.err | head -n 1 >/dev/null
[ "${PIPESTATUS[1]}" = 1 ] && grep -q '^capball dual: cannot write standard output: Broken pipe$' pipe.err
verdict $? "where SIGPIPE is ignored it is an error"
lines | capball dual --scale 1 2>full.err >/dev/full
[ "${PIPESTATUS[1]}" = 1 ] && grep -q '^capball dual: cannot write standard output: No space left' full.err
verdict $? "a full standard output ends an endless input"
for words in theory --version --help 'help fit' 'fit --help'; do
  code=0
  # shellcheck disable=SC2086
  capball $words >/dev/full 2>full.err || code=$?
  [ "$code" = 1 ] && grep -q 'cannot write standard output: No space left' full.err
  verdict $? "a full standard output is an error: $words"
done

capball fit big.csv -o one.json --threads 1 -q && capball fit big.csv -o two.json --threads 2 -q && cmp one.json two.json
verdict $? "a fit has the same bits for any number of threads"
capball fit big.fbin -o one.json --whiten --goal median --threads 1 -q &&
  capball fit big.fbin -o two.json --whiten --goal median --threads 2 -q && cmp one.json two.json
verdict $? "so has a whitened one"
finish
