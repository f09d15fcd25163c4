#!/usr/bin/env bash
# Thirty runs of the command whose outputs must have the same bytes on every platform, and their checksums.
#   command_runs.sh DIRECTORY COMMAND..            in an empty directory, where the files stay
#   command_runs.sh --with OTHER DIRECTORY COMMAND..   reads the maps, models, sketches and states of another run's directory
# COMMAND.. starts capball: the program, or an emulator and the program.
set -u
export LC_ALL=C
others=.
[ "$1" = --with ] && others=$(cd "$2" && pwd) && shift 2
mkdir -p "$1" && cd "$1" || exit 1
shift
command=("$@")
seen=0

# run NAME OUTPUT.. -- WORDS..: the checksum of what it prints, and of every output.
run() {
  local name=$1 outputs=()
  shift
  while [ "$1" != -- ]; do outputs+=("$1") && shift; done
  shift
  "${command[@]}" "$@" >"$name.out" 2>"$name.err" || echo "$name ends with $?: $(tail -n 1 "$name.err")"
  seen=$((seen + 1))
  for file in "$name.out" ${outputs[@]+"${outputs[@]}"}; do echo "$name ${file##*.} $(cksum <"$file")"; done
}

awk 'BEGIN { for (i = 0; i < 300; i++) { a = (i * 7919) % 1000; b = (i * 104729) % 997; c = (i * 1299709) % 991
  printf "%.3f,%.3f,%.3f\n", a / 97 + b / 1000, b / 89 - c / 7777, (c - a) / 101 } }' >base.csv
head -n 12 base.csv | awk -F, '{ print $1 + .25 "," $2 - .5 "," $3 + .125 }' >queries.csv
echo '{"ball":{"c":[1,2,3],"r":4}}' >regions.jsonl

if [ "$others" = . ]; then
  run convert base.npy -- convert base.csv base.npy
  run info -- info base.npy --json
  run fit map.json -- fit base.csv -o map.json -q
  run fit-median median.json -- fit base.npy -o median.json -q --goal median
  run fit-whiten whiten.json -- fit base.csv -o whiten.json -q --whiten
  run fit-spread spread.json -- fit base.csv -o spread.json -q --goal spread
  run fit-recall recall.json -- fit base.csv -o recall.json -q --goal recall -k 5
  run fit-state a.state -- fit base.csv --state a.state -q
  run state-queries b.state -- fit queries.csv --state b.state --first-row 300 -q
  run merge all.state -- merge a.state b.state -o all.state -q
  run abid -- abid base.csv --sweep --json
  run cosines -- cosines base.csv --json
  run knn knn.csv far.npy -- knn base.csv queries.csv -k 5 -o knn.csv --distances far.npy -q
  run range range.jsonl -- range base.csv queries.csv --radius 2.5 -o range.jsonl -q
  run recommend -- recommend base.csv -k 5 --json -q
  run ball ball.json -- ball base.csv -o ball.json -q
  run ball-soft soft.json -- ball base.csv -o soft.json --nu 0.2 -q
  run ball-whiten ellipsoid.json -- ball base.csv -o ellipsoid.json --whiten -q
  run ball-rbf rbf.json -- ball base.csv -o rbf.json --nu 0.2 --kernel rbf -q
  run ball-svm svm.json -- ball base.csv -o svm.json --nu 0.2 --method cap-svm -q
  run sketch-train sketch.json -- sketch train base.csv -o sketch.json --bits 32 -q
fi
run embed sphere.npy -- embed -m "$others/map.json" base.csv -o sphere.npy
run embed-f32 narrow.npy -- embed -m "$others/whiten.json" base.csv -o narrow.npy --dtype f32
run unembed back.npy -- unembed -m "$others/map.json" sphere.npy -o back.npy
run dual -- dual -m "$others/map.json" regions.jsonl
run query caps.npy b.csv -- query -m "$others/map.json" queries.csv --radius 2.5 -o caps.npy --thresholds b.csv -q
run asked asked.npy -- embed -m "$others/map.json" queries.csv -o asked.npy
run engine ids.csv -- knn sphere.npy asked.npy --metric ip -k 6 -o ids.csv -q
run rescore near.csv proofs.csv -- rescore -m "$others/map.json" queries.csv ids.csv --embedded sphere.npy -k 2 -o near.csv --certificates proofs.csv -q
run score scores.npy -- score -m "$others/ball.json" base.csv -o scores.npy -q
run score-ellipsoid ellipsoid.npy -- score -m "$others/ellipsoid.json" base.csv -o ellipsoid.npy -q
run score-rbf rbf.npy -- score -m "$others/rbf.json" base.csv -o rbf.npy -q
run encode codes.u8bin -- sketch encode -m "$others/sketch.json" base.csv -o codes.u8bin
run search codes.csv -- sketch search -m "$others/sketch.json" codes.u8bin queries.csv -k 3 --base base.csv -o codes.csv -q
run about pass2.state -- fit base.csv --about "$others/all.state" --state pass2.state -q
echo "$seen runs"
