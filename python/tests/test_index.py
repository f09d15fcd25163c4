import os
import pickle
import threading
import warnings

import numpy as np
import pytest

import capball


def same(found, wanted):
    np.testing.assert_array_equal(found.ids, wanted.ids)
    np.testing.assert_array_equal(found.distances, wanted.distances)


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int8"])
def test_answers_are_those_of_knn(rng, metric, dtype):
    base, queries = ((40 * rng.normal(size=(n, 50)) + 100).clip(0, 120).astype(dtype) for n in (3000, 9))
    index = capball.Index(50, metric, dtype)
    index.add(base[:1000])
    index.add(base[1000:])
    for n in (1, 9):
        same(index.search(queries[:n], k=7), capball.knn(base, queries[:n], 7, metric))
    radius = np.median(index.search(queries, k=7).distances[:, -1])
    found, wanted = index.range_search(queries, radius), capball.range_search(base, queries, radius, metric)
    np.testing.assert_array_equal(found.lims, wanted.lims)
    same(found, wanted)


def test_rows_come_and_go(rng):
    base = rng.normal(size=(500, 40)).astype(np.float32)
    index = capball.Index(40)
    index.add(base, ids=np.arange(500) * 10)
    index.remove([0, 20])
    index.replace(base[:1] + 1, ids=[30])
    assert len(index) == 498 and 10 in index and 20 not in index and 11 not in index
    np.testing.assert_array_equal(index.rows([30, 10]), [base[0] + 1, base[1]])
    assert index.search(base[:1] + 1, k=1).ids[0, 0] == 30
    assert index.remove([20, 11]) == 0 and index.remove([40, 20]) == 1 and index.add(base[4:5], ids=[40]).tolist() == [40]
    with pytest.raises(capball.InvalidValue, match="id 10 is given twice"):
        index.remove([10, 10])
    with pytest.raises(capball.InvalidValue, match="id 10 is already in the index"):
        index.add(base[:1], ids=[10])
    with pytest.raises(capball.RowError, match="row 1"):
        index.add(np.array([base[0], base[0] * np.nan]))
    assert len(index) == 498
    index.compact()
    assert len(index) == 498 and index.describe()["removed"] == 0


def test_what_went_in_comes_out(rng):
    base = rng.normal(size=(3000, 40)).astype(np.float32)
    index = capball.Index(base[:2000])
    assert index.add(base[2000:]).tolist() == list(range(2000, 3000))
    index.remove(np.arange(0, 3000, 7))
    kept = np.setdiff1d(np.arange(3000), np.arange(0, 3000, 7))
    np.testing.assert_array_equal(index.ids, kept)
    np.testing.assert_array_equal(index.rows(), base[kept])
    np.testing.assert_array_equal(index[5], base[5])
    with pytest.raises(KeyError):
        index[7]
    assert list(index)[:3] == [1, 2, 3]
    ids, rows = (np.concatenate(parts) for parts in zip(*index.blocks(700)))
    np.testing.assert_array_equal(ids, kept)
    np.testing.assert_array_equal(rows, base[kept])
    blocks = index.blocks(700)
    next(blocks)
    index.compact()
    with pytest.raises(ValueError, match="compacted"):
        next(blocks)
    index.put(base[:3] + 1, [5, 7, 9])
    np.testing.assert_array_equal(index.rows([5, 7, 9]), base[:3] + 1)
    assert len(index) == len(kept) + 1
    with pytest.raises(capball.InvalidValue, match="id 5 is given twice"):
        index.put(base[:2], [5, 5])


def test_to_arrow(rng):
    pytest.importorskip("pyarrow")
    base = rng.normal(size=(50, 4))
    table = capball.Index(base).to_arrow()
    assert table.column_names == ["id", "vector"] and table["vector"][7].as_py() == base[7].tolist()


def test_rows_that_are_not_copied(rng):
    base, queries = (rng.normal(size=(n, 40)).astype(np.float32) for n in (5000, 3))
    wanted = capball.knn(base, queries, 7)
    for rows in (base, base.astype(np.float64), np.asfortranarray(base), np.ma.array(base)):
        index = capball.Index(40, copy=False)
        index.add(rows[:1500])
        index.add(np.array(rows[1500:]))  # of which only the index has a reference
        same(index.search(queries, 7), wanted)
        index.compact()
        same(index.search(queries, 7), wanted)
    mine = base.copy()
    index = capball.Index(40, copy=False)
    index.add(mine)
    mine[0] = queries[0]
    assert index.rows([0])[0, 0] == queries[0, 0]  # the row itself, not a copy
    same(pickle.loads(pickle.dumps(index)).search(queries[1:], 7), index.search(queries[1:], 7))


