"""Regions and classifiers as files, SQL, ONNX and C: the same verdicts on every row. More rows: CPB_REGION_ROWS=100000."""

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_circles
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import capball
from capball.sklearn import BallClassifier

ROWS = int(os.environ.get("CPB_REGION_ROWS", 500))
BUILD = Path(os.environ.get("BUILD", "build")).resolve()
ITS_NAMES = ["a b", 'say "c"', "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"]


def table(load, columns=4):
    x, y = load(return_X_y=True)
    return x[:, :columns], y


MODELS = {
    "two classes": lambda: BallClassifier().fit(*table(load_breast_cancer, 6)),
    "complement": lambda: BallClassifier(standardize=False).fit(*make_circles(400, noise=0.1, factor=0.5, random_state=0)),
    "three classes": lambda: BallClassifier().fit(*table(load_iris)),
    "one against the rest": lambda: BallClassifier(OneVsRestClassifier(LogisticRegression(C=10))).fit(*table(load_wine)),
    "log loss": lambda: BallClassifier(SGDClassifier(loss="log_loss", alpha=1e-4, random_state=0)).fit(*table(load_wine)),
    "without probabilities": lambda: BallClassifier(LinearSVC(), whiten=True, standardize=False).fit(*table(load_wine, 3)),
    "four balls": lambda: BallClassifier(balls_per_class=4, random_state=0).fit(*table(load_iris)),
    "four balls, two classes": lambda: BallClassifier(balls_per_class=4, random_state=0).fit(*table(load_breast_cancer, 6)),
    "texts as labels": lambda: BallClassifier(balls_per_class=2).fit(table(load_iris)[0], np.array(["se'tosa", "v", "virginica"])[table(load_iris)[1]]),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def new_rows(model, count=ROWS):
    """Rows of float32, as ONNX has them, around those of the fit."""
    center, spread = model.model_.center, 1 / (model.model_.factors if model.model_.factors is not None else np.ones(model.model_.d))
    return (center + np.random.default_rng(1).normal(size=(count, model.model_.d)) * spread * 1.5).astype(np.float32).astype(float)


def by_sqlite(expression, rows, names):
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE t (row INTEGER, {', '.join(quoted(n) + ' REAL' for n in names)})")
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (len(names) + 1))})", [(i, *row) for i, row in enumerate(rows.tolist())])
    return [value for value, in base.execute(f"SELECT {expression} FROM t ORDER BY row")]


def by_duckdb(expression, rows, names):
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    t = pandas.DataFrame(rows, columns=names).assign(row=np.arange(len(rows)))
    base = duckdb.connect()
    base.register("t", t)
    return [value for value, in base.execute(f"SELECT {expression} FROM t ORDER BY row").fetchall()]


def by_postgresql(expression, rows, names):
    psycopg = pytest.importorskip("psycopg")
    if "CPB_POSTGRESQL" not in os.environ:
        pytest.skip("CPB_POSTGRESQL is not the address of a server")
    with psycopg.connect(os.environ["CPB_POSTGRESQL"]) as base, base.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE t (row int, {', '.join(quoted(n) + ' float8' for n in names)})")
        with cursor.copy("COPY t FROM STDIN") as copy:
            for i, row in enumerate(rows.tolist()):
                copy.write_row((i, *row))
        return [value for value, in cursor.execute(f"SELECT {expression} FROM t ORDER BY row").fetchall()]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


DATABASES = {"sqlite": by_sqlite, "duckdb": by_duckdb, "postgresql": by_postgresql}


def has_exp():
    try:
        return sqlite3.connect(":memory:").execute("SELECT exp(0)").fetchone() == (1.0,)
    except sqlite3.OperationalError:
        return False


