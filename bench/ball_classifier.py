#!/usr/bin/env python3
"""bench/ball_classifier.py: accuracy of planes, balls and a kernel on 18 sets, as tables.

  bench/ball_classifier.py                the 18 sets: 6 of scikit-learn, 12 of ../shared/data
  bench/ball_classifier.py --others       more sets of ../shared/data, by which nothing was chosen
  bench/ball_classifier.py --time         seconds of fit and predict at 100000 rows of 20 columns (--rows for fewer), and bounds
                                          for SVC: predict when fitted to a tenth of them, with fewer support vectors than all would
                                          give, and the fit of six tenths
  bench/ball_classifier.py --time --svc   the same with SVC fitted to all of them, which takes hours
  bench/ball_classifier.py --rows 500     at most so many rows of a set

At most 2500 rows of a set, five folds; LogisticRegression and SVC have scikit-learn's defaults behind a StandardScaler. Sets that
are not there are left out, with a line that says so.
"""
import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_circles, make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from capball.sklearn import BallClassifier

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CHOSEN = ["mnist-784-euclidean", "fashion-mnist-784-euclidean", "blobs-16-euclidean", "outlier-cardio", "outlier-ionosphere",
          "outlier-letter", "outlier-magic-gamma", "outlier-pendigits", "outlier-satellite", "outlier-vertebral",
          "outlier-waveform", "outlier-yeast"]
OTHERS = ["moons-2-euclidean", "outlier-breastw", "outlier-celeba", "outlier-cifar10-0-resnet18", "outlier-donors", "outlier-glass",
          "outlier-mammography", "outlier-optdigits", "outlier-shuttle", "outlier-stamps", "outlier-wdbc", "outlier-wine"]
METHODS = {
    "LogisticRegression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "BallClassifier": BallClassifier,
    "4 balls per class": lambda: BallClassifier(balls_per_class=4, random_state=0),
    '"auto"': lambda: BallClassifier(balls_per_class="auto", random_state=0),
    "SVC, rbf kernel": lambda: make_pipeline(StandardScaler(), SVC()),
}


def shared(name, most):
    base = np.load(SHARED / name / "base.npy", mmap_mode="r")
    labels = SHARED / name / "labels.npy"
    y = np.load(labels if labels.exists() else SHARED / name / "base_labels.npy")
    keep = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    return np.asarray(base[keep], float), y[keep].astype(int)


def sets(others, most):
    if not others:
        yield "iris", load_iris(return_X_y=True)
        yield "wine", load_wine(return_X_y=True)
        yield "cancer", load_breast_cancer(return_X_y=True)
        yield "digits", load_digits(return_X_y=True)
        yield "moons", make_moons(400, noise=0.2, random_state=0)
        yield "circles", make_circles(400, noise=0.1, factor=0.5, random_state=0)
    for name in OTHERS if others else CHOSEN:
        if (SHARED / name / "base.npy").exists():
            yield name.removeprefix("outlier-").removesuffix("-euclidean"), shared(name, most)
        else:
            print(f"{name} is not there: left out")


def accuracies(others, most):
    print("| set | " + " | ".join(METHODS) + " |\n|---|" + "---|" * len(METHODS))
    found, seconds = {}, dict.fromkeys(METHODS, 0.0)
    for name, (x, y) in sets(others, most):
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(x[:most], y[:most]))
        row = []
        for method, make in METHODS.items():
            start = time.perf_counter()
            row.append(100 * np.mean([make().fit(x[a], y[a]).score(x[b], y[b]) for a, b in folds]))
            seconds[method] += time.perf_counter() - start
        found[name] = row
        print(f"| {name} | " + " | ".join(f"{score:.1f}" for score in row) + " |", flush=True)
    table = np.array(list(found.values()))
    print("| mean | " + " | ".join(f"{score:.2f}" for score in table.mean(axis=0)) + " |")
    if "circles" in found:
        rest = np.array([row for name, row in found.items() if name != "circles"])
        print("| mean without circles | " + " | ".join(f"{score:.2f}" for score in rest.mean(axis=0)) + " |")
    print("| seconds | " + " | ".join(f"{s:.1f}" for s in seconds.values()) + " |\n")
    plane, ball, _, auto, kernel = table.T
    print(f"the default, less LogisticRegression: least {(ball - plane).min():.1f} points on a set; \"auto\" ahead of SVC on "
          f"{(auto > kernel).sum()} of {len(table)} sets, behind on {(auto < kernel).sum()}")


def times(rows, whole):
    """Predict is of as many rows as were fitted, new ones."""
    x, y = make_classification(2 * rows, 20, n_informative=10, n_clusters_per_class=3, flip_y=0.05, random_state=0)
    new, truth, predicts, fits = x[rows:], y[rows:], {}, {}
    print(f"| method | rows of fit | fit, s | predict of {rows}, s | accuracy |\n|---|---|---|---|---|")
    for name in ("LogisticRegression", "BallClassifier", "4 balls per class", "SVC, rbf kernel"):
        few = rows if whole or not name.startswith("SVC") else rows // 10
        model, start = METHODS[name](), time.perf_counter()
        model.fit(x[:few], y[:few])
        fitted = time.perf_counter()
        right = (model.predict(new) == truth).mean()
        fits[name], predicts[name] = fitted - start, time.perf_counter() - fitted
        print(f"| {name} | {few} | {fits[name]:.2f} | {predicts[name]:.3f} | {100 * right:.1f} |", flush=True)
    ball, kernel = "4 balls per class", "SVC, rbf kernel"
    print(f"\nSVC fitted to {few} rows, {model[-1].n_support_.sum()} support vectors: its predict takes {predicts[kernel] / predicts[ball]:.0f} times "
          f"that of 4 balls per class fitted to {rows}", flush=True)
    if not whole:
        few, start = 6 * rows // 10, time.perf_counter()
        METHODS[kernel]().fit(x[:few], y[:few])
        fits[kernel] = time.perf_counter() - start
    print(f"SVC fitted to {few} rows: {fits[kernel]:.0f} s, {fits[kernel] / fits[ball]:.1f} times 4 balls per class fitted to {rows}")
    if not whole:
        print(f"More rows only make SVC slower: both are lower bounds for SVC fitted to {rows}")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--others", action="store_true")
parser.add_argument("--time", action="store_true")
parser.add_argument("--svc", action="store_true")
parser.add_argument("--rows", type=int)
given = parser.parse_args()
warnings.simplefilter("ignore")
times(given.rows or 100000, given.svc) if given.time else accuracies(given.others, given.rows or 2500)
