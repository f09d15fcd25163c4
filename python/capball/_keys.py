"""Text keys of an index: as the library takes them, one text and where each key begins."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_text(x: Any) -> bool:
    """Whether these are texts: strings, or arrays and columns of strings."""
    if isinstance(x, str):
        return True
    if isinstance(x, (list, tuple, set, frozenset)):
        return len(x) > 0 and isinstance(next(iter(x)), str)
    kind = getattr(getattr(x, "dtype", None), "kind", None)
    if kind in ("U", "T"):
        return True
    if kind == "O":  # also pandas' strings
        return len(x) > 0 and isinstance(np.asarray(x, object).ravel()[0], str)
    return str(getattr(x, "type", getattr(x, "dtype", ""))).lower().startswith(("string", "large_string", "str", "utf8"))


def array(keys: Any) -> np.ndarray:
    """The keys as an array of objects."""
    given = [keys] if isinstance(keys, str) else keys.to_pylist() if hasattr(keys, "to_pylist") else list(keys)
    made = np.empty(len(given), object)
    made[:] = given
    return made


def _of_arrow(keys: Any) -> tuple[Any, np.ndarray]:
    import pyarrow as pa

    if hasattr(keys, "combine_chunks"):
        keys = keys.combine_chunks()
        if hasattr(keys, "num_chunks"):
            keys = keys.chunk(0)
    if keys.null_count:
        raise ValueError(f"key {int(np.argmax(np.asarray(keys.is_null())))} is null")
    keys = keys.cast(pa.large_string())
    _, ends, text = keys.buffers()
    offsets = np.frombuffer(ends, np.int64)[keys.offset:keys.offset + len(keys) + 1] if len(keys) else np.zeros(1, np.int64)
    return b"" if text is None else memoryview(text), np.ascontiguousarray(offsets)


def texts(keys: Any) -> tuple[Any, np.ndarray]:
    """One text in UTF-8, and where each key begins and the last one ends. TypeError names the first that is not a str."""
    if type(keys).__module__.startswith("pyarrow"):
        return _of_arrow(keys)
    given = array(keys)
    for number, key in enumerate(given):
        if not isinstance(key, str):
            raise TypeError(f"key {number} is {key!r}, wanted a str")
    try:
        parts = [key.encode() for key in given]
    except UnicodeEncodeError as error:
        raise ValueError(f"key {error.object!r} is not Unicode text: {error.reason}") from None
    return b"".join(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64)
