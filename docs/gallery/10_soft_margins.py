"""From the smallest ball to a soft margin

The smallest ball around all rows, and balls that may leave the share nu outside: a few far rows no longer decide.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball

rows = np.random.default_rng(10).standard_t(3, size=(400, 2))
figure, ax = plt.subplots(figsize=(5.5, 5))
ax.plot(*rows.T, ".", color="gray", markersize=3)
for number, nu in enumerate([0, 0.02, 0.1, 0.3, 0.6]):
    model = capball.enclosing_ball(rows) if nu == 0 else capball.svdd(rows, nu)
    ax.add_patch(plt.Circle(model.center, model.radius, fill=False, color=f"C{number}", label=f"nu = {nu:g}" if nu else "all rows"))
ax.set_aspect("equal")
ax.autoscale_view()
ax.legend()
plt.show()