def test_filters(rng):
    base, queries = (rng.normal(size=(n, 40)).astype(np.float32) for n in (2000, 3))
    index = capball.Index(40)
    index.add(base)
    mask = np.arange(2000) % 3 == 0
    wanted = capball.knn(base[mask], queries, 4).ids * 3
    for only in (mask, np.flatnonzero(mask), lambda query, id: id % 3 == 0):
        np.testing.assert_array_equal(index.search(queries, 4, filter=only).ids, wanted)
    few = index.search(queries, 4, filter=[5, 6])
    assert (few.ids[:, 2:] == -1).all() and np.isnan(few.distances[:, 2:]).all()
    with pytest.raises(ZeroDivisionError):
        index.search(queries, 4, filter=lambda query, id: 1 // 0)


def test_a_closed_index(rng, tmp_path):
    base = rng.normal(size=(300, 40)).astype(np.float32)
    path = tmp_path / "rows.index"
    with capball.Index(base) as index:
        index.save(path)
    writer = capball.Index.open(path, writable=True)
    writer.add(base[:1])
    ended = threading.Event()

    def search():
        with pytest.raises(ValueError, match="the index is closed"):
            while True:
                writer.search(base[:5], 1)
        ended.set()

    searches = threading.Thread(target=search)
    searches.start()
    writer.close()
    searches.join()
    assert ended.is_set()
    writer.close()
    for closed in (index, writer):
        for call in (lambda: closed.search(base[:1]), lambda: closed.range_search(base[:1], 1.0), lambda: closed.add(base[:1]), lambda: closed.remove([0]),
                     lambda: closed.rows([0]), lambda: closed.save(tmp_path / "other.index"), closed.save, closed.compact, closed.check, lambda: len(closed),
                     lambda: 0 in closed, lambda: pickle.dumps(closed)):
            with pytest.raises(ValueError, match="the index is closed"):
                call()
        assert repr(closed) == "Index(closed)"
    assert not (tmp_path / "other.index").exists() and len(capball.Index.open(path, writable=True)) == 301


def test_callbacks_do_not_use_their_index(rng):
    base = rng.normal(size=(300, 40)).astype(np.float32)
    index, other = capball.Index(base), capball.Index(base)
    for use in (lambda: index.add(base[:1]), lambda: index.remove([3]), lambda: index.replace(base[:1], [4]), index.compact, index.close,
                lambda: index.search(base[:1]), lambda: index.rows([1]), lambda: 3 in index, lambda: len(index), index.save, index.check):
        for call in (lambda: index.search(base[:5], filter=lambda query, id: use(), threads=1), lambda: index.search(base[:5], filter=lambda query, id: use(), threads=3),
                     lambda: index.search(base, progress=lambda share: use()), lambda: index.add(base[:1], progress=lambda share: use()),
                     lambda: index.compact(progress=lambda share: use())):
            with pytest.raises(RuntimeError, match="must not use the index that calls it"):
                call()
    lent = capball.Index(40, copy=False)
    for use in (lambda: lent.add(base), lambda: lent.replace(base[:1], [0]), lent.compact, lent.close):
        with pytest.raises(RuntimeError, match="must not use the index that calls it"):
            lent.add(base, progress=lambda share: use())
    index.search(base[:1], 1, filter=lambda query, id: id != 0 and (other.remove([id]), repr(index)))
    assert len(index) == 300 and len(other) < 300
    index.add(base[:1])


def test_arrays_that_are_lent_stay_while_the_index_is_compacted(rng):
    index, stop = capball.Index(40, copy=False), threading.Event()

    def compact():
        while not stop.is_set():
            index.compact()

    compacting = threading.Thread(target=compact)
    compacting.start()
    for i in range(60):
        index.add(np.full((2000, 40), i, np.float32))
    stop.set()
    compacting.join()
    rows = index.rows(np.arange(120000))
    np.testing.assert_array_equal(rows, np.repeat(np.arange(60, dtype=np.float32), 2000)[:, None] + np.zeros((1, 40), np.float32))


def test_each_query_has_its_filter(rng):
    base, queries = (rng.normal(size=(n, 40)).astype(np.float32) for n in (700, 3))
    index = capball.Index(40)
    index.add(base)
    masks = rng.random((3, 700)) < 0.1
    lists = [np.flatnonzero(mask) for mask in masks]
    wanted = [index.search(queries[i], 4, filter=masks[i]) for i in range(3)]
    for only in (masks, lists, [list(one) for one in lists], lambda query, id: masks[query, id]):
        found = index.search(queries, 4, filter=only)
        np.testing.assert_array_equal(found.ids, np.concatenate([one.ids for one in wanted]))
        np.testing.assert_array_equal(found.distances, np.concatenate([one.distances for one in wanted]))
        within = index.range_search(queries, 8.0, filter=only)
        for i in range(3):
            alone = index.range_search(queries[i], 8.0, filter=masks[i])
            np.testing.assert_array_equal(within.ids[within.lims[i]:within.lims[i + 1]], alone.ids)
            np.testing.assert_array_equal(index.range(queries, 8.0, filter=only)[i].ids, alone[0].ids)
    np.testing.assert_array_equal(index.search(queries, 1, filter=[[], [7], [8]]).ids, [[-1], [7], [8]])
    np.testing.assert_array_equal(index.search(queries, 1, filter=np.array([[5], [7], [8]])).ids, [[5], [7], [8]])
    for wrong in (masks[:2], lists[:2]):
        with pytest.raises(ValueError, match="filter has 2 .*, wanted 3"):
            index.search(queries, 4, filter=wrong)


def test_a_query_beside_the_grid_of_bytes():
    base = np.zeros((2, 32), np.uint8)
    base[1, 0] = 2
    found = capball.Index(base, metric="ip").search(np.full((1, 32), 1e-15), 2)
    assert found.ids.tolist() == [[1, 0]] and found.distances.tolist() == [[2e-15, 0]]


@pytest.mark.parametrize("k", [21, 2**40])
def test_more_neighbours_than_rows(rng, k):
    base = rng.normal(size=(20, 40)).astype(np.float32)
    sketch = capball.Sketch.fit(base, 64)
    codes = sketch.encode(base)
    for ask in (lambda: capball.Index(base).search(base[:2], k), lambda: capball.knn(base, base[:2], k),
                lambda: sketch.search(codes, base[:2], k), lambda: capball.rerank(base, base[:2], np.zeros((2, 20), int), k)):
        with pytest.raises(capball.InvalidValue, match=f"{k} neighbours asked for, more than the number of "):
            ask()


def test_a_damaged_file_is_found(rng, tmp_path):
    index = capball.Index(40)
    index.add(rng.normal(size=(3000, 40)).astype(np.float32))
    index.check()
    path = tmp_path / "rows.index"
    index.save(path)
    capball.Index.open(path).check()
    content = bytearray(path.read_bytes())
    content[50000] ^= 1
    path.write_bytes(content)
    with pytest.raises(capball.FormatError, match="bytes 4096 to .* do not match their checksum"):
        capball.Index.open(path).check()


def test_files_and_pickles(rng, tmp_path):
    base, queries = (rng.normal(size=(n, 40)).astype(np.float32) for n in (3000, 3))
    index = capball.Index(40, "cosine")
    index.add(base)
    path = tmp_path / "rows.index"
    index.save(path)
    wanted = index.search(queries)
    same(pickle.loads(pickle.dumps(index)).search(queries), wanted)
    with capball.Index.open(path, writable=True) as opened:
        same(opened.search(queries), wanted)
        opened.add(queries)
        with pytest.raises(capball.FileError, match="already open for writing"):
            capball.Index.open(path, writable=True)
    with capball.Index.open(path, writable=True) as opened:  # the one before is closed, though it has the name
        assert len(opened) == 3003
    reader = capball.Index.load(path)
    assert len(reader) == 3003 and (reader.search(queries, 1).ids[:, 0] == [3000, 3001, 3002]).all()
    with pytest.raises(capball.CapballError, match="opened read-only"):
        reader.remove([0])
    path.write_bytes(b"something else")
    with pytest.raises(capball.FormatError, match="not an index"):
        capball.Index.open(path)


def saved(rng, path, rows=1000):
    base = rng.normal(size=(rows, 40)).astype(np.float32)
    capball.Index(base).save(path)
    return base, capball.Index.open(path, writable=True)


def test_ids_are_whole_numbers_from_zero(rng):
    index = capball.Index(2)
    for wrong in ([-1], [5, -7], np.array([2**63], np.uint64), [2**63]):
        with pytest.raises((ValueError, OverflowError), match=r"ids\[|too large|too big"):
            index.add(np.zeros((len(wrong), 2)), ids=wrong)
        with pytest.raises((ValueError, OverflowError)):
            index.remove(wrong)
    index.add([[1.0, 2.0]], ids=[2**63 - 1])
    with pytest.raises(ValueError, match=f"no ids are left after {2**63 - 1}"):
        index.add([[1.0, 2.0]])
    assert 2**63 - 1 in index and -1 not in index and 2**64 not in index and np.int64(3) not in index
    for wrong in (1.5, "5", None, np.array([7, 8])):
        with pytest.raises(TypeError, match="an id is a whole number"):
            wrong in index


def test_a_damaged_log_is_found(rng, tmp_path):
    path = tmp_path / "rows.index"
    base, writer = saved(rng, path)
    end = path.stat().st_size
    for i in range(5):
        writer.add(base[:1])
    reader = capball.Index.open(path)
    writer.add(base[:1])
    reader.check()  # records that were added since it was opened
    writer.check()
    content = bytearray(path.read_bytes())
    path.write_bytes(content + bytes(100))  # a write that has just begun
    capball.Index.open(path).check()
    content[end + 60] ^= 1
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="bytes are not a record of its log, .*: ignored"):
        damaged = capball.Index.open(path)
    assert len(damaged) == 1000 and damaged.describe()["dropped"] == len(content) - end
    with pytest.raises(capball.FormatError, match=f"its last {len(content) - end} bytes are not a record"):
        damaged.check()
    del writer
    with pytest.warns(UserWarning, match="removed"):
        capball.Index.open(path, writable=True).close()
    assert path.stat().st_size == end and capball.Index.open(path).describe()["dropped"] == 0


