"""What the sphere does to angles

Each point is a pair of rows: its cosine about the mean, and the cosine of its images. Pairs of rows whose length
is the scale s keep it.
"""
import matplotlib.pyplot as plt
import numpy as np

from capball.plots import plot_cosines

rng = np.random.default_rng(3)
plot_cosines(rng.normal(size=(300, 8)) * rng.lognormal(sigma=0.5, size=(300, 1)))
plt.show()
