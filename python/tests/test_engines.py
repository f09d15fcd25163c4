import json
import subprocess
import sys

import numpy as np
import pytest

import capball
from capball.engines import Euclidean

NAMES = {"annoy": "annoy", "hnswlib": "hnswlib", "faiss-flat": "faiss", "faiss-hnsw": "faiss", "usearch": "usearch",
         "scann": "scann"}
# So few rows are in more leaves than ScaNN looks into.
SETTINGS = {"scann": {"searched": 300}}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("transform", ["sphere", "lift-cosine"])
def test_engines_answer_in_euclidean_distances(name, transform, rng):
    pytest.importorskip(NAMES[name])
    rows, queries = rng.normal(size=(2000, 8)).astype(np.float32), rng.normal(size=(50, 8)).astype(np.float32)
    truth = capball.knn(rows, queries, 10)
    found = Euclidean(name, transform=transform, scale=4.0, **SETTINGS.get(name, {})).add(rows).search(queries, 10)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.ids, truth.ids)])
    assert recall > 0.9
    best = np.linalg.norm(rows[found.ids].astype(np.float64) - queries[:, None], axis=2)
    np.testing.assert_allclose(found.distances, best, rtol=1e-12)


@pytest.mark.parametrize("name", ["annoy", "hnswlib", "faiss-hnsw", "usearch"])
def test_saved_engines_answer_the_same(name, rng, tmp_path):
    pytest.importorskip(NAMES[name])
    rows, queries = rng.normal(size=(500, 6)).astype(np.float32), rng.normal(size=(9, 6)).astype(np.float32)
    index = Euclidean(name).add(rows)
    index.save(tmp_path / "index")
    again = Euclidean.load(tmp_path / "index")
    np.testing.assert_array_equal(again.search(queries, 5).ids, index.search(queries, 5).ids)


def exact(rows, queries, k, metric):
    return np.argsort(-queries @ rows.T, axis=1)[:, :k]


def skipping(rows, queries, k, metric):
    """An engine that leaves its second best out."""
    return np.delete(np.argsort(-queries @ rows.T, axis=1), 1, axis=1)[:, :k]


@pytest.mark.parametrize("transform", ["sphere", "lift-cosine", "normalize"])
def test_certificates_are_true_whatever_the_engine_did(transform, rng):
    rows, queries = rng.normal(size=(400, 4)), rng.normal(size=(40, 4))
    truth = capball.knn(rows, queries, 5)
    for engine in (exact, skipping):
        found = Euclidean(engine, transform=transform).add(rows).search(queries, 5, certificates=True)
        np.testing.assert_array_equal(found.proven, (found.ids == truth.ids).all(axis=1))
    assert found.proven.sum() < 20
    if transform != "normalize":
        assert Euclidean(exact, transform=transform).add(rows).search(queries, 5, certificates=True).proven.all()


def test_certificates_of_the_engine(rng):
    rows, queries = rng.normal(size=(400, 4)), rng.normal(size=(40, 4))
    truth = capball.knn(rows, queries, 5)
    found = Euclidean(exact, transform="sphere").add(rows).search(queries, 5, certificates="engine")
    assert found.proven.sum() > 30
    np.testing.assert_array_equal(found.ids[found.proven], truth.ids[found.proven])
    np.testing.assert_allclose(found.distances[found.proven], truth.distances[found.proven], rtol=1e-12)
    assert Euclidean(exact, transform="lift-cosine").add(rows).search(queries, 5, certificates="engine").proven.all()


def test_range(rng):
    rows, queries = rng.normal(size=(300, 3)), rng.normal(size=(5, 3))
    for transform in ("sphere", "lift-cosine"):
        found = Euclidean(exact, transform=transform).add(rows).range(queries, 1.0)
        for query, near in zip(queries, found):
            assert set(near.ids) == set(np.flatnonzero(np.linalg.norm(rows - query, axis=1) <= 1.0))
    index = Euclidean(exact, transform="sphere").add(rows)
    few = index.range(queries, 1.0, most=3, certificates=True)
    np.testing.assert_array_equal(few.proven, [len(near.ids) <= 3 for near in found])
    with pytest.raises(ValueError, match="are missing: most = 3"):
        index.range(queries, 1.0, most=3)
    with pytest.raises(ValueError, match=r"found \d+ of \d+ rows within 1.0, 1 are missing"):
        Euclidean(skipping, transform="sphere").add(rows).range(rows[:1], 1.0)


