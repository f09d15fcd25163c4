"""Job: "I fitted a detector in Python; the command, the database and JavaScript must call the same rows outliers." Rows that tie at
the threshold included. Databases and node are asked where they are installed."""

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
command = shutil.which("capball") or str(BUILD / "capball")
rng = np.random.default_rng(0)
rows = rng.integers(0, 4, size=(400, 3)).astype(float)  # 64 different rows: most scores occur several times
rows[:6] += [[9.0, 0, 0]]


def by_command(name):
    done = subprocess.run([command, "score", "-m", name, "rows.npy", "--predict", "-o", "-", "--to", "csv", "-q"],
                          check=True, capture_output=True, text=True)
    return np.array(done.stdout.split(), float) == -1


def by_sqlite(name):
    ask = f"SELECT capball_inside(CAST(readfile('{name}') AS TEXT), value) FROM json_each(CAST(readfile('rows.json') AS TEXT)) ORDER BY key"
    done = subprocess.run(["sqlite3", "-cmd", f".load {BUILD / 'sqlite' / 'capball'}", ":memory:", ask], check=True,
                          capture_output=True, text=True)
    return np.array(done.stdout.split()) == "0"


def by_duckdb(text):
    import duckdb
    import capball.duckdb

    database = capball.duckdb.register(duckdb.connect(), extension=False)
    ask = "SELECT capball_inside($1, $2::DOUBLE[])"
    return np.array([not database.execute(ask, [text, row]).fetchone()[0] for row in rows.tolist()])


SCRIPT = """
import { readFileSync } from 'node:fs';
const { BallModel } = await import(process.argv[2]);
const [model, rows] = [BallModel.parse(readFileSync(process.argv[3], 'utf8')), JSON.parse(readFileSync('rows.json', 'utf8'))];
console.log(JSON.stringify([...model.verdicts(model.scores({ data: Float64Array.from(rows.flat()), cols: 3 }))]));
"""


def by_node(name):
    Path("ask.mjs").write_text(SCRIPT)
    done = subprocess.run(["node", "ask.mjs", str(BUILD / "web" / "npm" / "index.js"), name], check=True, capture_output=True, text=True)
    return np.array(json.loads(done.stdout)) == -1


def others(name):
    """Who answers here, and what."""
    yield "the command", by_command(name)
    if shutil.which("sqlite3") and list((BUILD / "sqlite").glob("capball.*")):
        yield "SQLite", by_sqlite(name)
    try:
        yield "DuckDB", by_duckdb(Path(name).read_text())
    except ImportError:
        pass
    if shutil.which("node") and (BUILD / "web" / "npm" / "capball.wasm").exists():
        yield "JavaScript", by_node(name)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    np.save("rows.npy", rows)
    Path("rows.json").write_text(json.dumps(rows.tolist()))
    for detector in (BallDetector(contamination=0.05), BallDetector(contamination=0.29, balls=2), BallDetector(contamination=None, nu=0.1),
                     BallDetector(contamination=0.05, kernel="rbf"), EnclosingBall()):
        found = detector.fit(rows).predict(rows) == -1
        detector.model_.save("model.json")
        for who, verdicts in others("model.json"):
            assert (verdicts == found).all(), f"{who}: {(verdicts != found).sum()} of {len(rows)} verdicts on {detector} differ"
            print(f"{who}: {found.sum()} of {len(rows)} rows are outliers, the same as in Python")
        scores = detector.model_.scores(rows)
        assert np.unique(scores[found]).size == 0 or scores[found].max() < scores[~found].min()
        assert ((capball.BallModel.load("model.json").verdicts(scores) == -1) == found).all()
    detector = BallDetector(contamination=0.05).fit(rows)
    edge = (detector.model_.scores(rows) == detector.offset_).sum()
    print(f"{edge} rows score what the threshold is")
    assert edge > 1 and (detector.predict(rows) == -1).sum() <= 20
    os.chdir("/")
