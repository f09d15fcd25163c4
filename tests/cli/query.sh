#!/usr/bin/env bash
# Euclidean queries to an engine that supports only inner products: NumPy's f32 product serves as the engine.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || python=

engine='
import sys, numpy as np
y, p, C = np.load("y.npy"), np.load(sys.argv[1]), int(sys.argv[2])
score = p @ y.T
assert score.dtype == np.float32
ids = np.argpartition(-score, min(C, len(y)) - 1, axis=1)[:, :C]
ids = np.take_along_axis(ids, np.argsort(-np.take_along_axis(score, ids, 1), axis=1), 1)
np.save("ids.npy", ids.astype("i4")); np.save("scores.npy", np.take_along_axis(score, ids, 1))'

within='
import json, numpy as np
y, p, b = np.load("y.npy").astype("f8"), np.load("caps.npy").astype("f8"), np.load("b.npy")
score = p @ y.T
for i, line in enumerate(open("true.jsonl")):
    true = set(json.loads(line)["ids"]); ours = set(np.flatnonzero(score[i] >= b[i]))
    assert all(abs(score[i, k] - b[i]) <= 4 * 2.0**-24 for k in true ^ ours), "query %d" % i'

# Where a query is proven its distances are the true ones, within what f32 rows hold.
proven='
import sys, json, numpy as np
true, ours, cert = np.load("true_d.npy"), np.load("d.npy"), np.load("cert.npy").ravel()
ids, s, C = np.load("nearest.npy"), json.load(open("map.json"))["scale"], int(sys.argv[1])
ok = cert == 0
assert ok.sum() >= int(sys.argv[2]) and (cert[~ok] > C).all(), "%d proven, %s" % (ok.sum(), cert[~ok])
worst = np.abs(ours - true)[ok].max() if ok.any() else 0
assert worst <= 2e-5 * (s + true.max() ** 2 / s), worst
print("%d of %d proven, %d candidates would prove all" % (ok.sum(), len(ok), cert.max()))'

found=0
for set in movies-mf-16-angular bigann10k-sift-128-euclidean mnist-784-euclidean; do
  [ -e "$data/$set/base.npy" ] && [ -n "$python" ] || continue
  found=1
  base=$data/$set/base.npy
  capball convert "$data/$set/queries.npy" q.npy --rows :50 -q
  capball fit "$base" -o map.json -q
  capball embed -m map.json "$base" -o y.npy -q
  capball knn "$base" q.npy -k 10 -o true.npy --distances true_d.npy -q
  check "$set: ball queries" capball query -m map.json q.npy --knn 10 --base "$base" -o balls.npy --json
  radius=$(sed 's/.*"radius":\([^,]*\),.*/\1/' check.out)
  check "$set: the engine" $python -c "$engine" balls.npy 300
  check "$set: rescoring" capball rescore -m map.json q.npy ids.npy --embedded y.npy -k 10 -o nearest.npy \
    --distances d.npy --certificates cert.npy --radius "$radius"
  check "$set: proven answers are true" $python -c "$proven" 300 5
  sed 's/^/# /' check.out
  cp ids.npy ids_300.npy && cp scores.npy scores_300.npy
  needed=$($python -c 'import numpy as np; print(max(300, np.load("cert.npy").max()))')
  check "$set: as many candidates as the certificates ask for" bash -c "$python -c '$engine' balls.npy $needed &&
    capball rescore -m map.json q.npy ids.npy --embedded y.npy -k 10 -o all.npy --radius $radius --json -q | grep '\"exact_if_best\":50,'"
  check "$set: and with all rows looked at" bash -c "capball rescore -m map.json q.npy ids.npy --embedded y.npy -k 10 -o all.npy \
    --radius $radius --certificates all_c.npy --json -q | grep '\"proven\":50,'"
  mv ids_300.npy ids.npy && mv scores_300.npy scores.npy
  check "$set: rescoring by scores" capball rescore -m map.json q.npy ids.npy --embedded y.npy -k 10 -o nearest2.npy \
    --distances d2.npy --certificates cert.npy --radius "$radius" --scores scores.npy -t 1
  check "$set: scores give the distances, too" $python -c '
import json, numpy as np
d, e, s = np.load("d.npy"), np.load("d2.npy"), json.load(open("map.json"))["scale"]
assert np.abs(d**2 - e**2).max() <= 2e-4 * (s * s + d.max() ** 2)'
  check "$set: point queries" capball query -m map.json q.npy --point -o points.npy
  check "$set: the engine again" $python -c "$engine" points.npy 300
  check "$set: rescoring points" capball rescore -m map.json q.npy ids.npy --embedded y.npy -k 10 -o nearest.npy \
    --distances d.npy --certificates cert.npy
  check "$set: proven answers are true again" $python -c "$proven" 300 0
  sed 's/^/# /' check.out
  check "$set: range queries" capball query -m map.json q.npy --radius "$radius" -o caps.npy --thresholds b.npy
  check "$set: true ranges" capball range "$base" q.npy --radius "$radius" -o true.jsonl -q
  check "$set: the same ranges" $python -c "$within"
