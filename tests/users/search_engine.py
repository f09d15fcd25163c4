"""Job: "Euclidean search through the engine I have." From the words of its tutorial alone.

   search_engine.py [full]     full: 50,000 rows of 64, and every transform on all of them; else a fifth of the rows
"""

import importlib.util
import sys
import tempfile

import numpy as np

import capball
from capball.engines import Euclidean

engines = [name for name in ("annoy", "hnswlib") if importlib.util.find_spec(name)]
if not engines:
    print("annoy is not installed, nor hnswlib")
    sys.exit(77)
full = sys.argv[1:] == ["full"]
n, d, k = 50000 if full else 10000, 64, 10

# 60 clusters whose norms are very different: what engines of cosines get wrong.
rng = np.random.default_rng(0)
middle = rng.normal(size=(60, d))
middle *= np.exp(1.3 * rng.normal(size=(60, 1))) / np.linalg.norm(middle, axis=1, keepdims=True) * 8
rows = (middle[rng.integers(0, 60, n + 500)] + 0.5 * rng.normal(size=(n + 500, d))).astype(np.float32)
rows, queries = rows[:n], rows[n:]
truth = capball.knn(rows, queries, k).ids


def recall(index):
    return np.mean([len(np.intersect1d(*both)) / k for both in zip(index.search(queries, k).ids, truth)])


for name in engines:
    index = Euclidean(name).add(rows)
    ours = recall(index)
    print(f"{name}: {ours:.4f} by {index.why}")
    ways = index.trials if full else [trial for trial in index.trials if trial.transform == "none"]
    every = {str(t): recall(Euclidean(name, transform=t.transform, metric=t.metric, scale=t.scale).add(rows)) for t in ways}
    for way, other in every.items():
        print(f"  on all rows {other:.4f}  {way}")
    assert ours >= max(every.values()) - 0.01
    audited = index.search(queries, k, audit=32)
    assert abs(audited.recall - ours) <= 5 * audited.recall_error + 0.02

# A range of more rows than any usual number of candidates is whole.
index = Euclidean(engines[0]).add(np.concatenate([0.01 * rng.normal(size=(21030, 8)), 9 + rng.normal(size=(3000, 8))]).astype(np.float32))
(near,) = index.range(np.zeros(8), 2.0)
assert len(near.ids) == 21030 and near.ids.max() < 21030

if "hnswlib" in engines:
    index = Euclidean("hnswlib", ef=777, M=8).add(rows[:2000]).add(rows[2000:3000]).remove([5])
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        again = Euclidean.load(folder)
    assert (again.engine.ef, again.engine.M, len(again)) == (777, 8, 2999)
    assert (again.search(queries[:20]).ids == index.search(queries[:20]).ids).all()
    print(again)
