"""What docstrings claim is tested: claims.txt names the tests, and here are those that stand nowhere else."""

import ast
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import capball

FOLDER = Path(__file__).parent
MODULES = {"capball": "numpy", "capball.sklearn": "sklearn", "capball.pyod": "pyod", "capball.engines": "numpy", "capball.plots": "matplotlib",
           "capball.convert": "numpy"}
CLAIMS = [[part.strip() for part in line.rsplit(" | ", 1)[0].split(" | ", 1)] + [line.rsplit(" | ", 1)[1].split()]
          for line in (FOLDER / "claims.txt").read_text().splitlines() if line and not line.startswith("#")]


def public(module):
    """The classes and functions that a module offers as its own."""
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    for name in names:
        value = getattr(module, name)
        own = getattr(value, "__module__", "") == module.__name__ or module.__name__ == "capball" or hasattr(module, "__all__")
        if own and (inspect.isclass(value) or inspect.isfunction(value)) and value.__doc__:
            yield name


@pytest.mark.parametrize("name", MODULES)
def test_every_public_object_has_a_claim(name):
    pytest.importorskip(MODULES[name])
    missing = {f"{name}.{found}" for found in public(importlib.import_module(name))} - {".".join(claim[0].split(".")) for claim in CLAIMS}
    assert missing - {"capball.sklearn.detector_options"} == set()


@pytest.mark.parametrize("name", MODULES)
def test_the_words_of_the_claims_are_those_of_the_docstrings(name):
    pytest.importorskip(MODULES[name])
    module = importlib.import_module(name)
    for place, words, _ in CLAIMS:
        parts = place.removeprefix(name + ".").split(".")
        if not place.startswith(name + ".") or not hasattr(module, parts[0]):
            continue
        value = module
        for part in parts:
            value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
        text = inspect.getdoc(getattr(value, "__func__", None) or getattr(value, "fget", None) or value)
        assert words in " ".join((text or "").split()), place


def test_the_tests_of_the_claims_exist():
    tests = {f"{path.name}::{node.name}" for path in FOLDER.glob("test_*.py") for node in ast.parse(path.read_text()).body
             if isinstance(node, ast.FunctionDef)}
    assert {test for *_, named in CLAIMS for test in named} - tests == set()


# ---- claims without a test of their own elsewhere


def test_caps_and_whole_spaces():
    y = capball.SphereMap(2, 1.0).embed(np.random.default_rng(0).normal(size=(50, 2)))
    cap = capball.Cap(np.array([0.6, 0.0, 0.8]), 0.3)
    assert ((cap.scores(y) >= 0) == (y @ [0.6, 0.0, 0.8] >= 0.3)).all()
    sphere = capball.SphereMap(2, 1.0)
    whole, nothing = sphere.ball(capball.Cap(np.array([0.6, 0.0, 0.8]), -2.0)), sphere.ball(capball.Cap(np.array([0.6, 0.0, 0.8]), 2.0))
    x = np.random.default_rng(1).normal(size=(20, 2))
    assert isinstance(whole, capball.Everywhere) and (whole.scores(x) >= 0).all()
    assert isinstance(nothing, capball.Everywhere) and (nothing.scores(x) < 0).all()


def test_errors_have_classes():
    for error in (capball.DtypeError, capball.ShapeError, capball.OutOfMemory, capball.RowError, capball.InvalidValue, capball.FormatError):
        assert issubclass(error, capball.CapballError)
    with pytest.raises((capball.ShapeError, ValueError)):
        capball.knn(np.zeros((3, 2)), np.zeros((1, 3)))
    with pytest.raises((capball.DtypeError, TypeError)):
        capball.knn(np.array([["a", "b"]]), np.zeros((1, 2)))


def test_cosines_and_abid():
    x = np.random.default_rng(0).normal(size=(300, 3))
    z = x - x.mean(axis=0)
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    assert capball.abid(x) == pytest.approx(1 / np.mean((unit @ unit.T) ** 2), rel=0.05)
    flat = np.stack([x[:, 0], 0 * x[:, 0] + 1e-9 * x[:, 1]], axis=1)
    assert capball.abid(flat) < 1.1 < 2 < capball.abid(x)
    found = capball.cosines(x)
    assert np.isfinite(found.s) and len(found[1]) == len(found[2]) > 0 and (np.abs(found[1]) <= 1 + 1e-12).all()


def test_recommendation_follows_its_criterion():
    rows = np.random.default_rng(0).normal(size=(800, 6)) * np.linspace(1, 3, 6)
    for metric, allowed in (("l2", {"none", "sphere"}), ("ip", {"none", "sphere", "lift-ip", "lift-cosine"}),
                            ("cosine", {"none", "normalize", "sphere", "lift-cosine"})):
        for engine in ("float", "int8", "bits"):
            advice = capball.recommend(rows, engine=engine, metric=metric)
            same = [row for row in advice.rows if row.index == engine]
            assert {row.transform for row in advice.rows} == allowed and {row.metric for row in advice.rows} == {metric}
            best = min(same, key=lambda row: (row.candidates_for_99, -row.recall))
            near = [row for row in same if row.candidates_for_99 <= best.candidates_most]
            assert advice.pick in near
            top = max(near, key=lambda row: row.recall)
            assert advice.pick.recall >= top.recall - top.recall_error
    with pytest.raises(ValueError):
        capball.recommend(rows, metric="manhattan")


