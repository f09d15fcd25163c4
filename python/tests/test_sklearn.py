import _thread
import pickle
import subprocess
import threading
import time
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import capball
from capball.sklearn import (
    BallClassifier,
    BallDetector,
    EnclosingBall,
    KNeighborsTransformer,
    Neighbors,
    RadiusNeighborsTransformer,
    SketchTransformer,
    SphereEmbedding,
)


GROUPS = {name: "the first centres are drawn: repeated rows draw others than weights" for name in
          ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")}


@parametrize_with_checks([SphereEmbedding(), SphereEmbedding(goal="median"), EnclosingBall(), BallDetector(),
                          BallDetector(kernel="rbf"), BallDetector(contamination=None, nu=0.1), BallDetector(balls=2), BallClassifier(),
                          SketchTransformer(bits=16), Neighbors(),
                          KNeighborsTransformer(), RadiusNeighborsTransformer()],
                         expected_failed_checks=lambda estimator: GROUPS if getattr(estimator, "balls", 1) > 1 else {})
def test_sklearns_own_checks(estimator, check):
    check(estimator)


def test_a_ball_is_linear_behind_the_sphere(rng):
    x = rng.normal(size=(600, 3))
    y = np.linalg.norm(x - 0.5, axis=1) < 1.3
    pipe = Pipeline([("sphere", SphereEmbedding()), ("linear", LogisticRegression(C=1e4, max_iter=1000))])
    grid = GridSearchCV(pipe, {"sphere__goal": ["mean", "spread"], "sphere__center": [True, False]}, cv=3).fit(x, y)
    assert grid.best_score_ > 0.95 > LogisticRegression().fit(x, y).score(x, y)


def test_ctrl_c_ends_a_fit_of_several_balls(rng):
    x = rng.normal(size=(100000, 16)) + rng.integers(0, 20, size=(100000, 1))  # for minutes
    threading.Timer(0.5, _thread.interrupt_main).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        BallDetector(balls=100).fit(x)
    assert time.monotonic() - begun < 5


def test_a_fit_of_several_balls_tells_its_progress(rng, capsys):
    x = rng.normal(size=(2000, 4))
    told = []
    capball.svdd(x, 0.5, balls=5, progress=told.append)
    assert len(told) > 20 and told == sorted(told) and told[-1] == 1
    pytest.importorskip("tqdm")
    BallDetector(balls=5, verbose=True).fit(x)
    assert "svdd" in capsys.readouterr().err


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


RECIPES = {"robust": ["--robust"], "whitened": ["--standardize", "--whiten", "--ridge", "0.1", "--nu", "0.9"]}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", OUTLIERS)
def test_detectors_scores_are_the_commands(name, recipe, shared, command, tmp_path):
    """The defaults are the recommended recipe: every bit of the scores, on real outliers; the first rows of large sets."""
    x = np.load(shared / f"outlier-{name}" / "base.npy")[:2000, :64]
    np.save(tmp_path / "x.npy", x)
    detector = BallDetector(recipe=recipe if recipe != "robust" else None).fit(x)
    for words in (["ball", "x.npy", "-o", "ball.json", *RECIPES[recipe], "-q"],
                  ["score", "-m", "ball.json", "x.npy", "-o", "scores.npy", "-q"]):
        subprocess.run([command, *words], check=True, cwd=tmp_path)
    np.testing.assert_array_equal(detector.score_samples(x), np.load(tmp_path / "scores.npy").ravel())


def planted(rng, n=3000):
    """Three columns in different units, two of which depend on each other, and 30 rows that break one of the rules."""
    height = rng.normal(170, 9, n)
    x = np.stack([height, 0.9 * height - 85 + rng.normal(0, 5, n), rng.lognormal(10, 0.4, n)], axis=1)
    strange = np.arange(0, n, n // 30)
    x[strange, 1] += np.where(strange % 200 == 0, 45, -45)
    return x, np.isin(np.arange(n), strange)


def test_columns_in_different_units_and_reasons(rng):
    pandas = pytest.importorskip("pandas")
    from sklearn.metrics import roc_auc_score

    x, truth = planted(rng)
    frame = pandas.DataFrame(x, columns=["height", "weight", "income"])
    detector = BallDetector(contamination=0.01).fit(frame)
    assert roc_auc_score(truth, -detector.score_samples(frame)) > 0.98
    assert (detector.predict(frame) == -1).sum() == 30
    worst = int(np.argmin(detector.score_samples(frame)))
    reason = detector.why(frame.iloc[[worst]], top=1)[0][0]
    assert reason.column in ("weight", "height") and reason.value == frame.iloc[worst][reason.column]
    assert detector.model_.columns == ["height", "weight", "income"]


@pytest.fixture
def people(rng):
    pandas = pytest.importorskip("pandas")
    height = rng.normal(170, 9, 400)
    return pandas.DataFrame({"name": [f"r{i}" for i in range(400)], "height": height, "weight": height - 100 + rng.normal(0, 5, 400),
                             "day": pandas.Timestamp("2020-02-03"), "children": pandas.array([1, 2] * 200, dtype="Int64")})


def test_columns_of_text_are_left_out(people):
    numbers = people[["height", "weight", "children"]]
    with pytest.warns(UserWarning, match="left out: name, day$"):
        detector = BallDetector().fit(people)
    assert list(detector.feature_names_in_) == ["height", "weight", "children"]
    np.testing.assert_array_equal(detector.score_samples(people), BallDetector().fit(numbers).score_samples(numbers))
    with pytest.raises(ValueError, match=r"column name: 400 cells are not numbers, the first in row 0: 'r0'"):
        SphereEmbedding().fit(people)


def test_all_problems_of_a_table_are_named(people):
    people = people.astype({"weight": object})
    people.loc[3, "height"], people.loc[[5, 7], "children"], people.loc[9, "weight"] = np.inf, None, "much"
    with pytest.warns(UserWarning, match="left out"), pytest.raises(ValueError) as told:
        BallDetector().fit(people)
    assert str(told.value).splitlines()[:3] == [
        "column height: the cell of row 3 is inf", "column weight: the cell of row 9 is not a number: 'much'",
        "column children: 2 cells are empty or NaN, the first in row 5"]
    with pytest.raises(ValueError, match="column x1: the cell of row 2 is empty or NaN"):
        BallDetector().fit(np.array([[0.0, 1], [1, 2], [3, np.nan]]))


def test_reasons_of_one_row(people):
    with pytest.warns(UserWarning, match="left out"):
        detector = BallDetector().fit(people)
    wanted = detector.why(people.iloc[[7]])
    assert detector.why(people.iloc[7]) == wanted and len(wanted) == 1
    numbers = people[["height", "weight", "children"]].iloc[7].astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, about rows without names
        assert detector.why(numbers.to_numpy()) == detector.why(list(numbers)) == wanted


@pytest.mark.parametrize("options", [dict(), dict(whiten=False), dict(whiten=False, standardize=False), dict(balls=3)])
def test_shares_of_the_reasons_are_of_the_distance(options, rng):
    x, _ = planted(rng, 300)
    detector = BallDetector(**options).fit(x)
    model = detector.model_
    W = np.eye(3) if model.whiten is None else model.whiten
    centers = model.center[None] if model.centers is None else model.centers
    assert model.balls == options.get("balls", 1) or model.balls > 1
    for row, reasons, score in zip(x, detector.why(x, top=3), detector.score_samples(x)):
        distances = ((row - centers) @ W.T) ** 2
        nearest = np.argmin(distances.sum(axis=1))
        np.testing.assert_allclose(score, model.radius**2 - distances[nearest].sum(), rtol=1e-9, atol=1e-9 * model.radius**2)
        np.testing.assert_allclose(sum(r.share for r in reasons), 1)
        assert [r.share for r in reasons] == sorted((r.share for r in reasons), reverse=True)
        z = row - centers[nearest]
        part = (z * (W.T @ W @ z))[int(reasons[0].column[1:])]
        np.testing.assert_allclose(reasons[0].share, part / distances[nearest].sum())
        assert reasons[0].center == centers[nearest][int(reasons[0].column[1:])]


@pytest.mark.parametrize("rows", [60, 700, 5000])
def test_ranks_are_those_of_the_scores(rows, rng):
    x = rng.standard_t(2, size=(rows, 3))  # a long tail: scores far apart at its end
    detector = BallDetector().fit(x)
    ranks = np.sort(detector.ranks(x))
    np.testing.assert_allclose(ranks, np.arange(rows) / (rows - 1), atol=0.01 if rows < 101 else 0.001)


def test_ridge_knows_no_units(rng):
    x, _ = planted(rng, 300)
    scaled = x * [1e6, 1e-6, 1.0]
    one, other = (BallDetector(standardize=False, ridge=0.3).fit(rows).score_samples(rows) for rows in (x, scaled))
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_several_balls(rng, tmp_path):
    """Rows between clouds are strange to several balls, and ordinary to one."""
    import capball

    x = np.concatenate([rng.normal(size=(100, 2)) + shift for shift in ([0, 9], [9, 0], [-9, 0], [0, -9])])
    one, four = BallDetector(balls=1).fit(x), BallDetector(balls=4).fit(x)
    assert one.ranks([[0.0, 0.0]])[0] > 0.9 and four.ranks([[0.0, 0.0]])[0] == 0
    model = four.model_
    assert model.balls == 4 and sum(model.ball_rows) == 300 and (model.ball_gaps <= 1e-9).all()  # of the rows that look most ordinary
    assert sorted(BallDetector(balls=4, recipe="whitened").fit(x).model_.ball_rows) == [100] * 4
    inside = np.any([region.scores(x) >= 0 for region in model.regions], axis=0)
    np.testing.assert_array_equal(inside, model.scores(x) >= 0)
    model.save(tmp_path / "balls.json")
    again = capball.BallModel.load(tmp_path / "balls.json")
    np.testing.assert_array_equal(again.scores(x), model.scores(x))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).centers, model.centers)
    assert model.to_sql().count("<=") == 4
    with pytest.raises(ValueError, match="no cap"):
        model.cap
    with pytest.raises(ValueError, match="take regions"):
        model.region
    with pytest.raises(ValueError, match="kernel"):
        BallDetector(balls=2, kernel="rbf").fit(x)
    with pytest.raises(ValueError, match="5 rows for 9 balls"):
        BallDetector(balls=9).fit(x[:5])


