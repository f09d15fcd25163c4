"""capball in DuckDB: the functions of docs/how-to/sql.md on FLOAT[] and FLOAT[n].

The package contains an extension of DuckDB, which is several times faster than functions in Python, and accepts DOUBLE[] as well.
DuckDB loads it only into databases opened with allow_unsigned_extensions; elsewhere the functions are in Python.

>>> import duckdb, capball.duckdb
>>> con = capball.duckdb.register(duckdb.connect(config={"allow_unsigned_extensions": "true"}))
>>> con.execute("SELECT capball_inside('{\\"ball\\": {\\"c\\": [0, 0], \\"r\\": 1}}', [0.5, 0.8]::FLOAT[2])").fetchone()
(True,)
"""
from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from . import _core

# Functions in Python receive a map as often as there are rows, unless it is a number: the text is parsed by a function
# of its own, once for a constant, and referred to by that number.
_most_held = 1 << 16


class _Objects:
    """Parsed maps, models and regions by number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, str], int] = {}
        self.objects: dict[int, _core.SqlObject] = {}
        self.next = 0
        self.lock = Lock()

    def number(self, kind: str, text: str) -> int:
        with self.lock:
            found = self.numbers.get((kind, text))
        if found is not None:
            return found
        parsed = _core.sql_object(kind, text)
        with self.lock:
            if len(self.objects) >= _most_held: # more than the rows of a chunk, which are in use
                oldest = next(iter(self.numbers))
                del self.objects[self.numbers.pop(oldest)]
            self.next += 1
            self.numbers[kind, text] = self.next
            self.objects[self.next] = parsed
            return self.next


def _plain(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() # which copies


def _numbers(column: Any) -> np.ndarray:
    return _plain(column).to_numpy(zero_copy_only=False)


def _matrix(lists: Any, name: str = "x") -> np.ndarray:
    """Lists of equal length as the rows of a matrix, without a copy."""
    offsets = lists.offsets.to_numpy()
    values = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
    lengths = np.diff(offsets)
    if len(lengths) and (lengths != lengths[0]).any():
        row = int(np.argmax(lengths != lengths[0]))
        raise ValueError(f"{name} has {lengths[row]} columns, expected {lengths[0]}")
    if values.null_count:
        raise ValueError(f"{name} must not contain NULL")
    if len(lengths) and lengths[0] == 0:
        raise ValueError(f"{name} is empty")
    return values.to_numpy().reshape(len(lengths), -1)


def _lists(rows: np.ndarray) -> Any:
    n, d = rows.shape
    return pa.ListArray.from_arrays(np.arange(0, n * d + 1, d, dtype=np.int32), pa.array(rows.reshape(-1)))


def _result(kind: str, vectors: np.ndarray | None, numbers: np.ndarray) -> Any:
    if kind == "BOOLEAN":
        return pa.array(numbers >= 0)
    if kind == "DOUBLE":
        return pa.array(numbers)
    lists = _lists(vectors) if vectors is not None else None
    return pa.StructArray.from_arrays([lists, pa.array(numbers)], ["p", "b"]) if kind.startswith("STRUCT") else lists


# name, kind of its object, third argument, result
_calls = [
    ("capball_embed", "map", None, "FLOAT[]"),
    ("capball_unembed", "map", None, "FLOAT[]"),
    ("capball_query", "map", "DOUBLE", "FLOAT[]"),
    ("capball_cap", "map", "DOUBLE", "STRUCT(p FLOAT[], b DOUBLE)"),
    ("capball_distance", "map", "FLOAT[]", "DOUBLE"),
    ("capball_score", "model", None, "DOUBLE"),
    ("capball_why", "model", None, "DOUBLE[]"),
    ("capball_inside", "region", None, "BOOLEAN"),
    ("capball_is_outlier", "model", None, "BOOLEAN"),
    ("capball_p_value", "model", None, "DOUBLE"),
]


def _call(objects: _Objects, name: str, third: str | None, result: str) -> Any:
    def some(number: int, x: Any, extra: Any) -> Any:
        given = None if extra is None else _matrix(extra, "query") if third == "FLOAT[]" else _numbers(extra)
        return _result(result, *objects.objects[number].call(name, _matrix(x), given))

    def rows(number: Any, x: Any, extra: Any = None) -> Any:
        which, x, extra = _numbers(number), _plain(x), None if extra is None else _plain(extra)
        if (which == which[0]).all():
            return some(int(which[0]), x, extra)
        order = np.argsort(which, kind="stable")
        parts = [some(int(which[at[0]]), x.take(pa.array(at)), None if extra is None else extra.take(pa.array(at)))
                 for at in np.split(order, np.flatnonzero(np.diff(which[order])) + 1)]
        return pa.concat_arrays(parts).take(pa.array(np.argsort(order)))

    if third is None:
        return lambda number, x: rows(number, x)
    return rows


def _fit(fit: str) -> Any:
    """Of a list of rows for each group."""
    def fitted(lists: Any, goals: Any, shares: Any, numbers: Any) -> Any:
        lists, goals, shares, numbers = _plain(lists), _plain(goals).to_pylist(), _plain(shares).to_pylist(), _plain(numbers)
        texts = []
        for i in range(len(lists)):
            ids = numbers[i].values
            x = _matrix(lists[i].values)
            texts.append(_core.sql_fit(fit, x, goals[i] or None, shares[i] if fit in ("svdd", "detector") else None,
                                       ids.to_numpy() if len(ids) else None) if len(x) else None)
        return pa.array(texts, pa.string())
    return fitted


# Lists skip nothing by themselves: rows with a NULL argument are filtered, as by any aggregate.
_macros = """
CREATE OR REPLACE TEMP MACRO capball_fit
  (x) AS _capball_fit_map(list(x::FLOAT[]) FILTER (x IS NOT NULL), '', 0, []::BIGINT[]),
  (x, goal) AS _capball_fit_map(list(x::FLOAT[]) FILTER (x IS NOT NULL AND goal IS NOT NULL), any_value(goal), 0, []::BIGINT[]),
  (x, goal, row_number) AS _capball_fit_map(list(x::FLOAT[]) FILTER (x IS NOT NULL AND goal IS NOT NULL AND row_number IS NOT NULL),
    any_value(goal), 0, list(row_number::BIGINT) FILTER (x IS NOT NULL AND goal IS NOT NULL AND row_number IS NOT NULL));
