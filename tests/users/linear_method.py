"""Job: "I have a linear classifier, and my classes lie inside each other." From the words of its tutorial alone."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_circles
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import capball
from capball.sklearn import BallClassifier, SphereEmbedding

x, y = make_circles(1000, noise=0.1, factor=0.5, random_state=0)
assert LogisticRegression().fit(x, y).score(x, y) < 0.6  # a plane cannot
model = BallClassifier().fit(x, y)
assert model.score(x, y) > 0.98
print("rings:", model.regions_[1])

digits = load_digits()
sets = {"rings": (x, y), "breast cancer": load_breast_cancer(return_X_y=True), "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True), "one digit against all": (digits.data, digits.target == 8)}
for name, (x, y) in sets.items():
    for linear in (LinearSVC(), LogisticRegression(C=10, max_iter=1000), SGDClassifier(random_state=0)):
        for scaler in ([], [StandardScaler()]):
            pipeline = make_pipeline(*scaler, SphereEmbedding(), linear).fit(x, y)
            ball, decision = capball.ball_of(pipeline), pipeline.decision_function(x)
            if isinstance(ball, capball.Region):
                assert ((ball.scores(x) >= 0) == (pipeline.predict(x) == pipeline.classes_[1])).all(), name
            else:
                for column, region in zip(decision.T, ball.values()):
                    assert ((region.scores(x) >= 0) == (column >= 0)).all(), name
    print(f"{name}: ball_of agrees with every method on all {len(x)} rows")