def test_contamination_is_the_share_of_outliers(rng):
    x = rng.normal(size=(1000, 3))
    for share in (0.01, 0.1, 0.5):
        assert (BallDetector(contamination=share).fit_predict(x) == -1).sum() == 1000 * share
    weights = np.r_[np.ones(900), np.zeros(100)]
    weighted = BallDetector(contamination=0.1).fit(x, sample_weight=weights)
    assert (weighted.predict(x[:900]) == -1).sum() == 90
    ball = BallDetector(contamination=None, nu=0.1).fit(x)
    np.testing.assert_array_equal(ball.predict(x) == 1, ball.model_.scores(x) >= -1e-9 * ball.radius_**2)
    with pytest.raises(ValueError, match="contamination"):
        BallDetector(contamination=0.9).fit(x)


def test_a_quarter_of_outliers_does_not_move_the_robust_recipe(rng):
    """The default finds them all; the recipe of 0.3 takes many for ordinary; notes_ say what was done."""
    x = rng.normal(size=(1000, 4))
    x[:250] = 6 + 0.3 * x[:250]
    robust, whitened = BallDetector().fit(x), BallDetector(recipe="whitened").fit(x)
    assert set(np.argsort(robust.score_samples(x))[:250]) == set(range(250))
    assert np.linalg.norm(robust.center_) < 0.3 < np.linalg.norm(whitened.center_)
    assert robust.model_.robust and "of 1000 rows that look most ordinary" in robust.notes_[0]
    assert whitened.notes_ == [] and not whitened.model_.robust
    names = BallDetector().fit(np.c_[x, np.ones(1000), rng.integers(0, 2, 1000)]).notes_
    assert any("constant" in note and note.endswith(": x4") for note in names) and any(note.endswith(": x5") for note in names)
    assert BallDetector(balls=2).fit(x[:300]).model_.robust
    for options in (dict(kernel="rbf"), dict(whiten=False), dict(standardize=False)):
        assert not BallDetector(**options).fit(x[:300]).model_.robust
    with pytest.raises(ValueError, match="recipe must be"):
        BallDetector(recipe="fried").fit(x)
    with pytest.raises(ValueError, match="a kernel does not go"):
        BallDetector(recipe="robust", kernel="rbf").fit(x)


