"""A persistent index: rows are stored with one byte per number and searched exactly."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from . import _arrays, _columns, _core, _extras, _keys
from ._hits import Neighbors, Within
from ._progress import bar

_SHORT = {"f32": "float32", "f64": "float64", "f16": "float16", "u8": "uint8", "i8": "int8"}


def _bitmap(mask: np.ndarray) -> np.ndarray:
    """Booleans as words of 64 bits, along the last axis."""
    bits = np.packbits(mask, axis=-1, bitorder="little")
    missing = -bits.shape[-1] % 8 or (8 if bits.shape[-1] == 0 else 0)
    return np.ascontiguousarray(np.pad(bits, [(0, 0)] * (mask.ndim - 1) + [(0, missing)])).view(np.int64)


class _Calling(threading.local):
    """The indexes that are calling a filter, or telling their progress, in this thread."""

    def __init__(self) -> None:
        self.indexes: list[Index] = []


_calling = _Calling()


def _guarded(index: Index, call: Any) -> Any:
    """`call`, or None, such that using the index while it runs, which would wait for ever, is an error."""

    def guarded(*values: Any) -> Any:
        _calling.indexes.append(index)
        try:
            return call(*values)
        finally:
            _calling.indexes.pop()

    return None if call is None else guarded


def _filter(index: Index, given: Any) -> dict[str, Any]:
    """`given` as the library takes it: a callable, a mask, a range, or ids; for all queries or for each."""
    if given is None:
        return {}
    if callable(given):
        return {"allow_key" if index._keyed else "allow": _guarded(index, given)}
    if isinstance(given, range) and not index._keyed:
        if given.step != 1:
            raise ValueError(f"filter={given}: a range of ids has the step 1")
        first, end = max(given.start, 0), max(given.stop, 0)
        return {"span": (first, end)} if first < end else {"ids": np.empty(0, np.int64)}
    if isinstance(given, (set, frozenset)):
        given = list(given)
    if isinstance(given, (list, tuple)) and len(given) > 0 and np.ndim(given[0]) == 1 and np.asarray(given[0]).dtype != np.bool_:
        lists = [index._known(one) for one in given]
        ends = np.cumsum([0] + [len(one) for one in lists])
        return {"ids": np.concatenate(lists), "offsets": ends.astype(np.int64)}
    array = given if _keys.is_text(given) else np.asarray(given)
    if getattr(array, "dtype", None) == np.bool_ and array.ndim in (1, 2):
        return {"bitmap": _bitmap(index._mask(array))}
    if not _keys.is_text(given) and array.ndim == 2:
        return _filter(index, list(array))
    return {"ids": index._known(given)}


def _ids(x: Any) -> np.ndarray:
    """Ids as the index takes them: in one dimension, and such that -1 can mean that there is no row."""
    given = np.atleast_1d(_arrays.ids(x, "ids"))
    if given.size and given.min() < 0:
        at = int(np.flatnonzero(given.ravel() < 0)[0])
        raise ValueError(f"ids[{at}] is {np.ravel(x)[at]}: ids are whole numbers from 0 to 2**63-1")
    return given


def _converted(rows: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Rows rounded to floats of another size, if they are not too large; integers only where nothing is lost."""
    with np.errstate(all="ignore"):
        made = rows.astype(dtype)
    lost = made != rows if dtype.kind in "iu" else np.isinf(made) & np.isfinite(rows)
    if lost.any():
        row = int(np.flatnonzero(lost.reshape(-1, rows.shape[-1]).any(axis=1))[0])
        raise ValueError(f"the index stores {dtype}, and row {row} has numbers that are not: choose another dtype for the index")
    return made


def _from_bytes(content: bytes) -> Index:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index")
        with open(path, "wb") as file:
            file.write(content)
        return Index.open(path)