def test_a_base_in_blocks():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(500, 4)), rng.normal(size=(7, 4))
    search = capball.Search(queries, 5)
    for first in range(0, 500, 120):
        search.feed(rows[first:first + 120], first)
    assert (np.asarray(search.result().ids).reshape(7, 5) == capball.knn(rows, queries, 5).ids).all()


def test_codes():
    sklearn = pytest.importorskip("sklearn")
    from capball.sklearn import SketchTransformer

    assert sklearn is not None
    rows = np.random.default_rng(0).normal(size=(600, 8))
    sketch = capball.Sketch.fit(rows, bits=64)
    codes = sketch.encode(rows)
    exact = sketch.search(codes, rows[:20], 3, base=rows)
    assert (exact.ids[:, 0] == np.arange(20)).all() and np.allclose(exact.distances[:, 0], 0)
    assert np.allclose(exact.distances, np.linalg.norm(rows[exact.ids] - rows[:20, None], axis=2))
    bits = SketchTransformer(bits=64).fit_transform(rows)
    assert bits.shape == (600, 64) and set(np.unique(bits)) == {0, 1}


def test_lifts_keep_the_order():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(300, 5)) + 3, rng.normal(size=(9, 5)) + 3
    order = capball.knn(rows, queries, 10).ids
    for kind, metric in (("lift-ip", "ip"), ("lift-cosine", "cosine")):
        lift = capball.Transform.fit(kind, rows)
        found = capball.knn(lift.embed(rows), lift.query(queries), 10, metric=metric).ids
        assert (found == order).all()


def test_ranges():
    pytest.importorskip("sklearn")
    from capball.sklearn import Neighbors

    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(400, 3)), rng.normal(size=(6, 3))
    found = capball.range_search(rows, queries, 1.0)
    distances, ids = Neighbors().fit(rows).radius_neighbors(queries, 1.0)
    for i, query in enumerate(queries):
        true = np.linalg.norm(rows - query, axis=1)
        part = found.ids[found.lims[i]:found.lims[i + 1]]
        assert (part == found[i].ids).all() and set(part) == set(np.flatnonzero(true <= 1.0)) == set(ids[i])
        assert (np.diff(found[i].distances) >= 0).all() and (np.diff(distances[i]) >= 0).all()


def test_the_smallest_ball():
    pytest.importorskip("sklearn")
    from capball.sklearn import EnclosingBall

    rows = np.array([[0.0, 0], [4, 0], [2, 2], [2, 1]])
    ball = capball.enclosing_ball(rows)
    assert np.allclose(ball.center, [2, 0], atol=1e-6) and ball.radius == pytest.approx(2)
    assert 0 <= EnclosingBall().fit(rows).gap_ < 1e-6


def test_the_scale_is_the_mean_norm():
    rows = np.random.default_rng(0).normal(size=(200, 3)) + 5
    assert capball.fit(rows).s == pytest.approx(np.linalg.norm(rows - rows.mean(axis=0), axis=1).mean())


def test_candidates_are_rows():
    rows = np.arange(10.0)[:, None]
    sphere = capball.fit(rows)
    for ids in ([[0, 10]], [[0, -1]]):
        with pytest.raises(capball.InvalidValue, match=str(ids[0][1])):
            capball.rerank(rows, [[1.9]], ids, 1)
        with pytest.raises(capball.InvalidValue, match=str(ids[0][1])):
            capball.rescore(sphere, [[1.9]], ids, sphere.embed(rows), 1)
    for ids in ([[0.0, 1.0]], [[True, False]], [[0, 1], [1, 2]]):
        with pytest.raises(TypeError):
            capball.rerank(rows, [[1.9]], ids, 1)


def test_the_usual_radius():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(300, 3)), rng.normal(size=(51, 3))
    kth = capball.knn(rows, queries, 4).distances[:, -1]
    assert capball.usual_radius(capball.fit(rows), queries, rows, 4) == pytest.approx(np.median(kth))


def test_there_and_back():
    pytest.importorskip("sklearn")
    from capball.sklearn import SphereEmbedding

    rows = np.random.default_rng(0).normal(size=(100, 4))
    embedding = SphereEmbedding().fit(rows)
    images = embedding.transform(rows)
    assert np.allclose(np.linalg.norm(images, axis=1), 1) and np.allclose(embedding.inverse_transform(images), rows)


def test_weights_count_rows():
    pytest.importorskip("sklearn")
    from capball.sklearn import BallDetector

    rows = np.random.default_rng(0).normal(size=(60, 3))
    twice = BallDetector().fit(np.concatenate([rows[:40], rows[:20]]))
    weighed = BallDetector().fit(rows, sample_weight=np.repeat([2.0, 1.0, 0.0], 20))
    assert np.allclose(twice.score_samples(rows), weighed.score_samples(rows), atol=1e-5)
