"""Sketches that estimate: codes, searches, bounds, and files of earlier releases."""

import pathlib
import pickle

import numpy as np
import pytest

import capball

GOLDEN = pathlib.Path(__file__).parents[2] / "tests/golden"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return (rng.standard_normal((3000, 24)) / (1 + np.arange(24) / 4)).astype("f4")


@pytest.mark.parametrize("form", ["principal", "columns", "signs", "turned"])
def test_codes(rows, form):
    sketch = capball.Sketch.fit(rows, 64, form=form)
    assert (sketch.kind, sketch.form, sketch.has_bounds) == ("joined", form, True)
    assert sketch.code_bytes <= 10 and sketch.normals.shape[1] == 25
    codes = sketch.encode(rows)
    np.testing.assert_array_equal(codes, pickle.loads(pickle.dumps(sketch)).encode(rows, threads=2))
    np.testing.assert_array_equal(codes, np.vstack([sketch.encode(rows[:1000]), sketch.encode(rows[1000:])]))
    directions = sketch.normals[:, :24]
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-11)


def test_more_bytes_find_more(rows):
    queries, found = rows[:100] + 0.01, []
    _, ids = capball.knn(rows, queries, 10)
    for size in (4, 8, 16, 32):
        sketch = capball.Sketch.fit(rows, bytes=size)
        assert sketch.code_bytes <= size and 0 < sketch.recall[0] <= sketch.recall[1] <= 1
        by_codes = sketch.prepare(sketch.encode(rows)).search(queries, 10)
        assert by_codes.rows_read == 0
        found.append(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(by_codes.ids, ids)]))
    assert found == sorted(found) and found[-1] > 0.9


def test_search(rows):
    sketch = capball.Sketch.fit(rows, bytes=14, certain=True)
    prepared = sketch.prepare(sketch.encode(rows))
    queries = rows[:50] + 0.01
    distances, ids = capball.knn(rows, queries, 10)
    found = prepared.search(queries, 10, base=rows, candidates="certain")
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.distances, distances)
    assert found.proven.all() and 500 <= found.rows_read < 50 * 1000 and len(prepared) == 3000
    likely = prepared.search(queries, 10, base=rows, candidates="probable")
    assert not likely.proven.any() and likely.rows_read < found.rows_read
    assert np.mean([len(set(a) & set(b)) for a, b in zip(likely.ids, ids)]) >= 9.9
    np.testing.assert_array_equal(sketch.search(sketch.encode(rows), queries, 10, base=rows)[1],
                                  prepared.search(queries, 10, base=rows, candidates=100).ids)


def test_bounds(rows):
    sketch = capball.Sketch.fit(rows, 96)
    query = rows[7] * 1.5
    estimate, low, high = sketch.prepare(sketch.encode(rows)).bounds(query)
    right = np.linalg.norm(rows.astype("f8") - query, axis=1)
    assert (low <= right).all() and (right <= high).all()
    assert np.abs(estimate / right - 1).mean() < 0.1


def test_earlier_kinds():
    rows = np.loadtxt(GOLDEN / "rows_60x3.csv", delimiter=",")
    sketch = capball.Sketch.load(GOLDEN / "v01_x86_sketch.json")
    codes = sketch.encode(rows)
    assert sketch.form is None and sketch.recall is None and not sketch.has_bounds
    bits, _ = sketch.search(codes, rows[:5], 3)
    assert (bits[:, 0] == 0).all() and (bits == bits.round()).all()
    with pytest.raises(ValueError, match="bounds need a joined or principal sketch, and this one is"):
        sketch.search(codes, rows[:5], 3, base=rows, candidates="certain")
    with pytest.raises(ValueError, match="estimates need a joined or principal sketch"):
        sketch.prepare(codes)
    for per in (1, 2, 4):
        sketch = capball.Sketch.load(GOLDEN / f"v03_principal{per}_sketch.json")
        assert (sketch.kind, sketch.bits_per, sketch.has_bounds) == ("principal", per, True)
        found = sketch.prepare(sketch.encode(rows)).search(rows[:9], 3, base=rows, candidates="certain")
        np.testing.assert_array_equal(found.ids, capball.knn(rows, rows[:9], 3)[1])


def test_refusals(rows):
    with pytest.raises(ValueError, match="bytes must be in 3 .. 8192, got 2"):
        capball.Sketch.fit(rows, bytes=2)
    bare = capball.Sketch.fit(rows, bytes=3)
    if not bare.has_bounds:
        with pytest.raises(ValueError, match="codes of this sketch have no bounds"):
            bare.search(bare.encode(rows), rows[:2], 3, base=rows, candidates="certain")
