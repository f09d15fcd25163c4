"""An engine that knows only cosine finds Euclidean neighbours

Ten colours next to a query among 2,000: normalised rows find few of them, rows on the sphere all. Both rows were found by the
same largest inner products.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball

colours = np.random.default_rng(7).uniform(0, 255, size=(2000, 3))
query = np.array([[120.0, 90.0, 60.0]])
true = capball.knn(colours, query, k=10).ids[0]
m = capball.fit(colours)


def best(rows, asked):
    return np.argsort(-(rows @ asked.T)[:, 0])[:10]


unit = colours / np.linalg.norm(colours, axis=1, keepdims=True)
found = {"true neighbours": true, "cosine of the rows": best(unit, query), "inner product on the sphere": best(m.embed(colours), m.embed(query))}

figure, axes = plt.subplots(3, 1, figsize=(7, 3.6))
for ax, (name, ids) in zip(axes, found.items()):
    ax.imshow(np.concatenate([query, query, colours[ids]])[None] / 255, aspect="auto")
    ax.axvline(1.5, color="white", linewidth=6)
    ax.set_title(f"{name}: {len(set(ids) & set(true))} of 10", loc="left", fontsize=10)
    ax.set_axis_off()
figure.tight_layout()
plt.show()
