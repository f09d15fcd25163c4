"""Rows from columns of lists, and tables with a column `vector` and perhaps a column `id`: Arrow, polars, pandas and Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _arrays, _extras

_VECTOR, _ID = "vector", "id"


def _names(x: Any) -> list[str]:
    names = getattr(x, "column_names", None)  # Arrow
    if names is None:
        names = getattr(x, "columns", None) if hasattr(x, "__getitem__") else None
    return [] if names is None or callable(names) else list(names)


def _is_table(x: Any) -> bool:
    return not isinstance(x, np.ndarray) and _VECTOR in _names(x)


def _ragged(lengths: np.ndarray, name: str) -> ValueError:
    row = int(np.argmax(lengths != lengths[0]))
    return ValueError(f"{name}: the list of row {row} has {lengths[row]} numbers, that of row 0 has {lengths[0]}")


def _of_arrow(column: Any, name: str) -> np.ndarray:
    """A column of Arrow: lists of one length are rows, without a copy where they lie side by side."""
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
        if hasattr(column, "num_chunks"):
            column = column.chunk(0)
    if column.null_count:
        raise ValueError(f"{name}: row {int(np.argmax(np.asarray(column.is_null())))} is null")
    values = column.flatten()
    if values.null_count:
        raise ValueError(f"{name}: a number is null")
    size = getattr(column.type, "list_size", None)
    if size is None:
        lengths = np.asarray(column.value_lengths())
        if len(lengths) and (lengths != lengths[0]).any():
            raise _ragged(lengths, name)
        size = int(lengths[0]) if len(lengths) else 1
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, size)


def _of_list(column: Any, name: str) -> np.ndarray:
    """A column of lists or arrays, as pandas has them."""
    cells = [np.asarray(cell) for cell in column]
    lengths = np.array([cell.size for cell in cells])
    if len(lengths) and (lengths != lengths[0]).any():
        raise _ragged(lengths, name)
    return np.stack(cells) if cells else np.empty((0, 1), np.float32)


def _of_polars(column: Any, name: str) -> np.ndarray:
    if column.null_count():
        raise ValueError(f"{name}: row {column.is_null().arg_max()} is null")
    if str(column.dtype).startswith("Array"):
        return np.asarray(column.to_numpy())
    lengths = np.asarray(column.list.len().to_numpy())
    if len(lengths) and (lengths != lengths[0]).any():
        raise _ragged(lengths, name)
    return np.asarray(column.explode().to_numpy()).reshape(len(lengths), -1)


def _of_column(column: Any, name: str) -> np.ndarray:
    module = type(column).__module__
    if module.startswith("pyarrow"):
        return _of_arrow(column, name)
    if module.startswith("polars"):
        return _of_polars(column, name)
    return _of_list(column, name)


def _is_list_column(x: Any) -> bool:
    module = type(x).__module__
    if module.startswith("pyarrow"):
        return hasattr(x, "type") and "list" in str(x.type)
    if module.startswith("polars"):
        return str(getattr(x, "dtype", "")).startswith(("List", "Array"))
    return module.startswith("pandas") and getattr(x, "dtype", None) == object and not hasattr(x, "columns")


def _stream(x: Any) -> Any:
    """What speaks Arrow's C stream, as a table or column of Arrow; anything else as it is."""
    module = type(x).__module__
    if not hasattr(x, "__arrow_c_stream__") or module.startswith(("pyarrow", "polars", "pandas")):
        return x
    pa = _extras.module("pyarrow")
    return pa.table(x)


def one(x: Any) -> tuple[np.ndarray, Any]:
    """Rows, and ids where x is a table that has them."""
    x = _stream(x)
    if type(x).__name__ == "RecordBatchReader":
        x = x.read_all()
    if _is_table(x):
        column = x.column(_VECTOR) if hasattr(x, "column") else x[_VECTOR]
        ids = (x.column(_ID) if hasattr(x, "column") else x[_ID]) if _ID in _names(x) else None
        return _arrays.rows(_of_column(column, _VECTOR), _VECTOR), ids
    return _arrays.rows(_of_column(x, "rows") if _is_list_column(x) else x, "rows"), None


def _of_parquet(path: Any) -> Iterator[tuple[np.ndarray, Any]]:
    file = _extras.module("pyarrow.parquet").ParquetFile(path)
    names = [name for name in (_VECTOR, _ID) if name in file.schema_arrow.names]
    if _VECTOR not in names:
        raise ValueError(f"{os.fspath(path)} has no column `{_VECTOR}`; its columns are {', '.join(file.schema_arrow.names)}")
    for batch in file.iter_batches(columns=names):
        yield one(batch)


def blocks(x: Any, ids: Any) -> Iterator[tuple[np.ndarray, Any]] | None:
    """Blocks of rows and their ids, or None where x is a number of columns."""
    if isinstance(x, os.PathLike) or (isinstance(x, str) and x.endswith(".parquet")):
        return _of_parquet(x)
    if type(x).__name__ == "RecordBatchReader":
        return (one(batch) for batch in x)
    if not (_is_table(x) or _is_list_column(x) or hasattr(x, "__arrow_c_stream__") or np.ndim(x) == 2):
        return None
    rows, column = one(x)
    return iter([(rows, column if ids is None else ids)])