def test_damage_does_not_get_new_checksums(rng, tmp_path):
    path = tmp_path / "rows.index"
    _, writer = saved(rng, path)
    content = bytearray(path.read_bytes())
    content[9000] ^= 1
    with path.open("r+b") as file:
        file.write(content)
    for call in (writer.compact, lambda: writer.save(tmp_path / "other.index"), lambda: pickle.dumps(writer)):
        with pytest.raises(capball.FormatError, match="do not match their checksum"):
            call()
    assert path.read_bytes() == content and not (tmp_path / "other.index").exists()


@pytest.mark.parametrize("how", ["save", "rename", "remove"])
def test_a_file_that_is_replaced_under_its_writer(rng, tmp_path, how):
    path = tmp_path / "rows.index"
    base, writer = saved(rng, path)
    other = capball.Index(base[:9])
    if how == "save":
        with pytest.raises(capball.FileError, match="another program is writing to it"):
            other.save(path)
        writer.add(base[:1])
    elif how == "rename":
        other.save(tmp_path / "other.index")
        os.replace(tmp_path / "other.index", path)
    else:
        path.unlink()
    for change in (lambda: writer.add(base[:1]), lambda: writer.remove([3]), writer.compact, writer.save):
        if how == "save":
            change()
        else:
            with pytest.raises(capball.FileError, match="replaced or removed after it was opened"):
                change()
    assert writer.search(base[5:6], 1).ids == 5  # what it has read is still there
    if how == "rename":
        assert len(capball.Index.open(path)) == 9
    if how == "remove":
        assert not path.exists()
    del writer, change
    other.save(path)
    assert len(capball.Index.open(path)) == 9