def compiled(tmp_path, source, name, rows):
    """What the function says of every row."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    main = (f'#include <stdio.h>\n{source}\nint main(void) {{\n  double x[{rows.shape[1]}];\n'
            f'  while (fread(x, sizeof x, 1, stdin) == 1) printf("%d\\n", {name}(x));\n  return 0;\n}}\n')
    (tmp_path / "f.c").write_text(main)
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "f.c", "-o", "f", "-lm"], check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "f"], input=np.ascontiguousarray(rows).tobytes(), capture_output=True, check=True)
    return np.array(done.stdout.split(), int)


@pytest.mark.parametrize("database", DATABASES)
def test_classes_in_databases(model, database):
    if database == "sqlite" and not has_exp() and len(model.model_.w) > len(model.classes_):
        pytest.skip("this SQLite has no exp")
    x = new_rows(model)
    names = ITS_NAMES[: x.shape[1]]
    found = DATABASES[database](model.model_.to_sql(database, names), x, names)
    assert found == model.predict(x).tolist()


@pytest.mark.parametrize("database", DATABASES)
def test_regions_in_databases(model, database):
    if database == "sqlite" and not has_exp() and len(model.model_.w) > len(model.classes_):
        pytest.skip("this SQLite has no exp")
    x = new_rows(model)
    names = [f"x{j}" for j in range(x.shape[1])]
    for region in model.regions_.values():
        found = DATABASES[database](region.to_sql(database), x, names)
        np.testing.assert_array_equal(np.array(found, bool), region.scores(x) >= 0)


def test_rows_without_a_value_have_no_class():
    model = MODELS["four balls"]()
    for name in DATABASES if has_exp() else ():
        if name == "sqlite":
            assert DATABASES[name](model.model_.to_sql(), np.array([[np.nan, 1, 1, 1]]), ["x0", "x1", "x2", "x3"]) == [None]


def test_classes_as_c(model, tmp_path):
    x = new_rows(model)
    np.testing.assert_array_equal(compiled(tmp_path, model.model_.to_c(), "class_of", x), model.model_.verdicts(model.model_.scores(x)))
    assert compiled(tmp_path, model.model_.to_c("f_1"), "f_1", np.full((1, x.shape[1]), np.nan)).tolist() == [-1]
    with pytest.raises(capball.InvalidValue, match="identifier"):
        model.model_.to_c("1f")


def test_regions_as_c(model, tmp_path):
    x = new_rows(model)
    for region in model.regions_.values():
        np.testing.assert_array_equal(compiled(tmp_path, region.to_c(), "inside", x), region.scores(x) >= 0)


def test_onnx(model):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    x = new_rows(model)
    session = runtime.InferenceSession(model.model_.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    number, label, scores = session.run(None, {"x": x.astype(np.float32)})
    np.testing.assert_array_equal(number, model.model_.verdicts(model.model_.scores(x)))
    assert label.tolist() == [str(c) for c in model.predict(x).tolist()]
    np.testing.assert_allclose(scores, model.model_.scores(x), rtol=1e-9, atol=1e-9)
    if len(model.model_.w) == 2:
        for region in model.regions_.values():
            session = runtime.InferenceSession(region.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
            inside, score = session.run(["inside", "score"], {"x": x.astype(np.float32)})
            np.testing.assert_array_equal(inside, region.scores(x) >= 0)


def test_files_bit_for_bit(model, tmp_path):
    x = new_rows(model)
    model.save(tmp_path / "classes.json")
    back = capball.Classes.load(tmp_path / "classes.json")
    assert back.to_json() == model.model_.to_json()
    np.testing.assert_array_equal(back.scores(x), model.model_.scores(x))
    assert back.predict(x).tolist() == model.predict(x).tolist()
    if model.model_.rule != "largest":
        np.testing.assert_array_equal(back.predict_proba(x), model.predict_proba(x))
    if len(model.model_.w) > 2:
        return
    for label, region in model.regions_.items():
        region.save(tmp_path / "region.json")
        np.testing.assert_array_equal(capball.Region.load(tmp_path / "region.json").scores(x), region.scores(x))


def test_regions_tile_the_space(model):
    x = new_rows(model)
    said = model.predict(x)
    for label, region in model.regions_.items():
        np.testing.assert_array_equal(region.scores(x) >= 0, said == label)
        assert region.describe() and region._repr_html_() and repr(region)


def test_probabilities_are_those_of_the_pipeline(model):
    x = new_rows(model)
    if model.model_.rule == "largest":
        np.testing.assert_array_equal(model.predict(x), model.pipeline_.predict(x))
        return
    wanted = model.pipeline_.predict_proba(x)
    np.testing.assert_allclose(model.predict_proba(x), wanted, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)
    for label, region in model.regions_.items():
        if isinstance(region, capball.ClassRegion):
            np.testing.assert_allclose(region.probabilities(x), wanted[:, list(model.classes_).index(label)], atol=1e-12)


def test_the_command_has_the_same_verdicts(model, tmp_path):
    command = shutil.which("capball") or str(BUILD / "capball")
    if not Path(command).exists():
        pytest.skip("the command is not built")
    x = new_rows(model)
    model.save(tmp_path / "classes.json")
    np.save(tmp_path / "rows.npy", x)
    done = subprocess.run([command, "score", "-m", "classes.json", "rows.npy", "-o", "-", "--to", "csv", "-q"],
                          cwd=tmp_path, check=True, capture_output=True, text=True)
    found = np.loadtxt(done.stdout.splitlines(), delimiter=",", ndmin=2)
    np.testing.assert_array_equal(found[:, 0], model.model_.verdicts(model.model_.scores(x)))
    if model.model_.rule != "largest":
        np.testing.assert_array_equal(found[:, 1:], model.predict_proba(x))
    for label, region in model.regions_.items():
        if isinstance(region, capball.ClassRegion):
            continue
        region.save(tmp_path / "region.json")
        done = subprocess.run([command, "score", "-m", "region.json", "rows.npy", "--predict", "-o", "-", "--to", "csv", "-q"],
                              cwd=tmp_path, check=True, capture_output=True, text=True)
        np.testing.assert_array_equal(np.array(done.stdout.split(), float) == 1, region.scores(x) >= 0)


def test_kinds_of_regions_in_every_form(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(min(ROWS, 5000), 3))
    axis = np.array([0.6, 0.8, 0.0])
    for region in (capball.Ball([0.1, 0, 0], 1.2), capball.Ball([0.1, 0, 0], 1.2, outside=True), capball.HalfSpace([0.6, 0, -0.8], -0.3),
                   capball.Ellipsoid([0, 0.5, 0], 1.0, W=rng.normal(size=(3, 3))), capball.Ellipsoid([0, 0, 0], 1.0, axis=axis, along=2.0),
                   capball.Ellipsoid([0, 0, 0], 1.0, W=np.diag([1.0, 2, 0]), outside=True)):
        inside = region.scores(x) >= 0
        assert 0.01 < inside.mean() < 0.99
        np.testing.assert_array_equal(np.array(by_sqlite(region.to_sql(), x, ["x0", "x1", "x2"]), bool), inside)
        np.testing.assert_array_equal(compiled(tmp_path, region.to_c("f"), "f", x), inside)
        region.save(tmp_path / "r.json")
        np.testing.assert_array_equal(capball.Region.load(tmp_path / "r.json").scores(x) >= 0, inside)
        assert "x0" in region.describe()
    with pytest.raises(ValueError, match="every row"):
        capball.Everywhere(3).save(tmp_path / "r.json")
    with pytest.raises(ValueError, match="dialect"):
        capball.Ball([0], 1).to_sql("mysql")


def test_describe_is_true_of_the_region():
    """Each line of describe is the region along its column, while the others are at their means."""
    pytest.importorskip("pandas")
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for model in (BallClassifier(), BallClassifier(SGDClassifier(random_state=0))):
        for region in model.fit(x, y).regions_.values():
            means, spread = region.usual
            for line in region.lines(None):
                j = list(x.columns).index(line.column)
                rows = np.tile(means, (401, 1))
                rows[:, j] += spread[j] * np.linspace(-7.5, 7.5, 401)
                inside = region.scores(rows) >= 0
                said = _says(line.where, rows[:, j], line.column)
                assert (inside == said).mean() > 0.985, line


def _says(where, values, name):
    if where in ("everywhere", "nowhere"):
        return np.full(len(values), where == "everywhere")
    if " or " in where:
        low, high = where.removeprefix(f"{name} <= ").split(" or >= ")
        return (values <= float(low)) | (values >= float(high))
    if where.startswith(f"{name} "):
        sign, number = where.removeprefix(f"{name} ").split()
        return values <= float(number) if sign == "<=" else values >= float(number)
    low, high = where.split(f" <= {name} <= ")
    return (values >= float(low)) & (values <= float(high))
