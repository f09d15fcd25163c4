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
    again = Euclidean(name).load(tmp_path / "index")
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
    found = Euclidean(exact).add(rows).search(queries, 5, certificates="engine")
    assert found.proven.sum() > 30
    np.testing.assert_array_equal(found.ids[found.proven], truth.ids[found.proven])
    np.testing.assert_allclose(found.distances, truth.distances, rtol=1e-4)
    with pytest.raises(ValueError, match="of the sphere"):
        Euclidean(exact, transform="lift-cosine").add(rows).search(queries, 5, certificates="engine")


def test_range(rng):
    rows, queries = rng.normal(size=(300, 3)), rng.normal(size=(5, 3))
    for transform in ("sphere", "lift-cosine"):
        found = Euclidean(exact, transform=transform).add(rows).range(queries, 1.0, most=300, certificates=True)
        assert found.proven.all()
        for query, near in zip(queries, found.found):
            assert set(near.ids) == set(np.flatnonzero(np.linalg.norm(rows - query, axis=1) <= 1.0))
    few = Euclidean(exact).add(rows).range(queries, 1.0, most=3, certificates=True)
    np.testing.assert_array_equal(few.proven, [len(near.ids) <= 3 for near in found.found])


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
    right = [(Euclidean(exact, candidates=5, twice=twice).add(rows).search(queries, 5).ids == truth.ids).mean() for twice in (False, True)]
    assert right[0] < right[1] and right[1] > 0.99


def test_asking_twice_with_engines_that_find_few(rng):
    rows, queries = rng.normal(size=(300, 4)), rng.normal(size=(20, 4))

    def sparing(rows, queries, k, metric):
        ids = exact(rows, queries, k, metric)
        ids[::2, k // 2:] = -1
        return ids

    found = Euclidean(sparing, candidates=20, twice=True).add(rows).search(queries, 5)
    np.testing.assert_array_equal(found.ids, capball.knn(rows, queries, 5).ids)
