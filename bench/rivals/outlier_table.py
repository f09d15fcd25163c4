"""AUC of the exact ball and of libsvm's one-class SVM on the labelled outlier sets, columns standardised, one
setting for all sets; as a page. outlier_table.py DATA PAGE"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

data, page = sys.argv[1], sys.argv[2]
NU = 0.1


def auc(scores, labels):
    """Outliers score low; ties count half."""
    order = np.argsort(scores, kind="stable")
    values, first, counts = np.unique(scores[order], return_index=True, return_counts=True)
    rank = np.empty(len(scores))
    rank[order] = np.repeat(first + (counts + 1) / 2, counts)
    bad = labels != 0
    m = bad.sum()
    return 1 - (rank[bad].sum() - m * (m + 1) / 2) / (m * (~bad).sum())


def command(*words):
    run = subprocess.run(["capball", *words, "--json", "-q"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


try:
    from sklearn.svm import OneClassSVM
except ImportError:
    sys.exit("outlier table: python3-sklearn is not installed; %s is left as it is" % page)
rows = []
with tempfile.TemporaryDirectory() as work:
    for folder in sorted(glob.glob(data + "/outlier-*")):
        x, labels = np.load(folder + "/base.npy").astype(float), np.load(folder + "/labels.npy").ravel()
        spread = x.std(0)
        x = (x - x.mean(0))[:, spread > 0] / spread[spread > 0]
        np.save(work + "/x.npy", x)
        np.save(work + "/l.npy", labels.reshape(-1, 1).astype(np.uint8))
        ball = command("ball", work + "/x.npy", "-o", work + "/m.json", "--nu", str(NU))
        score = command("score", "-m", work + "/m.json", work + "/x.npy", "-o", work + "/s.npy", "--labels", work + "/l.npy")
        start = time.perf_counter()
        machine = OneClassSVM(nu=NU, gamma="scale").fit(x)
        seconds = time.perf_counter() - start
        other = auc(machine.decision_function(x), labels)
        rows.append("| %s | %d x %d | %.3f | %.3f | %.1e | %.0f x |" % (
            os.path.basename(folder)[len("outlier-"):], *x.shape, score["auc"], other, ball["gap"], seconds / ball["seconds"]))
        print(rows[-1], flush=True)
text = """# Outlier sets

AUC of the exact ball (SVDD, nu = %g) beside libsvm's one-class SVM (rbf, gamma = scale, the same nu) on labelled data sets,
columns standardised, constant ones left out. One setting for all sets: nothing was tuned. The last column is the time of
libsvm's fit over that of the ball's. Written by `build/bench/bench_ball`, with the data at ../shared/data.

| set | rows x columns | ball | libsvm | gap of the ball | libsvm's time |
|---|---|---|---|---|---|
%s
""" % (NU, "\n".join(rows))
open(page, "w").write(text)
