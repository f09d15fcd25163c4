"""Job: "keep product vectors with text keys, replace some daily, search with a filter from another process." From the words of the
tutorial on exact neighbours alone. PRODUCTS: how many, 5000 otherwise."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import capball

n, d = int(os.environ.get("PRODUCTS", 5000)), 64
rng = np.random.default_rng(0)
vectors = rng.normal(size=(n, d)).astype(np.float32)
skus = [f"sku-{i:06}" for i in range(n)]
ASK = """
import sys, numpy as np, capball
index = capball.Index.open(sys.argv[1], follow=True)
for line in sys.stdin:
    rows = np.load(line.strip(), allow_pickle=True).item()
    found = index.search(rows["queries"], 5, filter=rows["filter"])
    print(" ".join(map(str, found.ids.ravel())), flush=True)
"""


def ask(queries, chosen):
    np.save(questions, {"queries": queries, "filter": chosen})
    other.stdin.write(f"{questions}\n")
    other.stdin.flush()
    return np.array(other.stdout.readline().split()).reshape(-1, 5)


def plain(queries, allowed):
    distances = np.linalg.norm(vectors[allowed][None].astype(float) - queries[:, None].astype(float), axis=2)
    return np.array(skus)[allowed][np.argsort(distances, axis=1, kind="stable")[:, :5]]


with tempfile.TemporaryDirectory() as folder:
    path, questions = Path(folder) / "products.index", Path(folder) / "questions.npy"
    capball.Index(vectors, ids=skus).save(path)
    queries, everything = rng.normal(size=(4, d)).astype(np.float32), np.arange(n)
    with subprocess.Popen([sys.executable, "-c", ASK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert (ask(queries, None) == plain(queries, everything)).all()
        for day in range(4):
            changed = rng.choice(n, n // 7, replace=False)
            vectors[changed] = rng.normal(size=(len(changed), d))
            with capball.Index.open(path, writable=True) as index:
                index.put(vectors[changed], [skus[i] for i in changed])
                assert len(index) == n
            cheap = rng.choice(n, n // 10, replace=False)
            assert (ask(queries, None) == plain(queries, everything)).all()
            assert (ask(queries, [skus[i] for i in cheap]) == plain(queries, np.sort(cheap))).all()
        other.stdin.close()
    index = capball.Index.open(path)
    index.check()
    assert index.describe()["removed"] < n // 4 + 1 and sorted(index.ids) == skus
    order = np.argsort(index.ids)
    assert (index.rows()[order] == vectors).all()
print(f"{n} products of {d} numbers: changed on four days, and searched by another process")
