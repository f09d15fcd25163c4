#!/usr/bin/env bash
# The exact lifts on real data: neighbours after the lift are those before it, by distance; and the
# output of `capball recommend` does not depend on threads or instruction set.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || python=

same_order='
import numpy as np
x, q = np.load("x.npy"), np.load("q.npy")
for lift, kept in ("lift-ip", "l2"), ("lift-cosine", "l2"), ("ip-cosine", "ip"), ("ip-l2", "ip"):
    ours, truth = np.load(lift + ".npy"), np.load(kept + ".npy")
    for i in range(len(q)):
        value = lambda ids: np.linalg.norm(x[ids] - q[i], axis=1) if kept == "l2" else x[ids] @ q[i]
        a, b = value(ours[i]), value(truth[i])
        assert len(set(ours[i])) == 10 and np.abs(a - b).max() <= 1e-9 * np.abs(b).max(), (lift, i, a, b)'

lift() { # lift NAME METRIC: neighbours of the lifted rows into NAME.npy
  capball embed --transform "$1" x.npy -o y.npy -q &&
    capball embed --transform "$1" q.npy -o p.npy --as query --base x.npy -q &&
    capball knn y.npy p.npy --metric "$2" -o "$1.npy" -q
}

found=0
for set in "$data"/*-euclidean "$data"/*-angular; do
  [ -e "$set/gt100.npy" ] && [ -n "$python" ] || continue
  found=1
  capball convert "$set/base.npy" x.npy --rows :2000 --dtype f64 -q
  capball convert "$set/queries.npy" q.npy --rows :40 --dtype f64 -q
  for metric in l2 ip; do capball knn x.npy q.npy --metric $metric -o $metric.npy -q; done
  lift lift-ip ip && lift lift-cosine cosine && lift ip-cosine cosine && lift ip-l2 l2
  check "$(basename "$set"): every lift keeps its order" $python -c "$same_order"
done
[ $found = 1 ] || skip "lifts of real data" "../shared/data or NumPy is not here"

seq 1 500 | awk -v OFS=, '{ print sin($1), sin(2*$1), cos($1*$1), $1 % 7 }' >rows.csv
head -n 50 rows.csv >queries.csv
check "recommend on one thread" bash -c 'capball recommend rows.csv -t 1 --json >one.json'
check "recommend on three threads" bash -c 'capball recommend rows.csv -t 3 --json >three.json'
check "the same answer" cmp one.json three.json
check "recommend by plain loops" bash -c 'CPB_ISA=plain capball recommend rows.csv --json >plain.json'
check "the same answer by plain loops" cmp one.json plain.json
capball convert rows.csv rows.npy -q
unnamed() { sed 's/,"commands":.*//' "$1"; } # files are named there
check "the same answer from another format" cmp <(unnamed one.json) <(capball recommend rows.npy --json | unnamed -)
check "from a pipe" cmp <(unnamed one.json) <(capball recommend - --format csv --json <rows.csv | unnamed -)
cp rows.csv "it's rows.csv"
printf 'a,b,c,d,e\n' >wide.csv
awk -F, -v OFS=, '{ print "n" NR, $0 }' rows.csv | sed '3s/,[^,]*$/,/' >>wide.csv
# carried TEXT OPTIONS..: the commands of a recommendation run as printed, to the end
carried() {
  local text=$1
  shift
  capball recommend "$@" -k 5 -q | sed -n '/^To carry it out/,$s/^  //p' >run.sh
  sed 's/^/# /' run.sh
  rm -f nearest.npy
  check "$text: the commands run as printed" bash -e run.sh
  check "$text: to the end" test -s nearest.npy
}
for engine in float int8 bits; do
  carried "$engine" "it's rows.csv" --queries queries.csv --format csv --engine $engine
  for metric in cosine ip l2; do carried "$engine by $metric" rows.csv --engine $engine --metric $metric; done
done
carried "a table with options" wide.csv --id-column a --impute mean --header yes --engine int8
check "$(grep -c convert run.sh) conversion" test "$(grep -c convert run.sh)" = 1
check "another seed, another sample" bash -c '! cmp -s <(capball recommend rows.csv --sample 300 --json) <(capball recommend rows.csv --sample 300 --seed 1 --json)'
check "a page with three pictures and no script" bash -c 'capball recommend rows.csv --queries queries.csv --html page.html >/dev/null &&
  [ "$(grep -c "<svg" page.html)" = 3 ] && ! grep -qi "<script\|http" page.html && grep -q "</html>" page.html'

printf '3,4\n6,8\n0,1\n' >points.csv
printf '30,40\n' >far.csv
printf '1,nan,3,4\n' >nan.csv
printf '7,7\n7,7\n' >same.csv
refuses "a row longer than the longest" 1 'far.csv: row 0 has length 44.73.* about the centre, longer than 4.73' \
  capball embed --transform lift-cosine far.csv -o y.csv --base points.csv
refuses "a query without its base" 2 'fitted to the base; name it with --base' capball embed --transform lift-ip far.csv -o y.csv --as query
refuses "a map and a transform" 2 'exactly one of' capball embed -m map.json --transform none far.csv -o y.csv
refuses "neither map nor transform" 2 'exactly one of' capball embed far.csv -o y.csv
refuses "two outputs" 2 'not both' capball embed --transform none far.csv y.csv -o z.csv
refuses "a base without a transform" 2 'goes with --transform' capball embed -m map.json far.csv -o y.csv --base points.csv
refuses "a base of another d" 1 'rows.csv has 4 columns, but far.csv has 2' capball embed --transform center far.csv -o y.csv --base rows.csv
refuses "a base from a pipe" 2 'a pipe can be read once' bash -c 'capball embed --transform normalize - -f csv -o y.csv <points.csv'
refuses "a transform over its base" 2 'the same file' capball embed --transform center far.csv -o points.csv --base points.csv
refuses "whole numbers" 2 'which u8 cannot hold' capball embed --transform center points.csv -o y.u8bin
refuses "rows without a scale" 1 'largest norm about the mean is 0' capball embed --transform lift-ip same.csv -o y.csv
refuses "the centre itself" 1 'row 0 is the centre: it has no direction' capball embed --transform normalize same.csv -o y.csv
refuses "as many neighbours as rows" 1 'k must be at least 1 and below the 500 rows of the base, got 500' capball recommend rows.csv -k 500
refuses "queries of another d" 1 'points.csv has 2 columns, but rows.csv has 4' capball recommend rows.csv --queries points.csv
refuses "NaN in a base" 1 'nan.csv: row 0 holds NaN' capball recommend nan.csv
refuses "NaN in a query" 1 'nan.csv: row 0 holds NaN' capball recommend rows.csv --queries nan.csv
refuses "an empty base" 1 'empty.npy: there are no rows' bash -c 'capball convert rows.npy empty.npy --rows 0:0 && capball recommend empty.npy'
refuses "a base without a scale" 1 'same.csv: the mean norm of the base about its mean is 0' capball recommend same.csv -k 1
refuses "a page over the base" 2 'the same file' capball recommend rows.csv --html rows.csv
refuses "an engine that is none" 2 'no ENGINE "flot"; did you mean "float"' capball recommend rows.csv --engine flot
[ ! -e y.csv ] && [ ! -e y.u8bin ]
verdict $? "refusals leave nothing behind"
finish
