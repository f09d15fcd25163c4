"""AUC of the ball in several settings, and of other detectors, on the labelled outlier sets, into the table of a page;
the sentences around it are written by hand. outlier_table.py DATA PAGE, with `capball` on PATH. Needs scikit-learn; PyOD for ECOD and INNE."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

data, page = sys.argv[1], sys.argv[2]
KERNEL_ROWS = 12000  # more take a kernel too long
NEAR = 0.02
RECOMMENDED = ["--standardize", "--whiten", "--ridge", "0.1", "--nu", "0.9"]
BALLS = {  # name: options of `capball ball`, and whether it reads standardised columns (a kernel has no --standardize)
    "raw .1": (["--nu", "0.1"], False),
    "raw .5": (["--nu", "0.5"], False),
    "std .1": (["--nu", "0.1", "--standardize"], False),
    "std .5": (["--nu", "0.5", "--standardize"], False),
    "white .1": (["--nu", "0.1", "--whiten", "--ridge", "1e-9"], False),
    "white .5": (["--nu", "0.5", "--whiten", "--ridge", "1e-9"], False),
    "rbf .1": (["--nu", "0.1", "--kernel", "rbf", "--gap", "1e-4"], True),
    "rbf .5": (["--nu", "0.5", "--kernel", "rbf", "--gap", "1e-4"], True),
    "take this": (RECOMMENDED, False),
    "16 balls": ([*RECOMMENDED, "--balls", "16"], False),
}


def auc(scores, labels):
    """Outliers score low; ties count half."""
    order = np.argsort(scores, kind="stable")
    _, first, counts = np.unique(scores[order], return_index=True, return_counts=True)
    rank = np.empty(len(scores))
    rank[order] = np.repeat(first + (counts + 1) / 2, counts)
    bad = labels != 0
    m = bad.sum()
    return 1 - (rank[bad].sum() - m * (m + 1) / 2) / (m * (~bad).sum())


def command(*words):
    run = subprocess.run(["capball", *words, "--json", "-q"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def ball(work, options, standardised):
    rows = work + ("/z.npy" if standardised else "/x.npy")
    command("ball", rows, "-o", work + "/m.json", *options)
    return command("score", "-m", work + "/m.json", rows, "-o", work + "/s.npy", "--labels", work + "/l.npy")["auc"]


try:
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import NearestNeighbors
    from sklearn.svm import OneClassSVM
except ImportError:
    sys.exit("outlier table: python3-sklearn is not installed; %s is left as it is" % page)
try:
    from pyod.models.ecod import ECOD
    from pyod.models.inne import INNE
except ImportError:
    ECOD = INNE = None


def forest(z):
    runs = [IsolationForest(n_estimators=100, random_state=seed).fit(z).score_samples(z) for seed in range(3)]
    return np.mean(runs, axis=0)


def neighbours(z):
    """Minus the distance to the tenth neighbour."""
    return -NearestNeighbors(n_neighbors=11).fit(z).kneighbors(z)[0][:, -1]


def ecod(z):
    return None if ECOD is None else -ECOD().fit(z).decision_scores_


def inne(z):
    return None if INNE is None else np.mean([-INNE(random_state=seed).fit(z).decision_scores_ for seed in range(3)], axis=0)


def one_class(z):
    return OneClassSVM(nu=0.1, gamma="scale").fit(z).decision_function(z)


RIVALS = {"forest": forest, "kNN": neighbours, "ECOD": ecod, "INNE": inne, "one-class SVM": one_class}


def figure(value):
    return "" if value is None else ("%.3f" % value).lstrip("0") if value < 1 else "1.000"


rows, near, seconds = [], [], {"ball": 0.0, "one-class SVM": 0.0}
with tempfile.TemporaryDirectory() as work:
    for folder in sorted(glob.glob(data + "/outlier-*")):
        name = os.path.basename(folder)[len("outlier-"):]
        x, labels = np.load(folder + "/base.npy").astype(float), np.load(folder + "/labels.npy").ravel()
        spread = x.std(0)
        x = x[:, spread > 0]
        z = (x - x.mean(0)) / x.std(0)
        np.save(work + "/x.npy", x)
        np.save(work + "/z.npy", z)
        np.save(work + "/l.npy", labels.reshape(-1, 1).astype(np.uint8))
        found = {}
        for setting, (options, standardised) in BALLS.items():
            begin = time.perf_counter()
            slow = "--kernel" in options and len(x) > KERNEL_ROWS
            found[setting] = None if slow else ball(work, options, standardised)
            if options is RECOMMENDED:
                seconds["ball"] += time.perf_counter() - begin
        for rival, run in RIVALS.items():
            begin = time.perf_counter()
            scores = run(z)
            if rival in seconds:
                seconds[rival] += time.perf_counter() - begin
            found[rival] = None if scores is None else auc(scores, labels)
        best = max(found[b] for b in BALLS if found[b] is not None and b != "16 balls")
        near.append(found["take this"] >= best - NEAR)
        rows.append("| %s | %d x %d | %.1f %% | %s |" % (
            name, *x.shape, 100 * np.mean(labels != 0),
            " | ".join(("**%s**" if k == "take this" else "%s") % figure(v) for k, v in found.items())))
        print(rows[-1], flush=True)

table = "| set | rows x columns | outliers | %s |\n|---|---|---|%s\n%s" % (
    " | ".join([*BALLS, *RIVALS]), "---|" * (len(BALLS) + len(RIVALS)), "\n".join(rows))
print("within %g of the best ball: %d of %d sets" % (NEAR, sum(near), len(near)))
print("seconds: the recommended balls and their scores %.0f, the one-class SVM %.0f" % (seconds["ball"], seconds["one-class SVM"]))
with open(page, encoding="utf-8") as file:
    before, _, after = file.read().partition("| set | rows x columns | outliers | raw")
if not after:
    sys.exit(f"outlier_table.py: {page} has no table of these columns")
with open(page, "w", encoding="utf-8") as file:
    file.write(before + table + "\n\n" + after.partition("\n\n")[2])
