"""Parquet and Arrow files, to and from the files that the command reads:

    python -m capball.convert rows.parquet rows.npy       numbers alone
    python -m capball.convert rows.parquet rows.csv       with the names of the columns, and texts
    python -m capball.convert scores.npy scores.parquet   columns x0, x1, .. (or the names of a .csv)

Needs pyarrow. Nothing is computed here: cells are copied, missing ones become NaN.
"""

import argparse
import codecs
from pathlib import Path

import numpy as np

from capball import _core, _tables

__all__ = ["convert"]

PARQUET, ARROW, NPY, CSV = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".npy",), (".csv",)


def _refused(text):
    return SystemExit(f"capball.convert: {_core.printable(text)}")


def _read_csv(path):
    """Text that is not UTF-8 is taken for Windows-1252, as the command takes names."""
    import pyarrow.csv

    with open(path, "rb") as file:
        blocks, decoder = iter(lambda: file.read(1 << 20), b""), codecs.getincrementaldecoder("utf-8")()
        try:
            for block in blocks:
                decoder.decode(block)
            encoding = "utf8"
        except UnicodeDecodeError:
            encoding = "cp1252"
    return pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(encoding=encoding))


def _read_parquet(path):
    import pyarrow.parquet

    # a file may have two columns of one name, a data set of files may not
    return pyarrow.parquet.read_table(path) if path.is_dir() else pyarrow.parquet.ParquetFile(path).read()


def _read(path):
    import pyarrow
    import pyarrow.feather

    kind = path.suffix.lower()
    if kind in PARQUET:
        return _read_parquet(path)
    if kind in ARROW:
        return pyarrow.feather.read_table(path)
    if kind in CSV:
        return _read_csv(path)
    if kind in NPY:
        rows = np.load(path, allow_pickle=False)
        rows = rows.reshape(len(rows), -1)
        return pyarrow.table({f"x{k}": np.ascontiguousarray(rows[:, k]) for k in range(rows.shape[1])})
    raise _refused(f"{path}: only {' '.join(PARQUET + ARROW + CSV + NPY)} are read")


def _numbers(table, path):
    import pyarrow

    texts = [f.name for f in table.schema if not pyarrow.types.is_floating(f.type) and not pyarrow.types.is_integer(f.type)
             and not pyarrow.types.is_boolean(f.type)]
    if texts:
        raise _refused(f"{path}: column {texts[0]} is no number: write a .csv, or leave it out by --columns")
    narrow = all(pyarrow.types.is_float32(f.type) for f in table.schema) and not any(c.null_count for c in table.columns)
    made = np.empty((table.num_rows, table.num_columns), np.float32 if narrow else np.float64)
    for k, column in enumerate(table.columns):
        made[:, k] = column.cast(pyarrow.float32() if narrow else pyarrow.float64()).to_numpy()
    return made


def _write(table, path):
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    kind = path.suffix.lower()
    if kind in PARQUET:
        pyarrow.parquet.write_table(table, path)
    elif kind in ARROW:
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    elif kind in CSV:
        pyarrow.csv.write_csv(table, path)
    elif kind in NPY:
        np.save(path, _numbers(table, path))
    else:
        raise _refused(f"{path}: only {' '.join(PARQUET + ARROW + CSV + NPY)} are written")


def convert(source, target, columns=None):
    """Copies one file into another; columns, a list of names, or None for all."""
    table = _read(Path(source))
    table = table.rename_columns(_tables.settled(table.column_names))
    _write(table if columns is None else table.select(columns), Path(target))


def main(words=None):
    """The command line, python -m capball.convert SOURCE TARGET; words: its arguments, None for those of the process."""
    parser = argparse.ArgumentParser(prog="python -m capball.convert", description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--columns", help="names apart by commas")
    given = parser.parse_args(words)
    try:
        convert(given.source, given.target, given.columns.split(",") if given.columns else None)
    except ImportError as error:
        raise _refused(f"pyarrow is needed: {error}") from None
    except (OSError, ValueError, KeyError) as error:
        raise _refused(str(error)) from None


if __name__ == "__main__":
    main()
