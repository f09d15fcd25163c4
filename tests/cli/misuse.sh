#!/usr/bin/env bash
# Misuse of certificates: each case is rejected or reports its condition, and none is reported as proven.
# An awk loop over all rows serves as the engine.
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
      refuses "the map of another scale, $how" 1 'computed by another map|not in the order' rescored -m other.json q.csv ids.csv --embedded y.csv --radius "$radius" $look
      refuses "the map of another centre, $how" 1 'computed by another map|not in the order|not a point' rescored -m off.json q.csv ids.csv --embedded y.csv --radius "$radius" $look
      refuses "rows of another map, $how" 1 'computed by another map|not in the order' rescored -m map.json q.csv ids.csv --embedded other.csv --radius "$radius" $look
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
grep -Eq "^capball rescore: [0-9]+ of 40 queries exact if ids.csv has the engine's true top 40 for these queries$" said.err
verdict $? "without a look at all rows the condition is said"
capball embed -m map.json base.csv -o y.npy -q && head -n 10 q.csv >ten_q.csv && head -n 10 ids.csv >ten_ids.csv
capball rescore -m map.json ten_q.csv ten_ids.csv --embedded y.npy -k 8 --radius "$radius" -o out.csv 2>said.err
grep -Eq "^capball rescore: [0-9]+ of 10 queries exact if ten_ids.csv has the engine's true top 40 for these queries, and y.npy the rows of map.json$" said.err
verdict $? "both are where the rows were not all read"
said ids.csv --embedded y.csv -k 8 --asked caps.csv --certificates c.csv && grep -q ' of 40 queries proven exact' said.err
verdict $? "with a look at all rows the proof is"
conditional=$(capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --asked caps.csv -o out.csv --json -q | sed 's/.*"exact_if_best":\([0-9]*\).*/\1/')
proven=$(grep -c '^0$' c.csv)
[ "$proven" -ge "$conditional" ] && [ "$conditional" -ge 20 ]
verdict $? "true candidates are proven as often: $proven, by scores alone $conditional"
refuses "the radius of other queries" 1 "but points.csv was made with 0" capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --radius "$radius" --asked points.csv -o no.csv
refuses "rows for queries" 1 'y.csv: holds rows of the base' capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --asked y.csv -o no.csv
refuses "queries for rows" 1 'caps.csv: holds queries' capball rescore -m map.json q.csv ids.csv --embedded caps.csv -k 8 -o no.csv
cp caps.csv bare.csv
refuses "queries without a seal" 1 'bare.csv has no seal that matches its rows: give the --radius' capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --asked bare.csv -o no.csv
cp y.csv anew.csv && cp y.csv.capball anew.csv.capball && capball convert y.csv anew.csv -q && [ ! -e anew.csv.capball ]
verdict $? "rows that are written anew lose the seal of the older"
# unproven TEXT PATTERN ARGUMENTS..: rescored by the map, all rows looked at; remarks like PATTERN, and nothing is proven.
unproven() {
  local text=$1 pattern=$2 status=0
  shift 2
  capball rescore -m map.json q.csv "$@" -k 8 -o out.csv --certificates c.csv --json >said.out 2>said.err || status=$?
  [ $status = 0 ] && grep -Eq -- "$pattern" said.err && ! grep -q proven said.err said.out && grep -q '"exact_if_rows":.*"rows_checked":false' said.out
  verdict $? "$text"
}
awk -F, -v OFS=, 'NR == 7 { $1 = 0.25 * $1 } 1' y.csv >changed.csv && cp y.csv.capball changed.csv.capball
refuses "a row that was changed" 1 'row 6 has length' capball rescore -m map.json q.csv ids.csv --embedded changed.csv -k 8 --asked caps.csv -o no.csv --certificates c.csv
awk -F, -v OFS=, '{ print } NR == 500 { print }' y.csv >stale.csv && cp y.csv.capball stale.csv.capball
unproven "a file written anew beside an old seal" 'stale.csv: its seal does not match its rows and is ignored' ids.csv --embedded stale.csv --asked caps.csv
sed 's/"role": "base"/"role": "query"/' y.csv.capball >t && cp y.csv forged.csv && mv t forged.csv.capball
unproven "a seal that was edited" 'checksum .*: this seal is ignored' ids.csv --embedded forged.csv --asked caps.csv
printf '{"capball": {"kind": "seal", "version": 1}, "fingerprint": "0123456789abcdef", "role": "base", "radius": 0.0, "bytes": 7}' >old.csv.capball && cp y.csv old.csv
unproven "a seal of an older version, which does not know the rows" 'is of version 1, wanted 2: this seal is ignored' ids.csv --embedded old.csv --asked caps.csv
cp y.csv deleted.csv
unproven "a seal that was deleted" "to verify that: --base BASE, or once and for all .capball seal -m map.json BASE deleted.csv." ids.csv --embedded deleted.csv --asked caps.csv