done
[ $found = 1 ] || skip "an engine on real data" "../shared/data or NumPy is not here"

seq 1 400 | awk -v OFS=, '{ print sin($1), sin(2*$1), cos($1*$1), $1 % 7 }' >base.csv
head -n 20 base.csv >q.csv
capball fit base.csv -o map.json -q
capball embed -m map.json base.csv -o y.fvecs -q
capball embed -m map.json base.csv -o y.csv -q
capball query -m map.json q.csv --point -o p.csv
awk -v OFS=, '{ print 0, 1, 2, 3, 4, 5, NR + 5, 300, 399 }' q.csv >chosen.csv
# best first, as an engine gives them
awk -F, -v OFS=, 'FILENAME == "p.csv" { p[FNR] = $0 } FILENAME == "y.csv" { y[FNR - 1] = $0 }
  FILENAME == "chosen.csv" { split(p[FNR], a); for (i = 1; i <= NF; i++) { split(y[$i], b); score[i] = 0
    for (k = 1; k <= 5; k++) score[i] += a[k] * b[k] }
    for (i = 2; i <= NF; i++) for (j = i; j > 1 && score[j] > score[j - 1]; j--) {
      t = score[j]; score[j] = score[j - 1]; score[j - 1] = t; t = $j; $j = $(j - 1); $(j - 1) = t }
    print }' p.csv y.csv chosen.csv >ids.csv
capball convert ids.csv ids.ivecs -q
answers() { capball rescore -m map.json q.csv "$1" --embedded "$2" -k 3 -o "$3" --certificates "$4" -t "$5" -q; }
check "one thread" answers ids.ivecs y.fvecs one.ivecs one.csv 1
check "three threads" answers ids.ivecs y.fvecs three.ivecs three.csv 3
check "the same answer" cmp one.ivecs three.ivecs
check "the same certificates" cmp one.csv three.csv
check "candidates as text" answers ids.csv y.csv text.ivecs text.csv 2
check "the same answer from text" cmp one.ivecs text.ivecs
check "a plain loop" env CPB_ISA=plain capball rescore -m map.json q.csv ids.ivecs --embedded y.fvecs -k 3 -o plain.ivecs --certificates plain.csv -q
check "the same certificates by a plain loop" cmp one.csv plain.csv
capball convert y.fvecs wide.npy --dtype f64 -q
check "f32 rows in a wider type" answers ids.ivecs wide.npy wide.ivecs wide.csv 2
check "prove no more than f32 rows do" cmp one.csv wide.csv
awk -v OFS=, '{ for (i = 0; i < 399; i++) printf "%d,", i; print 399 }' q.csv >all.csv
check "all rows are always a proof" bash -c 'capball rescore -m map.json q.csv all.csv --embedded y.fvecs -k 400 -o nearest.csv --json -q |
  grep -q "\"proven\":20,"'
capball knn base.csv q.csv -k 400 -o true.csv -q
check "and an answer" bash -c 'cut -d, -f1 nearest.csv | cmp - <(cut -d, -f1 true.csv)'
capball query -m map.json q.csv --radius 1e-3 -o small.fvecs 2>small.err
grep -q '^capball query: radius 0.001 is too small for f32: 20 of 20 queries lose more than a thousandth' small.err
verdict $? "a radius that f32 does not resolve is said"
capball query -m map.json q.csv --radius 1e-3 -o small.npy --dtype f64 2>small.err && [ ! -s small.err ]
verdict $? "f64 does"
capball fit base.csv --whiten -o white.json -q
capball query -m white.json q.csv --radius 1 -o white.csv 2>&1 | grep -q 'the map whitens: distances are |W(x-q)|'
verdict $? "a whitened map says what it measures"

