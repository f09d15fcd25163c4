"""The default detector beside others on the labelled outlier sets: AUC, average precision, times; and a page about it.

   outlier_compare.py DATA [PAGE.md]     DATA: the folder of the sets outlier-*; PAGE.md: docs/explanation/outlier-compare.md

Every method has its own defaults and sees the rows as they are; where it needs columns of one unit, it sees standardised ones. Ends with
status 1 where the default falls below what is promised: means of .785 and .35, no set .10 below the default of 0.3, and more sets than
the forest on 13 at least; or balls="auto" falls below the default by its means, or is not .02 ahead in AUC over the sets on which it takes
several; 77 without the sets. PyOD gives ECOD and COPOD, which are left out without it.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from capball.sklearn import BallDetector

LEAST_AUC, LEAST_AP, MOST_LOST, LEAST_WON, LEAST_GAIN = 0.785, 0.35, 0.10, 13, 0.02
WRONG = 0.05  # a ball is the wrong tool where the best other method is ahead by so much
warnings.simplefilter("ignore")


def standardised(x):
    spread = x.std(0)
    return (x - x.mean(0)) / np.where(spread > 0, spread, 1)


def neighbours(x):
    z = standardised(x)
    return NearestNeighbors(n_neighbors=6).fit(z).kneighbors(z)[0][:, -1]  # the fifth beside the row itself, as in PyOD


def of_pyod(module, name):
    def scores(x):
        detectors = __import__("pyod.models." + module, fromlist=[name])
        return getattr(detectors, name)().fit(x).decision_scores_
    return scores


METHODS = {
    "ball": lambda x: -BallDetector().fit(x).score_samples(x),
    "auto": lambda x: -BallDetector(balls="auto").fit(x).score_samples(x),
    "ball of 0.3": lambda x: -BallDetector(recipe="whitened").fit(x).score_samples(x),
    "forest": lambda x: -IsolationForest(random_state=0).fit(x).score_samples(x),
    "LOF": lambda x: -LocalOutlierFactor().fit(standardised(x)).negative_outlier_factor_,
    "kNN": neighbours,
    "ECOD": of_pyod("ecod", "ECOD"),
    "COPOD": of_pyod("copod", "COPOD"),
    "OCSVM": lambda x: -OneClassSVM().fit(standardised(x)).score_samples(standardised(x)),
    "envelope": lambda x: -EllipticEnvelope(random_state=0).fit(x).score_samples(x),
}
TOO_WIDE = {"envelope": 200}  # columns that take minutes; such a set is left out
OTHERS = [name for name in METHODS if name != "auto" and not name.startswith("ball")]


def measure(method, x, truth):
    """AUC, average precision, seconds; None where the method fails or is not installed."""
    if x.shape[1] > TOO_WIDE.get(method, x.shape[1]):
        return None
    begin = time.perf_counter()
    try:
        scores = METHODS[method](x)
    except (ImportError, ValueError):
        return None
    seconds = time.perf_counter() - begin
    scores = np.nan_to_num(scores, posinf=np.finfo(float).max)
    return roc_auc_score(truth, scores), average_precision_score(truth, scores), seconds


def figure(value, digits=3):
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def table(found, sizes, which):
    lines = ["| set | rows x columns | outliers | " + " | ".join(METHODS) + " |", "|---" * (3 + len(METHODS)) + "|"]
    for name, row in found.items():
        best = max(m[which] for m in row.values() if m is not None)
        cells = ["" if m is None else ("**%s**" if m[which] == best else "%s") % figure(m[which]) for m in row.values()]
        lines.append("| {} | {} x {} | {:.1%} | {} |".format(name, *sizes[name], " | ".join(cells)))
    for title, of in (("mean", np.mean), ("median", np.median)):
        values = [[row[m][which] for row in found.values() if row[m] is not None] for m in METHODS]
        lines.append(f"| {title} | | | " + " | ".join(figure(of(v)) if v else "" for v in values) + " |")
    return "\n".join(lines)


def seconds_line(found):
    return "\n".join(["| | " + " | ".join(METHODS) + " |", "|---" * (1 + len(METHODS)) + "|", "| seconds for all sets | " + " | ".join(
        figure(sum(row[m][2] for row in found.values() if row[m] is not None), 1) for m in METHODS) + " |"])


def wrong_for(found):
    """A line for each set on which another method is far ahead."""
    for name, row in sorted(found.items(), key=lambda item: item[1]["ball"][0] - max(item[1][m][0] for m in OTHERS if item[1][m])):
        best = max((m for m in OTHERS if row[m]), key=lambda m: row[m][0])
        if row[best][0] - row["ball"][0] > WRONG:
            yield f"- `{name}`: {figure(row['ball'][0])}; {best} has {figure(row[best][0])}."


PAGE = """# Outlier detectors compared

