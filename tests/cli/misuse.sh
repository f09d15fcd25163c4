#!/usr/bin/env bash
# Every way of holding the certificates wrong: each is refused or says its condition, and none is called proven.
# An awk loop over all rows plays the engine.
. "$(dirname "$0")/../support/tap.sh"

seq 1 500 | awk -v OFS=, '{ print sin($1), sin(2.3*$1), cos($1*$1), sin(1.7*$1) + $1 % 5 }' >base.csv
seq 1 500 | awk -v OFS=, '{ print cos($1), sin(1.1*$1), cos(2*$1), cos(0.7*$1) + $1 % 3 }' >foreign.csv
awk -F, -v OFS=, 'NR <= 40 { print $1 + .1, $2 - .1, $3 + .05, $4 + .2 }' base.csv >q.csv
capball fit base.csv -o map.json -q
capball fit base.csv --scale 0.7 -o other.json -q
capball fit base.csv --center none -o off.json -q
capball embed -m map.json base.csv -o y.csv -q
capball embed -m other.json base.csv -o other.csv -q
capball embed -m map.json foreign.csv -o foreign_y.csv -q
capball query -m map.json q.csv --knn 8 --base base.csv -o caps.csv -q
radius=$(sed -n 's/.*"radius": \([^,]*\),/\1/p' caps.csv.capball)
capball query -m map.json q.csv --point -o points.csv -q

# engine ROWS QUESTIONS COUNT: the best of every question, best first
engine() {
  awk -F, -v C="$3" -v rows="$1" 'FILENAME == rows { n = FNR; for (k = 1; k <= NF; k++) y[FNR, k] = $k; next }
    { delete used; line = ""
      for (i = 1; i <= n; i++) { s[i] = 0; for (k = 1; k <= NF; k++) s[i] += $k * y[i, k] }
      for (c = 1; c <= C; c++) { best = 0
        for (i = 1; i <= n; i++) if (!(i in used) && (best == 0 || s[i] > s[best])) best = i
        used[best] = 1; line = line (c > 1 ? "," : "") best - 1 }
      print line }' "$1" "$2"
}
engine y.csv caps.csv 40 >ids.csv
engine y.csv points.csv 40 >point_ids.csv
awk 'BEGIN { srand(3) } { n = split($0, a, ","); for (i = n; i > 1; i--) { j = int(rand() * i) + 1; t = a[i]; a[i] = a[j]; a[j] = t }
  line = a[1]; for (i = 2; i <= n; i++) line = line "," a[i]; print line }' ids.csv >shuffled.csv
sed '1!G;h;$!d' ids.csv >reversed.csv

rescored() { capball rescore "$@" -k 8 -o out.csv; }
for seal in with without; do
  [ $seal = with ] || rm -f ./*.capball
  for look in "" "--certificates c.csv"; do
    how="$seal seals${look:+, all rows looked at}"
    # shellcheck disable=SC2086
    {
      refuses "the map of another scale, $how" 1 'made by another map|not in the order' rescored -m other.json q.csv ids.csv --embedded y.csv --radius "$radius" $look
      refuses "the map of another centre, $how" 1 'made by another map|not in the order|no point' rescored -m off.json q.csv ids.csv --embedded y.csv --radius "$radius" $look
      refuses "rows of another map, $how" 1 'made by another map|not in the order' rescored -m map.json q.csv ids.csv --embedded other.csv --radius "$radius" $look
      refuses "a forgotten radius, $how" 1 'ids.csv: query .* not in the order of their scores' rescored -m map.json q.csv ids.csv --embedded y.csv $look
      refuses "a radius that was not asked, $how" 1 'not in the order' rescored -m map.json q.csv point_ids.csv --embedded y.csv --radius "$radius" $look
      refuses "rows of another file, $how" 1 'not in the order' rescored -m map.json q.csv ids.csv --embedded foreign_y.csv --radius "$radius" $look
      refuses "shuffled candidates, $how" 1 'not in the order' rescored -m map.json q.csv shuffled.csv --embedded y.csv --radius "$radius" $look
      refuses "candidates of other queries, $how" 1 'not in the order' rescored -m map.json q.csv reversed.csv --embedded y.csv --radius "$radius" $look
    }
  done
  [ ! -e out.csv ]
  verdict $? "nothing is written $seal seals"
done

capball embed -m map.json base.csv -o y.csv -q
capball query -m map.json q.csv --knn 8 --base base.csv -o caps.csv -q
capball query -m map.json q.csv --point -o points.csv -q
said() { capball rescore -m map.json q.csv "$@" -o out.csv 2>said.err; }
said ids.csv --embedded y.csv -k 8 --asked caps.csv
grep -Eq "^capball rescore: [0-9]+ of 40 queries exact if the engine's first 40 are its best 40$" said.err
verdict $? "without a look at all rows the condition is said"
said ids.csv --embedded y.csv -k 8 --asked caps.csv --certificates c.csv && grep -q ' of 40 queries proven exact' said.err
verdict $? "with a look at all rows the proof is"
conditional=$(capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --asked caps.csv -o out.csv --json -q | sed 's/.*"exact_if_best":\([0-9]*\).*/\1/')
proven=$(grep -c '^0$' c.csv)
[ "$proven" -ge "$conditional" ] && [ "$conditional" -ge 20 ]
verdict $? "true candidates are proven as often: $proven, by scores alone $conditional"
refuses "the radius of other queries" 1 "but points.csv was made with 0" capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --radius "$radius" --asked points.csv -o no.csv
refuses "rows for queries" 1 'y.csv holds rows of the base' capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --asked y.csv -o no.csv
refuses "queries for rows" 1 'caps.csv holds queries' capball rescore -m map.json q.csv ids.csv --embedded caps.csv -k 8 -o no.csv
cp caps.csv bare.csv
refuses "queries without a seal" 1 'bare.csv.capball is not there: give the --radius' capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --asked bare.csv -o no.csv
cp y.csv anew.csv && cp y.csv.capball anew.csv.capball && capball convert y.csv anew.csv -q && [ ! -e anew.csv.capball ]
verdict $? "rows that are written anew lose the seal of the older"
cp y.csv stale.csv && cp y.csv.capball stale.csv.capball && head -n 499 y.csv >stale.csv
refuses "a file written anew beside an old seal" 1 'stale.csv has been written anew since' capball rescore -m map.json q.csv ids.csv --embedded stale.csv -k 8 -o no.csv
sed 's/"role": "base"/"role": "query"/' y.csv.capball >t && cp y.csv forged.csv && mv t forged.csv.capball
refuses "a seal that was edited" 1 'checksum' capball rescore -m map.json q.csv ids.csv --embedded forged.csv -k 8 -o no.csv