def test_auto_takes_several_balls_for_clouds_and_says_why(rng):
    clouds = rng.normal(size=(2000, 5)) + 5 * rng.normal(size=(8, 5))[rng.integers(0, 8, 2000)]
    found = BallDetector(balls="auto").fit(clouds)
    assert found.model_.balls > 4 and any(note.startswith("16 balls: 8 groups tell rows") for note in found.notes_)
    one = BallDetector(balls="auto").fit(rng.normal(size=(2000, 5)) @ rng.normal(size=(5, 5)))
    assert one.model_.balls == 1 and any(note.startswith("one ball: 8 groups tell rows") for note in one.notes_)
    new = rng.normal(size=(500, 5)) * 30
    assert (found.predict(new, alpha=0.01) == -1).mean() > 0.8
    with pytest.raises(ValueError, match='balls must be a number or "auto"'):
        BallDetector(balls="many").fit(clouds)
    with pytest.raises(ValueError, match="robust fits only"):
        BallDetector(balls="auto", recipe="whitened").fit(clouds)


def test_reasons_say_what_would_be_ordinary(rng):
    x = rng.normal(size=(1000, 3)) * [1, 10, 100] + [0, 50, 500]
    x[7] = [0, 50, 2000]
    detector = BallDetector(contamination=0.01).fit(x)
    reason = detector.why(x[7], top=1)[0][0]
    assert reason.column == "x2" and 0 < reason.least < 500 < reason.most < 1000
    for value, verdict in ((reason.least, 1), (reason.most, 1), (reason.least - 1, -1), (reason.most + 1, -1)):
        assert detector.predict([[0, 50, value]])[0] == verdict
    hopeless = detector.why([[99, 50, 2000]], top=2)[0]
    assert hopeless[0].least == hopeless[0].most