The default of `BallDetector`, of `capball.pyod.Ball` and of `capball ball --robust` beside detectors that everybody has, on {count} labelled sets,
each method at its own defaults: *forest* is scikit-learn's isolation forest, *LOF* its local outlier factor, *OCSVM* its one-class SVM,
*envelope* its elliptic envelope; *auto* is `BallDetector(balls="auto")`; *kNN* is the distance to the fifth neighbour; *ECOD* and *COPOD* are PyOD's. *Ball of 0.3* is
`BallDetector(recipe="whitened")`, which was the default of 0.3. The envelope takes minutes for 512 columns: its figures leave
`cifar10-0-resnet18` out. LOF, kNN and OCSVM see standardised columns, all others the rows as they are. No method was given a label. The recipe of the ball was chosen on these very sets, so expect a little less elsewhere.

The ball is ahead of the forest on {won} of {count} sets by AUC; the largest loss against the ball of 0.3 is {loss} (`{worst}`).
`balls="auto"` takes 16 balls on {taken} sets ({names}), and one on the others; over these {taken} it is {gain} ahead of one ball in AUC.

## AUC

The share of pairs of an outlier and an ordinary row in which the outlier is found stranger; one half is chance. Bold is the best of a row.

{auc}

## Average precision

The mean of the precision at every outlier, strangest first; chance is the share of outliers.

{precision}

## Time

Fit and scores, files not counted, on two processors that other programs used as well:

{seconds}

## Where a ball is the wrong tool

One ball around the ordinary rows finds what lies far out in some direction that the ordinary rows do not take. Where another method is ahead
by more than {wrong} in AUC:

{wrongs}

On `optdigits`, `vertebral` and `yeast` the ball is below one half: their outliers lie nearer to the centre than most rows, where no ball around
everything finds them; on the last two nothing does. Where LOF or kNN is far ahead (`aloi`, `letter`, `magic-gamma`, `waveform`), outliers stand out from the
rows beside them, not from all: take neighbours, or several balls (`letter` has {letter} with `balls="auto"`). Where ECOD or the forest is far ahead (`donors`,
`pendigits`), columns say it one by one. On sets of less than a hundred rows or of a handful of outliers (`smtp` has {smtp}) a few rows decide every figure.

Written by `bench/rivals/outlier_compare.py ../shared/data docs/explanation/outlier-compare.md`; it fails where the ball falls below what is
promised: means of .785 and .35, no set more than .10 below the ball of 0.3, ahead of the forest on 13 sets.
"""


def main(data, page=None):
    folders = sorted(Path(data).glob("outlier-*"))
    if not folders:
        print(f"no outlier sets in {data}")
        return 77
    found, sizes = {}, {}
    for folder in folders:
        name = folder.name.removeprefix("outlier-")
        x, truth = np.load(folder / "base.npy").astype(float), np.load(folder / "labels.npy").ravel() != 0
        sizes[name] = (*x.shape, truth.mean())
        found[name] = {method: measure(method, x, truth) for method in METHODS}
        print(f"{name:20}", *("  -  " if m is None else f"{m[0]:.3f}" for m in found[name].values()), flush=True)
    ours = np.array([row["ball"][:2] for row in found.values()])
    losses = {name: row["ball of 0.3"][0] - row["ball"][0] for name, row in found.items()}
    worst = max(losses, key=losses.get)
    won = sum(row["ball"][0] > row["forest"][0] for row in found.values())
    auc, precision = ours.mean(axis=0)
    auto = np.array([row["auto"][:2] for row in found.values()])
    gains = {name: row["auto"][0] - row["ball"][0] for name, row in found.items() if row["auto"][:2] != row["ball"][:2]}
    gain = np.mean(list(gains.values())) if gains else 0
    print(f"auto: means {auto.mean(axis=0)[0]:.4f} {auto.mean(axis=0)[1]:.4f}, ahead by {gain:.4f} on {', '.join(gains)}")
    print(f"means {auc:.4f} {precision:.4f}, medians {np.median(ours[:, 0]):.4f} {np.median(ours[:, 1]):.4f}, "
          f"{won} of {len(found)} sets won against the forest, largest loss {losses[worst]:.4f} ({worst})")
    if page is not None:
        smtp = round(sizes["smtp"][0] * sizes["smtp"][2]) if "smtp" in sizes else 0
        Path(page).write_text(PAGE.format(
            count=len(found), won=won, taken=len(gains), names=", ".join(f"`{name}`" for name in gains), gain=figure(gain), loss=figure(losses[worst]), worst=worst, auc=table(found, sizes, 0), precision=table(found, sizes, 1),
            seconds=seconds_line(found), wrong=figure(WRONG, 2), wrongs="\n".join(wrong_for(found)), smtp=smtp,
            letter=figure(found["letter"]["auto"][0]) if "letter" in found else ""))
    kept = auc >= LEAST_AUC and precision >= LEAST_AP and losses[worst] <= MOST_LOST and won >= LEAST_WON
    kept = kept and (auto.mean(axis=0) >= ours.mean(axis=0)).all() and gain >= LEAST_GAIN
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
