import pickle
import subprocess

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from capball.sklearn import (
    BallDetector,
    EnclosingBall,
    KNeighborsTransformer,
    Neighbors,
    RadiusNeighborsTransformer,
    SketchTransformer,
    SphereEmbedding,
)


@parametrize_with_checks([SphereEmbedding(), SphereEmbedding(goal="median"), EnclosingBall(), BallDetector(),
                          BallDetector(kernel="rbf"), SketchTransformer(bits=16), Neighbors(),
                          KNeighborsTransformer(), RadiusNeighborsTransformer()])
def test_sklearns_own_checks(estimator, check):
    check(estimator)


def test_a_ball_is_linear_behind_the_sphere(rng):
    x = rng.normal(size=(600, 3))
    y = np.linalg.norm(x - 0.5, axis=1) < 1.3
    pipe = Pipeline([("sphere", SphereEmbedding()), ("linear", LogisticRegression(C=1e4, max_iter=1000))])
    grid = GridSearchCV(pipe, {"sphere__goal": ["mean", "spread"], "sphere__center": [True, False]}, cv=3).fit(x, y)
    assert grid.best_score_ > 0.95 > LogisticRegression().fit(x, y).score(x, y)


def test_names_pickles_clones(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
    fitted = SphereEmbedding().set_output(transform="pandas").fit(frame)
    assert list(fitted.transform(frame).columns) == [f"sphereembedding{i}" for i in range(4)]
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
    assert clone(fitted).get_params() == fitted.get_params()


def test_partial_fit_does_not_see_the_cut(rng):
    x = rng.normal(size=(900, 4))
    one = SphereEmbedding().partial_fit(x)
    many = SphereEmbedding()
    for part in np.array_split(x, 7):
        many.partial_fit(part)
    many = pickle.loads(pickle.dumps(many))
    assert one.map_.to_json() == many.map_.to_json() == SphereEmbedding().fit(x).map_.to_json()


OUTLIERS = ["breastw", "cardio", "cifar10-0-resnet18", "ionosphere", "letter", "mammography", "satellite", "shuttle"]


@pytest.mark.parametrize("name", OUTLIERS)
def test_detectors_scores_are_the_commands(name, shared, command, tmp_path):
    """Every bit of them, on real outliers; the first rows of large sets."""
    x = np.load(shared / f"outlier-{name}" / "base.npy")[:2000, :64]
    np.save(tmp_path / "x.npy", x)
    detector = BallDetector(nu=0.1, whiten=True, ridge=1e-6).fit(x)
    for words in (["ball", "x.npy", "-o", "ball.json", "--nu", "0.1", "--whiten", "--ridge", "1e-6", "-q"],
                  ["score", "-m", "ball.json", "x.npy", "-o", "scores.npy", "-q"]):
        subprocess.run([command, *words], check=True, cwd=tmp_path)
    np.testing.assert_array_equal(detector.score_samples(x), np.load(tmp_path / "scores.npy").ravel())


def test_neighbours_without_themselves(rng):
    from sklearn.neighbors import NearestNeighbors

    x = rng.normal(size=(100, 3))
    ours, theirs = Neighbors(4).fit(x), NearestNeighbors(n_neighbors=4).fit(x)
    np.testing.assert_array_equal(ours.kneighbors(return_distance=False), theirs.kneighbors(return_distance=False))
    np.testing.assert_array_equal(ours.kneighbors_graph(x).toarray(), theirs.kneighbors_graph(x).toarray())


def test_graphs_of_neighbours_go_into_estimators(rng):
    cluster, neighbors = pytest.importorskip("sklearn.cluster"), pytest.importorskip("sklearn.neighbors")
    x = np.concatenate([rng.normal(size=(150, 40)), rng.normal(size=(100, 40)) + 5])
    for ours, theirs in ((KNeighborsTransformer(n_neighbors=7), neighbors.KNeighborsTransformer(n_neighbors=7)),
                         (RadiusNeighborsTransformer(radius=8.5), neighbors.RadiusNeighborsTransformer(radius=8.5))):
        graph, wanted = ours.fit_transform(x), theirs.fit_transform(x)
        assert graph.nnz == wanted.nnz
        np.testing.assert_allclose(graph.toarray(), wanted.toarray(), rtol=1e-7, atol=1e-5)  # theirs are off by that near 0
    graph = RadiusNeighborsTransformer(radius=8.5).fit_transform(x)
    labels = cluster.DBSCAN(eps=8.5, metric="precomputed").fit(graph).labels_
    np.testing.assert_array_equal(labels, cluster.DBSCAN(eps=8.5).fit(x).labels_)
    graph = KNeighborsTransformer(n_neighbors=21).fit_transform(x)
    scores = neighbors.LocalOutlierFactor(n_neighbors=20, metric="precomputed").fit(graph).negative_outlier_factor_
    np.testing.assert_allclose(scores, neighbors.LocalOutlierFactor(n_neighbors=20).fit(x).negative_outlier_factor_)