class Index(_core.Index):
    """Rows with ids, for exact neighbours of one query or of many.

    The index stores what `knn` prepares for every call: codes of one byte per number exclude the rows that cannot be
    results, and the others are measured in double. Results are those of `knn`, in every bit and in the order of ties.
    Threads may search while one changes the index. Callbacks must not use the index that calls them. After a fork the child may search it, unless another thread was using
    it at that moment; only the process that opened a file for writing can change the index.

    save writes a file, and open maps it: replace it by renaming another file, never overwrite it in place.
    An index opened with writable=True appends every change to its file, until it is closed; as a context manager an index is
    saved, if it has a file, and closed at the end. An index restored by pickle or made by copy can be searched, not changed.

    d       columns; or the first rows, which are added: a 2-d array, a column of lists, or a table of Arrow, polars or pandas, or
            a Parquet file, with a column `vector` of lists and, if it has one, a column `id` of whole numbers or text
    ids     of the first rows
    metric  "l2", "ip" or "cosine"
    dtype   of the stored rows: float32, float64, float16, uint8 or int8; None: that of the first rows, or float32. Rows of
            other types are rounded to it when they are added, but not to integers
    copy    False: arrays of this dtype that are added are not copied, which saves their memory and a third of the time; they
            must not be modified afterwards
    keys    True: rows have text keys instead of ids: UTF-8, at most 65536 bytes each. Everything that takes or gives ids then
            takes and gives keys
    levels  how many directions of the rows codes are of, beside the length of the rest, which bounds all distances, such as
            [24, 72]: rows that 24 directions cannot exclude are compared by 72. None: as a sample of the rows suggests, when
            there are 2048; []: codes of all numbers. Results do not depend on it

    >>> import capball
    >>> index = capball.Index([[0.0, 0.0], [2.0, 0.0], [5.0, 0.0]])
    >>> index.search([[1.9, 0.0]], k=2).ids
    array([[1, 0]])
    """

    _lent: list[np.ndarray] | None = None  # the arrays that are not copied
    _lending: Any = nullcontext()  # held by calls that change them
    _writable = _closed = _keyed = False

    def __new__(cls, d: Any, metric: str = "l2", dtype: Any = None, copy: bool = True, levels: Sequence[int] | None = None, *,
                ids: Any = None, keys: bool | None = None) -> Index:
        blocks = _columns.blocks(d, ids)
        first = next(blocks, None) if blocks is not None else None
        if dtype is None:
            dtype = np.float32 if first is None else first[0].dtype
        if keys is None:
            keys = first is not None and first[1] is not None and _keys.is_text(first[1])
        width = d if first is None else first[0].shape[1]
        made = super().__new__(cls, width, metric, np.dtype(dtype).name, copy, levels, keys)
        made._keyed = keys
        if not copy:
            made._lent, made._lending = [], threading.Lock()
        while first is not None:
            made.add(*first)
            first = next(blocks, None) if blocks is not None else None
        return made

    @property
    def d(self) -> int:
        """Columns."""
        return int(self.describe()["d"])

    @property
    def metric(self) -> str:
        """"l2", "ip" or "cosine"."""
        return str(self.describe()["metric"])

    @property
    def dtype(self) -> np.dtype:
        """Of the stored rows."""
        return np.dtype(_SHORT[self.describe()["dtype"]])

    def _check(self) -> None:
        if self in _calling.indexes:  # it would wait for this call to end
            raise RuntimeError("a filter or a progress callback must not use the index that calls it")
        if self._closed:
            raise ValueError("the index is closed")

    @contextmanager
    def _at_work(self, what: str, progress: Any) -> Iterator[Any]:
        self._check()
        with bar(what, progress) as callback:
            yield _guarded(self, callback)

    def _lend(self, rows: np.ndarray) -> None:
        if self._lent is not None:
            self._lent.append(rows)

    def _known(self, ids: Any) -> np.ndarray:
        """The ids of keys, -1 for those that are not in the index; ids as they are."""
        if not self._keyed:
            return _arrays.ids(ids, "filter")
        self._check()
        return super().find_keys(*_keys.texts(ids))

    def _own(self, ids: Any) -> np.ndarray:
        """Ids as the library has them. Keys that are not in the index are an error."""
        if not self._keyed:
            return _ids(ids)
        found = self._known([ids] if isinstance(ids, str) else ids)
        if found.size and found.min() < 0:
            missing = list(ids)[int(np.argmin(found))] if not isinstance(ids, str) else ids
            raise ValueError(f"key {missing!r} is not in the index")
        return found

    def _mask(self, mask: np.ndarray) -> np.ndarray:
        """A mask by id; with keys, one of the rows in the order of `ids`."""
        if not self._keyed:
            return mask
        own = self._contents(rows=False, own=True)[0]
        if mask.shape[-1] != len(own):
            raise ValueError(f"the mask has {mask.shape[-1]} elements, the index {len(own)} rows")
        by_id = np.zeros((*mask.shape[:-1], int(own.max(initial=-1)) + 1), np.bool_)
        by_id[..., own] = mask
        return by_id

    def _named(self, ids: np.ndarray) -> np.ndarray:
        """Keys of the library's ids, None where there is no row; ids as they are."""
        if not self._keyed:
            return ids
        names = np.empty(ids.size, object)
        names[:] = super().keys_of(ids)
        return names.reshape(ids.shape)

    def _found(self, search: Callable[[], tuple[Any, ...]], at: int) -> tuple[Any, ...]:
        """A result with keys instead of the ids at this position: again if one was removed, and the index compacted, meanwhile."""
        found = search()
        if not self._keyed:
            return found
        for _ in range(3):
            names = super().keys_of(found[at])
            if None not in names or names.count(None) == np.count_nonzero(found[at] < 0):
                break
            found = search()
        keys = np.empty(len(names), object)
        keys[:] = names
        return (*found[:at], keys.reshape(found[at].shape), *found[at + 1:])

    def _taken(self, rows: Any, ids: Any) -> tuple[np.ndarray, Any]:
        array, column = _columns.one(rows)
        if column is not None and ids is None:
            ids = column
        array = np.asarray(array if array.dtype == self.dtype else _converted(array, self.dtype))
        return array, ids

    def add(self, rows: Any, ids: Any = None, *, threads: int | None = None, progress: Any = None) -> np.ndarray:  # type: ignore[override]
        """Adds rows, all of them or none, and gives their ids; without ids they get the numbers after the largest id that was
        ever used. The rows of a table are its column `vector`, and their ids its column `id`."""
        array, ids = self._taken(rows, ids)
        count = len(array) if array.ndim > 1 else 1
        if self._keyed:
            return self._change_keys("add_keys", array, ids, threads, progress)
        given = None if ids is None else _ids(ids)
        if given is None and self.describe()["next_id"] + count > 2**63:
            raise ValueError(f"no ids are left after {self.describe()['next_id'] - 1}: pass ids")
        with self._at_work("add", progress) as callback, self._lending:
            if given is None:
                first = super().append(array, threads, callback)
                given = np.arange(first, first + count, dtype=np.int64)
            else:
                super().add(array, given, threads, callback)
            self._lend(array)
        return given

    def put(self, rows: Any, ids: Any = None, *, threads: int | None = None, progress: Any = None) -> np.ndarray:  # type: ignore[override]
        """Adds the rows whose ids are not in the index and replaces the others, all of them or none; gives the ids. Rows as for
        add."""
        array, ids = self._taken(rows, ids)
        if ids is None:
            raise TypeError("put needs the ids of the rows")
        if self._keyed:
            return self._change_keys("put_keys", array, ids, threads, progress)
        given = _ids(ids)
        with self._at_work("put", progress) as callback, self._lending:
            super().put(array, given, threads, callback)
            self._lend(array)
        return given

    def _change_keys(self, call: str, array: np.ndarray, keys: Any, threads: int | None, progress: Any) -> np.ndarray:
        if keys is None:
            raise TypeError("the rows of this index have text keys: pass ids=")
        text, offsets = _keys.texts(keys)
        with self._at_work(call[:3], progress) as callback, self._lending:
            getattr(super(), call)(array, text, offsets, threads, callback)
            self._lend(array)
        return _keys.array(keys)

    def replace(self, rows: Any, ids: Any, *, threads: int | None = None, progress: Any = None) -> None:  # type: ignore[override]
        """Replaces the rows of ids that are in the index, all of them or none."""
        array, ids = self._taken(rows, ids)
        with self._at_work("replace", progress) as callback:
            own = self._own(ids)
            with self._lending:
                super().replace(array, own, threads, callback)
                self._lend(array)

    def compact(self, *, threads: int | None = None, progress: Any = None) -> None:  # type: ignore[override]
        """Rebuilds the index without the removed rows; ids are kept, and all rows are copied. Changes do the same by themselves
        once a quarter of the rows is removed or replaced, or a quarter of the file is log, unless the index was made with copy=False."""
        with self._at_work("compact", progress) as callback, self._lending:
            super().compact(threads, callback)
            if self._lent is not None:
                self._lent.clear()

    def remove(self, ids: Any) -> int:
        """Removes the rows of ids, and gives how many there were; ids that are not in the index are ignored."""
        self._check()
        own = self._known([ids] if isinstance(ids, str) else ids) if self._keyed else _ids(ids)
        return int(super().remove(own[own >= 0]))

    def rows(self, ids: Any = None) -> np.ndarray:
        """The rows of ids; without ids all rows, in the order of `ids`."""
        self._check()
        return super().rows(self._own(ids)) if ids is not None else self._contents(ids=False)[1]

    def _block(self, place: int, room: int, ids: bool = True, rows: bool = True) -> tuple[int, Any, Any]:
        """The next place, and ids and rows from this place on; those that are not wanted are None."""
        self._check()
        place, count, given, vectors = super().read(place, room, ids, rows)
        return place, None if given is None else given[:count], None if vectors is None else vectors[:count]

    def _contents(self, ids: bool = True, rows: bool = True, own: bool = False) -> tuple[Any, Any]:
        """All ids, the library's or those of the user, and rows of one moment."""
        room = len(self)
        while True:
            _, given, vectors = self._block(0, room + 1, ids, rows)
            if len(vectors if given is None else given) <= room:
                return given if own or given is None else self._named(given), vectors
            room = 2 * room + 1  # another thread has added rows

    @property
    def ids(self) -> np.ndarray:
        """The ids of all rows, in order of arrival."""
        return self._contents(rows=False)[0]

    def blocks(self, size: int = 8192) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Ids and rows, so many at a time. Changes while it goes on may be seen; after a compaction it fails."""
        place, ids, rows = self._block(0, size)
        while len(ids):
            yield self._named(ids), rows
            place, ids, rows = self._block(place, size)

    def __iter__(self) -> Iterator[Any]:
        """The ids."""
        return iter(self.ids.tolist())

    def __getitem__(self, id: Any) -> np.ndarray:
        """The row of an id; KeyError if there is none."""
        if id not in self:
            raise KeyError(id)
        return self.rows([id])[0]

    def to_arrow(self) -> Any:
        """A table of Arrow with a column `id`, and a column `vector` of fixed-size lists."""
        pa = _extras.module("pyarrow")
        ids, rows = self._contents()
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
        return pa.table({"id": pa.array(ids), "vector": vectors})

    def search(self, queries: Any, k: int = 10, *, filter: Any = None, out: Any = None, threads: int | None = None,  # type: ignore[override]
               progress: Any = None) -> Neighbors:
        """The k nearest rows of every query; where `filter` leaves fewer, ids are -1 and distances NaN.

        filter  which rows may be found: ids, a range of ids, a mask of booleans by id (with keys: of the rows in the order of
                `ids`), or a callable of query number and id, which must not use the index; for each query its own: a list of ids
                per query, or a mask with a row per query
        out     (distances, ids), float and int64, to write to
        """
        if filter is None and progress is None:
            self._check()
            find = super().search
            if not self._keyed:
                return Neighbors(*find(queries, k, threads=threads, out=out))
            return Neighbors(*self._found(lambda: find(queries, k, threads=threads, out=out), 1))
        chosen = _filter(self, filter)
        with self._at_work("search", progress) as callback:
            find = super().search
            return Neighbors(*self._found(lambda: find(queries, k, **chosen, threads=threads, progress=callback, out=out), 1))

    def range_search(self, queries: Any, radius: Any, *, filter: Any = None, threads: int | None = None,
                     progress: Any = None) -> Within:
        """All rows within a radius of each query ("l2": value <= radius; "ip", "cosine": value >= radius).

        filter  as for search
        """
        if np.ndim(queries) == 1:
            queries = np.reshape(queries, (1, -1))
        limits = _arrays.limits(radius, len(queries))
        chosen = _filter(self, filter)
        with self._at_work("range_search", progress) as callback:
            find = super().range
            return Within(*self._found(lambda: find(queries, limits, **chosen, threads=threads, progress=callback), 1))

    range = range_search  # type: ignore[assignment]

    @classmethod
    def open(cls, path: Any, writable: bool = False, follow: bool = False) -> Index:
        """Opens a file of save or `capball index`: its rows are mapped, and read where they are needed.

        writable  changes are appended to the file, one writer at a time, and survive the end of the process; those before
                  a save without a path also survive a power failure
        follow    searches and reads see what the writer, of this or another process, has changed before they begin; otherwise
                  the index has the state of when it was opened, until refresh
        """
        made = super().open(path, writable)
        made._keyed = made.describe()["keys"]
        if follow:
            super(Index, made).follow()
        made._writable = writable
        dropped = made.describe()["dropped"]
        if dropped:
            warnings.warn(f"{path}: its last {dropped} bytes are not a record of its log, because of a power failure or damage: "
                          f"{'removed' if writable else 'ignored'}", stacklevel=2)
        return made

    load = open

    def refresh(self) -> bool:
        """Sees what the writer of the file has changed, and says whether that was anything."""
        self._check()
        return bool(super().refresh())

    def save(self, path: Any = None) -> None:
        """Writes the index to a file, which is replaced at once; without a path, all changes of an index that was opened
        for writing are on disk when it returns."""
        self._check()
        super().save(path)

    def describe(self) -> dict[str, Any]:
        """Contents and counters: d, dtype, metric, rows; removed rows that still take space, until compact; next_id, that of
        the next row added without one; code_bytes; bytes, whether rows have codes of one byte per number; levels, the
        numbers of directions of these codes, none if they are of all numbers; queries answered, rows measured for them, and
        queries answered by_floats because codes could not separate their nearest rows."""
        self._check()
        return super().describe()

    def close(self) -> None:
        """Frees the rows and closes the file, so that another may open it for writing; the index cannot be used afterwards.
        Changes are in the file, and survive a power failure if they were saved."""
        if not self._closed:
            self._check()
        with self._lending:
            self._closed = True
            super().close()
            if self._lent is not None:
                self._lent.clear()

    def check(self, *, progress: Any = None) -> None:  # type: ignore[override]
        """Verifies the checksums of the file that the index was opened from; FormatError if it is damaged."""
        with self._at_work("check", progress) as callback:
            super().check(None, callback)

    def __len__(self) -> int:
        return int(self.describe()["rows"])

    def __contains__(self, id: Any) -> bool:
        if self._keyed:
            if not isinstance(id, str):
                raise TypeError(f"a key is a str, got {type(id).__name__}")
            return bool(self._known([id])[0] >= 0)
        if not isinstance(id, (int, np.integer)):
            raise TypeError(f"an id is a whole number, got {type(id).__name__}")
        self._check()
        try:
            super().rows(np.array([id], np.int64))
        except (ValueError, OverflowError):  # not in the index; not a number of 64 bits
            return False
        return True

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: object, *unused: object) -> None:
        """Saves an index that was opened from a file, and closes it."""
        try:
            if not self._closed and self._writable:
                self.save()
        except OSError:
            if kind is None:  # otherwise the exception of the block says more
                raise
        finally:
            self.close()

    def __reduce__(self) -> tuple[Callable[[bytes], Index], tuple[bytes]]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "index")
            self.save(path)
            with open(path, "rb") as file:
                return _from_bytes, (file.read(),)

    def __repr__(self) -> str:
        if self._closed or self in _calling.indexes:
            return "Index(closed)" if self._closed else "Index(at work)"
        facts = self.describe()
        return f"Index(d={facts['d']}, metric={facts['metric']!r}, dtype={_SHORT[facts['dtype']]!r}, rows={facts['rows']})"
