"""p-values of new rows

A calibrated model gives p-values: those of ordinary new rows are spread evenly, those of strange ones are small.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball

rng = np.random.default_rng(12)
model = capball.svdd(rng.normal(size=(2000, 4)), 0.1, calibrate=True)
ordinary, strange = rng.normal(size=(1000, 4)), rng.normal(size=(200, 4)) * 3

figure, ax = plt.subplots(figsize=(7, 4))
shown = [model.p_values(model.scores(rows)) for rows in (ordinary, strange)]
ax.hist(shown, bins=20, range=(0, 1), label=["1000 ordinary rows", "200 strange rows"])
ax.set_xlabel("p-value")
ax.set_ylabel("rows")
ax.legend()
plt.show()