def test_ranges_are_those_of_the_exact_search(rng):
    """One type of result, with any radius of its own for each query."""
    rows, queries = rng.normal(size=(300, 3)), rng.normal(size=(5, 3))
    radii = [0.0, 0.5, 1.0, 1.5, 9.0]
    found, wanted = Euclidean(exact).add(rows).range_search(queries, radii), capball.range_search(rows, queries, radii)
    assert type(found) is type(wanted) is capball.Within and len(found) == 5
    np.testing.assert_array_equal(found.lims, wanted.lims)
    np.testing.assert_array_equal(found.ids, wanted.ids)
    np.testing.assert_array_equal(found[-1].distances, wanted[4].distances)


def test_rows_that_cannot_be_added(rng):
    rows = rng.normal(size=(50, 3))
    rows[7, 1] = np.nan
    for wrong, told in ((rows, "row 7 holds NaN or inf"), (rows[:0], "no rows to add"), (rows[None], "3 dimensions"),
                        ([["a", "b"]], "wanted numbers")):
        with pytest.raises((TypeError, ValueError), match=told):
            Euclidean(exact).add(wrong)
    with pytest.raises(ValueError, match="transform must be one of auto, sphere"):
        Euclidean(exact, transform="spher")


def test_rows_without_a_direction(rng):
    """Transforms that some row has no image under are not chosen."""
    rows = np.concatenate([np.zeros((1, 3)), *(sign * rng.normal(size=(200, 3)) for sign in (1, -1))])
    rows[201:] = -rows[1:201]  # so that 0 is the mean
    index = Euclidean(exact).add(rows)
    assert "normalize" not in {trial.transform for trial in index.trials} and recall_of(index, rows) == 1


@pytest.mark.parametrize("gives", [lambda rows, queries, k, metric: ([0.0] * k, [1] * k),
                                   lambda rows, queries, k, metric: np.zeros((len(queries), k))])
def test_engines_that_give_something_else(gives, rng):
    with pytest.raises(ValueError, match=r"must give the ids of \d+ rows for each of \d+ queries"):
        Euclidean(gives).add(rng.normal(size=(500, 3)))


def test_missing_packages_are_named(monkeypatch):
    for name, package in (("hnswlib", "hnswlib"), ("faiss-flat", "faiss-cpu"), ("usearch", "usearch"), ("annoy", "annoy")):
        monkeypatch.setitem(sys.modules, NAMES[name], None)
        with pytest.raises(ModuleNotFoundError, match=rf"pip install {package}, .*capball\[engines\]"):
            Euclidean(engine=name)


def test_long_ranges_are_whole(rng):
    """More rows than any usual number of candidates."""
    rows = np.concatenate([rng.normal(size=(21030, 3)) * 0.01, rng.normal(size=(4000, 3)) + 9]).astype(np.float32)
    for name in ("annoy", "hnswlib"):
        pytest.importorskip(name)
        (near,) = Euclidean(name, transform="none").add(rows).range(np.zeros(3), 1.0)
        np.testing.assert_array_equal(np.sort(near.ids), np.arange(21030))


def stretched(rng, n, d=16, centres=20):
    """Clusters of very different norms."""
    middle = rng.normal(size=(centres, d)) * np.exp(1.3 * rng.normal(size=(centres, 1)))
    return (middle[rng.integers(0, centres, n)] + 0.1 * rng.normal(size=(n, d))).astype(np.float32)


def recall_of(index, queries, k=10):
    truth = capball.knn(index.rows, queries, k).ids
    return np.mean([len(np.intersect1d(*both)) / k for both in zip(index.search(queries, k).ids, truth)])


@pytest.mark.parametrize("name", ["annoy", "hnswlib"])
def test_auto_is_as_good_as_the_best(name, rng):
    pytest.importorskip(name)
    rows, queries = np.split(stretched(rng, 6200), [6000])
    chosen = Euclidean(name).add(rows)
    best = max(recall_of(Euclidean(name, transform=t.transform, metric=t.metric, scale=t.scale).add(rows), queries) for t in chosen.trials)
    assert recall_of(chosen, queries) >= best - 0.01
    assert chosen.transform in chosen.why and all(str(trial) in chosen.why for trial in chosen.trials)
    assert len(chosen.trials) == 8 and any(trial.twice for trial in chosen.trials) and f"{len(chosen)} rows of 16" in repr(chosen)