# Rows under the seal of another map, in every way that was found to bring it about. right MAP ROWS: its map is never refused,
# and where it is proven the answers are true; wrong MAP ROWS: another map is refused, or proves nothing.
capball knn base.csv q.csv -k 8 -o true.csv -q
capball query -m other.json q.csv --knn 8 --base base.csv -o other_caps.csv -q
engine other.csv other_caps.csv 40 >other_ids.csv
declare -A caps_of=([map.json]=caps.csv [other.json]=other_caps.csv) ids_of=([map.json]=ids.csv [other.json]=other_ids.csv)
rescore_as() { capball rescore -m "$1" q.csv "${ids_of[$3]}" --embedded "$2" -k 8 --asked "${caps_of[$1]}" -o out.csv --certificates c.csv --json >said.out 2>said.err; }
right() {
  local status=0
  rescore_as "$2" "$3" "$2" || status=$?
  paste -d: c.csv out.csv | paste -d'|' - true.csv | awk -F'|' '{ split($1, a, ":"); if (a[1] == 0 && a[2] != $2) wrong++ } END { exit wrong > 0 }' || status=7
  [ $status = 0 ] && grep -q "$4" said.err
  verdict $? "$1: the right map is accepted, $4"
  [ $status = 0 ] || sed 's/^/# /' said.err
}
wrong() {
  local ids proven=0
  for ids in map.json other.json; do
    if rescore_as "$2" "$3" "$ids" && grep -q proven said.err said.out; then proven=1; fi
    cut -d, -f1 "${ids_of[$ids]}" >single.csv # one candidate is always in order
    if capball rescore -m "$2" q.csv single.csv --embedded "$3" -k 1 --asked "${caps_of[$2]}" -o out.csv --certificates c.csv --json >said.out 2>said.err &&
      grep -q proven said.err said.out; then proven=1; fi
  done
  verdict $proven "$1: the wrong map proves nothing"
}
capball embed -m other.json base.csv -o other.npy -q
capball embed -m map.json base.csv -o rows.npy -q && ln -s rows.npy today.npy && capball embed -m other.json base.csv -o today.npy -q
right "embedded through a symbolic link" other.json rows.npy 'queries proven'
right "and read through it" other.json today.npy 'queries proven'
wrong "embedded through a symbolic link" map.json rows.npy
mkdir deep && ln -s deep way && capball embed -m map.json base.csv -o way/rows.npy -q
right "a directory that is a link" map.json deep/rows.npy 'queries proven'
capball embed -m map.json base.csv -o copied.npy -q && cp other.npy copied.npy
right "copied over" other.json copied.npy 'exact if copied.npy has the rows of other.json'
wrong "copied over" map.json copied.npy
capball embed -m map.json base.csv -o moved.npy -q && cp other.npy t.npy && mv t.npy moved.npy
right "moved over" other.json moved.npy 'exact if'
wrong "moved over" map.json moved.npy
capball embed -m map.json base.csv -o bare_rows.csv -q && rm bare_rows.csv.capball && capball embed -m other.json base.csv -o bare_rows.csv -q && rm bare_rows.csv.capball
right "without a seal" other.json bare_rows.csv 'exact if'
wrong "without a seal" map.json bare_rows.csv
capball seal -m other.json base.csv bare_rows.csv 2>said.err && grep -q 'bare_rows.csv has the images under other.json of base.csv, in f64: sealed' said.err
verdict $? "rows are sealed once they have been compared with the data"
right "sealed afterwards" other.json bare_rows.csv 'queries proven'
refuses "a seal for rows of another map" 1 'bare_rows.csv: row 0 is .* from the image' capball seal -m map.json base.csv bare_rows.csv
refuses "a seal for rows of other data" 1 'foreign_y.csv: row 0 is' capball seal -m map.json base.csv foreign_y.csv
head -n 499 base.csv >short.csv
refuses "a seal for rows that are more than the data" 1 'fewer rows of the data than embedded ones' capball seal -m map.json short.csv y.csv
rm bare_rows.csv.capball
said=$(capball rescore -m other.json q.csv other_ids.csv --embedded bare_rows.csv -k 8 --asked other_caps.csv -o out.csv --certificates c.csv --base base.csv 2>&1)
[[ $said == *"queries proven exact"* ]]
verdict $? "--base makes certain, too"
refuses "--base of other data" 1 'bare_rows.csv: row 0 is' capball rescore -m other.json q.csv other_ids.csv --embedded bare_rows.csv -k 8 --asked other_caps.csv -o no.csv --certificates no_c.csv --base foreign.csv

