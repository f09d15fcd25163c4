"""Why a row is strange

`why` says which columns add most to the distance of a row from the centre of the ball. The row is ordinary in every column but two, which do not
fit one another.
"""
import matplotlib.pyplot as plt
import numpy as np

import capball

rng = np.random.default_rng(6)
names = ["height", "weight", "age", "pulse", "pressure"]
rows = rng.normal(size=(500, 5))
rows[:, 1] = 0.95 * rows[:, 0] + 0.3 * rows[:, 1]
model = capball.svdd(rows, 0.1, whiten=True, columns=names)
strange = [1.5, -1.5, 0.3, -0.4, 0.2]

reasons = model.why([strange], top=5)[0]
figure, ax = plt.subplots(figsize=(7, 3))
ax.barh([reason.column for reason in reasons][::-1], [reason.share for reason in reasons][::-1])
ax.set_xlabel("share of the squared distance")
figure.tight_layout()
plt.show()
