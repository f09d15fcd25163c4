"""Names of columns: repeated ones are told apart, and people are shown no text that controls a terminal."""

import warnings

import numpy as np
import pytest

import capball
import capball.sklearn
from capball import _core

MARKS = "\x9b\x85\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_the_rule():
    assert _core.column_names(["a", "b", "a", "", ""]) == ["a", "b", "a.1", "", ".1"]
    assert _core.column_names(["a", "a.1", "a", "a"]) == ["a", "a.1", "a.2", "a.3"]
    assert _core.column_names(()) == [] and _core.column_names(["Größe"]) == ["Größe"]
    with pytest.raises(TypeError):
        _core.column_names([1])


def test_many_names(rng):
    names = [f"n{i}" if i % 3 else f"n{i % 1000}.{i % 7}" for i in rng.integers(0, 5000, 20000)]
    found = _core.column_names(names)
    assert len(set(found)) == len(found) and _core.column_names(found) == found
    assert all(new == old or new.rpartition(".")[0] == old for old, new in zip(names, found))
    first = {}
    for place, name in enumerate(names):
        first.setdefault(name, place)
    assert all(found[place] == name for name, place in first.items())


def test_printable():
    assert _core.printable("Größe 数 \U0001f600 \\x") == "Größe 数 \U0001f600 \\x"
    assert _core.printable("a\x1b[2J\n\x7f") == "a\\x1b[2J\\x0a\\x7f"
    shown = _core.printable(MARKS)
    assert shown.isascii() and shown.startswith("\\xc2\\x9b\\xc2\\x85") and shown.endswith("\\xe2\\x81\\xa9")
    assert _core.printable("caf\udce9") == "caf\\xe9"  # as file names have bytes that are not UTF-8


def test_a_model_keeps_marks():
    x = np.eye(3)
    model = capball.svdd(x, 0.9, columns=["a" + MARKS, "b", "c"])
    text = model.to_json()
    assert not any(mark in text for mark in MARKS)
    assert capball.BallModel.from_json(text, "m.json").columns == ["a" + MARKS, "b", "c"]


def test_no_message_has_marks(rng):
    pandas = pytest.importorskip("pandas")
    x = pandas.DataFrame(rng.normal(size=(20, 2)), columns=["a" + MARKS, "b"])
    x["text" + MARKS] = "word"
    with pytest.warns(UserWarning, match="left out: text") as told:
        capball.sklearn.BallDetector().fit(x)
    said = [str(warning.message) for warning in told]
    empty = x.iloc[:, :2].copy()
    empty.iloc[3, 0] = np.nan
    for call in (lambda: capball.knn(x, x, 1), lambda: capball.sklearn.BallDetector().fit(empty)):
        with pytest.raises((TypeError, ValueError)) as raised:
            call()
        said.append(str(raised.value))
    assert all("\\xe2\\x81\\xa9" in text and not any(mark in text for mark in MARKS) for text in said), said


@pytest.fixture
def twice(rng):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "a"])


def test_functions(twice):
    with pytest.warns(UserWarning, match=r"renamed: a \(column 3\) is a.1"):
        model = capball.svdd(twice, 0.5)
    assert model.columns == ["a", "b", "a.1"]
    assert model.scores(twice).shape == (60,) and model.why(twice.iloc[0])[0][0].column in model.columns
    assert capball.BallModel.from_json(model.to_json(), "m.json").columns == model.columns


@pytest.mark.parametrize("make", [lambda: capball.sklearn.BallDetector(), lambda: capball.sklearn.EnclosingBall(),
                                  lambda: capball.sklearn.SphereEmbedding(), lambda: capball.sklearn.SketchTransformer(64),
                                  lambda: capball.sklearn.Neighbors()])
def test_estimators(twice, make):
    twice.insert(1, "word", "text", allow_duplicates=True)
    columns = twice if hasattr(make(), "why") else twice.drop(columns="word")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = make().fit(columns)
        assert list(fitted.feature_names_in_) == ["a", "b", "a.1"]
        ask = getattr(fitted, "predict", None) or getattr(fitted, "transform", None) or fitted.kneighbors
        assert len(ask(columns)) in (60, 2)


def test_cells_are_named_by_their_column(twice):
    twice.iloc[3, 2] = np.nan
    with warnings.catch_warnings(), pytest.raises(ValueError, match="^column a.1: the cell of row 3 is empty"):
        warnings.simplefilter("ignore")
        capball.sklearn.BallDetector().fit(twice)


def test_convert(tmp_path, command):
    pytest.importorskip("pyarrow")
    from capball.convert import convert

    latin, doubled = tmp_path / "latin.csv", tmp_path / "twice.csv"
    latin.write_bytes("Größe,€\n1,2\n2,5\n4,4\n".encode("cp1252"))
    doubled.write_text("a,b,a\n1,2,3\n2,3,5\n4,9,1\n")
    convert(latin, tmp_path / "l.parquet")
    convert(tmp_path / "l.parquet", tmp_path / "l.csv")
    assert (tmp_path / "l.csv").read_text(encoding="utf-8").splitlines()[0] == '"Größe","€"'
    convert(latin, tmp_path / "g.npy", ["Größe"])
    assert np.load(tmp_path / "g.npy")[:, 0].tolist() == [1, 2, 4]
    with pytest.warns(UserWarning, match="a.1"):
        convert(doubled, tmp_path / "t.parquet")
    convert(tmp_path / "t.parquet", tmp_path / "a.npy", ["a.1"])
    assert np.load(tmp_path / "a.npy")[:, 0].tolist() == [3, 5, 1]
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table([[1.0], [2.0]], names=["a", "a"]), tmp_path / "d.parquet")
    with pytest.warns(UserWarning, match="a.1"):
        convert(tmp_path / "d.parquet", tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text().splitlines()[0] == '"a","a.1"'
