"""How evenly rows fill the sphere depends on its scale

ABID counts the directions that rows fill evenly. It is largest near the mean norm, which is the scale that `fit` takes by default.
"""
import matplotlib.pyplot as plt
import numpy as np

from capball.plots import plot_abid

rows = np.random.default_rng(2).normal(size=(1000, 12)) * np.linspace(0.5, 2, 12)
plot_abid(rows)
plt.show()