def test_compaction_keeps_the_file_and_its_lock(rng, tmp_path, monkeypatch):
    path, elsewhere = tmp_path / "rows.index", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    base, _ = saved(rng, "rows.index")
    del _
    writer = capball.Index.open("rows.index", writable=True)
    monkeypatch.chdir(elsewhere)
    stop, taken = threading.Event(), []

    def intrude():
        while not stop.is_set():
            try:
                taken.append(capball.Index.open(path, writable=True))
            except capball.FileError:
                pass

    intruder = threading.Thread(target=intrude)
    intruder.start()
    for i in range(30):
        writer.remove([i])
        writer.compact()
    stop.set()
    intruder.join()
    assert taken == [] and list(elsewhere.iterdir()) == []
    assert len(capball.Index.open(path)) == len(writer) == 970


def test_compaction_replaces_only_its_own_file(rng, tmp_path):
    """Another file takes the name while a compaction reads: it stays."""
    path, other = tmp_path / "rows.index", tmp_path / "other.index"
    _, writer = saved(rng, path)
    capball.Index(rng.normal(size=(9, 40)).astype(np.float32)).save(other)
    with pytest.raises(capball.FileError, match="was not replaced"):
        writer.compact(progress=lambda share: other.exists() and os.replace(other, path))
    assert len(capball.Index.open(path)) == 9
    with pytest.raises(capball.FileError, match="replaced or removed"):
        writer.remove([0])


