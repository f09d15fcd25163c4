"""Several balls for rows in several clouds

Three balls of one radius; the score of a row is that of the nearest ball.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball
from capball.plots import plot_regions

rng = np.random.default_rng(8)
rows = np.concatenate([rng.normal(center, 0.5, size=(200, 2)) for center in ([0, 0], [4, 1], [1.5, 4])])
model = capball.svdd(rows, 0.05, balls=3)
inside = np.where(model.scores(rows) >= 0, "inside", "outside")
plot_regions(model.regions, rows, inside)
plt.show()
