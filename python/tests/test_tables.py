"""The command reads tables as pandas reads them."""

import gzip
import shutil
import subprocess

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")


@pytest.fixture
def frame(rng):
    cells = rng.normal(size=(200, 4)) * 10.0 ** rng.integers(-8, 9, size=(200, 4))
    cells[rng.random(cells.shape) < 0.1] = np.nan
    return pandas.DataFrame(cells, columns=["a", "b c", 'd "e"', "f,g"])


def read(command, path, *options):
    """Float64 of every cell, as the command reads them."""
    made = path.with_name("made.npy")
    subprocess.run([command, "convert", path, made, "-q", *options], check=True, capture_output=True, text=True)
    return np.load(made)


def same(ours, theirs):
    np.testing.assert_array_equal(ours, theirs.to_numpy(dtype=float))


# Older pandas rounds to the last bit only when it is asked to; newer ones always do, and warn.
PRECISE = {"float_precision": "round_trip"} if int(pandas.__version__.split(".")[0]) < 3 else {}


def test_with_index(command, tmp_path, frame):
    path = tmp_path / "x.csv"
    frame.to_csv(path)
    same(read(command, path), pandas.read_csv(path, index_col=0, **PRECISE))


def test_with_named_rows(command, tmp_path, frame):
    path = tmp_path / "x.csv"
    frame.set_axis([f"row {i}" for i in range(len(frame))]).to_csv(path)
    same(read(command, path), pandas.read_csv(path, index_col=0, **PRECISE))


def test_without_index(command, tmp_path, frame):
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    same(read(command, path), pandas.read_csv(path, **PRECISE))


def test_columns_without_names(command, tmp_path, frame):
    path = tmp_path / "x.csv"
    pandas.DataFrame(frame.to_numpy()).to_csv(path)
    same(read(command, path), pandas.read_csv(path, index_col=0, **PRECISE))


@pytest.mark.parametrize("bom", ["utf-8", "utf-8-sig"])
def test_excel(command, tmp_path, frame, bom):
    path = tmp_path / "x.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False, encoding=bom, lineterminator="\r\n")
    same(read(command, path, "--decimal-comma"), pandas.read_csv(path, sep=";", decimal=",", encoding=bom, **PRECISE))


def test_r(command, tmp_path, frame):
    """write.csv: names in quotes, NA, rows numbered from 1 in quotes."""
    path = tmp_path / "x.csv"
    lines = ['"","a","b c","d ""e""","f,g"']
    for i, row in enumerate(frame.to_numpy()):
        lines.append(",".join([f'"{i + 1}"', *("NA" if np.isnan(v) else repr(float(v)) for v in row)]))
    path.write_text("\n".join(lines) + "\n")
    same(read(command, path), pandas.read_csv(path, index_col=0, **PRECISE))


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_separators(command, tmp_path, frame, separator):
    path = tmp_path / "x.csv"
    frame.to_csv(path, sep=separator, index=False)
    same(read(command, path), pandas.read_csv(path, sep=separator, **PRECISE))


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_packed(command, tmp_path, frame, packing):
    path = tmp_path / f"x.csv.{packing}"
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
    if f"{packing}: yes" not in version:
        pytest.skip(f"built without .{packing}")
    packer = {"gz": "gzip", "zst": "zstd"}[packing]
    if shutil.which(packer) is None:
        pytest.skip(f"no {packer} here")
    frame.to_csv(tmp_path / "x.csv")
    subprocess.run([packer, "-q", "-k", tmp_path / "x.csv"], check=True)
    same(read(command, path), pandas.read_csv(tmp_path / "x.csv", index_col=0, **PRECISE))


@pytest.mark.parametrize("how", ["mean", "median"])
def test_impute(command, tmp_path, frame, how):
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    theirs = pandas.read_csv(path, **PRECISE)
    theirs = theirs.fillna(getattr(theirs, how)())
    np.testing.assert_allclose(read(command, path, "--impute", how), theirs.to_numpy(), rtol=1e-12)


def test_columns(command, tmp_path, frame):
    path = tmp_path / "x.csv"
    frame.assign(kind="u").to_csv(path)
    theirs = pandas.read_csv(path, index_col=0, **PRECISE)
    same(read(command, path, "--drop", "kind"), theirs.drop(columns="kind"))
    same(read(command, path, "--columns", "b c,a"), theirs[["b c", "a"]])


def test_truth(command, tmp_path):
    path = tmp_path / "x.csv"
    pandas.DataFrame({"a": [True, False], "b": [1, 2]}).to_csv(path, index=False)
    same(read(command, path), pandas.read_csv(path))


@pytest.mark.parametrize("word", ["", "NA", "N/A", "NULL", "null", "NaN", "nan", "None", "<NA>", "#N/A", "n/a"])
def test_missing(command, tmp_path, word):
    path = tmp_path / "x.csv"
    path.write_text(f"a,b\n1,{word}\n2,3\n")
    same(read(command, path), pandas.read_csv(path))


def test_gzip_of_bytes(command, tmp_path, frame):
    """Parts packed one after the other are one file."""
    path = tmp_path / "x.csv.gz"
    text = frame.to_csv(index=False).encode()
    path.write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
    same(read(command, path), pandas.read_csv(path, **PRECISE))