def test_auto_of_engines_with_one_metric(rng):
    rows = stretched(rng, 1500)
    tried = {trial.metric for trial in Euclidean(exact).add(rows).trials}
    assert tried == {"cosine"}
    assert Euclidean(exact, map=capball.fit(rows)).transform == "sphere"


@pytest.mark.parametrize("name", ["annoy", "hnswlib", "faiss-hnsw", "usearch"])
def test_indexes_that_live(name, rng):
    pytest.importorskip(NAMES[name])
    rows, queries = rng.normal(size=(3000, 4)).astype(np.float32), rng.normal(size=(30, 4)).astype(np.float32)
    index = Euclidean(name, transform="lift-cosine").add(rows[:1500]).add(rows[1500:2500]).add(rows[2500:])
    assert len(index) == 3000 and recall_of(index, queries) > 0.95
    nearest = index.search(queries, 1).ids.ravel()
    index.remove(nearest)
    assert len(index) == 3000 - len(set(nearest)) and not np.isin(index.search(queries, 5).ids, nearest).any()
    even = np.arange(3000) % 2 == 0
    for filter in (even, np.flatnonzero(even), np.arange(7)):
        found = index.search(queries, 3, filter=filter, certificates=True)
        allowed = np.setdiff1d(np.arange(3000)[filter], nearest)
        truth = allowed[capball.knn(rows[allowed], queries, 3).ids]
        assert np.mean(found.ids == truth) > 0.95
        np.testing.assert_array_equal(found.proven, (found.ids == truth).all(axis=1))
    for near in index.range(queries, 0.3, filter=even):
        assert even[near.ids].all() and not np.isin(near.ids, nearest).any()
    longer = Euclidean(name, transform="lift-cosine").add(rows).add(1000 * rows[:3])  # no room: fitted and built again
    assert longer.search(1000 * rows[:3], 1).ids.ravel().tolist() == [3000, 3001, 3002]


def test_growing_does_not_build_again(rng):
    hnswlib = pytest.importorskip("hnswlib")
    index = Euclidean("hnswlib", transform="sphere").add(rng.normal(size=(500, 4)))
    graph = index.engine.index
    index.add(rng.normal(size=(100, 4)))
    assert index.engine.index is graph and isinstance(graph, hnswlib.Index) and graph.get_current_count() == 600


def test_files_keep_everything(rng, tmp_path):
    pytest.importorskip("hnswlib")
    rows, queries = stretched(rng, 1000), stretched(rng, 20)
    index = Euclidean("hnswlib", ef=777, M=8, candidates=50).add(rows).remove([1, 2])
    index.save(tmp_path / "index")
    again = Euclidean.load(tmp_path / "index")
    assert (again.engine.ef, again.engine.M, again.candidates) == (777, 8, 50) and len(again) == 998
    assert (again.transform, again.metric, again.why) == (index.transform, index.metric, index.why)
    np.testing.assert_array_equal(again.search(queries, 5).ids, index.search(queries, 5).ids)
    assert len(again.add(rows[:10])) == 1008
    Euclidean(exact, transform="sphere").add(rows).save(tmp_path / "own")
    with pytest.raises(ValueError, match="was a function, which cannot be stored in a file: pass it again"):
        Euclidean.load(tmp_path / "own")
    with pytest.raises(ValueError, match="was a function, not hnswlib"):
        Euclidean.load(tmp_path / "own", "hnswlib")
    assert len(Euclidean.load(tmp_path / "own", engine=exact)) == 1000
    np.save(tmp_path / "index" / "rows.npy", rows[:5])
    with pytest.raises(ValueError, match="rows.npy has"):
        Euclidean.load(tmp_path / "index")
    with pytest.raises(ValueError, match="no index"):
        Euclidean.load(tmp_path)
    (tmp_path / "index" / "index.json").write_text("{}")
    with pytest.raises(ValueError, match="not of this version"):
        Euclidean.load(tmp_path / "index")


def test_audit_estimates_the_recall(rng):
    rows, queries = rng.normal(size=(400, 4)), rng.normal(size=(64, 4))
    found = Euclidean(skipping, transform="sphere").add(rows).search(queries, 5, audit=32)
    truth = np.mean(found.ids == capball.knn(rows, queries, 5).ids)
    assert abs(found.recall - np.mean([len(np.intersect1d(*b)) / 5 for b in zip(found.ids, capball.knn(rows, queries, 5).ids)])) < 5 * found.recall_error + 0.01
    assert truth < 1 and found.recall < 1
    assert Euclidean(exact).add(rows).search(queries, 5, audit=32).recall == 1


