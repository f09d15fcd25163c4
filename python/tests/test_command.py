"""What Python gives is what the command gives, bit for bit, and each reads the other's files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import capball


def run(command, *words):
    return subprocess.run([command, *map(str, words)], check=True, capture_output=True, text=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("goal", ["mean", "median", "hemisphere", "spread"])
def test_maps(command, tmp_path, rng, dtype, goal):
    x = rng.normal(size=(500, 6)).astype(dtype) + 3
    np.save(tmp_path / "x.npy", x)
    run(command, "fit", tmp_path / "x.npy", "-o", tmp_path / "map.json", "--goal", goal)
    theirs, ours = capball.SphereMap.load(tmp_path / "map.json"), capball.fit(x, goal=goal)
    assert theirs.s == ours.s
    np.testing.assert_array_equal(theirs.center, ours.center)
    ours.save(tmp_path / "ours.json")
    run(command, "embed", "-m", tmp_path / "ours.json", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    theirs = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(theirs, ours.embed(x, dtype=theirs.dtype))


@pytest.mark.parametrize("nu", [None, 0.2])
def test_balls(command, tmp_path, rng, nu):
    x = rng.normal(size=(300, 4))
    np.save(tmp_path / "x.npy", x)
    run(command, "ball", tmp_path / "x.npy", "-o", tmp_path / "ball.json", *([] if nu is None else ["--nu", nu]))
    theirs = capball.BallModel.load(tmp_path / "ball.json")
    ours = capball.enclosing_ball(x) if nu is None else capball.svdd(x, nu)
    assert theirs.radius == ours.radius
    np.testing.assert_array_equal(theirs.center, ours.center)
    ours.save(tmp_path / "ours.json")
    run(command, "score", "-m", tmp_path / "ours.json", tmp_path / "x.npy", "-o", tmp_path / "scores.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy").ravel(), ours.scores(x))


def test_neighbours(command, tmp_path, rng):
    base, queries = rng.normal(size=(400, 5)).astype(np.float32), rng.normal(size=(30, 5)).astype(np.float32)
    np.save(tmp_path / "b.npy", base)
    np.save(tmp_path / "q.npy", queries)
    run(command, "knn", tmp_path / "b.npy", tmp_path / "q.npy", "-k", 7, "-o", tmp_path / "i.npy", "--distances",
        tmp_path / "d.npy", "--dtype", "f64")
    found = capball.knn(base, queries, 7)
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), found.ids)
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), found.distances)


def test_sketches(command, tmp_path, rng):
    x = rng.normal(size=(500, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    run(command, "sketch", "train", tmp_path / "x.npy", "-o", tmp_path / "s.json", "--bits", 64)
    theirs, ours = capball.Sketch.load(tmp_path / "s.json"), capball.Sketch.fit(x, 64)
    np.testing.assert_array_equal(theirs.normals, ours.normals)
    run(command, "sketch", "encode", "-m", tmp_path / "s.json", tmp_path / "x.npy", "-o", tmp_path / "c.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), ours.encode(x))


def test_json_is_the_commands(command, tmp_path, rng):
    x = rng.normal(size=(50, 3))
    capball.fit(x).save(tmp_path / "map.json")
    assert json.loads((tmp_path / "map.json").read_text())["dim"] == 3
    run(command, "dual", "-m", tmp_path / "map.json", "-h")


def test_module_runs_the_command(command):
    """python -m capball becomes the command of the package, or the one on PATH."""
    path = os.pathsep.join([str(Path(command).parent), os.environ["PATH"]])
    said = subprocess.run([sys.executable, "-m", "capball", "--version"], capture_output=True, text=True,
                          env={**os.environ, "PATH": path})
    assert said.returncode == 0 and said.stdout.startswith("capball ")


def test_a_key_with_a_line_break_is_not_exported_as_lines(command, tmp_path):
    capball.Index(np.eye(3), ids=["a", "x\ny", "b"]).save(tmp_path / "keys.index")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        run(command, "index", "export", tmp_path / "keys.index", "-o", tmp_path / "rows.npy", "--ids", tmp_path / "keys.txt")
    assert "line break" in raised.value.stderr and not (tmp_path / "keys.txt").exists()


def test_counts_of_nothing_are_refused():
    x = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(ValueError, match="balls must be a whole number >= 1, got 0"):
        capball.svdd(x, 0.1, balls=0)
    with pytest.raises(ValueError, match="bytes must be a whole number >= 1, got 0"):
        capball.Sketch.fit(x, bytes=0)
