"""Distances from short codes, with certain bounds

Codes of 64 bits and a few bytes: the estimate for each of 80 rows, and the interval in which the distance certainly is. The true distances are inside
of all intervals.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball

rng = np.random.default_rng(11)
rows = rng.normal(size=(2000, 32)) * np.linspace(2, 0.2, 32)
query = rng.normal(size=(1, 32))
sketch = capball.Sketch.fit(rows, bits=64, kind="principal")
estimate, low, high = sketch.prepare(sketch.encode(rows)).bounds(query)
true = np.linalg.norm(rows - query, axis=1)
assert (low <= true).all() and (true <= high).all()

some = np.argsort(true)[::25]
figure, ax = plt.subplots(figsize=(7, 4))
ax.vlines(true[some], low[some], high[some], color="lightgray", label="certain bounds")
ax.plot(true[some], estimate[some], ".", label="estimate")
ax.plot(true[some], true[some], color="black", linewidth=1, label="true distance")
ax.set_xlabel("true distance")
ax.legend()
plt.show()
