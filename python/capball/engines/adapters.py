"""Search engines behind one small interface: build from rows, ask for ids.

Each adapter knows which metrics its engine ranks by ("l2", "ip", "cosine") and takes the engine's own settings; the
defaults are those of the engine's documentation. Ids count rows from 0; -1 stands where an engine found too few.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Callable, Protocol, Sequence

import numpy as np

from capball._extras import module


class Engine(Protocol):
    """What `Euclidean` asks of an engine. It may have more, which is used where it is there:

    metrics                 what it ranks by, of "l2", "ip" and "cosine"; ("cosine",) otherwise
    add(rows, first)        takes more rows in, numbered from `first` on; otherwise it is built again. `grow` is the same
    remove(ids)             forgets rows, by their numbers; otherwise they are left out of its answers
    save(path)              writes it, and load(path, d, metric) reads it back; otherwise it cannot be saved
    """

    def build(self, rows: np.ndarray, metric: str) -> None:
        """Takes all rows in, float32, numbered from 0."""

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        """int64 numbers of the k best rows of each query, the best first; -1 where there are fewer."""


def metrics_of(engine: Any) -> tuple[str, ...]:
    """What an engine ranks by."""
    return tuple(getattr(engine, "metrics", ("cosine",)))


def grower_of(engine: Any) -> Any:
    """What takes more rows in, or None."""
    return getattr(engine, "add", None) or getattr(engine, "grow", None)


def _full(found: Sequence[Sequence[int] | np.ndarray], k: int) -> np.ndarray:
    ids = np.full((len(found), k), -1, np.int64)
    for row, some in zip(ids, found):
        row[: len(some)] = some
    return ids


class Annoy:
    """Trees of random hyperplanes; 10 trees, as in the paper."""

    package = "annoy"
    metrics = ("cosine", "l2", "ip")
    _names: dict[str, Any] = {"cosine": "angular", "l2": "euclidean", "ip": "dot"}

    def __init__(self, trees: int = 10, search_k: int = -1, seed: int = 0) -> None:
        self.trees, self.search_k, self.seed = trees, search_k, seed

    def _empty(self, d: int, metric: str) -> Any:
        return module("annoy").AnnoyIndex(d, self._names[metric])

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.index = self._empty(rows.shape[1], metric)
        self.index.set_seed(self.seed)
        for i, row in enumerate(rows):
            self.index.add_item(i, row)
        self.index.build(self.trees, n_jobs=1)

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        return _full([self.index.get_nns_by_vector(q, k, self.search_k) for q in queries], k)

    def save(self, path: Path) -> None:
        self.index.save(str(path))

    def load(self, path: Path, d: int, metric: str) -> None:
        self.index = self._empty(d, metric)
        self.index.load(str(path))


class Hnswlib:
    """A graph of hnswlib; M = 16, ef = 200 for building and searching."""

    package = "hnswlib"
    metrics = ("cosine", "l2", "ip")

    def __init__(self, M: int = 16, ef_construction: int = 200, ef: int = 200, seed: int = 0, threads: int = 1) -> None:
        self.M, self.ef_construction, self.ef, self.seed, self.threads = M, ef_construction, ef, seed, threads

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.index = module("hnswlib").Index(metric, rows.shape[1])
        self.index.init_index(len(rows), ef_construction=self.ef_construction, M=self.M, random_seed=self.seed)
        self.index.add_items(rows, num_threads=self.threads)

    def grow(self, rows: np.ndarray, first: int) -> None:
        self.index.resize_index(first + len(rows))
        self.index.add_items(rows, np.arange(first, first + len(rows)), num_threads=self.threads)

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        self.index.set_ef(max(self.ef, k))
        return self.index.knn_query(queries, k, num_threads=self.threads)[0].astype(np.int64)

    def save(self, path: Path) -> None:
        self.index.save_index(str(path))

    def load(self, path: Path, d: int, metric: str) -> None:
        self.index = module("hnswlib").Index(metric, d)
        self.index.load_index(str(path))


class Faiss:
    """Any index that faiss's factory makes: "Flat", "HNSW32", "IVF100,PQ16", .. ; trained on the rows."""

    package = "faiss"
    metrics = ("cosine", "l2", "ip")

    def __init__(self, factory: str = "HNSW32", nprobe: int = 10, ef: int = 64) -> None:
        self.factory, self.nprobe, self.ef = factory, nprobe, ef

    def build(self, rows: np.ndarray, metric: str) -> None:
        faiss = module("faiss")
        kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
        self.cosine = metric == "cosine"
        self.index = faiss.index_factory(rows.shape[1], self.factory, kind)
        rows = self._ready(rows)
        self.index.train(rows)
        self.index.add(rows)

    def grow(self, rows: np.ndarray, first: int) -> None:
        self.index.add(self._ready(rows))

    def _ready(self, rows: np.ndarray) -> np.ndarray:
        rows = np.array(rows, np.float32, order="C")
        if self.cosine:
            module("faiss").normalize_L2(rows)
        return rows

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        if hasattr(self.index, "nprobe"):
            self.index.nprobe = self.nprobe
        if hasattr(self.index, "hnsw"):
            self.index.hnsw.efSearch = max(self.ef, k)
        return self.index.search(self._ready(queries), k)[1]

    def save(self, path: Path) -> None:
        module("faiss").write_index(self.index, str(path))

    def load(self, path: Path, d: int, metric: str) -> None:
        self.index, self.cosine = module("faiss").read_index(str(path)), metric == "cosine"