# Two writers: the first has its rows in place and is held up before its seal is, while the second writes.
if [ -e "$BUILD/tests/delay_shim.so" ]; then
  for kind in csv npy; do
    rm -f race.waiting race.go
    capball embed -m other.json base.csv -o raced.$kind -q
    DELAY_SUFFIX=raced.$kind.capball DELAY_MARK=$PWD/race LD_PRELOAD=$BUILD/tests/delay_shim.so capball embed -m map.json base.csv -o raced.$kind -q &
    first=$!
    for ((i = 0; i < 6000; i++)); do [ ! -e race.waiting ] || break; sleep 0.01; done
    capball embed -m other.json base.csv -o raced.$kind -q &
    second=$!
    for ((i = 0; i < 100; i++)); do kill -0 $second 2>/dev/null || break; sleep 0.01; done
    touch race.go
    wait $first $second
    right "two writers of one $kind" other.json raced.$kind 'queries proven'
    wrong "two writers of one $kind" map.json raced.$kind
  done
  rm -f race.waiting race.go
  DELAY_SUFFIX=killed.csv.capball DELAY_MARK=$PWD/race LD_PRELOAD=$BUILD/tests/delay_shim.so capball embed -m map.json base.csv -o killed.csv -q &
  first=$!
  for ((i = 0; i < 6000; i++)); do [ ! -e race.waiting ] || break; sleep 0.01; done
  kill -9 $first && wait $first 2>/dev/null
  right "killed between rows and seal" map.json killed.csv 'exact if'
  check "and the next writer is not kept waiting" timeout 20 capball embed -m other.json base.csv -o killed.csv -q
  right "killed, and written anew" other.json killed.csv 'queries proven'
else
  skip "two writers and a killed one" "this build has no delay_shim.so (sanitizers)"
fi

