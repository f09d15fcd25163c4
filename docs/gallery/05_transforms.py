"""Which transform suits an engine

`recommend` measures every transform: the share of the true ten neighbours among its first candidates. The fewer candidates are needed, the
less is re-ranked.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball

rng = np.random.default_rng(4)
rows = rng.normal(size=(3000, 24)) * rng.lognormal(sigma=0.4, size=(3000, 1))
advice = capball.recommend(rows, rng.normal(size=(200, 24)), metric="cosine")

figure, ax = plt.subplots(figsize=(7, 4))
best = {}
for row in (row for row in advice.rows if row.index == "float"):
    if row.transform not in best or row.candidates_for_99 < best[row.transform].candidates_for_99:
        best[row.transform] = row
for row in best.values():
    ax.semilogx(advice.candidates, row.curve, marker=".", label=row.name)
ax.set_xlabel("candidates of the engine")
ax.set_ylabel("share of the true 10 neighbours")
ax.legend()
plt.show()