[ "$(capball query -m map.json q.csv --knn 1 --base base.csv -o self.csv 2>&1 | tail -n 1)" = "capball query: radius 0 gives point queries: if the queries are rows of base.csv they find themselves, and --knn 2 is their neighbour 1" ]
verdict $? "queries that find themselves are told"
rm -f ./*.err *.out
awk -v OFS=, '{ $1 = 1; $2 = 2; print 1, 2, 2 }' q.csv >twice.csv
awk -v OFS=, '{ print 1, 2, 400 }' q.csv >outside.csv
awk -v OFS=, '{ print 1, 2, -1 }' q.csv >minus.csv
awk -v OFS=, '{ print 1, 2.5, 3 }' q.csv >half.csv
sed '3s/.*/nan,0,0,0/' q.csv >nan.csv
head -n 19 ids.csv >few.csv
cut -d, -f1-3 q.csv >three.csv
cut -d, -f1-3 ids.csv >scores.csv
awk -F, -v OFS=, 'FILENAME == "p.csv" { p[FNR] = $0 } FILENAME == "y.csv" { y[FNR - 1] = $0 }
  FILENAME == "ids.csv" { split(p[FNR], a); for (i = 1; i <= NF; i++) { split(y[$i], b); sum = 0
    for (k = 1; k <= 5; k++) sum += a[k] * b[k]; $i = sprintf("%.9g", sum) } print }' p.csv y.csv ids.csv >points.csv
awk -F, -v OFS=, '{ for (i = 1; i <= NF; i++) $i = sprintf("%.9g", 1 - $i) } 1' points.csv >distance.csv
sed '5s/^[^,]*/inf/' points.csv >inf.csv
sed '3s/^[^,]*/nan/' points.csv >nans.csv
sed '1s/^[^,]*/5/' points.csv >beyond.csv
capball fit base.csv -o other.json --scale 3 -q
capball embed -m other.json base.csv -o other.fvecs -q
echo 0.6,0,0,0,0.8 >pole.csv
capball fit base.csv --pole pole.csv -o pole.json -q
capball fit base.csv --spherical -o toward.json -q
capball convert base.csv base.fvecs -q
again() { local map=$1 queries=$2 ids=$3 y=$4; shift 4; capball rescore -m "$map" "$queries" "$ids" --embedded "$y" -o no.ivecs "$@"; }
refuses "no question" 2 'exactly one of --radius, --knn and --point' capball query -m map.json q.csv -o no.csv
refuses "two questions" 2 'exactly one of' capball query -m map.json q.csv --point --radius 1 -o no.csv
refuses "a radius that f32 loses" 1 'radius 1e-06 is lost for query 0: rounding to f32 is .* times as large; use --dtype f64' capball query -m map.json q.csv --radius 1e-6 -o no.csv -q
refuses "a radius that f64 loses" 1 'rounding to f64 is .*; fit a map with a smaller --scale' capball query -m map.json q.csv --radius 1e-12 --dtype f64 -o no.npy
refuses "a radius of 0" 2 '--radius must be a number > 0, got "0"' capball query -m map.json q.csv --radius 0 -o no.csv
refuses "neighbours of nothing" 2 '--knn and --base go together' capball query -m map.json q.csv --knn 3 -o no.csv
refuses "thresholds of points" 2 '--thresholds are those of --radius' capball query -m map.json q.csv --point --thresholds b.csv -o no.csv
refuses "whole numbers as caps" 2 'which u8 cannot hold' capball query -m map.json q.csv --point -o no.u8bin
refuses "a pole" 1 'under which Euclidean balls are not caps' capball query -m pole.json q.csv --radius 1 -o no.csv
refuses "a direction" 1 'Euclidean balls are not caps' capball query -m toward.json three.csv --point -o no.csv
refuses "queries of another d" 1 'three.csv has 3 columns, but map.json embeds rows of 4' capball query -m map.json three.csv --point -o no.csv
refuses "a base of another d" 1 'three.csv has 3 columns' capball query -m map.json q.csv --knn 3 --base three.csv -o no.csv
refuses "a base that is too small" 1 'q.csv: 21 neighbours asked for, more than the number of rows of the base, 20' capball query -m map.json q.csv --knn 21 --base q.csv -o no.csv
refuses "a query with NaN" 1 '^capball query: nan.csv: row 2 holds NaN' capball query -m map.json nan.csv --radius 1 -o no.csv
refuses "a sample with NaN" 1 'nan.csv: row 2 holds NaN' capball query -m map.json nan.csv --knn 3 --base base.csv -o no.csv
refuses "a base with NaN" 1 'nan.csv: row 2 holds NaN' capball query -m map.json q.csv --knn 3 --base nan.csv -o no.csv
refuses "caps over the queries" 2 'the same file' capball query -m map.json q.csv --point -o q.csv
refuses "thresholds over the caps" 2 'the outputs no.csv and no.csv are one file' capball query -m map.json q.csv --radius 1 -o no.csv --thresholds no.csv
refuses "distances over the answer" 2 'the outputs no.csv and no.csv are one file' capball rescore -m map.json q.csv ids.csv --embedded y.fvecs -k 1 -o no.csv --distances no.csv
refuses "more neighbours than candidates" 1 'ids.csv: 10 neighbours asked for, more than the number of candidates of a query, 9' again map.json q.csv ids.csv y.fvecs
refuses "a row twice" 1 'twice.csv: query 0 names row 2 twice' again map.json q.csv twice.csv y.fvecs -k 1
refuses "a row outside" 1 'outside.csv: query 0 names row 400, but there are rows 0 .. 399' again map.json q.csv outside.csv y.fvecs -k 1
refuses "a row of nothing" 1 'minus.csv: row 0 names row -1' again map.json q.csv minus.csv y.fvecs -k 1
refuses "half a row" 1 'names row 2.5' again map.json q.csv half.csv y.fvecs -k 1
refuses "candidates of other queries" 1 'few.csv has 19 rows of candidates for 20 queries' again map.json q.csv few.csv y.fvecs -k 1
refuses "rows that are not embedded" 1 'base.csv has 4 columns, but map.json makes rows of 5' again map.json q.csv ids.csv base.csv -k 1
refuses "candidates as rows" 1 'cannot be points of the sphere' bash -c 'cut -d, -f1-5 ids.csv >five.csv; capball convert five.csv five.ivecs -q
  capball rescore -m map.json q.csv ids.csv --embedded five.ivecs -k 1 -o no.ivecs'
