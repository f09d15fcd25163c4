"""What engines that are installed here give, of rows as they are by cosine and through capball: the table of docs/how-to/recipes.md.

    bench_recipes.py [ENGINE ..]     10 neighbours of 100 queries; ENGINE_ROWS rows (4000)

Recall is the share of the true Euclidean neighbours: `as it is`, rows given to the engine's cosine; `capball`, through Euclidean with
budget=100, which chooses the transform. Times are of one query, in milliseconds, in Python. The first set are clustered rows whose
norms span two decades, the second words of GloVe, if ../shared/data has them."""

import atexit
import importlib
import importlib.metadata
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import capball
from capball.engines import BY_NAME, Euclidean, adapters

PACKAGES = {"annoy": "annoy", "chroma": "chromadb", "duckdb": "duckdb", "faiss-hnsw": "faiss-cpu", "hnswlib": "hnswlib", "lancedb": "lancedb",
            "milvus-lite": "milvus-lite", "qdrant": "qdrant-client", "scann": "scann", "sqlite-vec": "sqlite-vec", "usearch": "usearch",
            "voyager": "voyager", "pgvector": "pgserver"}
n, asked, k = int(os.environ.get("ENGINE_ROWS", 4000)), 100, 10


def sets():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 32)) * 10 ** rng.uniform(-1, 1, (40, 1))
    rows = centres[rng.integers(0, 40, n + asked)]
    rows = (rows + 0.3 * np.linalg.norm(rows, axis=1, keepdims=True) / 32**0.5 * rng.normal(size=rows.shape)).astype(np.float32)
    yield "clusters", rows[:n], rows[n:]
    folder = Path(__file__).parents[2] / "shared" / "data" / "glove-100-angular"
    if folder.is_dir():
        words = np.load(folder / "base.npy").astype(np.float32)
        yield "GloVe", words[rng.permutation(len(words))[:n]], np.load(folder / "queries.npy").astype(np.float32)[:asked]


def timed(search, queries):
    begin = time.perf_counter()
    found = search(queries)
    return found, 1e3 * (time.perf_counter() - begin) / len(queries)


def share(found, true):
    return np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, true)])


def settings_of(name):
    """Of pgvector: a server in a folder, by pgserver, which has the extension."""
    if name != "pgvector":
        return {}
    folder = tempfile.mkdtemp()
    server = importlib.import_module("pgserver").get_server(folder)
    atexit.register(server.cleanup)
    return {"dsn": server.get_uri()}


def line(name, data):
    cells, settings = [], settings_of(name)
    for _, rows, queries in data:
        true = capball.knn(rows, queries, k).ids
        engine = adapters.engine(name, **settings)
        engine.build(rows, "cosine")
        plain, before = timed(lambda q: engine.search(q, k), queries)
        index = Euclidean(name, budget=100, **settings).add(rows)
        found, after = timed(lambda q: index.search(q, k).ids, queries)
        cells.append(f"{share(plain, true):.3f}, {before:.2f} ms | {share(found, true):.3f}, {after:.2f} ms, {index.transform}")
    return f"| {name} {importlib.metadata.version(PACKAGES[name])} | {', '.join(engine.metrics)} | {' | '.join(cells)} |"


warnings.simplefilter("ignore")
data = list(sets())
print("| engine | ranks by |" + "".join(f" {name}: as it is by cosine | through capball |" for name, _, _ in data))
print("|---|---|" + "---|" * (2 * len(data)))
for name in sys.argv[1:] or sorted(PACKAGES):
    try:
        print(line(name, data), flush=True)
    except Exception as error:
        print(f"| {name} | not run: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} |", flush=True)
