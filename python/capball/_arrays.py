"""What becomes of objects that have no buffer the library can read as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _tables

_TYPES = {np.dtype(t) for t in (np.float32, np.float64, np.float16, np.uint8, np.int8)}


def _from_arrow(array: Any) -> np.ndarray | None:
    """A fixed-size list of Arrow, chunked or not, without a copy where it is one piece without nulls."""
    if hasattr(array, "combine_chunks"):
        array = array.combine_chunks()
        if hasattr(array, "num_chunks"):
            array = array.chunk(0)
    size = getattr(getattr(array, "type", None), "list_size", None)
    if size is None:
        return None
    if array.null_count:
        raise ValueError(f"row {int(np.argmax(np.asarray(array.is_null())))} is null")
    return np.asarray(array.flatten().to_numpy(zero_copy_only=False)).reshape(-1, size)


def _as_numpy(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x
    if type(x).__module__.startswith("pyarrow"):
        arrow = _from_arrow(x)
        if arrow is not None:
            return arrow
    if hasattr(x, "detach"):  # a torch tensor, also one that wants gradients
        x = x.detach()
    if hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def _unmasked(x: Any, name: str) -> np.ndarray:
    if np.ma.is_masked(x):
        raise TypeError(f"{name} has masked elements, which have no value here")
    return _as_numpy(x)


def ids(x: Any, name: str) -> np.ndarray:
    """Numbers of rows as int64, side by side and aligned; whole numbers only, nothing is rounded."""
    array = _unmasked(x, name)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} holds {array.dtype}, wanted whole numbers")
    return np.require(array, np.int64, ["C", "A"])


def _not_numbers(x: Any, name: str, dtype: np.dtype) -> str:
    text = _tables.text_columns(x) if _tables.is_table(x) else []
    if text:
        return f"columns of {name} hold text, wanted numbers: {_tables.listed(text)}"
    return f"{name} holds {dtype}, wanted numbers"


def limits(radius: Any, queries: int) -> np.ndarray:
    """A limit for each query, of one for all of them or one for each."""
    given = np.asarray(radius, np.float64)
    if given.shape not in ((), (queries,)):
        raise ValueError(f"radius must be one number, or one for each of {queries} queries; got shape {given.shape}")
    return np.ascontiguousarray(np.broadcast_to(given, (queries,)))


def rows(x: Any, name: str) -> np.ndarray:
    """Rows of one of the library's types, side by side and aligned; a copy only where there is no other way."""
    array = _unmasked(x, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has {array.ndim} dimensions, wanted rows and columns")
    if array.dtype.newbyteorder("=") not in _TYPES:
        if array.dtype.kind not in "fiub":
            raise TypeError(_not_numbers(x, name, array.dtype))
        array = array.astype(np.float64)
    elif not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements=["C", "A"])


# ---- sparse matrices of scipy

_PIECE = 1 << 22  # numbers of one piece in double


def is_sparse(x: Any) -> bool:
    """Whether x is a matrix or an array of scipy.sparse."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def in_pieces(call: Callable[[np.ndarray], np.ndarray], x: Any) -> np.ndarray:
    """call(rows) of the rows of a sparse matrix, a few at a time, one after the other."""
    x = x.tocsr()
    step = max(1, _PIECE // max(1, x.shape[1]))
    pieces = [call(x[at : at + step].toarray()) for at in range(0, max(1, x.shape[0]), step)]
    return np.concatenate(pieces)