if capball --version | grep -q 'HDF5: yes'; then
  capball embed -m map.json base.csv -o sets.h5:first/rows -q && capball embed -m other.json base.csv -o sets.h5:rows -q
  check "a data set has its seal, whatever else is in its file" capball rescore -m map.json q.csv ids.csv --embedded sets.h5:/first/rows -k 8 --asked caps.csv -o out.csv -q
  refuses "a data set of another map" 1 'sets.h5:rows was made by another map' capball rescore -m map.json q.csv ids.csv --embedded sets.h5:rows -k 8 --asked caps.csv -o no.csv
  capball convert q.csv sets.h5:first/rows -q
  refuses "a data set written anew beside an old seal" 1 'has been written anew since|columns' capball rescore -m map.json q.csv ids.csv --embedded sets.h5:first/rows -k 8 --asked caps.csv -o no.csv
  capball embed -m map.json base.csv -o whole.h5 -q
  refuses "the set without a name is that of another map" 1 'whole.h5:train was made by another map' capball rescore -m other.json q.csv ids.csv --embedded whole.h5:train -k 8 --asked caps.csv -o no.csv
else
  skip "seals of data sets" "built without HDF5"
fi

# An engine that skips rows: the second best is always missing. Its answers are wrong, and none is proven.
cut -d, -f1,3-40 ids.csv >skipping.csv
said skipping.csv --embedded y.csv -k 8 --asked caps.csv --certificates c.csv
grep -q '^capball rescore: 0 of 40 queries proven exact' said.err
verdict $? "an engine that skips a near row proves nothing"
said skipping.csv --embedded y.csv -k 8 --asked caps.csv
grep -q "exact if the engine's first 39 are its best 39" said.err && ! grep -q proven said.err
verdict $? "and is told only with its condition"
said shuffled.csv --embedded y.csv -k 8 --asked caps.csv --approximate
grep -Eq '^capball rescore: recall 100.0 % \(.* with 95 % confidence\), by a random audit: 40 of 40 queries against all 500 rows' said.err
verdict $? "--approximate takes candidates in any order, and audits them"
said skipping.csv --embedded y.csv -k 8 --asked caps.csv --approximate && ! grep -Eq 'proven|exact' said.err
verdict $? "and proves nothing"
audited=$(sed -n 's/.*recall \([0-9.]*\) %.*/\1/p' said.err)
capball knn base.csv q.csv -k 8 -o true.csv -q
counted=$(awk -F, 'FILENAME == "true.csv" { for (i = 1; i <= 8; i++) is[FNR, $i] = 1; next } { for (i = 1; i <= 8; i++) n += (FNR, $i) in is }
  END { printf "%.1f", n / 3.2 }' true.csv out.csv)
[ "$audited" = "$counted" ]
verdict $? "the audit of all queries is their recall: $audited, counted $counted"
refuses "certificates of an approximate engine" 2 'nothing is certain of an approximate' capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --approximate --certificates c.csv -o no.csv

# Ranges.
capball query -m map.json q.csv --radius 0.8 -o range.csv -q
engine y.csv range.csv 60 >range_ids.csv
said range_ids.csv --embedded y.csv --asked range.csv --within 0.8 --certificates c.csv && cp out.csv ours.jsonl
capball range base.csv q.csv --radius 0.8 -o true.jsonl -q
[ "$(grep -c '"complete":true' ours.jsonl)" -ge 30 ]
verdict $? "ranges have certificates"
awk 'FILENAME == "ours.jsonl" { complete[FNR] = /"complete":true/; sub(/,"distances.*/, ""); ours[FNR] = $0; next }
  { sub(/,"distances.*/, ""); if (complete[FNR] && ours[FNR] != $0) wrong++ } END { exit wrong > 0 }' ours.jsonl true.jsonl
verdict $? "and complete ones are"
cut -d, -f1-3 range_ids.csv >few_ids.csv
said few_ids.csv --embedded y.csv --asked range.csv --within 0.8 --certificates c.csv
awk 'FILENAME == "out.csv" { complete[FNR] = /"complete":true/; sub(/,"distances.*/, ""); ours[FNR] = $0; next }
  { sub(/,"distances.*/, ""); if (complete[FNR] && ours[FNR] != $0) wrong++ } END { exit wrong > 0 }' out.csv true.jsonl
verdict $? "too few candidates are never called complete"
said range_ids.csv --embedded y.csv --asked range.csv --within 0.8 && ! grep -q '"complete":' out.csv
verdict $? "without a look at all rows ranges say their condition"

# Lifts.
for lift in lift-ip lift-cosine; do
  capball fit --transform $lift base.csv -o lift.json -q
  capball embed -m lift.json base.csv -o lifted.csv -q
  capball query -m lift.json q.csv --point -o asked.csv -q
  engine lifted.csv asked.csv 12 >lift_ids.csv
  capball rescore -m lift.json q.csv lift_ids.csv --embedded lifted.csv -k 8 -o near.csv --distances d.csv --certificates c.csv 2>said.err
  grep -q '40 of 40 queries proven exact' said.err && cmp near.csv true.csv
  verdict $? "$lift: rescored, and proven"
  capball rescore -m lift.json q.csv ids.csv --embedded lifted.csv -k 8 -o no.csv 2>said.err || grep -q 'not in the order' said.err
  verdict $? "$lift: candidates of the sphere are none of its own"
  cut -d, -f1,3- lift_ids.csv >lift_skipping.csv
  capball rescore -m lift.json q.csv lift_skipping.csv --embedded lifted.csv -k 8 -o near.csv --certificates c.csv 2>said.err
  grep -q '^capball rescore: 0 of 40 queries proven' said.err
  verdict $? "$lift: an engine that skips a row proves nothing"
  capball unembed -m lift.json lifted.csv -o back.csv --to csv -q
  awk -F, 'FILENAME == "back.csv" { for (i = 1; i <= NF; i++) b[FNR, i] = $i; next } { for (i = 1; i <= NF; i++) if ((b[FNR, i] - $i) ^ 2 > 1e-20) wrong++ } END { exit wrong > 0 }' back.csv base.csv
  verdict $? "$lift: and back"
done
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) $i *= 1.4 } 1' base.csv | sort -t, -k4,4nr | head -n 3 | awk -F, -v OFS=, '{ $4 *= 1.4 } 1' >long.csv
refuses "a row longer than a lift knows" 1 'longer than' capball embed -m lift.json long.csv -o no.csv
capball fit --transform lift-cosine --headroom 2 base.csv -o roomy.json -q
check "headroom for longer rows" capball embed -m roomy.json long.csv -o long_y.csv
capball fit --transform normalize base.csv -o normal.json -q && capball embed -m normal.json base.csv -o normal.csv -q
refuses "normalised rows have no distances" 1 'not of normalize' capball rescore -m normal.json q.csv ids.csv --embedded normal.csv -k 8 -o no.csv
refuses "nor a way back" 1 'normalize keeps directions alone' capball unembed -m normal.json normal.csv -o no.csv
refuses "balls of a lift" 2 'is no map of the sphere: its queries are points' capball query -m lift.json q.csv --radius 1 -o no.csv
refuses "headroom of a map" 2 '--headroom goes with' capball fit base.csv --headroom 2 -o no.json
refuses "a scale of a lift" 2 'transform lift-ip has no scale' capball fit --transform lift-ip --scale 2 base.csv -o no.json
sed 's/lift-cosine/lift-sideways/' lift.json >edited.json
refuses "a transform that was edited" 1 'checksum' capball embed -m edited.json base.csv -o no.csv
check "the sphere is one of the transforms" capball fit --transform sphere base.csv -o sphere.json -q
check "and the same map" cmp sphere.json map.json
[ -z "$(find . -name '*no.*')" ]
verdict $? "refusals leave nothing behind"
finish
