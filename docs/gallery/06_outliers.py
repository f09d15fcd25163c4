"""Outliers of a table, with the ball around the others

`BallDetector` fits a ball to the rows that look most ordinary, in columns of very different units. The edge is the threshold for 5 %.
"""
import matplotlib.pyplot as plt
import numpy as np

from capball.plots import plot_ball
from capball.sklearn import BallDetector

rng = np.random.default_rng(5)
height = rng.normal(170, 9, 600)
table = np.stack([height, 0.9 * (height - 100) + rng.normal(0, 7, 600)], axis=1)
table[:25] = rng.uniform([140, 40], [200, 130], size=(25, 2))

ax = plot_ball(BallDetector(contamination=0.05).fit(table), table)
ax.set_xlabel("height in cm")
ax.set_ylabel("weight in kg")
plt.show()
