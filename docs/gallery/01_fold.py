"""A plane becomes a sphere, and a ball becomes a cap

Rows of two columns and a ball around some of them; on the sphere the same rows lie under one flat cut, `<p,y> >= b`.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball
from capball.plots import plot_ball, plot_sphere

rows = np.random.default_rng(1).normal(size=(1500, 2))
ball = capball.Ball([0.8, 0.4], 0.7)
m = capball.fit(rows)

figure = plt.figure(figsize=(8, 4))
plot_ball(ball, rows, ax=figure.add_subplot(1, 2, 1))
plot_sphere(m, rows, caps=[m.cap(ball)], ax=figure.add_subplot(1, 2, 2, projection="3d"))
plt.show()
