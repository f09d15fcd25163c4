"""Tables with named columns (pandas, polars): which columns are text, and what is wrong with the cells of the others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import capball

_MOST_LISTED = 10  # columns in one message


def is_table(x: Any) -> bool:
    """Whether x has columns that are selected by their names."""
    names = getattr(x, "columns", None)
    return names is not None and not callable(names) and hasattr(x, "__getitem__")


def _columns(table: Any) -> list[tuple[Any, Any]]:
    """Name and cells of each column; in pandas two may have one name."""
    if hasattr(table, "iloc"):
        return [(name, table.iloc[:, j]) for j, name in enumerate(table.columns)]
    return [(name, table[name]) for name in table.columns]


def settled(names: list[str]) -> list[str]:
    """The names that the library gives to columns of these names: a warning tells which had the name of another."""
    found = capball._core.column_names(names)
    renamed = [f"{name} (column {j + 1}) is {new}" for j, (name, new) in enumerate(zip(names, found)) if name != new]
    if renamed:
        warnings.warn(f"columns with the name of another are renamed: {listed(renamed)}", UserWarning, stacklevel=4)
    return found


def with_names_apart(x: Any) -> Any:
    """A table of pandas with a name for each of its columns; anything else as it is."""
    names = list(x.columns) if is_table(x) and hasattr(x, "set_axis") else []
    if len(set(names)) == len(names) or not all(isinstance(name, str) for name in names):
        return x
    return x.set_axis(settled(names), axis=1)


def _number(cell: Any) -> float:
    return np.nan if cell is None or type(cell).__name__ == "NAType" else float(cell)


def _numbers(column: Any) -> tuple[np.ndarray, list[int]]:
    """The cells as floats, empty ones as NaN; and the rows whose cells are not numbers, as 0."""
    cells = np.asarray(column)
    if cells.dtype.kind in "biuf":
        return cells.astype(np.float64), []
    values = np.zeros(len(cells))
    if cells.dtype.kind in "mM":
        return values, list(range(len(cells)))
    others = []
    for row, cell in enumerate(cells):
        try:
            values[row] = _number(cell)
        except (TypeError, ValueError):
            others.append(row)
    return values, others


def _is_text(column: Any) -> bool:
    values, others = _numbers(column)
    return bool(2 * len(others) > (~np.isnan(values)).sum())


def text_columns(table: Any) -> list[Any]:
    """The columns of which most cells are not numbers: text, dates."""
    return [name for name, column in _columns(table) if _is_text(column)]


def without(table: Any, names: list[Any]) -> Any:
    """The table without these columns."""
    return table[[name for name in table.columns if name not in names]] if names else table


def listed(names: list[Any]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(capball._core.printable(str(name)) for name in names[:_MOST_LISTED]) + more


def numeric(x: Any) -> Any:
    """A table without its columns of text, which a warning names; anything else as it is."""
    x = with_names_apart(x)
    names = text_columns(x) if is_table(x) else []
    if not names:
        return x
    warnings.warn(f"columns of text or dates are left out: {listed(names)}", UserWarning, stacklevel=3)
    return without(x, names)


def without_unknown_text(x: Any, known: Any) -> Any:
    """A table without columns of text that are not among the known names; anything else as it is."""
    x = with_names_apart(x)
    return without(x, [name for name in text_columns(x) if name not in known]) if is_table(x) else x


def as_rows(x: Any) -> Any:
    """One row, as a Series or numbers, as a table or array with one row; rows as they are."""
    if hasattr(x, "to_frame") and hasattr(x, "index"):
        return x.to_frame().T
    return np.reshape(x, (1, -1)) if not is_table(x) and np.ndim(x) == 1 else x


def _cells(rows: np.ndarray | list[int], one: str, several: str) -> str:
    return f"the cell of row {rows[0]} {one}" if len(rows) == 1 else f"{len(rows)} cells {several}, the first in row {rows[0]}"


def _column_problems(column: Any) -> list[str]:
    values, others = _numbers(column)
    empty, infinite = np.flatnonzero(np.isnan(values)), np.flatnonzero(np.isinf(values))
    found = []
    if others:
        found.append(_cells(others, "is not a number", "are not numbers") + f": {np.asarray(column)[others[0]]!r}")
    if len(empty):
        found.append(_cells(empty, "is empty or NaN", "are empty or NaN"))
    if len(infinite):
        found.append(_cells(infinite, "is inf", "are inf"))
    return found


def problems(x: Any) -> str:
    """A message that names every column of a table, or of an array of floats, with cells that are not finite numbers, and the
    first such row; "" where there are none. Rows are counted from 0."""
    if is_table(x):
        columns = [(capball._core.printable(str(name)), column) for name, column in _columns(x)]
    elif isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind == "f":
        columns = [(f"x{j}", x[:, j]) for j in range(x.shape[1])]
    else:
        return ""
    lines = [f"column {name}: {'; '.join(wrong)}" for name, column in columns if (wrong := _column_problems(column))]
    if not lines:
        return ""
    if len(lines) > _MOST_LISTED:
        lines[_MOST_LISTED:] = [f"and {len(lines) - _MOST_LISTED} more columns"]
    return "\n".join([*lines, "drop such rows or columns, or fill the cells, as x.fillna(x.median(numeric_only=True)) does in pandas"])


@contextmanager
def problems_named(x: Any) -> Iterator[None]:
    """Errors about x within become the message of `problems`, where that has any."""
    try:
        yield
    except (TypeError, ValueError):
        wrong = problems(x)
        if not wrong:
            raise
        raise ValueError(wrong) from None
