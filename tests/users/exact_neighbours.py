"""Job: "the exact nearest rows, not nearly." From the words of its tutorial alone."""

import tempfile
from pathlib import Path

import numpy as np

import capball

rng = np.random.default_rng(0)
rows, queries = rng.normal(size=(5000, 24)).astype(np.float32), rng.normal(size=(50, 24)).astype(np.float32)
plain = np.linalg.norm(rows[None].astype(float) - queries[:, None].astype(float), axis=2)
order = np.argsort(plain, axis=1, kind="stable")

distances, ids = capball.knn(rows, queries, k=10)
assert (ids == order[:, :10]).all() and np.allclose(distances, np.take_along_axis(plain, order[:, :10], 1))
radius = float(np.median(distances[:, -1]))
near = capball.range_search(rows, queries, radius)
for i in range(len(queries)):
    assert set(near[i].ids) == set(np.flatnonzero(plain[i] <= radius))

# Rows that stay: one query is one pass, rows come and go, and a file brings them back.
index = capball.Index(24)
index.add(rows)
assert (index.search(queries, 10).ids == ids).all()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.index"
    index.save(path)
    again = capball.Index.open(path)
    assert (again.search(queries, 10).ids == ids).all() and len(again) == len(rows)
    del again
print(f"{len(queries)} queries: ids and distances as by a plain loop, in memory and from a file")
