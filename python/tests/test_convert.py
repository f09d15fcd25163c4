"""Parquet and Arrow, there and back, and what the command reads of them."""

import subprocess

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow")
from capball.convert import main  # noqa: E402


@pytest.fixture
def table(rng):
    x = rng.normal(size=(50, 3))
    return pyarrow.table({"a": x[:, 0], "b": x[:, 1], "name": [f"r{i}" for i in range(50)], "c": x[:, 2]}), x


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_there_and_back(tmp_path, table, kind):
    import pyarrow.parquet

    made, x = table
    pyarrow.parquet.write_table(made, tmp_path / "in.parquet")
    main([str(tmp_path / "in.parquet"), str(tmp_path / f"out.{kind}")])
    main([str(tmp_path / f"out.{kind}"), str(tmp_path / "back.npy"), "--columns", "a,b,c"])
    np.testing.assert_array_equal(np.load(tmp_path / "back.npy"), x)


def test_the_command_reads_it(tmp_path, table, command):
    import pyarrow.parquet

    made, x = table
    pyarrow.parquet.write_table(made, tmp_path / "in.parquet")
    main([str(tmp_path / "in.parquet"), str(tmp_path / "in.csv")])
    subprocess.run([command, "convert", tmp_path / "in.csv", tmp_path / "out.npy", "--id-column", "name"], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), x)


def test_missing_cells(tmp_path):
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, None, 3.0], "b": [4, 5, None]}), tmp_path / "in.parquet")
    main([str(tmp_path / "in.parquet"), str(tmp_path / "out.npy")])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), [[1, 4], [np.nan, 5], [3, np.nan]])


def test_texts_are_no_numbers(tmp_path, table):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table[0], tmp_path / "in.parquet")
    with pytest.raises(SystemExit, match="column name is no number"):
        main([str(tmp_path / "in.parquet"), str(tmp_path / "out.npy")])
