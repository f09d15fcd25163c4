"""Job: "does it find the outliers of known sets?" Python's default and the command's recipe agree, and several balls help where rows
are in several clouds.

   outlier_sets.py [full]     full: all eight sets and eight seeds; else the three small ones and the default seed
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from capball.sklearn import BallDetector

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
RECIPE = ["--robust", "--contamination", "0.1"]
LOST = 0.1
# Of the default of 0.3, recipe="whitened", as docs/explanation/outliers.md has it: it stays, and the default is not below it by more than LOST.
BEFORE = {"breastw": .972, "cardio": .907, "cifar10-0-resnet18": .729, "ionosphere": .916, "letter": .794, "mammography": .869,
          "satellite": .645, "shuttle": .989}
full = sys.argv[1:] == ["full"]
names = sorted(BEFORE) if full else ["ionosphere", "letter", "satellite"]
command = next((path for path in (shutil.which("capball", path=str(Path(sys.executable).parent)), shutil.which("capball")) if path), None)
if not (DATA / "outlier-letter").is_dir():
    print("the shared outlier sets are not here")
    sys.exit(77)


def auc_of(detector, rows, labels):
    return roc_auc_score(labels, -detector.fit(rows).score_samples(rows))


def auc_by_command(rows, labels):
    np.save("rows.npy", rows)
    np.save("labels.npy", labels.astype(float))
    subprocess.run([command, "ball", "rows.npy", "-o", "ball.json", "-q", *RECIPE], check=True)
    told = subprocess.run([command, "score", "-m", "ball.json", "rows.npy", "--labels", "labels.npy", "-o", "scores.npy", "--json", "-q"],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(told)["auc"]


found = {}
for name in names:
    rows, labels = np.load(DATA / f"outlier-{name}" / "base.npy"), np.load(DATA / f"outlier-{name}" / "labels.npy").ravel() != 0
    rows = rows[:, rows.std(axis=0) > 0]
    one = found[name] = auc_of(BallDetector(), rows, labels)
    whitened = auc_of(BallDetector(recipe="whitened"), rows, labels)
    assert whitened >= BEFORE[name] - 0.0005, (name, whitened)
    assert one >= BEFORE[name] - LOST, (name, one)
    line = f"{name}: {one:.4f}"
    if command is not None:
        by_command = auc_by_command(rows, labels)
        assert abs(one - by_command) < 1e-9, (name, one, by_command)
        line += f", {by_command:.4f} by the command"
    if name in ("ionosphere", "letter", "satellite"):
        several = [auc_of(BallDetector(balls=16, random_state=seed), rows, labels) for seed in range(8 if full else 1)]
        line += ", 16 balls " + " ".join(f"{auc:.4f}" for auc in several)
        lifts = np.array(several) - whitened
        assert lifts[0] >= (0.06 if name == "letter" else 0), (name, several)
        assert name != "letter" or (lifts >= 0.06).mean() > 0.5
        assert (lifts >= 0).all() or name == "letter"
    print(line, flush=True)
if full:
    print(f"median {np.median(list(found.values())):.4f}")
    assert np.median(list(found.values())) >= np.median(list(BEFORE.values())) - 0.0005
