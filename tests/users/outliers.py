"""Job: "Which rows of my table are strange, and why?" From the words of its tutorial alone."""


import numpy as np
from sklearn.metrics import roc_auc_score

from capball.sklearn import BallDetector

rng = np.random.default_rng(0)
n = 5000
height = rng.normal(170, 9, n)
weight = 0.9 * height - 85 + rng.normal(0, 5, n)
income = rng.lognormal(10, 0.4, n)
age = rng.integers(18, 90, n)
rows = np.stack([height, weight, income, age], axis=1)
strange = rng.choice(n, 50, replace=False)
rows[strange, 1] += rng.choice([-1, 1], 50) * rng.uniform(35, 50, 50)  # each number alone is ordinary

try:
    import pandas

    rows = pandas.DataFrame(rows, columns=["height", "weight", "income", "age"])
except ImportError:
    print("no pandas: the table is an array")

detector = BallDetector(contamination=0.01).fit(rows)
truth = np.isin(np.arange(n), strange)
auc = roc_auc_score(truth, -detector.score_samples(rows))
print(f"AUC {auc:.4f}")
assert auc >= 0.98
found = detector.predict(rows) == -1
print(f"{(found & truth).sum()} of the 50 planted rows are among the 50 strangest")
assert found.sum() == 50 and (found & truth).sum() >= 30  # long incomes are strange, too
reasons = detector.why(rows, top=2)
for row in np.flatnonzero(found)[:3]:
    print(row, *(f"{r.column}={r.value:.4g} (centre {r.center:.4g}, {r.share:.0%})" for r in reasons[row]))
named = [{r.column for r in reasons[row]} & {"weight", "height", "x0", "x1"} for row in np.flatnonzero(found & truth)]
assert all(named), "the columns that break the rule are among the first two reasons"
