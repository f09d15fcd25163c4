#!/usr/bin/env bash
# Files of older versions and other machines are read: models, maps, sketches and states that version 0.1 wrote on x86-64 and on
# aarch64 (whose libm gave other last digits: 0.1 refused the three balls elsewhere). Every release adds its own. TAP.
. "$(dirname "$0")/../support/tap.sh"
golden=$root/tests/golden
rows=$golden/rows_60x3.csv

# All rows of the model's own data are inside an enclosing ball; every model scores every row.
for model in "$golden"/v0*_ball*.json "$golden"/v0*_rbf.json "$golden"/v0*_whitened_model.json; do
  check "score by $(basename "$model")" capball score -m "$model" "$rows" -o scores.csv
  [ "$(wc -l <scores.csv)" = 60 ]
  verdict $? "a score for every row by $(basename "$model")"
done
for map in "$golden"/v0*_map.json; do
  check "embed by $(basename "$map")" capball embed -m "$map" "$rows" -o sphere.csv --dtype f64
  check "and back" capball unembed -m "$map" sphere.csv -o back.csv --dtype f64
done
for sketch in "$golden"/v0*_sketch.json; do
  check "encode by $(basename "$sketch")" capball sketch encode -m "$sketch" "$rows" -o codes.u8bin
done
for per in 1 2 4; do
  check "codes of $per bits per direction are those of 0.3" bash -c '
    capball sketch encode -m '"$golden/v03_principal$per"'_sketch.json "'"$rows"'" -o codes.u8bin -q && cmp codes.u8bin '"$golden/v03_principal$per"'.u8bin'
  check "and are searched until the bound" bash -c '
    capball sketch search -m '"$golden/v03_principal$per"'_sketch.json codes.u8bin "'"$rows"'" -k 3 --base "'"$rows"'" --bound certain -o ids.csv -q &&
    capball knn "'"$rows"'" "'"$rows"'" -k 3 -o right.csv -q && cmp ids.csv right.csv'
done
for state in "$golden"/v0*.state; do
  check "a map from $(basename "$state")" capball merge "$state" -o merged.json --goal spread
done
# A damaged file is still told from a foreign one.
sed 's/"radius": \([0-9]\)/"radius": 1\1/' "$golden/v01_aarch64_ball_a.json" >damaged.json
refuses "a damaged model" 1 'checksum' capball score -m damaged.json "$rows" -o scores.csv
finish