class Scann:
    """Google's ScaNN: a tree, asymmetric hashing, and reordering of the best 100."""

    package = "scann"
    metrics = ("ip", "l2", "cosine")

    def __init__(self, leaves: int | None = None, searched: int | None = None, reorder: int = 100,
                 dimensions_per_block: int = 2, threshold: float = 0.2) -> None:
        self.leaves, self.searched, self.reorder = leaves, searched, reorder
        self.dimensions_per_block, self.threshold = dimensions_per_block, threshold

    def build(self, rows: np.ndarray, metric: str) -> None:
        scann = module("scann")
        self.cosine = metric == "cosine"
        rows = self._ready(rows)
        leaves = self.leaves or max(1, min(2000, int(8 * len(rows) ** 0.5)))
        searched = self.searched or min(leaves, 100)
        kind = "squared_l2" if metric == "l2" else "dot_product"
        builder = scann.scann_ops_pybind.builder(rows, 10, kind)
        builder = builder.tree(num_leaves=leaves, num_leaves_to_search=searched, training_sample_size=len(rows))
        self.index = builder.score_ah(self.dimensions_per_block, anisotropic_quantization_threshold=self.threshold).reorder(
            self.reorder).build()

    def _ready(self, rows: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(rows, np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if self.cosine else rows

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found, distances = self.index.search_batched(self._ready(queries), final_num_neighbors=k,
                                                     pre_reorder_num_neighbors=max(self.reorder, k))
        return np.where(np.isnan(distances), -1, np.asarray(found).astype(np.int64))  # it fills up with row 0 and NaN

    def save(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.index.serialize(str(path))

    def load(self, path: Path, d: int, metric: str) -> None:
        self.index, self.cosine = module("scann").scann_ops_pybind.load_searcher(str(path)), metric == "cosine"


class Usearch:
    """A graph of usearch; dtype "f32", "f16" or "i8"."""

    package = "usearch.index"
    metrics = ("cosine", "l2", "ip")
    _names = {"cosine": "cos", "l2": "l2sq", "ip": "ip"}

    def __init__(self, dtype: str = "f32", connectivity: int = 16) -> None:
        self.dtype, self.connectivity = dtype, connectivity

    def _empty(self, d: int, metric: str) -> Any:
        return module("usearch.index").Index(ndim=d, metric=self._names[metric], dtype=self.dtype, connectivity=self.connectivity)

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.index = self._empty(rows.shape[1], metric)
        self.index.add(np.arange(len(rows)), np.ascontiguousarray(rows, np.float32), threads=1)

    def grow(self, rows: np.ndarray, first: int) -> None:
        self.index.add(np.arange(first, first + len(rows)), np.ascontiguousarray(rows, np.float32), threads=1)

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found = self.index.search(np.ascontiguousarray(queries, np.float32), k, threads=1)
        return np.asarray(found.keys).reshape(len(queries), -1).astype(np.int64)

    def save(self, path: Path) -> None:
        self.index.save(str(path))

    def load(self, path: Path, d: int, metric: str) -> None:
        self.index = self._empty(d, metric)
        self.index.load(str(path))


class Pgvector:
    """A table of PostgreSQL with pgvector's HNSW index; `dsn` as psycopg takes it."""

    package = "psycopg"
    metrics = ("cosine", "l2", "ip")
    secret = {"dsn": "as psycopg takes it, or '' for PGHOST, PGUSER, PGPASSWORD and PGDATABASE of the environment"}
    _names = {"cosine": ("vector_cosine_ops", "<=>"), "l2": ("vector_l2_ops", "<->"), "ip": ("vector_ip_ops", "<#>")}

    def __init__(self, dsn: str = "", table: str = "capball_rows", ef: int = 100) -> None:
        if not table.isidentifier():
            raise ValueError(f"table must be a plain name, got {table!r}")
        self.dsn, self.table, self.ef = dsn, table, ef

    def _connect(self) -> Any:
        return module("psycopg").connect(self.dsn, autocommit=True)

    @staticmethod
    def _text(row: np.ndarray) -> str:
        return "[" + ",".join(map(repr, row.tolist())) + "]"

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.operator = self._names[metric][1]
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")
            cursor.execute(f"CREATE TABLE {self.table} (id bigint PRIMARY KEY, y vector({rows.shape[1]}))")
            with cursor.copy(f"COPY {self.table} (id, y) FROM STDIN") as copy:
                for i, row in enumerate(rows):
                    copy.write_row((i, self._text(row)))
            cursor.execute(f"CREATE INDEX ON {self.table} USING hnsw (y {self._names[metric][0]})")

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SET hnsw.ef_search = {int(max(self.ef, k))}")
            question = f"SELECT id FROM {self.table} ORDER BY y {self.operator} %s::vector LIMIT {int(k)}"
            return _full([[r[0] for r in cursor.execute(question, (self._text(q),)).fetchall()] for q in queries], k)

    def save(self, path: Path) -> None:
        path.write_text(self.table)

    def load(self, path: Path, d: int, metric: str) -> None:
        self.table, self.operator = path.read_text(), self._names[metric][1]


class Callable_:
    """Anybody's engine as a function (rows, queries, k, metric) -> ids."""

    def __init__(self, call: Any, metrics: tuple[str, ...] = ("cosine",)) -> None:
        self.call, self.metrics = call, metrics
        self.name = getattr(call, "__name__", type(call).__name__)

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.rows, self.metric = rows, metric

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        return self.call(self.rows, queries, k, self.metric)

    def save(self, path: Path) -> None:
        with open(path, "wb") as file:  # np.save would add a suffix to the name
            np.save(file, self.rows)

    def load(self, path: Path, d: int, metric: str) -> None:
        self.rows, self.metric = np.load(path), metric


BY_NAME: dict[str, Callable[..., Engine]] = {
    "annoy": Annoy,
    "hnswlib": Hnswlib,
    "faiss-flat": lambda **settings: Faiss(**{"factory": "Flat", **settings}),
    "faiss-hnsw": Faiss,
    "faiss-ivfpq": lambda **settings: Faiss(**{"factory": "IVF100,PQ16x8", **settings}),
    "scann": Scann,
    "usearch": Usearch,
    "pgvector": Pgvector,
}


def engine(named: Any, **settings: Any) -> Engine:
    """The adapter of a name, a callable, or an adapter as it is."""
    if isinstance(named, str):
        if named not in BY_NAME:
            raise ValueError(f"engine must be one of {sorted(BY_NAME)}, got {named!r}")
        made: Any = BY_NAME[named](**settings)
        module(made.package)  # so that a missing one is reported before rows are added
        return made
    if all(callable(getattr(named, word, None)) for word in ("build", "search")) and not inspect.isclass(named):
        if settings:
            raise TypeError(f"{type(named).__name__} has its settings already: {', '.join(settings)} came too late")
        return named
    if inspect.isroutine(named) or inspect.isfunction(getattr(type(named), "__call__", None)):
        return Callable_(named, **settings)
    raise TypeError(f"engine must be a name ({', '.join(BY_NAME)}), an adapter, or a function (rows, queries, k, metric) -> ids; "
                    f"an index that is built already, such as this {type(named).__name__}, holds rows of its own: "
                    "give the engine's name and add the rows")