CREATE OR REPLACE TEMP MACRO capball_enclosing_ball
  (x) AS _capball_fit_ball(list(x::FLOAT[]) FILTER (x IS NOT NULL), '', 0, []::BIGINT[]),
  (x, row_number) AS _capball_fit_ball(list(x::FLOAT[]) FILTER (x IS NOT NULL AND row_number IS NOT NULL), '', 0,
    list(row_number::BIGINT) FILTER (x IS NOT NULL AND row_number IS NOT NULL));
CREATE OR REPLACE TEMP MACRO capball_svdd
  (x, nu) AS _capball_fit_svdd(list(x::FLOAT[]) FILTER (x IS NOT NULL AND nu IS NOT NULL), '', any_value(nu::DOUBLE), []::BIGINT[]),
  (x, nu, row_number) AS _capball_fit_svdd(list(x::FLOAT[]) FILTER (x IS NOT NULL AND nu IS NOT NULL AND row_number IS NOT NULL), '',
    any_value(nu::DOUBLE), list(row_number::BIGINT) FILTER (x IS NOT NULL AND nu IS NOT NULL AND row_number IS NOT NULL));
CREATE OR REPLACE TEMP MACRO capball_detector
  (x, contamination) AS _capball_fit_detector(list(x::FLOAT[]) FILTER (x IS NOT NULL AND contamination IS NOT NULL), '',
    any_value(contamination::DOUBLE), []::BIGINT[]),
  (x, contamination, row_number) AS _capball_fit_detector(
    list(x::FLOAT[]) FILTER (x IS NOT NULL AND contamination IS NOT NULL AND row_number IS NOT NULL), '', any_value(contamination::DOUBLE),
    list(row_number::BIGINT) FILTER (x IS NOT NULL AND contamination IS NOT NULL AND row_number IS NOT NULL));
"""


def load(connection: Any) -> bool:
    """Loads the extension of the package; False if the database does not accept it."""
    import duckdb
    extension = Path(__file__).with_name("capball.duckdb_extension")
    allowed = connection.execute("SELECT current_setting('allow_unsigned_extensions')").fetchall()[0][0]
    if not allowed or not extension.exists():
        return False
    try:
        connection.execute(f"LOAD '{str(extension).replace(chr(39), 2 * chr(39))}'")
    except duckdb.Error: # of a version or a platform that it is not for
        return False
    return True


def register(connection: Any, extension: bool = True) -> Any:
    """Adds the functions to a connection of DuckDB, which is returned.

    extension: load the extension of the package where that is possible. Otherwise the functions are in Python, and temporary: a
    file stores none of them.
    """
    if not (extension and load(connection)):
        add_functions(connection)
    return connection


def add_functions(connection: Any) -> None:
    """Adds the functions in Python."""
    objects = _Objects()

    def parser(kind: str) -> Any:
        return lambda texts: pa.array([objects.number(kind, text) for text in _plain(texts).to_pylist()], pa.int64())

    def add(name: str, function: Any, parameters: list[str], result: str) -> None:
        connection.create_function(name, function, parameters, result, type="arrow")

    connection.execute(f"CREATE OR REPLACE TEMP MACRO capball_version() AS '{_core.version}'")
    for kind in ("map", "model", "region"):
        add(f"_capball_{kind}", parser(kind), ["VARCHAR"], "BIGINT")
    for name, kind, third, result in _calls:
        add(f"_{name}", _call(objects, name, third, result), ["BIGINT", "FLOAT[]", *([third] if third else [])], result)
        extra = ", z" if third else ""
        connection.execute(f"CREATE OR REPLACE TEMP MACRO {name}(o, x{extra}) AS _{name}(_capball_{kind}(o), x::FLOAT[]"
                           f"{', z::' + third if third else ''})")
    for fit in ("map", "ball", "svdd", "detector"):
        add(f"_capball_fit_{fit}", _fit(fit), ["FLOAT[][]", "VARCHAR", "DOUBLE", "BIGINT[]"], "VARCHAR")
    connection.execute(_macros)