# Rows that were rounded before they came into a wider file.
printf '0,0\n0.0114,0\n1,0\n0,-1\n3,3\n' >five.csv
capball fit five.csv -o five.json -s 1 -c none -q
capball embed -m five.json five.csv -o half.npy --dtype f16 -q
capball embed -m five.json five.csv -o half.csv --dtype f16 -q
capball convert half.npy half32.npy --dtype f32 -q && capball convert half.npy half64.npy --dtype f64 -q && capball convert half.csv half_text.npy --dtype f32 -q
capball convert half.csv half_text.csv -q
{ for ((i = 0; i < 1100; i++)); do echo 0.008,0; done; echo 3,3; } >five_q.csv
{ for ((i = 0; i < 1100; i++)); do echo 0,3; done; echo 4,1; } >five_ids.csv
tac five_q.csv >last_q.csv && tac five_ids.csv >last_ids.csv
for rows in half.npy half32.npy half64.npy half_text.npy half_text.csv; do
  for order in five last; do
    capball rescore -m five.json ${order}_q.csv ${order}_ids.csv --embedded $rows -k 1 -o out.csv --certificates c.csv 2>said.err &&
      awk -F, 'FILENAME == "c.csv" { needed[FNR] = $1; next } $1 == 0 && needed[FNR] == 0 { wrong++ } END { exit wrong > 0 }' c.csv out.csv
    verdict $? "f16 in $rows, $order: no wrong row is called exact"
    cp c.csv $order.needed
  done
  check "f16 in $rows: the order of the queries is not seen" cmp five.needed <(tac last.needed)
done
capball convert half.npy mixed_a.csv -q && capball embed -m five.json five.csv -o mixed_b.csv -q && { head -n 2 mixed_a.csv; tail -n 3 mixed_b.csv; } >mixed.csv
capball rescore -m five.json five_q.csv five_ids.csv --embedded mixed.csv -k 1 -o out.csv --certificates c.csv 2>said.err && grep -q 'look like f16' said.err && ! head -n 1 c.csv | grep -qx 0
verdict $? "one row of f16 among others is enough"
awk -F, -v OFS=, 'NR == 5 { $3 = sprintf("%.17g", $3 + 1e-9) } 1' mixed_b.csv >nudged.csv
capball rescore -m five.json five_q.csv five_ids.csv --embedded nudged.csv -k 1 -o out.csv --certificates c.csv 2>said.err && grep -q 'nudged.csv: row 4 is .* off the sphere, more than f64 explains' said.err && ! grep -qx 0 c.csv
verdict $? "a row off the sphere by more than its type explains proves nothing"

# Candidates of another query, so few that their order says little.
cut -d, -f1-2 ids.csv | sed '1!G;h;$!d' >few_reversed.csv
said few_reversed.csv --embedded y.csv -k 1 --asked caps.csv || grep -q 'not in the order' said.err
! grep -q proven said.err && { grep -q 'not in the order' said.err || grep -q "exact if few_reversed.csv has the engine's true top 2 for these queries" said.err; }
verdict $? "candidates of other queries are exact on a condition alone"

if capball --version | grep -q 'HDF5: yes'; then
  capball embed -m map.json base.csv -o sets.h5:first/rows -q && capball embed -m other.json base.csv -o sets.h5:rows -q
  right "a data set has its seal, whatever else is in its file" map.json sets.h5:/first/rows 'queries proven'
  refuses "a data set of another map" 1 'sets.h5:rows: was computed by another map' capball rescore -m map.json q.csv ids.csv --embedded sets.h5:rows -k 8 --asked caps.csv -o no.csv
  capball convert q.csv sets.h5:first/rows -q
  refuses "a data set written anew" 1 'columns' capball rescore -m map.json q.csv ids.csv --embedded sets.h5:first/rows -k 8 --asked caps.csv -o no.csv
  capball embed -m map.json base.csv -o whole.h5 -q
  refuses "the set without a name is that of another map" 1 'whole.h5:train: was computed by another map' capball rescore -m other.json q.csv ids.csv --embedded whole.h5:train -k 8 --asked caps.csv -o no.csv
  capball embed -m map.json base.csv -o s.h5:a/b -q && capball embed -m other.json base.csv -o s.h5:a%b -q
  right "sets a/b and a%b" map.json s.h5:a/b 'queries proven'
  right "sets a%b and a/b" other.json s.h5:a%b 'queries proven'
  wrong "sets a/b and a%b" other.json s.h5:a/b
  for spelling in ./rows rows/ /./rows .//rows; do
    rm -f g.h5 ./g.h5*.capball
    capball embed -m map.json base.csv -o g.h5:rows -q && capball embed -m other.json base.csv -o "g.h5:$spelling" -q
    right "the set rows, embedded as $spelling" other.json g.h5:rows 'queries proven'
    right "and read as $spelling" other.json "g.h5:$spelling" 'queries proven'
    wrong "the set rows, embedded as $spelling" map.json g.h5:rows
    wrong "and read as $spelling" map.json "g.h5:$spelling"
  done
  capball convert other.csv g.h5:bare -q
  right "a set without a seal" other.json g.h5:bare 'exact if'
  wrong "a set without a seal" map.json g.h5:bare
  check "which gets one" capball seal -m other.json base.csv g.h5:bare
  right "a set that was sealed afterwards" other.json g.h5:bare 'queries proven'
  right "and the others of its file" other.json g.h5:rows 'queries proven'
  touch g.h5:rows.capball && capball embed -m map.json base.csv -o g.h5:rows -q && [ ! -e g.h5:rows.capball ]
  verdict $? "what an older version wrote beside a set goes with its rows"