def test_p_values_hold_on_new_rows(rng, command, tmp_path):
    """The share of new rows with p <= alpha is about alpha; verdicts are the command's; no calibration, no p-values."""
    x, new = rng.normal(size=(3000, 3)), rng.normal(size=(5000, 3))
    new[:50] += 9
    detector = BallDetector(contamination=0.05).fit(x)
    p = detector.p_values(new)
    for alpha in (0.01, 0.05, 0.1):
        assert abs((p[50:] <= alpha).mean() - alpha) < 4 * np.sqrt(alpha / detector.model_.calibrated)  # of one draw
        np.testing.assert_array_equal(detector.predict(new, alpha=alpha) == -1, p <= alpha)
    found = detector.predict(new, fdr=0.1) == -1
    assert found[:50].all() and found[50:].sum() < 20
    assert abs((detector.predict(new[50:]) == -1).mean() - detector.new_share_) < 0.02
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).p_values(new), p)
    detector.model_.save(tmp_path / "ball.json")
    np.save(tmp_path / "new.npy", new)
    for words, verdicts in ((["--alpha", "0.05"], detector.predict(new, alpha=0.05)), (["--fdr", "0.1"], detector.predict(new, fdr=0.1))):
        score = [command, "score", "-m", "ball.json", "new.npy", "-q", *words]
        subprocess.run([*score, "-o", "p.npy"], check=True, cwd=tmp_path)
        subprocess.run([*score, "-o", "verdicts.npy", "--predict"], check=True, cwd=tmp_path)
        np.testing.assert_array_equal(np.load(tmp_path / "p.npy")[:, 1], p)
        np.testing.assert_array_equal(np.load(tmp_path / "verdicts.npy").ravel(), verdicts)
    plain = BallDetector(calibrate=False).fit(x)
    assert plain.new_share_ is None
    np.testing.assert_array_equal(plain.score_samples(new), detector.score_samples(new))
    with pytest.raises(ValueError, match="no p-values"):
        plain.predict(new, alpha=0.1)
    with pytest.raises(ValueError, match="one of the two"):
        detector.predict(new, alpha=0.1, fdr=0.1)
    for wrong in (dict(alpha=0), dict(alpha=1.5), dict(fdr=0), dict(fdr=1)):
        with pytest.raises(ValueError, match="must lie in"):
            detector.predict(new, **wrong)