def test_a_file_that_is_written_to_is_not_damaged(rng, tmp_path):
    base, writer = saved(rng, tmp_path / "rows.index")
    reader = capball.Index.open(tmp_path / "rows.index")
    adding = threading.Thread(target=lambda: [writer.add(base[:300]) for _ in range(200)])
    adding.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of records that are only being written
        while adding.is_alive():
            reader.check()
            capball.Index.open(tmp_path / "rows.index")
    adding.join()


def test_the_exception_of_a_block_is_seen(rng, tmp_path):
    path = tmp_path / "rows.index"
    saved(rng, path)[1].close()
    with pytest.raises(ZeroDivisionError):
        with capball.Index.open(path, writable=True):
            path.unlink()
            1 / 0
    saved(rng, path)[1].close()
    with pytest.raises(capball.FileError, match="replaced or removed"):
        with capball.Index.open(path, writable=True):
            path.unlink()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_file_is_given_up_though_a_child_lives(rng, tmp_path):
    _, writer = saved(rng, tmp_path / "rows.index")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        writer.close()
        os._exit(0)
    writer.close()
    with capball.Index.open(tmp_path / "rows.index", writable=True):
        os.write(write, b"x")
        os.waitpid(child, 0)
        with pytest.raises(capball.FileError, match="already open for writing"):
            capball.Index.open(tmp_path / "rows.index", writable=True)
    os.close(read)
    os.close(write)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_only_the_process_that_opened_a_file_writes_to_it(rng, tmp_path):
    base, writer = saved(rng, tmp_path / "rows.index")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            found = writer.search(base[:1], 1).ids[0, 0] == 0
            try:
                writer.add(base[:7])
            except capball.CapballError as error:
                code = 0 if found and "only the process that opened" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    writer.add(base[:2])
    assert len(capball.Index.open(tmp_path / "rows.index")) == 1002


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_rows_make_an_index(rng, dtype):
    base = (100 + 20 * rng.normal(size=(300, 40))).astype(dtype)
    index = capball.Index(base, "ip")
    assert (index.d, index.dtype, index.metric, len(index)) == (40, dtype, "ip", 300)
    same(index.search(base[:3]), capball.knn(base, base[:3], metric="ip"))
    assert capball.Index(base, dtype="float16").dtype == np.float16
    for wrong in (base[0], base[None], "rows", 0):
        with pytest.raises((TypeError, ValueError)):
            capball.Index(wrong)


def test_numbers_that_the_index_cannot_store():
    index = capball.Index(2, dtype="uint8")
    index.add(np.array([[0.0, 255.0]]))
    for wrong in ([[0.0, 256.0]], [[-1.0, 0.0]], [[0.5, 0.0]], [[0.0, 300.0], [np.nan, 0.0]]):
        with pytest.raises(ValueError, match="stores uint8, and row 0 has numbers"):
            index.add(wrong)
    assert len(index) == 1
    with pytest.raises(ValueError, match="stores float16, and row 1 has numbers"):
        capball.Index(2, dtype="float16").add([[1.0, 2.0], [1e5, 3.0]])
    with pytest.raises(ValueError, match="one for each of 2 queries"):
        index.range_search([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0, 3.0])


def test_threads_search_while_one_adds(rng):
    base, queries = (rng.normal(size=(n, 40)).astype(np.float32) for n in (4000, 2))
    index = capball.Index(40)
    index.add(base[:100])
    failed = []

    def search():
        for _ in range(50):
            n = len(index)
            found = index.search(queries, 3, threads=1)
            if not any((found.ids == capball.knn(base[:m], queries, 3, threads=1).ids).all()
                       for m in range(n - n % 100, len(index) + 1, 100)):
                failed.append(found)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for first in range(100, 1000, 100):
        index.add(base[first:first + 100])
    for thread in threads:
        thread.join()
    assert not failed

