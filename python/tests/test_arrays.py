import os
import pickle
import threading

import numpy as np
import pytest

import capball

TYPES = [np.float32, np.float64, np.float16, np.uint8, np.int8]


def judge(m, x):
    """S(W(x-m)) as the theory writes it, in double."""
    z = np.asarray(x, np.float64) - (0 if m.center is None else m.center)
    n = (z * z).sum(axis=-1, keepdims=True)
    return np.concatenate([2 * m.s * z, m.s**2 - n], axis=-1) / (n + m.s**2)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("d", [1, 2, 3, 10, 24, 64, 129])
def test_embed_every_type(rng, dtype, d):
    x = (rng.normal(size=(33, d)) * 20).astype(dtype)
    m = capball.fit(x.astype(np.float64))
    y = m.embed(x)
    assert y.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_allclose(y, judge(m, x), atol=4e-7 if y.dtype == np.float32 else 1e-14)
    assert m.embed(x, dtype=np.float64).dtype == np.float64


def test_embed_takes_no_copy_into_out(rng):
    x = rng.normal(size=(100, 5)).astype(np.float32)
    m = capball.SphereMap(5, 2.0)
    out = np.empty((100, 6), np.float32)
    assert m.embed(x, out=out) is out
    room = np.empty((100, 6), np.float32)
    room[:, :5] = x
    m.embed(room[:, :5], out=room)
    np.testing.assert_array_equal(room, out)
    np.testing.assert_array_equal(m.embed(x[::2]), out[::2])
    np.testing.assert_array_equal(m.embed(np.asfortranarray(x)), out)
    np.testing.assert_array_equal(m.embed(x[0]), out[0])


def test_round_trip(rng):
    x = rng.normal(size=(50, 7))
    m = capball.fit(x, whiten=True)
    np.testing.assert_allclose(m.unembed(m.embed(x)), x, atol=1e-13)


def test_other_arrays(rng):
    x = rng.normal(size=(20, 4)).astype(np.float32)
    m = capball.fit(x)
    wanted = m.embed(x)
    np.testing.assert_array_equal(m.embed(x.astype(">f4")), wanted)
    np.testing.assert_allclose(m.embed(x.tolist()), wanted, atol=1e-6)
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(m.embed(torch.from_numpy(x)), wanted)


def test_arrow(rng):
    pyarrow = pytest.importorskip("pyarrow")
    x = rng.normal(size=(20, 4)).astype(np.float32)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(x.ravel()), 4)
    m = capball.fit(x)
    np.testing.assert_array_equal(m.embed(lists), m.embed(x))


def test_knn_is_the_plain_loop(rng):
    base, queries = rng.integers(0, 4, (300, 6)).astype(np.float32), rng.integers(0, 4, (20, 6)).astype(np.float32)
    distance = np.linalg.norm(base[None].astype(np.float64) - queries[:, None], axis=2)
    order = np.argsort(distance, axis=1, kind="stable")[:, :15]
    found = capball.knn(base, queries, 15)
    np.testing.assert_array_equal(found.ids, order)
    np.testing.assert_array_equal(found.distances, np.take_along_axis(distance, order, 1))
    within = capball.range_search(base, queries, 2.0)
    for i in range(20):
        assert set(within[i].ids) == set(np.flatnonzero(distance[i] <= 2.0))


def test_ball_and_cap_are_one(rng):
    m = capball.SphereMap(3, 2.0, center=[1, 2, 3])
    ball = capball.Ball([0.5, 1.0, -1.0], 1.5)
    cap = m.cap(ball)
    back = m.ball(cap)
    np.testing.assert_allclose(back.c, ball.c, rtol=1e-14)
    assert abs(back.r - ball.r) < 1e-14
    x = rng.normal(size=(500, 3)) * 2
    inside = np.linalg.norm(x - ball.c, axis=1) <= ball.r
    np.testing.assert_array_equal(ball.scores(x) >= 0, inside)
    np.testing.assert_array_equal(cap.scores(m.embed(x)) >= 0, inside)
    p, b = m.query(ball.c, ball.r)
    np.testing.assert_array_equal(m.embed(x) @ p >= b, inside)
    assert ball.c in ball


def test_objects_survive_pickling(rng, tmp_path):
    x = rng.normal(size=(200, 5))
    m = capball.fit(x, whiten=True, goal="median")
    again = pickle.loads(pickle.dumps(m))
    np.testing.assert_array_equal(again.embed(x), m.embed(x))
    m.save(tmp_path / "map.json")
    assert capball.SphereMap.load(tmp_path / "map.json").to_json() == m.to_json()
    model = capball.svdd(x, 0.2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).scores(x), model.scores(x))
    sketch = capball.Sketch.fit(x, 32)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sketch)).encode(x), sketch.encode(x))


