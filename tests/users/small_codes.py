"""Job: "codes of a few bytes that still find the neighbours." From the words of its tutorial alone."""

import numpy as np

import capball

rng = np.random.default_rng(0)
middle = rng.normal(size=(50, 32)) * 3
rows = (middle[rng.integers(0, 50, 8000)] + rng.normal(size=(8000, 32))).astype(np.float32)
queries = rows[:200] + 0.1 * rng.normal(size=(200, 32)).astype(np.float32)
truth = capball.knn(rows, queries, 10).ids

sketch = capball.Sketch.fit(rows, bits=256)
codes = sketch.encode(rows)
assert codes.nbytes <= rows.nbytes / 2
found = sketch.search(codes, queries, k=10, base=rows)
recall = np.mean([len(np.intersect1d(*both)) / 10 for both in zip(found.ids, truth)])
print(f"{codes[0].nbytes} bytes a row instead of {rows[0].nbytes}: {recall:.3f} of the true 10 nearest")
assert recall >= 0.9