def test_a_reader_follows_its_file(rng, tmp_path):
    base = rng.normal(size=(300, 40)).astype(np.float32)
    path = tmp_path / "rows.index"
    capball.Index(base).save(path)
    still, following = capball.Index.open(path), capball.Index.open(path, follow=True)
    with capball.Index.open(path, writable=True) as writer:
        with pytest.raises(OSError, match=f"already open for writing(, by process {os.getpid()} |$)"):
            capball.Index.open(path, writable=True)
        writer.put(base[:1] + 1, [1000])
        assert following.search(base[:1] + 1, 1).ids[0, 0] == 1000 != still.search(base[:1] + 1, 1).ids[0, 0]
        assert still.refresh() and not still.refresh() and 1000 in still
        writer.compact()
        writer.remove([1000])
        assert 1000 not in following.ids and 1000 in still.ids
    with pytest.raises(ValueError, match="read-only"):
        capball.Index.open(path, writable=True, follow=True)


def test_text_keys(rng, tmp_path):
    base, queries = (rng.normal(size=(n, 40)).astype(np.float32) for n in (3000, 5))
    names = np.array([f"article é {i}" for i in range(3000)], object)
    index = capball.Index(base[:2000], ids=names[:2000])
    assert index.add(base[2000:], names[2000:]).tolist() == names[2000:].tolist()
    wanted = capball.knn(base, queries, 7)
    found = index.search(queries, 7)
    np.testing.assert_array_equal(found.ids, names[wanted.ids])
    np.testing.assert_array_equal(found.distances, wanted.distances)
    near = index.range_search(queries, 7.0)
    np.testing.assert_array_equal(near.ids, names[capball.range_search(base, queries, 7.0).ids])
    assert "article é 5" in index and "article" not in index
    np.testing.assert_array_equal(index["article é 5"], base[5])
    with pytest.raises(KeyError):
        index["nothing"]
    with pytest.raises(TypeError, match="a key is a str"):
        5 in index
    with pytest.raises(capball.InvalidValue, match='key "article é 7" is given twice, for rows 0 and 2'):
        index.put(base[:3], [names[7], names[8], names[7]])
    with pytest.raises(capball.InvalidValue, match='key "article é 7" of row 1 is already in the index'):
        index.add(base[:2], ["new", names[7]])
    with pytest.raises(capball.InvalidValue, match="row 1 has 65537 bytes, a key has 1 to 65536"):
        index.add(base[:2], ["new", "x" * 65537])
    for wrong in ("", "a\0b"):
        with pytest.raises(capball.InvalidValue, match="row 0"):
            index.add(base[:1], [wrong])
    with pytest.raises(TypeError, match="key 1 is 5, wanted a str"):
        index.add(base[:2], ["new", 5])
    with pytest.raises(TypeError, match="text keys"):
        index.add(base[:2])
    assert len(index) == 3000 and index.remove([names[3], "nothing", names[4]]) == 2
    index.put(base[:2] + 9, ["fresh", names[9]])
    index.replace(base[:1] + 8, [names[10]])
    assert len(index) == 2999 and index.search(base[1] + 9, 1).ids[0, 0] == names[9] and index.search(base[0] + 8, 1).ids[0, 0] == names[10]
    path = tmp_path / "rows.index"
    index.save(path)
    index.add(base[3:4], [names[3]])  # a key that comes back
    index.compact()
    assert index.search(base[3], 1).ids[0, 0] == names[3] and sorted(index) == sorted({*names, "fresh"} - {names[4]})
    reader = capball.Index.open(path, follow=True)
    with capball.Index.open(path, writable=True) as writer:
        writer.put(base[3:5], [names[3], "long" * 10000])
        writer.remove(["fresh"])
        assert reader.search(base[4], 1).ids[0, 0] == "long" * 10000 and reader.search(base[3], 1).ids[0, 0] == names[3] and "fresh" not in reader
        before = dict(zip(writer.ids, writer.rows()))
        writer.compact()
        assert sorted(reader.ids) == sorted(before) and all((row == before[name]).all() for name, row in zip(reader.ids, reader.rows()))
        writer.check()
    same = pickle.loads(pickle.dumps(capball.Index.open(path)))
    assert same.search(base[3], 1).ids[0, 0] == names[3]
    few = reader.search(base[:1], 3, filter=[names[1], "nothing"])
    assert few.ids.tolist() == [[names[1], None, None]]
    with pytest.raises(TypeError, match="wanted whole numbers"):
        capball.Index(base).add(base[:1], ["a"])