refuses "rows of another length" 1 'long.csv: row 0 has length 2.*: not a point of the sphere' bash -c 'awk -F, -v OFS=, "{ print 1,1,1,1,1 }" base.csv >long.csv
  capball rescore -m map.json q.csv ids.csv --embedded long.csv -k 1 -o no.ivecs'
refuses "queries of another d, rescored" 1 'three.csv has 3 columns' again map.json three.csv ids.csv y.fvecs -k 1
refuses "a query with NaN, rescored" 1 'nan.csv: row 2 holds NaN' again map.json nan.csv ids.csv y.fvecs -k 1
cp y.fvecs bare.fvecs
cp other.fvecs bare_other.fvecs
refuses "a pole, rescored" 1 'not caps' again pole.json q.csv ids.csv bare.fvecs -k 1
check "scores as products and as distances" bash -c 'capball rescore -m map.json q.csv ids.csv --embedded y.fvecs -k 3 -o a.csv --scores points.csv &&
  capball rescore -m map.json q.csv ids.csv --embedded y.fvecs -k 3 -o b.csv --scores distance.csv --as cosine-distance && cmp a.csv b.csv'
refuses "scores of other candidates" 1 'scores.csv: there are 20 x 3 scores for 20 x 9 candidates' again map.json q.csv ids.csv y.fvecs -k 1 --scores scores.csv
refuses "a score that is none" 1 '^capball rescore: inf.csv: query 4, candidate 0 \(row [0-9]+\) has the score inf' again map.json q.csv ids.csv y.fvecs -k 1 --scores inf.csv
refuses "a score of NaN" 1 '^capball rescore: nans.csv: query 2, candidate 0 \(row [0-9]+\) has the score -?nan' again map.json q.csv ids.csv y.fvecs -k 1 --scores nans.csv
refuses "a score beyond 1" 1 'beyond.csv: query 0, candidate 0 \(row [0-9]+\) has the score 5, but the ip of unit vectors is within' again map.json q.csv ids.csv y.fvecs -k 1 --scores beyond.csv
refuses "distances as products" 1 'distance.csv: query 0, candidate 0 \(row [0-9]+\) has the score .*, but its embedded row gives (0.9|1).* as ip; are kind and radius those of the queries' again map.json q.csv ids.csv y.fvecs -k 1 --scores distance.csv
refuses "scores of other queries" 1 'points.csv: query 0, candidate 0 \(row [0-9]+\) has the score .* are kind and radius' again map.json q.csv ids.csv y.fvecs -k 1 --scores points.csv --radius 1
refuses "scores of rows of another map" 1 'points.csv: query 0, candidate 0 .* its embedded row gives' again map.json q.csv ids.csv bare_other.fvecs -k 1 --scores points.csv
refuses "scores of nothing" 2 '--as says what --scores are' again map.json q.csv ids.csv y.fvecs -k 1 --as ip
refuses "an error below 0" 2 '--score-error must be a number >= 0' again map.json q.csv ids.csv y.fvecs -k 1 --score-error -1
refuses "an answer over its candidates" 2 'the same file' capball rescore -m map.json q.csv ids.csv --embedded y.fvecs -k 1 -o ids.csv
[ ! -e no.csv ] && [ ! -e no.ivecs ] && [ -z "$(find . -name '*no.*')" ]
verdict $? "refusals leave nothing behind"
finish
