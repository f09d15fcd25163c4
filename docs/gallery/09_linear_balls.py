"""A linear classifier whose boundary is a circle

Logistic regression of rows on the sphere: its hyperplane is a sphere of the data, in their own units.
"""
import matplotlib.pyplot as plt
import numpy as np

from capball.plots import plot_regions
from capball.sklearn import BallClassifier

rng = np.random.default_rng(9)
rows = rng.normal(size=(800, 2)) * 1.5
label = np.where(np.linalg.norm(rows - [0.6, -0.3], axis=1) + rng.normal(0, 0.15, 800) < 1.4, "core", "rest")
model = BallClassifier(standardize=False).fit(rows, label)
ax = plot_regions(model, rows, label)
ax.set_title(f"{model.score(rows, label):.1%} of the rows on their side")
plt.show()