def test_what_is_no_engine_is_refused(rng):
    hnswlib, annoy = pytest.importorskip("hnswlib"), pytest.importorskip("annoy")
    for index in (hnswlib.Index("l2", 3), annoy.AnnoyIndex(3, "angular")):
        with pytest.raises(TypeError, match="add the rows"):
            Euclidean(index)
    with pytest.raises(ValueError, match="4 columns"):
        Euclidean(exact).add(rng.normal(size=(50, 3))).search(rng.normal(size=(1, 4)))
    with pytest.raises(ValueError, match="filter must be"):
        Euclidean(exact).add(rng.normal(size=(50, 3))).search(rng.normal(size=(1, 3)), filter=[True])
    with pytest.raises(ValueError, match="40 neighbours asked for, more than the number of rows that may be found, 20"):
        Euclidean(exact).add(rng.normal(size=(50, 3))).search(rng.normal(size=(1, 3)), 40, filter=np.arange(20))
    with pytest.raises(ValueError, match="whole numbers"):
        Euclidean(exact).add(rng.normal(size=(50, 3))).remove([50])


def test_engine_as_a_command(rng, tmp_path):
    pytest.importorskip("hnswlib")
    np.save(tmp_path / "b.npy", rng.normal(size=(200, 4)).astype(np.float32))
    np.save(tmp_path / "q.npy", rng.normal(size=(7, 4)).astype(np.float32))
    words = ["hnswlib", tmp_path / "b.npy", tmp_path / "q.npy", "5", tmp_path / "i.npy", "metric=l2"]
    subprocess.run([sys.executable, "-m", "capball.engines", *map(str, words)], check=True)
    assert np.load(tmp_path / "i.npy").shape == (7, 5)


def test_unknown_engines_are_refused():
    with pytest.raises(ValueError, match="one of"):
        Euclidean("oracle")
    with pytest.raises(ValueError, match="ranks by"):
        Euclidean(lambda *a: None, metric="l2")


def test_asking_twice_finds_what_one_radius_for_all_does_not(rng):
    rows, queries = rng.normal(size=(600, 4)) + 3, rng.normal(size=(60, 4)) + 3
    truth = capball.knn(rows, queries, 5)
    right = [(Euclidean(exact, transform="sphere", candidates=5, twice=twice).add(rows).search(queries, 5).ids == truth.ids).mean() for twice in (False, True)]
    assert right[0] < right[1] and right[1] > 0.99


