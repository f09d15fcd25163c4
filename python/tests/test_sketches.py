"""Sketches that estimate: codes, searches, bounds."""

import pickle

import numpy as np
import pytest

import capball


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return (rng.standard_normal((3000, 24)) / (1 + np.arange(24) / 4)).astype("f4")


@pytest.mark.parametrize("bits_per", [1, 2, 4])
@pytest.mark.parametrize("factors, size", [("float16", 6), ("float32", 12)])
def test_codes(rows, bits_per, factors, size):
    sketch = capball.Sketch.fit(rows, 96, bits_per=bits_per, factors=factors)
    assert (sketch.kind, sketch.bits_per, sketch.code_bytes) == ("principal", bits_per, 12 + size)
    assert sketch.normals.shape == (96 // bits_per, 25)
    codes = sketch.encode(rows)
    np.testing.assert_array_equal(codes, pickle.loads(pickle.dumps(sketch)).encode(rows, threads=2))
    np.testing.assert_array_equal(codes, np.vstack([sketch.encode(rows[:1000]), sketch.encode(rows[1000:])]))


def test_search(rows):
    sketch = capball.Sketch.fit(rows, 96, bits_per=4)
    prepared = sketch.prepare(sketch.encode(rows))
    queries = rows[:50] + 0.01
    distances, ids = capball.knn(rows, queries, 10)
    found = prepared.search(queries, 10, base=rows, candidates="certain")
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.distances, distances)
    assert found.proven.all() and 500 <= found.rows_read < 50 * 1000 and len(prepared) == 3000
    likely = prepared.search(queries, 10, base=rows, candidates="probable")
    assert not likely.proven.any() and likely.rows_read < found.rows_read
    assert np.mean([len(set(a) & set(b)) for a, b in zip(likely.ids, ids)]) >= 9.95
    by_codes = prepared.search(queries, 10)
    assert by_codes.rows_read == 0
    np.testing.assert_array_equal(sketch.search(sketch.encode(rows), queries, 10, base=rows)[1],
                                  prepared.search(queries, 10, base=rows, candidates=100).ids)


def test_bounds(rows):
    sketch = capball.Sketch.fit(rows, 96, bits_per=2)
    query = rows[7] * 1.5
    estimate, low, high = sketch.prepare(sketch.encode(rows)).bounds(query)
    right = np.linalg.norm(rows.astype("f8") - query, axis=1)
    assert (low <= right).all() and (right <= high).all()
    assert np.abs(estimate / right - 1).mean() < 0.1


def test_earlier_kinds(rows):
    sketch = capball.Sketch.fit(rows, 96, "embedded", max_steps=20)
    codes = sketch.encode(rows)
    assert codes.shape == (3000, 12)
    bits, _ = sketch.search(codes, rows[:5], 3)
    assert (bits[:, 0] == 0).all() and (bits == bits.round()).all()
    with pytest.raises(ValueError, match="bounds need a principal sketch, and this one is embedded"):
        sketch.search(codes, rows[:5], 3, base=rows, candidates="certain")
    with pytest.raises(ValueError, match="estimates need a principal sketch"):
        sketch.prepare(codes)
    with pytest.raises(ValueError, match="bits per direction must be 1, 2 or 4"):
        capball.Sketch.fit(rows, 96, bits_per=3)