def test_errors_are_data():
    x = np.zeros((5, 3))
    x[3, 1] = np.nan
    with pytest.raises(capball.RowError) as caught:
        capball.SphereMap(3, 1.0).embed(x)
    assert caught.value.row == 3 and isinstance(caught.value, ValueError)
    with pytest.raises(capball.InvalidValue) as caught:
        capball.SphereMap(3, -1.0)
    assert caught.value.argument == "s" and caught.value.reason is not None and "-1" in str(caught.value)
    with pytest.raises(capball.FormatError):
        capball.SphereMap.from_json("{}")


MISUSES = [
    lambda m, x: m.embed(x[:, :2]),
    lambda m, x: m.embed(x, out=np.empty((5, 9))),
    lambda m, x: m.embed(x, out=np.empty((5, 4), np.int32)),
    lambda m, x: m.embed(x, out=[1, 2]),
    lambda m, x: m.embed(x.astype(complex)),
    lambda m, x: m.embed(np.array([["a", "b", "c"]])),
    lambda m, x: m.embed(np.array([[object(), 1, 2]])),
    lambda m, x: m.embed(None),
    lambda m, x: m.embed(x, x, x, x, x),
    lambda m, x: m.embed(x, threads=-1),
    lambda m, x: m.embed(x, threads="two"),
    lambda m, x: m.embed(x, dtype="int8"),
    lambda m, x: m.embed(x, nonsense=1),
    lambda m, x: m.embed(x[None, None]),
    lambda m, x: capball.SphereMap(0, 1.0),
    lambda m, x: capball.SphereMap(3, float("nan")),
    lambda m, x: capball.SphereMap(3, 1.0, center=[1, 2]),
    lambda m, x: capball.SphereMap(2**62, 1.0),
    lambda m, x: capball.knn(x, x, 99),
    lambda m, x: capball.knn(x, x[:, :2], 1),
    lambda m, x: capball.knn(x, x, 2**60),
    lambda m, x: capball.knn(x, x, 1, "manhattan"),
    lambda m, x: capball.range_search(x, x, -1.0),
    lambda m, x: capball.svdd(x, 2.0),
    lambda m, x: capball.svdd(x, 0.5, weights=[1]),
    lambda m, x: capball.rerank(x, x, [[9]] * 5, 1),
    lambda m, x: capball.rerank(x, x, [[-1]] * 5, 1),
    lambda m, x: capball.fit(x[:0]),
    lambda m, x: capball.fit(x, goal="fame"),
    lambda m, x: capball.Sketch.fit(x, 7),
    lambda m, x: capball.Sketch.fit(x, 8, map=3),
    lambda m, x: capball._core.Model(),
    lambda m, x: capball.Statistics(3).merge(4),
    lambda m, x: capball.Statistics.deserialize(b"nothing"),
    lambda m, x: m.ball(capball.Cap([1.0], 0.5)),
    lambda m, x: capball.Search(x, k=1).feed(x[:, :1]),
]


@pytest.mark.parametrize("number", range(len(MISUSES)))
def test_misuse_is_an_exception(number, rng):
    with pytest.raises((ValueError, TypeError, MemoryError, OverflowError, BufferError)):
        MISUSES[number](capball.SphereMap(3, 1.0), rng.normal(size=(5, 3)))


def test_read_only_out(rng):
    out = np.empty((5, 4))
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        capball.SphereMap(3, 1.0).embed(rng.normal(size=(5, 3)), out=out)


def test_threads_share_a_map(rng):
    x = rng.normal(size=(20000, 16))
    m = capball.fit(x)
    wanted, results = m.embed(x), [None] * 8

    def work(i):
        for _ in range(5):
            results[i] = m.embed(x)

    crew = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    for got in results:
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(m.embed(x, threads=1), wanted)
    np.testing.assert_array_equal(m.embed(x, threads=3), wanted)


def _embed_in_child(x):
    return capball.fit(x).embed(x)


def test_work_after_fork(rng):
    import multiprocessing

    x = rng.normal(size=(20000, 8))
    wanted = _embed_in_child(x)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for got in pool.map(_embed_in_child, [x, x]):
            np.testing.assert_array_equal(got, wanted)


def test_progress_may_stop(rng):
    told = []
    capball.svdd(rng.normal(size=(20000, 20)), 0.1, progress=told.append)
    assert told == sorted(told) and all(0 <= share <= 1 for share in told)

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capball.knn(rng.normal(size=(50000, 20)), rng.normal(size=(500, 20)), progress=stop)


def test_pieces_merge_to_the_same_bytes(rng):
    x = rng.normal(size=(1000, 4))
    whole = capball.Statistics(4)
    whole.update(x)
    parts = [capball.Statistics(4) for _ in range(3)]
    for i, part in enumerate(parts):
        part.update(x[i::3], ids=np.arange(i, 1000, 3))
    for part in parts[1:]:
        parts[0].merge(capball.Statistics.deserialize(part.serialize()))
    assert parts[0].serialize() == whole.serialize()


