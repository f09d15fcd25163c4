"""Job: "I fitted a detector in Python; the command, databases, JavaScript and an ONNX runtime must call the same rows outliers, with the same
p-values." Rows that tie at the threshold included, and two of the shared sets where they are there. All have the same bits, ONNX the
same to rounding. Databases, node and runtimes are asked where they are installed."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import capball
from capball.sklearn import BallDetector, EnclosingBall

BUILD = Path(os.environ.get("BUILD", "build")).resolve()
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
command = shutil.which("capball") or str(BUILD / "capball")


def tied_rows():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(400, 3)).astype(float)  # 64 different rows: most scores occur several times
    rows[:6] += [[9.0, 0, 0]]
    return rows


def by_command(name, rows, has_p):
    def scored(*options):
        subprocess.run([command, "score", "-m", name, "rows.npy", "-o", "found.npy", "-q", *options], check=True)
        return np.load("found.npy").reshape(len(rows), -1)

    return scored("--predict")[:, 0] == -1, scored("--alpha", "0.01")[:, 1] if has_p else None


def by_sqlite(name, rows, has_p):
    p = "printf('%!.17g', capball_p_value(model, value))" if has_p else "'nan'"
    ask = (f"WITH m AS MATERIALIZED (SELECT CAST(readfile('{name}') AS TEXT) AS model) SELECT capball_is_outlier(model, value), {p}, "
           "capball_inside(model, value) FROM m, json_each(CAST(readfile('rows.json') AS TEXT)) ORDER BY key")
    done = subprocess.run(["sqlite3", "-cmd", f".load {BUILD / 'sqlite' / 'capball'}", ":memory:", ask], check=True,
                          capture_output=True, text=True)
    cells = np.array([line.split("|") for line in done.stdout.split()], float)
    assert (cells[:, 0] != cells[:, 2]).all()
    return cells[:, 0] == 1, cells[:, 1] if has_p else None


def by_duckdb(name, rows, has_p):
    import duckdb
    import capball.duckdb

    database = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    extension = BUILD / "duckdb" / "capball.duckdb_extension"
    if extension.exists():
        database.execute(f"LOAD '{extension}'")
    else:
        capball.duckdb.register(database)
    database.execute("CREATE TABLE t AS SELECT unnest($1::DOUBLE[][]) AS x", [rows.tolist()])
    text = Path(name).read_text()
    p = "capball_p_value($1, x)" if has_p else "0"
    found = database.execute(f"SELECT capball_is_outlier($1, x), {p} FROM t", [text]).fetchall()
    return np.array([row[0] for row in found]), np.array([row[1] for row in found]) if has_p else None


SCRIPT = """
import { readFileSync } from 'node:fs';
const { BallModel } = await import(process.argv[2]);
const [model, rows] = [BallModel.parse(readFileSync(process.argv[3], 'utf8')), JSON.parse(readFileSync('rows.json', 'utf8'))];
const scores = model.scores({ data: Float64Array.from(rows.flat()), cols: rows[0].length });
console.log(JSON.stringify([[...model.verdicts(scores)], [...model.pValues(scores)]]));
"""


def by_node(name, rows, has_p):
    Path("ask.mjs").write_text(SCRIPT)
    done = subprocess.run(["node", "ask.mjs", str(BUILD / "web" / "npm" / "index.js"), name], check=True, capture_output=True, text=True)
    verdicts, p = json.loads(done.stdout)
    return np.array(verdicts) == -1, np.array(p, float) if has_p else None


def by_onnx(name, rows, has_p):
    import onnxruntime

    graph = onnxruntime.InferenceSession(capball.BallModel.load(name).to_onnx(np.float64).SerializeToString())
    found = dict(zip([output.name for output in graph.get_outputs()], graph.run(None, {"x": rows})))
    return found["outlier"], found.get("p")


def others(name, rows, has_p, kernel):
    """Who answers here, and what."""
    given = name, rows, has_p
    yield "the command", *by_command(*given)
    if shutil.which("sqlite3") and list((BUILD / "sqlite").glob("capball.*")):
        yield "SQLite", *by_sqlite(*given)
    try:
        yield "DuckDB", *by_duckdb(*given)
    except ImportError:
        pass
    if shutil.which("node") and (BUILD / "web" / "npm" / "capball.wasm").exists():
        yield "JavaScript", *by_node(*given)
    try:
        if not kernel:
            yield "ONNX", *by_onnx(*given)
    except ImportError:
        pass


def compare(detector, rows, seen):
    np.save("rows.npy", rows)
    Path("rows.json").write_text(json.dumps(rows.tolist()))
    found = detector.fit(seen).predict(rows) == -1
    detector.model_.save("model.json")
    model = capball.BallModel.load("model.json")
    p = model.p_values(model.scores(rows)) if model.calibrated else None
    for who, verdicts, values in others("model.json", rows, p is not None, model.kernel != "linear"):
        assert (verdicts == found).all(), f"{who}: {(verdicts != found).sum()} of {len(rows)} verdicts on {detector} differ"
        assert p is None or np.array_equal(values, p), f"{who}: {(values != p).sum()} of {len(rows)} p-values of {detector} differ"
        print(f"{who}: {found.sum()} of {len(rows)} rows are outliers, the same as in Python{'' if p is None else ', with the same p'}")
    scores = detector.model_.scores(rows)
    assert not found.any() or found.all() or scores[found].max() < scores[~found].min()
    assert ((model.verdicts(scores) == -1) == found).all()


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    rows = tied_rows()
    for detector in (BallDetector(contamination=0.05), BallDetector(contamination=0.29, balls=2), BallDetector(contamination=None, nu=0.1),
                     BallDetector(contamination=0.05, recipe="whitened"), BallDetector(contamination=0.05, kernel="rbf"), EnclosingBall()):
        compare(detector, rows, rows)
    detector = BallDetector(contamination=0.05).fit(rows)
    edge = (detector.model_.scores(rows) == detector.offset_).sum()
    print(f"{edge} rows score what the threshold is")
    assert edge > 1 and (detector.predict(rows) == -1).sum() <= 20
    for name in ("letter", "wine"):
        if (DATA / f"outlier-{name}").is_dir():
            rows = np.load(DATA / f"outlier-{name}" / "base.npy").astype(float)
            compare(BallDetector(balls="auto"), rows[1::2], rows[::2])
    os.chdir("/")
