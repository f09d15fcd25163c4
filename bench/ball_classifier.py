#!/usr/bin/env python3
"""bench/ball_classifier.py: accuracy of a plane, a ball and a kernel on the sets of scikit-learn, as a table.

Five folds, every method with its defaults; all see standardised columns.
"""
import warnings

from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_circles, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from capball.sklearn import BallClassifier

warnings.simplefilter("ignore")
digits, target = load_digits(return_X_y=True)
SETS = {
    "rings": make_circles(400, noise=0.1, factor=0.5, random_state=0),
    "moons": make_moons(400, noise=0.2, random_state=0),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "the digit 8 against all others": (digits, target == 8),
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "ten digits": (digits, target),
}
METHODS = {
    "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "BallClassifier": BallClassifier(),
    "LinearSVC": make_pipeline(StandardScaler(), LinearSVC()),
    "BallClassifier(LinearSVC())": BallClassifier(LinearSVC()),
    "SVC, rbf kernel": make_pipeline(StandardScaler(), SVC()),
}

print("| set | " + " | ".join(METHODS) + " |\n|---|" + "---|" * len(METHODS))
for name, (x, y) in SETS.items():
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = [cross_val_score(method, x, y, cv=folds).mean() for method in METHODS.values()]
    print(f"| {name} | " + " | ".join(f"{score:.3f}" for score in scores) + " |")
