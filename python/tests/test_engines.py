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
    np.testing.assert_allclose(found.distances, truth.distances, rtol=1e-4)
    with pytest.raises(ValueError, match="of the sphere"):
        Euclidean(exact, transform="lift-cosine").add(rows).search(queries, 5, certificates="engine")


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
    np.testing.assert_array_equal(found[-1].distances, wanted.of(4).distances)


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
    assert abs(found.recall - np.mean([len(np.intersect1d(*b)) / 5 for b in zip(found.ids, capball.knn(rows, queries, 5).ids)])) < 5 * found.error + 0.01
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
    with pytest.raises(ValueError, match="40 neighbours"):
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