def test_rescore_proves_what_is_true(rng):
    rows, queries = rng.normal(size=(3000, 4)), rng.normal(size=(40, 4))
    m = capball.fit(rows)
    y = m.embed(rows)
    truth = capball.knn(rows, queries, 5)
    radius = float(np.median(truth.distances[:, -1]))
    p, _ = m.query(queries, radius)
    ids = np.argsort(-(p @ y.T), axis=1)[:, :60]
    found = capball.rescore(m, queries, ids, y, 5, radius=radius, certificates=True)
    np.testing.assert_allclose(found.distances[found.proven], truth.distances[found.proven], rtol=1e-12)
    np.testing.assert_array_equal(found.ids[found.proven], truth.ids[found.proven])
    assert found.proven.mean() > 0.8 and (found.needed[~found.proven] > 60).all()
    few = capball.rescore(m, queries, ids[:, :5], y, 5, radius=radius)
    assert (few.needed[~few.proven] == 3000).all()
    scores = np.take_along_axis(p @ y.T, ids, 1)
    by_scores = capball.rescore(m, queries, ids, y, 5, radius=radius, scores=scores, scored="cosine")
    np.testing.assert_allclose(by_scores.distances, found.distances, rtol=1e-6)


def test_results_are_pairs_and_travel(rng):
    """What stands beside distances and ids is no part of the pair, and survives pickle."""
    rows = rng.normal(size=(50, 3))
    m = capball.fit(rows)
    found = capball.rescore(m, rows[:2], [[0, 1], [1, 0]], m.embed(rows), 1)
    distances, ids = found
    assert len(found) == 2 and found[1] is ids and capball.knn(rows, rows[:2], 1).proven is None
    other = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(other.distances, distances)
    np.testing.assert_array_equal(other.needed, found.needed)
    assert repr(found).startswith("Neighbors(distances=") and "proven=" in repr(found)


def test_out_everywhere(rng):
    base, queries = rng.normal(size=(200, 4)), rng.normal(size=(7, 4))
    m = capball.fit(base)
    near = np.empty((7, 3)), np.empty((7, 3), np.int64)
    found = capball.knn(base, queries, 3, out=near)
    assert found.distances is near[0] and found.ids is near[1]
    np.testing.assert_array_equal(near[1], capball.knn(base, queries, 3).ids)
    wide = np.zeros((7, 10), np.float32)
    capball.rerank(base, queries, near[1][:, ::-1], 3, out=(wide[:, :3], near[1]))
    np.testing.assert_array_equal(wide[:, :3], near[0].astype(np.float32))
    assert (wide[:, 3:] == 0).all()
    p, b = np.empty((7, 5)), np.empty(7)
    assert m.query(queries, 1.0, out=(p, b))[0] is p
    np.testing.assert_array_equal(b, m.query(queries, 1.0)[1])
    scores = np.empty(200)
    assert capball.Ball([0.0] * 4, 1.0).scores(base, out=scores) is scores
    assert m.cap(capball.Ball([0.0] * 4, 1.0)).scores(m.embed(base), scores) is scores
    sketch = capball.Sketch.fit(base, 16)
    codes = np.empty((200, sketch.code_bytes), np.uint8)
    assert sketch.encode(base, out=codes) is codes
    np.testing.assert_array_equal(codes, sketch.encode(base))
    for wrong in (near[0], (near[0],), (near[0], near[0]), (near[1], near[1]), (near[0][:, :2], near[1])):
        with pytest.raises((TypeError, ValueError)):
            capball.knn(base, queries, 3, out=wrong)


def test_recommendation_is_the_commands(command, rng, tmp_path):
    import json
    import subprocess

    rows = rng.normal(size=(400, 6)).astype(np.float32) + 1
    np.save(tmp_path / "x.npy", rows)
    text = subprocess.run([command, "recommend", tmp_path / "x.npy", "--engine", "int8", "--json"], check=True,
                          capture_output=True, text=True).stdout
    theirs, ours = json.loads(text), capball.recommend(rows, engine="int8")
    assert len(ours.rows) == len(theirs["rows"]) and ours.radius == theirs["radius"]
    assert [row.recall for row in ours.rows] == [row["recall"] for row in theirs["rows"]]
    assert ours.pick in ours.rows and ours.pick.index == "int8"
    assert ours.pick.name in repr(ours) and "<table>" in ours._repr_html_()