def test_the_threshold_is_that_of_the_model(rng, tmp_path):
    x = rng.integers(0, 3, size=(200, 2)).astype(float)  # many rows tie
    for detector in (BallDetector(contamination=0.3), BallDetector(contamination=None, nu=0.2), EnclosingBall()):
        verdicts = detector.fit(x).predict(x)
        assert detector.offset_ == detector.model_.threshold
        detector.model_.save(tmp_path / "model.json")
        model = capball.BallModel.load(tmp_path / "model.json")
        np.testing.assert_array_equal(model.verdicts(model.scores(x)), verdicts)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).predict(x), verdicts)
    older = pickle.loads(pickle.dumps(detector.model_.with_threshold(0)))
    detector.__setstate__({**detector.__dict__, "model_": older, "offset_": -0.5})  # as of 0.3: the threshold beside the model
    assert detector.model_.threshold == -0.5
    model = capball.svdd(x, 0.9, contamination=0.1)
    assert (model.verdicts(model.scores(x)) == -1).mean() <= 0.1 and capball.svdd(x, 0.9).threshold == 0
    np.testing.assert_array_equal(model.verdicts([model.threshold, np.nextafter(model.threshold, -np.inf), np.nan]), [1, -1, -1])
    with pytest.raises(ValueError, match="threshold must be finite, got inf"):
        model.with_threshold(np.inf)


def test_neighbours_check_their_metric_when_fitted(rng):
    with pytest.raises(ValueError, match="one of l2, euclidean, cosine, ip, got 'manhattan'"):
        Neighbors(metric="manhattan").fit(rng.normal(size=(9, 2)))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_are_those_of_scikit_learn(rng, metric):
    cluster, neighbors = pytest.importorskip("sklearn.cluster"), pytest.importorskip("sklearn.neighbors")
    centers = rng.normal(size=(4, 40))
    x = np.repeat(centers, 60, axis=0) + 0.1 * rng.normal(size=(240, 40))
    radius = 0.1 if metric == "cosine" else 2.0
    ours, theirs = (kind(n_neighbors=5, radius=radius, metric=metric).fit(x)
                    for kind in (Neighbors, neighbors.NearestNeighbors))
    for asked in (None, x[:20]):
        for found, wanted in zip(ours.kneighbors(asked), theirs.kneighbors(asked)):
            np.testing.assert_allclose(found, wanted, atol=1e-6)
        for name in ("kneighbors_graph", "radius_neighbors_graph"):
            found, wanted = (getattr(it, name)(asked, mode="distance").toarray() for it in (ours, theirs))
            np.testing.assert_allclose(found, wanted, atol=1e-6)
        for found, wanted in zip(ours.radius_neighbors(asked)[0], theirs.radius_neighbors(asked)[0]):
            np.testing.assert_allclose(found, np.sort(wanted), atol=1e-6)
    graph = ours.radius_neighbors_graph(x, mode="distance")
    labels = cluster.DBSCAN(eps=radius, metric="precomputed").fit(graph).labels_
    np.testing.assert_array_equal(labels, cluster.DBSCAN(eps=radius, metric=metric).fit(x).labels_)
    assert set(labels) == {0, 1, 2, 3}


def test_inner_products_are_not_distances(rng):
    products = Neighbors(3, metric="ip").fit(rng.normal(size=(20, 4)))
    assert products.kneighbors_graph().nnz == 60
    with pytest.raises(ValueError, match="not distances"):
        products.kneighbors_graph(mode="distance")


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
