#!/usr/bin/env bash
# The scale of real data: recall by brute force is what the goal promised, ABID and cosines are what NumPy has.
. "$(dirname "$0")/../support/tap.sh"
data=$root/../shared/data
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || python=
# OpenBLAS may take a new processor for an old one; NumPy's products are most of this script's time
grep -q avx2 /proc/cpuinfo && export OPENBLAS_CORETYPE=Haswell

recall_by_numpy='
import json, sys
import numpy as np
x = np.load("base.npy").astype("f8"); q = np.load(sys.argv[1] + "/queries.npy")[:200].astype("f8")
def embed(z, s):
    n = (z * z).sum(1, keepdims=True)
    return np.hstack([2 * s * z, s * s - n]) / (n + s * s)
def nearest(a, b):
    d = (b * b).sum(1) - 2 * a @ b.T
    return np.argpartition(d, 10, axis=1)[:, :10]
def distance(ids):
    return np.array([((x[ids[i]] - q[i]) ** 2).sum(1) for i in range(len(q))])
true = distance(nearest(q, x)).max(1)
for target in sys.argv[2:]:
    m = json.load(open(target + ".json")); s = m["scale"]; c = np.array(m["center"])
    got = distance(nearest(embed(q - c, s), embed(x - c, s)))
    recall = (got <= true[:, None] * (1 + 1e-12)).mean()
    print("recall@10 %.4f at s = %.6g, wanted %s" % (recall, s, target))
    assert recall >= float(target) - 0.01'

for set in fashion-mnist-784-euclidean sift-bsds-128-euclidean blobs-16-euclidean; do
  if [ -z "$python" ] || [ ! -e "$data/$set/base.npy" ]; then
    skip "$set" "../shared/data/$set or NumPy is not here"
    continue
  fi
  capball convert "$data/$set/base.npy" base.npy --rows :2500 -q # NumPy takes long over more
  for target in 0.99 0.9; do
    check "$set: fit for recall $target" capball fit base.npy -o $target.json --goal recall --target $target -q
  done
  check "$set: 200 held-out queries find .99 and .9 of their neighbours" $python -c "$recall_by_numpy" "$data/$set" 0.99 0.9
  sed 's/^/# /' check.out
done

set=mnist-784-euclidean
if [ -n "$python" ] && [ -e "$data/$set/base.npy" ]; then
  capball convert "$data/$set/base.npy" x.npy --rows :500 -q
  check "$set: abid" bash -c 'capball abid x.npy --json --plot abid.svg > abid.json && grep -q "<svg" abid.svg'
  check "$set: ABID and its maxima as NumPy has them" $python -c '
import json, numpy as np
x = np.load("x.npy").astype("f8"); x -= x.mean(0); a = json.load(open("abid.json"))
def abid(y):
    y = y / np.linalg.norm(y, axis=1)[:, None]
    return len(y) ** 2 / ((y @ y.T) ** 2).sum()
def embedded(s):
    n = (x * x).sum(1, keepdims=True)
    return abid(np.hstack([2 * s * x, s * s - n]) / (n + s * s))
assert abs(abid(x) / a["abid"] - 1) < 1e-12
assert abs(np.linalg.norm(x, axis=1).mean() / a["mean_norm"] - 1) < 1e-12
for s, value in a["curve"] + a["maxima"]: assert abs(embedded(s) / value - 1) < 1e-11
for s, value in a["maxima"]: assert embedded(s * 1.01) < value > embedded(s / 1.01)
for mark in 0.1, 10: assert embedded(mark * a["mean_norm"]) < 1.2
print(a["maxima"])'
  check "$set: cosines as NumPy has them" bash -c 'capball cosines x.npy --json > cos.json && '"$python"' -c "
import json, numpy as np
x = np.load(\"x.npy\").astype(\"f8\"); x -= x.mean(0); c = json.load(open(\"cos.json\"))
s = c[\"scale\"]; n = (x * x).sum(1, keepdims=True); y = np.hstack([2 * s * x, s * s - n]) / (n + s * s)
u = x / np.sqrt(n); i, j = np.triu_indices(len(x), 1); a, b = (u @ u.T)[i, j], (y @ y.T)[i, j]
assert len(a) == c[\"pairs\"] and abs(np.corrcoef(a, b)[0, 1] - c[\"correlation\"]) < 1e-10
assert abs(np.polyfit(a, b, 1)[0] - c[\"slope\"]) < 1e-10 and abs(np.sqrt(((a - b) ** 2).mean()) - c[\"rms\"]) < 1e-10"'
else
  skip "$set" "../shared/data/$set or NumPy is not here"
fi
finish
