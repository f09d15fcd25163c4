"""BallClassifier: several balls per class, sparse rows, rows in pieces, weights."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
from scipy.sparse import csr_array, csr_matrix, random as random_sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_circles, make_moons
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import capball
from capball.sklearn import BallClassifier, SphereEmbedding


def test_several_balls_where_one_fails():
    x, y = make_moons(400, noise=0.2, random_state=0)
    one, four, kernel = (cross_val_score(m, x, y, cv=5).mean() for m in (BallClassifier(), BallClassifier(balls_per_class=4, random_state=0),
                                                                         make_pipeline(StandardScaler(), SVC())))
    assert four > one + 0.05 and four > kernel - 0.02
    model = BallClassifier(balls_per_class=4, random_state=0).fit(x, y)
    assert len(model.model_.w) == 8 and model.balls_ == 4 and [len(r.planes) for r in model.regions_.values()] == [4, 4]
    np.testing.assert_array_equal(model.predict(x), model.pipeline_.predict(x))
    np.testing.assert_allclose(model.predict_proba(x), model.pipeline_.predict_proba(x), atol=1e-12)
    assert capball.ball_of(model) is model.regions_


def test_small_classes_have_fewer_balls():
    x, y = load_iris(return_X_y=True)
    keep = np.concatenate([np.arange(50), [50, 51, 52], np.arange(100, 112)])
    model = BallClassifier(balls_per_class=8, random_state=0).fit(x[keep], y[keep])
    assert [int((model.model_.owners == c).sum()) for c in range(3)] <= [8, 1, 2]
    assert model.score(x[keep], y[keep]) > 0.95


def test_auto_takes_what_is_best_in_folds():
    x, y = make_moons(300, noise=0.2, random_state=0)
    model = BallClassifier(balls_per_class="auto", random_state=0).fit(x, y)
    assert model.balls_ > 1 and model.choice_[model.balls_, model.C_] == max(model.choice_.values())
    again = BallClassifier(balls_per_class="auto", random_state=0).fit(x, y)
    assert again.model_.to_json() == model.model_.to_json()
    x, y = make_circles(300, noise=0.1, factor=0.5, random_state=0)
    assert BallClassifier(balls_per_class="auto", random_state=0).fit(x, y).score(x, y) > 0.98


def test_the_bar_of_auto(capsys):
    pytest.importorskip("tqdm")
    x, y = load_iris(return_X_y=True)
    BallClassifier(balls_per_class="auto", verbose=True).fit(x, y)
    assert "balls" in capsys.readouterr().err


@pytest.mark.parametrize("settings, message", [({"balls_per_class": 0}, "auto"), ({"balls_per_class": True}, "auto"),
                                               ({"balls_per_class": "many"}, "auto"), ({"C": -1}, "C must be > 0"),
                                               ({"balls_per_class": 2, "estimator": LinearSVC()}, "estimator=None")])
def test_what_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        BallClassifier(**settings).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("matrix", [csr_matrix, csr_array])
@pytest.mark.parametrize("settings", [{}, {"balls_per_class": 2, "random_state": 0}, {"standardize": False}, {"estimator": LinearSVC()}], ids=str)
def test_sparse_rows(matrix, settings):
    rng = np.random.default_rng(0)
    x = random_sparse(300, 40, 0.1, random_state=0, data_rvs=lambda n: rng.exponential(size=n)).toarray()
    y = (np.sum(x * x, axis=1) > np.median(np.sum(x * x, axis=1))).astype(int)
    sparse = BallClassifier(**settings).fit(matrix(x), y)
    assert sparse.score(matrix(x), y) > 0.9
    np.testing.assert_array_equal(sparse.decision_function(matrix(x)), sparse.decision_function(x))
    for region in sparse.regions_.values():
        np.testing.assert_array_equal(region.scores(matrix(x)) >= 0, region.scores(x) >= 0)


def test_sparse_images():
    x = random_sparse(50, 7, 0.3, random_state=0).tocsr()
    sphere = SphereEmbedding(center=False).fit(x)
    images = sphere.transform(x)
    assert images.nnz <= x.nnz + 50
    np.testing.assert_allclose(images.toarray(), SphereEmbedding(center=False).fit_transform(x.toarray()), atol=1e-14)
    with pytest.raises(ValueError, match="center=False"):
        SphereEmbedding().fit(x)
    with pytest.raises(ValueError, match="centre"):
        SphereEmbedding().fit(x.toarray()).transform(x)


@pytest.mark.parametrize("estimator", [None, SGDClassifier(alpha=1e-5, random_state=0), Perceptron(random_state=0)], ids=str)
def test_partial_fit(estimator):
    x, y = make_circles(6000, noise=0.1, factor=0.5, random_state=0)
    model = BallClassifier(estimator, standardize=False)
    for part in range(6):
        rows = slice(1000 * part, 1000 * (part + 1))
        model.partial_fit(x[rows], y[rows], classes=[0, 1])
    assert model.score(x, y) > 0.97 and model.model_.rows == 6000
    np.testing.assert_array_equal(model.regions_[1].scores(x) >= 0, model.predict(x) == 1)
    with pytest.raises(ValueError, match="one ball per class"):
        BallClassifier(balls_per_class=2).partial_fit(x, y)


def test_class_weights_and_sample_weights():
    x, y = make_circles(600, noise=0.25, factor=0.6, random_state=0)
    keep = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:40]])
    x, y = x[keep], y[keep]
    for balls in (1, 2):
        plain, balanced = (BallClassifier(balls_per_class=balls, class_weight=w, random_state=0).fit(x, y) for w in (None, "balanced"))
        assert (balanced.predict(x) == 1).sum() > (plain.predict(x) == 1).sum()
    twice = BallClassifier().fit(np.concatenate([x, x[:100]]), np.concatenate([y, y[:100]]))
    weighted = BallClassifier().fit(x, y, sample_weight=1.0 + (np.arange(len(x)) < 100))
    np.testing.assert_allclose(weighted.predict_proba(x), twice.predict_proba(x), atol=1e-4)
    given = BallClassifier(LogisticRegression(), class_weight={0: 1, 1: 5}).fit(x, y)
    assert given.pipeline_[-1].class_weight == {0: 1, 1: 5}


def test_pickles_and_clones():
    x, y = load_iris(return_X_y=True)
    model = BallClassifier(balls_per_class=2, random_state=0).fit(x, y)
    model.regions_
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict_proba(x), model.predict_proba(x))
    assert list(back.regions_) == [0, 1, 2]
    assert clone(model).get_params() == model.get_params()


def test_names_reach_the_regions():
    pandas = pytest.importorskip("pandas")
    digits = load_digits(as_frame=True)
    model = BallClassifier().fit(digits.data, digits.target == 8)
    assert model.regions_[True].columns == list(digits.data.columns)
    assert "pixel_" in model.describe() and "pixel_" in model.regions_[True]._repr_html_()
    assert isinstance(model.model_._repr_html_(), str) and pandas is not None
