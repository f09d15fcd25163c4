"""Linear methods on the sphere, read as regions of the data: they agree with the method on every row."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
    SGDOneClassSVM,
)
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import capball
from capball.sklearn import BallClassifier, SphereEmbedding

SETS = {
    "rings": lambda: make_circles(400, noise=0.1, factor=0.5, random_state=0),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "one digit against all": lambda: (load_digits().data, load_digits().target == 8),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
}
ESTIMATORS = [LinearSVC(), LogisticRegression(C=10, max_iter=1000), SGDClassifier(random_state=0), RidgeClassifier(),
              LinearDiscriminantAnalysis(), Perceptron(), OneVsRestClassifier(LogisticRegression())]


def assert_agrees(region, decided, x):
    """Inside where the decision is >= 0, but for rows that lie on the boundary to rounding."""
    scale = np.abs(decided).max()
    clear = np.abs(decided) > 1e-9 * scale
    assert clear.mean() > 0.99
    np.testing.assert_array_equal((region.scores(x) >= 0)[clear], (decided >= 0)[clear])


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_regions_are_where_the_method_decides(name, estimator):
    x, y = SETS[name]()
    model = make_pipeline(StandardScaler(), SphereEmbedding(), estimator).fit(x, y)
    regions, decided = capball.ball_of(model), model.decision_function(x)
    if decided.ndim == 1:
        np.testing.assert_array_equal(regions.scores(x) >= 0, model.predict(x) == model.classes_[1])
        return
    assert list(regions) == list(model.classes_)
    for label, column in zip(model.classes_, decided.T):
        assert_agrees(regions[label], column, x)
    first, second = model.classes_[:2]
    assert_agrees(capball.ball_of(model, between=(first, second)), decided[:, 0] - decided[:, 1], x)


@pytest.mark.parametrize("before", [[], [RobustScaler()], [MinMaxScaler()], [MaxAbsScaler()], [PCA()], [PCA(whiten=True)],
                                    [StandardScaler(with_mean=False)], [StandardScaler(with_std=False)],
                                    [StandardScaler(), PCA(), RobustScaler()]], ids=str)
@pytest.mark.parametrize("whiten", [False, True])
def test_scalers_before_and_between(before, whiten):
    x, y = load_wine(return_X_y=True)
    sphere = SphereEmbedding(whiten=whiten, ridge=0.01)
    model = make_pipeline(*before, sphere, StandardScaler(), LogisticRegression()).fit(x, y == 1)
    region = capball.ball_of(model)
    np.testing.assert_array_equal(region.scores(x) >= 0, model.predict(x))
    assert isinstance(region, capball.Ellipsoid if before or whiten else capball.Ball)


def test_kinds_of_regions(rng):
    x = rng.normal(size=(400, 2))
    near = np.linalg.norm(x - 0.3, axis=1) < 1
    inside = capball.ball_of(make_pipeline(SphereEmbedding(), LogisticRegression(C=1e4)).fit(x, near))
    outside = capball.ball_of(make_pipeline(SphereEmbedding(), LogisticRegression(C=1e4)).fit(x, ~near))
    assert isinstance(inside, capball.Ball) and not inside.outside and outside.outside
    np.testing.assert_allclose([*inside.c, inside.r], [0.3, 0.3, 1], atol=0.1)
    sphere = capball.fit(x)
    flat = LinearRegression().fit(sphere.embed(x), x[:, 0])
    flat.coef_, flat.intercept_ = np.array([1.0, 0, 0]), 0.0  # <e_1,y> >= 0 is x_1 >= m_1
    half = capball.ball_of(flat, sphere)
    assert isinstance(half, capball.HalfSpace)
    np.testing.assert_array_equal(half.scores(x) >= 0, x[:, 0] >= sphere.center[0])
    flat.coef_ = np.zeros(3)
    assert capball.ball_of(flat, sphere).scores(x[:1])[0] == np.inf
    assert capball.ball_of(flat, sphere, threshold=1.0).scores(x[:1])[0] == -np.inf


def test_thresholds_searches_and_one_class(rng):
    x = rng.normal(size=(300, 3))
    value = -np.linalg.norm(x, axis=1)
    model = make_pipeline(SphereEmbedding(), LinearRegression()).fit(x, value)
    assert_agrees(capball.ball_of(model, threshold=-1.5), model.predict(x) + 1.5, x)
    search = GridSearchCV(make_pipeline(SphereEmbedding(), LogisticRegression()), {"logisticregression__C": [1, 100]})
    search.fit(x, value > -1.5)
    np.testing.assert_array_equal(capball.ball_of(search).scores(x) >= 0, search.predict(x))
    alone = make_pipeline(SphereEmbedding(), SGDOneClassSVM(random_state=0)).fit(x)
    assert_agrees(capball.ball_of(alone), alone.decision_function(x), x)


def test_what_has_no_ball_is_refused_with_a_sentence():
    x, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="no SphereEmbedding"):
        capball.ball_of(make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y))
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        capball.ball_of(make_pipeline(SphereEmbedding(), SVC(kernel="linear")).fit(x, y))
    with pytest.raises(TypeError, match="coef_"):
        capball.ball_of(make_pipeline(SphereEmbedding(), SVC()).fit(x, y))
    with pytest.raises(TypeError, match=r"not step 'polynomialfeatures' \(PolynomialFeatures\)"):
        capball.ball_of(make_pipeline(PolynomialFeatures(), SphereEmbedding(), LogisticRegression()).fit(x, y))
    with pytest.raises(ValueError, match=r"step 'minmaxscaler' \(MinMaxScaler\): .*clip"):
        capball.ball_of(make_pipeline(MinMaxScaler(clip=True), SphereEmbedding(), LogisticRegression()).fit(x, y))
    with pytest.raises(ValueError, match="takes 5 columns"):
        capball.ball_of(LogisticRegression().fit(SphereEmbedding().fit_transform(x), y), capball.SphereMap(7, 1.0))
    model = make_pipeline(SphereEmbedding(), LogisticRegression()).fit(x, y)
    with pytest.raises(ValueError, match="none of the classes"):
        capball.ball_of(model, between=(0, 9))


@pytest.mark.parametrize("name", SETS)
def test_classifier(name):
    x, y = SETS[name]()
    model = BallClassifier().fit(x, y)
    assert list(model.regions_) == list(model.classes_) == list(np.unique(y))
    if len(model.classes_) == 2:
        first, second = (model.regions_[label].scores(x) >= 0 for label in model.classes_)
        np.testing.assert_array_equal(second, model.predict(x) == model.classes_[1])
        np.testing.assert_array_equal(first, ~second)
    assert model.predict_proba(x).shape == (len(x), len(model.classes_))
    assert not hasattr(BallClassifier(LinearSVC()), "predict_proba")


def test_a_ball_where_a_plane_fails():
    x, y = SETS["rings"]()
    plane, ball = LogisticRegression().fit(x, y), BallClassifier(standardize=False).fit(x, y)
    assert plane.score(x, y) < 0.6 and ball.score(x, y) > 0.98
    assert isinstance(ball.regions_[1], capball.Ball) and ball.regions_[0].outside
    np.testing.assert_allclose(ball.regions_[1].c, 0, atol=0.1)


def test_layers_of_torch():
    torch = pytest.importorskip("torch")
    from capball.torch import CapLinear, Sphere

    net = torch.nn.Sequential(Sphere(s=2.0), CapLinear(3, 4)).double()
    x = torch.randn(500, 3, dtype=torch.float64)
    decided = net(x).detach().numpy()
    for region, column in zip(capball.ball_of(net), decided.T):
        assert_agrees(region, column, x.numpy())