else
  skip "seals of data sets" "built without HDF5"
fi

# An engine that skips rows: the second best is always missing. Its answers are wrong, and none is proven.
cut -d, -f1,3-40 ids.csv >skipping.csv
said skipping.csv --embedded y.csv -k 8 --asked caps.csv --certificates c.csv
grep -q '^capball rescore: 0 of 40 queries proven exact' said.err
verdict $? "an engine that skips a near row proves nothing"
said skipping.csv --embedded y.csv -k 8 --asked caps.csv
grep -q "exact if skipping.csv has the engine's true top 39 for these queries" said.err && ! grep -q proven said.err
verdict $? "and is told only with its condition"
said shuffled.csv --embedded y.csv -k 8 --asked caps.csv --approximate
grep -Eq '^capball rescore: recall 100.0 % \(.* with 95 % confidence\), by a random audit: 40 of 40 queries compared with all 500 rows' said.err
verdict $? "--approximate takes candidates in any order, and audits them"
said skipping.csv --embedded y.csv -k 8 --asked caps.csv --approximate && ! grep -Eq 'proven|exact' said.err
verdict $? "and proves nothing"
audited=$(sed -n 's/.*recall \([0-9.]*\) %.*/\1/p' said.err)
capball knn base.csv q.csv -k 8 -o true.csv -q
counted=$(awk -F, 'FILENAME == "true.csv" { for (i = 1; i <= 8; i++) is[FNR, $i] = 1; next } { for (i = 1; i <= 8; i++) n += (FNR, $i) in is }
  END { printf "%.1f", n / 3.2 }' true.csv out.csv)
[ "$audited" = "$counted" ]
verdict $? "the audit of all queries is their recall: $audited, counted $counted"
refuses "certificates of an approximate engine" 2 'nothing can be proven about an approximate' capball rescore -m map.json q.csv ids.csv --embedded y.csv -k 8 --approximate --certificates c.csv -o no.csv

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
refuses "nor a way back" 1 'normalize keeps only directions' capball unembed -m normal.json normal.csv -o no.csv
refuses "balls of a lift" 2 'is not a map of the sphere: it has only point queries' capball query -m lift.json q.csv --radius 1 -o no.csv
refuses "headroom of a map" 2 '--headroom goes with' capball fit base.csv --headroom 2 -o no.json
refuses "a scale of a lift" 2 'transform lift-ip has no scale' capball fit --transform lift-ip --scale 2 base.csv -o no.json
sed 's/lift-cosine/lift-sideways/' lift.json >edited.json
refuses "a transform that was edited" 1 'checksum' capball embed -m edited.json base.csv -o no.csv
check "the sphere is one of the transforms" capball fit --transform sphere base.csv -o sphere.json -q
check "and the same map" cmp sphere.json map.json
[ -z "$(find . -name '*no.*')" ]
verdict $? "refusals leave nothing behind"
finish
