#!/usr/bin/env bash
# Exact search on real data: the published neighbours, up to equal distances; any thread count,
# any format, from a pipe.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || python=

equal_neighbours='
import sys, numpy as np
base, queries, truth = (np.load(sys.argv[1] + name, mmap_mode="r") for name in ("/base.npy", "/queries.npy", "/gt100.npy"))
cosine = sys.argv[2] == "cosine"
ids = np.load("ids.npy")
assert ids.shape == truth.shape and ids.dtype == np.int32
def distances(rows, q):
    x = base[rows].astype("f8")
    if cosine: return 1 - x @ q / np.linalg.norm(x, axis=1) / np.linalg.norm(q)
    return np.linalg.norm(x - q, axis=1)
for i, q in enumerate(queries.astype("f8")):
    if i % 8 and np.array_equal(ids[i], truth[i]): continue
    ours, theirs = distances(ids[i], q), distances(truth[i], q)
    assert len(set(ids[i])) == ids.shape[1], "query %d: a row twice" % i
    assert np.all(np.diff(ours) >= -1e-12), "query %d: not in order" % i
    worst = np.abs(ours - np.sort(theirs)).max()
    assert worst <= 1e-9 * max(1, theirs.max()), "query %d is off by %g" % (i, worst)'

found=0
for set in "$data"/*-euclidean "$data"/*-angular; do
  [ -e "$set/gt100.npy" ] && [ -n "$python" ] || continue
  found=1
  metric=l2
  case $set in *-angular) metric=cosine ;; esac
  check "$(basename "$set"): knn" capball knn "$set/base.npy" "$set/queries.npy" -k 100 --metric $metric -o ids.npy -q
  check "$(basename "$set"): the true neighbours" $python -c "$equal_neighbours" "$set" $metric
done
[ $found = 1 ] || skip "true neighbours" "../shared/data or NumPy is not here"

seq 1 3000 | awk -v OFS=, '{ print sin($1), sin(2*$1), cos($1*$1), $1 % 7 }' >base.csv
head -n 100 base.csv >queries.csv
capball convert base.csv base.fvecs -q
check "one thread" capball knn base.fvecs queries.csv -k 7 -o one.ivecs --distances one.fvecs -t 1
check "eight threads" capball knn base.fvecs queries.csv -k 7 -o eight.ivecs --distances eight.fvecs -t 8
check "the same answer" cmp one.ivecs eight.ivecs
check "the same distances" cmp one.fvecs eight.fvecs
check "from a pipe" bash -c 'capball knn - queries.csv --format fvecs -k 7 -o pipe.ivecs <base.fvecs'
check "the same answer from a pipe" cmp one.ivecs pipe.ivecs
check "a range" capball range base.fvecs queries.csv --radius 0.5 -o one.jsonl -t 1 -q
check "a range on three threads" capball range base.fvecs queries.csv --radius 0.5 -o three.jsonl -t 3 -q
check "the same lines" cmp one.jsonl three.jsonl
check "many neighbours" capball knn base.fvecs queries.csv -k 2999 -o one.ivecs
check "many neighbours from a pipe" bash -c 'capball knn - queries.csv --format fvecs -k 2999 -o pipe.ivecs <base.fvecs'
check "the same rows" cmp one.ivecs pipe.ivecs
for k in 3001 1000000000; do # refused before memory is taken for them
  refuses "$k neighbours" 1 "base.fvecs: $k neighbours asked for, more than the number of rows, 3000" capball knn base.fvecs queries.csv -k $k -o no.ivecs
  refuses "$k neighbours, text" 1 "base.csv: $k neighbours asked for, more than the number of rows, 3000" capball knn base.csv queries.csv -k $k -o no.ivecs
  refuses "$k neighbours, a pipe" 1 "$k neighbours asked for, more than the number of rows, 3000" \
    bash -c "capball knn - queries.csv --format fvecs -k $k -o no.ivecs <base.fvecs"
  refuses "$k neighbours, an engine" 1 "base.csv: $k neighbours asked for, more than the number of rows of the base, 3000" \
    capball wrap base.csv queries.csv -k $k -o no.ivecs --engine-command 'false {base} {queries} {k} {ids}'
done
for metric in ip cosine; do
  check "metric $metric" capball knn base.fvecs queries.csv -k 7 --metric $metric -o one.ivecs -t 1
  check "metric $metric, a plain loop" env CPB_ISA=plain capball knn base.fvecs queries.csv -k 7 --metric $metric -o plain.ivecs
  check "the same $metric neighbours" cmp one.ivecs plain.ivecs
done
printf '1e200\n-1e200\n3e-200\n' >far.csv
check "products beyond double" bash -c 'capball range far.csv far.csv --metric ip --radius=-inf -o far.jsonl -q'
check "are numbers of JSON" grep -qx '{"query":0,"ids":\[0,2,1\],"products":\[1e999,3,-1e999\]}' far.jsonl
awk 'BEGIN { for (i = 0; i < 20000; i++) print i % 7 "," i % 11 }' >many.csv # more queries than a batch
check "batches of queries" capball knn many.csv many.csv -k 1 -o self.csv -q
check "each finds the first of its equals" bash -c "awk 'BEGIN { for (i = 0; i < 20000; i++) print i % 77 }' | cmp - self.csv"
finish