def test_filters_are_the_same_everywhere(rng):
    base, queries = (rng.normal(size=(n, 40)).astype(np.float32) for n in (6000, 3))
    names = np.array([f"k{i}" for i in range(6000)])
    index, keyed = capball.Index(base), capball.Index(base, ids=names)
    mask = np.zeros(6000, bool)
    mask[700:5900] = True
    wanted = capball.knn(base[mask], queries, 4).ids + 700
    allowed = np.flatnonzero(mask)
    for given in (mask, range(700, 5900), allowed, set(allowed.tolist()), lambda query, id: 700 <= id < 5900):
        np.testing.assert_array_equal(index.search(queries, 4, filter=given).ids, wanted)
        near = index.range_search(queries, 6.5, filter=given)
        np.testing.assert_array_equal(near.ids, index.range_search(queries, 6.5, filter=mask).ids)
    for given in (mask, names[mask], set(names[mask].tolist()), lambda query, key: 700 <= int(key[1:]) < 5900):
        np.testing.assert_array_equal(keyed.search(queries, 4, filter=given).ids, names[wanted])
        assert keyed.range_search(queries, 6.5, filter=given).ids.tolist() == names[near.ids].tolist()
    assert (index.search(queries, 4, filter=range(0)).ids == -1).all()
    assert index.search(queries, 4, filter=[[1], [2, 3], [4]]).ids[:, 0].tolist()[::2] == [1, 4]
    assert keyed.search(queries, 4, filter=[["k1"], ["k2", "k3"], ["k4"]]).ids[:, 0].tolist()[::2] == ["k1", "k4"]
    with pytest.raises(ValueError, match="step 1"):
        index.search(queries, 4, filter=range(0, 100, 2))
    with pytest.raises(ValueError, match="the mask has 3 elements"):
        keyed.search(queries, 4, filter=np.ones(3, bool))


def test_tables(rng, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    base = rng.normal(size=(50, 4)).astype(np.float32)
    names = [f"k{i}" for i in range(50)]
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(base.ravel()), 4)
    lists = pa.array(base.tolist(), pa.list_(pa.float32()))
    columns = [fixed, lists, fixed[5:45].cast(pa.large_list(pa.float32())), pa.chunked_array([fixed[:20], fixed[20:]])]
    tables = [pa.table({"id": names, "vector": fixed}), pa.table({"id": pa.array(names, pa.large_string()), "vector": lists, "price": range(50)})]
    streams = [pa.table({"id": names, "vector": fixed}).to_reader(7)]
    parquet.write_table(tables[0], tmp_path / "rows.parquet")
    for name in ("polars", "pandas"):
        try:
            module = __import__(name)
        except ModuleNotFoundError:
            continue
        tables.append(module.DataFrame({"id": names, "vector": base.tolist() if name == "polars" else list(base)}))
        columns.append(tables[-1]["vector"])
        if name == "polars":
            tables.append(module.DataFrame({"id": names, "vector": base}))
    for column in columns:
        index = capball.Index(column)
        assert len(index) == len(column) and (index.rows()[-1] == (base[-1] if len(column) == 50 else base[44])).all()
    for table in (*tables, *streams, tmp_path / "rows.parquet", str(tmp_path / "rows.parquet")):
        index = capball.Index(table)
        assert index.ids.tolist() == names and (index.rows() == base).all()
        empty = capball.Index(4, keys=True)
        if not isinstance(table, (str, os.PathLike)) and type(table).__name__ != "RecordBatchReader":
            empty.add(table)
            empty.put(table)
            assert len(empty) == 50
    table = index.to_arrow()
    assert table.column_names == ["id", "vector"] and (capball.Index(table).rows() == base).all()
    lent = capball.Index(fixed, copy=False)
    assert lent._lent[0].__array_interface__["data"][0] == fixed.flatten().buffers()[1].address  # not a copy
    with pytest.raises(ValueError, match="row 2 has 3 numbers, that of row 0 has 4"):
        capball.Index(pa.array([[1.0, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3]]))
    with pytest.raises(ValueError, match="row 1 is null"):
        capball.Index(pa.array([[1.0, 2], None]))
    with pytest.raises(ValueError, match="key 1 is null"):
        capball.Index(4, keys=True).add(base[:2], pa.array(["a", None]))