def test_one_thread_at_a_time_where_objects_change(rng):
    x = rng.normal(size=(400000, 8))
    pieces, refused = capball.Statistics(8), []

    def work(piece):
        try:
            pieces.update(x, first_id=piece * len(x))
        except RuntimeError as error:
            refused.append(str(error))

    crew = [threading.Thread(target=work, args=(piece,)) for piece in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert pieces.finish()["rows"] == 400000 * (4 - len(refused))
    assert all("another thread" in text for text in refused)


def unaligned(x):
    """The same array, one byte beside where its type wants it."""
    x = np.ascontiguousarray(x)
    moved = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    moved[...] = x
    assert not moved.flags.aligned
    return moved


def test_unaligned_rows_are_rows(rng):
    x = rng.normal(size=(30, 4))
    m = capball.fit(x)
    np.testing.assert_array_equal(m.embed(unaligned(x)), m.embed(x))
    np.testing.assert_array_equal(m.embed(unaligned(x.astype(np.float32))), m.embed(x.astype(np.float32)))
    np.testing.assert_array_equal(capball.knn(unaligned(x), unaligned(x[:3]), 2).ids, capball.knn(x, x[:3], 2).ids)


def test_masked_rows_have_no_value(rng):
    x = np.ma.masked_array(rng.normal(size=(5, 2)), False)
    m = capball.SphereMap(2, 1.0)
    np.testing.assert_array_equal(m.embed(x), m.embed(x.data))
    x[3, 1] = np.ma.masked
    with pytest.raises(TypeError, match="x has masked elements"):
        m.embed(x)


def candidates(rng):
    x = rng.normal(size=(40, 3))
    m = capball.fit(x)
    queries, y = x[:2] + 0.1, m.embed(x)
    ids = np.argsort(-(m.embed(queries) @ y.T), axis=1)[:, :10].astype(np.int64)
    return (lambda ids: capball.rerank(x, queries, ids, 3)), (lambda ids: capball.rescore(m, queries, ids, y, 3)), ids


def test_ids_are_whole_numbers(rng):
    *calls, ids = candidates(rng)
    hidden = np.ma.masked_array(ids, False)
    hidden[1, 2] = np.ma.masked
    for call in calls:
        for wrong in (ids + 0.7, ids.astype(np.float64), ids.astype(str), ids.astype(object), ids.astype(str).tolist(),
                      ids.astype(bool), ids + 0j):
            with pytest.raises(TypeError, match="ids holds .*, wanted whole numbers"):
                call(wrong)
        with pytest.raises(TypeError, match="ids has masked elements"):
            call(hidden)
        with pytest.raises(TypeError, match="ids must be a row of candidates for each of 2 queries"):
            call(ids[0])


def test_ids_of_any_type_and_layout(rng):
    *calls, ids = candidates(rng)
    for call in calls:
        wanted = call(ids)
        for same in (unaligned(ids), ids.astype(np.uint8), ids.astype(np.int32), ids.astype(np.uint64), ids.astype(">i8"),
                     np.asfortranarray(ids), np.repeat(ids, 2, axis=1)[:, ::2], ids.tolist(), np.ma.masked_array(ids)):
            np.testing.assert_array_equal(call(same).ids, wanted.ids)
            np.testing.assert_array_equal(call(same).distances, wanted.distances)


def test_an_id_is_named_once(rng):
    *calls, ids = candidates(rng)
    for last in (0, 9):  # the nearest and the farthest candidate
        twice = ids.copy()
        twice[1, 5] = twice[1, last]
        for call in calls:
            with pytest.raises(capball.InvalidValue, match="query 1 .* twice"):
                call(twice)


def test_ids_of_a_search_are_whole_numbers(rng):
    x = rng.normal(size=(9, 2))
    search = capball.Search(x[:1], k=2)
    with pytest.raises(TypeError, match="ids holds float64"):
        search.feed(x, ids=np.arange(9) + 0.5)
    search.feed(x, ids=unaligned(np.arange(9) + 100))
    assert search.result().ids[0] == 100


def test_files_are_written_by_the_library(rng, tmp_path, monkeypatch):
    """One writer, which leaves the process's umask alone, keeps links and permissions, and writes whole files."""
    def nobody(*_):
        raise AssertionError("os.umask is of the whole process")

    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", nobody)
        m = capball.fit(rng.normal(size=(9, 2)))
        m.save(tmp_path / "map.json")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "map.json").stat().st_mode & 0o777 == 0o640
    (tmp_path / "map.json").chmod(0o604)
    (tmp_path / "link.json").symlink_to("map.json")
    m.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "map.json").stat().st_mode & 0o777 == 0o604
    monkeypatch.chdir(tmp_path)
    m.save("-")
    m.save(b"bytes.json")
    assert sorted(os.listdir()) == ["-", "bytes.json", "link.json", "map.json"]
    assert len({(tmp_path / name).read_text() for name in os.listdir()}) == 1
    with pytest.raises(capball.FileError, match="No such file"):
        m.save(tmp_path / "nowhere" / "map.json")