def test_asking_twice_with_engines_that_find_few(rng):
    rows, queries = rng.normal(size=(300, 4)), rng.normal(size=(20, 4))

    def sparing(rows, queries, k, metric):
        ids = exact(rows, queries, k, metric)
        ids[::2, k // 2:] = -1
        return ids

    found = Euclidean(sparing, transform="sphere", candidates=20, twice=True).add(rows).search(queries, 5)
    np.testing.assert_array_equal(found.ids, capball.knn(rows, queries, 5).ids)


def clusters(rng, n=6000, d=16):
    """Rows of tight clusters, so that a transform for other rows loses their neighbours."""
    middle = 5 * rng.normal(size=(20, d))
    return (middle[rng.integers(0, 20, n)] + 0.3 * rng.normal(size=(n, d))).astype(np.float32)


def ranking(rows, queries, k, metric):
    if metric == "cosine":
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    score = queries @ rows.T - ((rows**2).sum(axis=1) / 2 if metric == "l2" else 0)
    return np.argpartition(-score, min(k, len(rows) - 1), axis=1)[:, :k]


class Growing(capball.engines.adapters.Callable_):
    """Takes rows in without being built again, as graphs do; counts how often it was built."""

    built = 0

    def build(self, rows, metric):
        super().build(rows, metric)
        self.built += 1

    def grow(self, rows, first):
        assert first == len(self.rows)
        self.rows = np.concatenate([self.rows, rows])


TRANSFORMS = [("auto", None), ("sphere", None), ("normalize", None), ("lift-cosine", None), ("lift-ip", "ip"), ("sphere", "ip"), ("sphere", "l2"),
              ("none", "l2"), ("center", "l2")]


def recalls(index, queries, transform, metric):
    """Of the index, and of one that is made of its rows now."""
    alive = np.flatnonzero(index._alive)
    fresh = Euclidean(type(index.engine)(ranking, index.engine.metrics), transform=transform, metric=metric,
                      candidates=index.candidates).add(index.rows[alive])
    truth = capball.knn(index.rows[alive], queries, 10).ids
    return [np.mean([len(np.intersect1d(*both)) / 10 for both in zip(ids, truth)])
            for ids in (np.searchsorted(alive, index.search(queries, 10).ids), fresh.search(queries, 10).ids)]


@pytest.mark.parametrize("kind, transform, metric", [(Growing, *way) for way in TRANSFORMS]
                         + [(capball.engines.adapters.Callable_, *way) for way in TRANSFORMS[1:]])
def test_rows_that_come_elsewhere_are_found_as_in_a_new_index(kind, transform, metric, rng):
    """The mean, the scale and the longest row (M of lifts) of the rows added are others."""
    metrics = (metric,) if metric else ("cosine", "ip") if transform == "auto" else ("cosine",)
    rows = clusters(rng, 800 if transform == "auto" else 2000)
    for more in (rows[:500] + 1000, 50 * rows[:500], rows[:50] + 10000)[: 1 if transform == "auto" else 3]:
        index = Euclidean(kind(ranking, metrics), transform=transform, metric=metric, candidates=50).add(rows).add(more)
        own, new = recalls(index, np.concatenate([rows[:50], more[:50]]) + np.float32(0.05), transform, metric)
        assert own >= new - 0.03 and index.outgrown == ""


@pytest.mark.parametrize("transform, metric", TRANSFORMS)
def test_rows_that_stay_are_found_as_in_a_new_index(transform, metric, rng):
    metrics = (metric,) if metric else ("cosine", "ip") if transform == "auto" else ("cosine",)
    near, far = clusters(rng, 1500), clusters(rng, 4000) * 1000 + 1e5
    index = Euclidean(Growing(ranking, metrics), transform=transform, metric=metric, candidates=20).add(np.concatenate([far, near]))
    index.remove(np.arange(4000))
    own, new = recalls(index, near[:100] + np.float32(0.05), transform, metric)
    assert own >= new - 0.03 and index.search(near[:5], 1).ids.ravel().tolist() == [4000, 4001, 4002, 4003, 4004]
    assert index.add(near[:3] + 1).search(near[:3] + 1, 1).ids.ravel().tolist() == [5500, 5501, 5502]


def test_rows_of_the_same_kind_do_not_build_again(rng):
    rows = clusters(rng)
    index = Euclidean(Growing(ranking), transform="sphere").add(rows[:1000])
    for i in range(1000, 6000, 500):
        index.add(rows[i:i + 500])
    index.remove(np.arange(0, 6000, 2))
    assert index.engine.built == 1 and index.outgrown == ""
    one_by_one = Euclidean(Growing(ranking), transform="sphere").add(rows[:2])
    for i in range(2, 300):
        one_by_one.add(rows[i:i + 1])
    assert one_by_one.engine.built < 12


def test_without_refit_there_is_a_warning_and_a_field(rng, tmp_path):
    rows = clusters(rng, 2000)
    for settings in ({"refit": False}, {"map": capball.fit(rows)}):
        index = Euclidean(Growing(ranking), transform="sphere", **settings).add(rows).add(rows)
        assert index.outgrown == ""
        with pytest.warns(RuntimeWarning, match="has moved by .* since the transform was fitted, and neighbours may be missed"):
            index.add(rows + 1000)
        assert "has moved by" in index.outgrown and index.engine.built == 1
        index.save(tmp_path / "index")
        again = Euclidean.load(tmp_path / "index", engine=Growing(ranking))
        assert again.outgrown == index.outgrown and again.refit == index.refit
        again.remove(np.arange(4000, 6000))
        assert again.outgrown == ""
        with pytest.warns(RuntimeWarning, match="has moved by"):
            again.add(rows[:1000] * 100)
    index = Euclidean(Growing(ranking), transform="lift-cosine", refit=False).add(rows)
    with pytest.raises(ValueError, match=r"row 1 .*the transform was not fitted for it, and is not fitted again"):
        index.add(rows[:2] * np.float32([[1], [1000]]))
    assert len(index) == 2000 and index.search(rows[:1], 1).ids[0, 0] == 0


def test_rows_that_have_come_and_gone_stay_gone_in_files(rng, tmp_path):
    """The engine is built of the rows that are left, whose places are not their ids."""
    rows = clusters(rng, 3000)
    index = Euclidean(Growing(ranking), transform="sphere", candidates=20).add(rows[:1000] + 1000).add(rows).remove(np.arange(1000))
    index.save(tmp_path / "index")
    again = Euclidean.load(tmp_path / "index", engine=Growing(ranking)).add(rows[:10] + 1)
    assert len(again.engine.rows) == 3010 and len(again) == 3010
    np.testing.assert_array_equal(again.search(rows[:20], 3).ids[:, 0], np.arange(1000, 1020))
    for near in again.range_search(rows[:20], 0.5):
        assert (near.ids >= 1000).all() and len(near.ids)


def test_files_of_the_first_format(rng, tmp_path):
    """Without the range of the fit, and with an engine that has all rows."""
    rows = clusters(rng, 3000)
    Euclidean(Growing(ranking), transform="lift-cosine", candidates=20).add(rows).remove(np.arange(500)).save(tmp_path / "index")
    path = tmp_path / "index" / "index.json"
    facts = json.loads(path.read_text())
    for name in ("fitted", "sums", "wanted", "given", "refit", "outgrown", "left_out"):
        del facts[name]
    path.write_text(json.dumps({**facts, "euclidean": 1}))
    (tmp_path / "index" / "held.npy").unlink()
    index = Euclidean.load(tmp_path / "index", engine=Growing(ranking))
    np.testing.assert_array_equal(index.search(rows[500:520], 3).ids[:, 0], np.arange(500, 520))
    index.add(rows[:1500] + 1000)
    assert index.engine.built == 1 and index.search(rows[:5] + 1000, 1).ids.ravel().tolist() == [3000, 3001, 3002, 3003, 3004]


def test_removing_all_but_one_row(rng):
    rows = clusters(rng, 500)
    for transform in ("sphere", "auto", "lift-cosine"):
        index = Euclidean(Growing(ranking), transform=transform).add(rows).remove(np.arange(1, 500))
        assert index.search(rows[:2], 1).ids.ravel().tolist() == [0, 0]
        with pytest.raises(ValueError, match="no rows yet"):
            index.remove(0).search(rows[:1], 1)


def failing(error, on=3):
    """Fails on queries whose first number is that of row `on`."""
    def engine(rows, queries, k, metric):
        if engine.armed and (np.abs(queries - engine.bad).max(axis=1) < 1e-6).any():
            raise error
        return exact(rows, queries, k, metric)
    engine.armed = False
    return engine


@pytest.mark.parametrize("method, third", [("search", 2), ("range_search", 0.01)])
def test_an_exception_of_the_engine_is_the_cause(method, third, rng):
    rows = rng.normal(size=(300, 4))
    own = KeyError("no such index")
    engine = failing(own)
    index = Euclidean(engine, transform="sphere", ball=False).add(rows)
    radius = third if method == "range_search" else 0.0
    engine.bad, engine.armed = index.way.query(rows[3:4], radius, dtype="float32")[0], True
    for queries, number in ((rows[:10], 3), (rows[3:4], 0)):
        with pytest.raises(capball.engines.EngineError, match=rf"^query {number}: the engine has raised KeyError: 'no such index'") as told:
            getattr(index, method)(queries, third)
        assert told.value.__cause__ is own


def test_an_exception_of_many_queries_at_once(rng):
    def crowded(rows, queries, k, metric):
        if len(queries) > 5:
            raise MemoryError("too many")
        return exact(rows, queries, k, metric)

    index = Euclidean(crowded, transform="sphere").add(rng.normal(size=(300, 4)))
    with pytest.raises(capball.engines.EngineError, match="^queries 0 to 5, asked together: the engine has raised MemoryError") as told:
        index.search(index.rows[:6], 2)
    assert type(told.value.__cause__) is MemoryError


@pytest.mark.parametrize("ask", [lambda i, q: i.search(q, 2), lambda i, q: i.search(q, 2, filter=np.arange(390)), lambda i, q: i.range_search(q, 0.1),
                                 lambda i, q: i.search(q, 2, certificates=True), lambda i, q: i.search(q, 2, certificates="engine"),
                                 lambda i, q: i.range_search(q, 0.1, filter=np.arange(390))])
@pytest.mark.parametrize("row", [400, 10**9, -2])
def test_rows_that_the_engine_does_not_have(ask, row, rng):
    def inventing(rows, queries, k, metric):
        ids = exact(rows, queries, k, metric)
        ids[-1, 1] = row
        return ids

    index = Euclidean(inventing, transform="sphere", candidates=20).add(rng.normal(size=(400, 4)))
    with pytest.raises(ValueError, match=rf"^query 4: inventing gave row {row}, but it has rows 0 .. 399"):
        ask(index, index.rows[:5])


def test_a_row_that_is_named_twice(rng):
    index = Euclidean(lambda rows, queries, k, metric: np.zeros((len(queries), k), int), transform="sphere").add(rng.normal(size=(400, 4)))
    with pytest.raises(ValueError, match="the engine must name a row once for query 0, got 0"):
        index.search(index.rows[:5], 2)


def test_no_address_is_stored(rng, tmp_path, monkeypatch):
    """The connection string of a database may hold a password: no file has it, and load asks for it."""
    connected = []

    class Server:
        """A psycopg that knows one table."""

        def connect(self, dsn, **settings):
            connected.append(dsn)
            return self

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def cursor(self):
            return self

        def copy(self, statement):
            return self

        def write_row(self, row):
            pass

        def execute(self, statement, values=()):
            return self

        def fetchall(self):
            return [(i,) for i in range(100)]

    monkeypatch.setitem(sys.modules, "psycopg", Server())
    rows = rng.normal(size=(300, 3))
    address = "postgresql://me:s3cret@host/db"
    Euclidean("pgvector", dsn=address, table="mine", ef=77, transform="sphere").add(rows).save(tmp_path / "index")
    assert not [path for path in (tmp_path / "index").iterdir() if b"s3cret" in path.read_bytes()]
    with pytest.raises(ValueError, match=r"dsn is not stored, as it may hold a password: .*load\('.*', dsn=\.\.\).*PGPASSWORD"):
        Euclidean.load(tmp_path / "index")
    again = Euclidean.load(tmp_path / "index", dsn="host=other password=0ther")
    assert (again.engine.table, again.engine.ef) == ("mine", 77)
    again.search(rows[:1], 3)
    assert connected[-1] == "host=other password=0ther"
    again.save(tmp_path / "index")
    assert b"0ther" not in (tmp_path / "index" / "index.json").read_bytes()
    Euclidean.load(tmp_path / "index", dsn="").save(tmp_path / "environment")
    assert Euclidean.load(tmp_path / "environment").engine.dsn == ""


def test_settings_of_adapters_of_others_are_not_stored(rng, tmp_path):
    class Remote(Growing):
        def __init__(self, password):
            super().__init__(ranking)
            self.password = password

    rows = rng.normal(size=(300, 3))
    Euclidean(Remote("s3cret"), transform="sphere").add(rows).save(tmp_path / "index")
    assert "s3cret" not in (tmp_path / "index" / "index.json").read_text()
    assert len(Euclidean.load(tmp_path / "index", engine=Remote("s3cret"))) == 300


def test_saved_engines_of_a_factory(rng, tmp_path):
    pytest.importorskip("faiss")
    index = Euclidean("faiss-flat").add(rng.normal(size=(300, 3)))
    index.save(tmp_path / "index")
    np.testing.assert_array_equal(Euclidean.load(tmp_path / "index").search(index.rows[:5], 3).ids, index.search(index.rows[:5], 3).ids)


@pytest.mark.parametrize("refit", [True, False])
def test_an_engine_that_fails_while_it_takes_rows_in(refit, rng):
    """The index is as it was before, and no answer comes from rows that the engine took in half."""
    class Breaking(Growing):
        broken = False

        def build(self, rows, metric):
            super().build(rows[::-1] if self.broken else rows, metric)
            if self.broken:
                raise OSError("disk full")

        def grow(self, rows, first):
            self.rows = np.concatenate([self.rows[5:], rows])
            raise OSError("disk full")

    rows = clusters(rng, 600)
    index = Euclidean(Breaking(ranking), transform="sphere", candidates=20, refit=refit).add(rows)
    want = index.search(rows[:20], 3)
    with pytest.raises(OSError, match="disk full"):
        index.add(rows[:9])  # of the same kind: it grows
    assert len(index) == len(index.rows) == 600
    np.testing.assert_array_equal(index.search(rows[:20], 3).ids, want.ids)
    if refit:
        index.engine.broken = True
        with pytest.raises(OSError, match="disk full"):
            index.add(rows[:400] + 1000)
        with pytest.raises(OSError, match="disk full"):
            index.search(rows[:20], 3)
        index.engine.broken = False
        np.testing.assert_array_equal(index.search(rows[:20], 3).ids, want.ids)
    found = index.search(rows[:20], 3, certificates="engine")
    np.testing.assert_array_equal(found.ids[found.proven], capball.knn(rows, rows[:20], 3).ids[found.proven])


class Invented:
    """An engine that ranks by cosine, in twelve lines: build and search are all that is needed."""

    def build(self, rows, metric):
        self.rows, self.gone = rows / np.linalg.norm(rows, axis=1, keepdims=True), []

    def add(self, rows, first):
        self.rows = np.concatenate([self.rows, rows / np.linalg.norm(rows, axis=1, keepdims=True)])

    def remove(self, ids):
        self.gone.extend(ids)

    def search(self, queries, k):
        scores = queries @ self.rows.T
        scores[:, self.gone] = -np.inf
        return np.argsort(-scores, axis=1)[:, :k]


class Least:
    def build(self, rows, metric):
        self.rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def search(self, queries, k):
        return np.argsort(-queries @ self.rows.T, axis=1)[:, :k]


@pytest.mark.parametrize("kind", [Invented, Least])
def test_an_adapter_in_twelve_lines(rng, kind, tmp_path):
    rows, queries = rng.normal(size=(900, 8)) * 10 ** rng.uniform(-1, 1, (900, 1)), rng.normal(size=(20, 8))
    names = [f"item {i}" for i in range(900)]
    index = Euclidean(kind(), candidates=900).add(rows[:800], names[:800]).add(rows[800:], names[800:])

    def same(index, base, named, **how):
        found, wanted = index.search(queries, 5, **how), capball.knn(base, queries, 5)
        assert found.ids.tolist() == np.array(named)[wanted.ids].tolist()
        np.testing.assert_allclose(found.distances, wanted.distances)

    same(index, rows, names)
    index.remove(names[:100])
    same(index, rows[100:], names[100:])
    rows[200:210] += 1
    index.put(np.concatenate([rows[200:210], rows[:5]]), names[200:210] + names[:5])
    keep = np.r_[0:5, 100:900]
    same(index, rows[keep], [names[i] for i in keep])
    same(index, rows[300:400], names[300:400], filter=names[300:400] + ["nobody"])
    same(index, rows[300:400], names[300:400], filter=set(names[300:400]))
    near = index.range_search(queries[:3], 2.0)
    assert [set(one.ids) for one in near] == [{names[i] for i in keep[np.linalg.norm(rows[keep] - q, axis=1) <= 2.0]} for q in queries[:3]]
    with pytest.raises(ValueError, match="id 'item 300' is in the index already"):
        index.add(rows[:1], ["item 300"])
    with pytest.raises(ValueError, match="id 'a' is given twice"):
        index.put(rows[:2], ["a", "a"])
    with pytest.raises(ValueError, match="id 'item 50' is not in the index"):
        index.remove(["item 50"])
    same(index, rows[keep], [names[i] for i in keep])
    with pytest.raises(ValueError, match="no save and load"):
        index.save(tmp_path / "x")


def test_a_budget(rng):
    rows, queries = rng.normal(size=(3000, 8)), rng.normal(size=(40, 8))

    class Rough(Least):
        def search(self, queries, k):  # the scores are those of four bits
            return np.argsort(-np.round(queries @ self.rows.T * 8), axis=1, kind="stable")[:, :k]

    recalls = []
    for budget in (20, 500):
        index = Euclidean(Rough(), budget=budget).add(rows)
        found = index.search(queries, 10, audit=40)
        assert index.candidates == budget and abs(found.recall - index.expected[0]) < 0.15
        recalls.append(found.recall)
    assert recalls[0] < recalls[1]
    few, many = (Euclidean(Rough(), budget=seconds).add(rows) for seconds in (1e-6, 30.0))
    assert few.candidates == 10 and many.candidates == 3000 and many.expected[0] > 0.99
    with pytest.raises(ValueError, match="budget must be"):
        Euclidean(Rough(), budget=0)
