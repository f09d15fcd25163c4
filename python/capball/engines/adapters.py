"""Search engines behind one small interface: build from rows, ask for ids.

Each adapter knows which metrics its engine ranks by ("l2", "ip", "cosine") and takes the engine's own settings; the
defaults are those of the engine's documentation. Ids count rows from 0; -1 stands where an engine found too few.
"""

from __future__ import annotations

import inspect
import sqlite3
import tempfile
import uuid
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


class Annoy(Engine):
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


class Hnswlib(Engine):
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
        """Takes more rows in, whose ids begin with `first`."""
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


class Faiss(Engine):
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
        """Takes more rows in, whose ids begin with `first`."""
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


class Scann(Engine):
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


class Usearch(Engine):
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
        """Takes more rows in, whose ids begin with `first`."""
        self.index.add(np.arange(first, first + len(rows)), np.ascontiguousarray(rows, np.float32), threads=1)

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found = self.index.search(np.ascontiguousarray(queries, np.float32), k, threads=1)
        return np.asarray(found.keys).reshape(len(queries), -1).astype(np.int64)

    def save(self, path: Path) -> None:
        self.index.save(str(path))

    def load(self, path: Path, d: int, metric: str) -> None:
        self.index = self._empty(d, metric)
        self.index.load(str(path))


class Pgvector(Engine):
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


class Voyager:
    """A graph of Spotify's Voyager."""

    package = "voyager"
    metrics = ("cosine", "l2", "ip")
    _names = {"cosine": "Cosine", "l2": "Euclidean", "ip": "InnerProduct"}

    def __init__(self, M: int = 16, ef_construction: int = 200, ef: int = 200, seed: int = 1) -> None:
        self.M, self.ef_construction, self.ef, self.seed = M, ef_construction, ef, seed

    def build(self, rows: np.ndarray, metric: str) -> None:
        voyager = module("voyager")
        self.index = voyager.Index(getattr(voyager.Space, self._names[metric]), rows.shape[1], M=self.M,
                                   ef_construction=self.ef_construction, random_seed=self.seed)
        self.add(rows, 0)

    def add(self, rows: np.ndarray, first: int) -> None:
        self.index.add_items(np.ascontiguousarray(rows, np.float32), list(range(first, first + len(rows))), num_threads=1)

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        return self.index.query(np.ascontiguousarray(queries, np.float32), k, num_threads=1, query_ef=max(self.ef, k))[0].astype(np.int64)


class Lancedb:
    """A table of LanceDB, searched without an index."""

    package = "lancedb"
    metrics = ("cosine", "l2", "ip")
    _names = {"cosine": "cosine", "l2": "l2", "ip": "dot"}

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.folder, self.kind = tempfile.TemporaryDirectory(), self._names[metric]
        self.table = module("lancedb").connect(self.folder.name).create_table("rows", self._table(rows, 0))

    def add(self, rows: np.ndarray, first: int) -> None:
        self.table.add(self._table(rows, first))

    @staticmethod
    def _table(rows: np.ndarray, first: int) -> Any:
        pa = module("pyarrow")
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows, np.float32).ravel()), rows.shape[1])
        return pa.table({"id": np.arange(first, first + len(rows)), "vector": vectors})

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        return _full([self.table.search(q.astype(np.float32)).distance_type(self.kind).limit(k).select(["id"]).to_arrow()["id"].to_numpy()
                      for q in queries], k)


class Qdrant:
    """A collection of Qdrant in its local mode, in memory."""

    package = "qdrant_client"
    metrics = ("cosine", "l2", "ip")
    _names = {"cosine": "Cosine", "l2": "Euclid", "ip": "Dot"}

    def build(self, rows: np.ndarray, metric: str) -> None:
        client = module("qdrant_client")
        self.client = client.QdrantClient(":memory:")
        self.client.create_collection("rows", vectors_config=client.models.VectorParams(size=rows.shape[1], distance=self._names[metric]))
        self.add(rows, 0)

    def add(self, rows: np.ndarray, first: int) -> None:
        models = module("qdrant_client").models
        self.client.upsert("rows", models.Batch(ids=list(range(first, first + len(rows))), vectors=rows.tolist()))

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        return _full([[point.id for point in self.client.query_points("rows", query=q.tolist(), limit=k).points] for q in queries], k)


class Chroma:
    """A collection of Chroma in this process."""

    package = "chromadb"
    metrics = ("cosine", "l2", "ip")

    def __init__(self, ef: int = 200, M: int = 16) -> None:
        self.ef, self.M = ef, M

    def build(self, rows: np.ndarray, metric: str) -> None:
        chroma = module("chromadb")
        client = chroma.EphemeralClient(chroma.config.Settings(anonymized_telemetry=False))
        space = {"hnsw:space": metric, "hnsw:search_ef": self.ef, "hnsw:construction_ef": self.ef, "hnsw:M": self.M}
        self.collection = client.create_collection(f"rows-{uuid.uuid4().hex}", metadata=space)
        self.add(rows, 0)

    def add(self, rows: np.ndarray, first: int) -> None:
        for start in range(0, len(rows), 5000):
            some = rows[start:start + 5000].astype(np.float32)
            self.collection.add(ids=[str(first + start + i) for i in range(len(some))], embeddings=some)

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        found = self.collection.query(query_embeddings=queries.astype(np.float32), n_results=k, include=[])["ids"]
        return _full([[int(name) for name in some] for some in found], k)


class MilvusLite:
    """A collection of Milvus Lite, in a file."""

    package = "milvus_lite"
    metrics = ("cosine", "l2", "ip")

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.client = module("pymilvus").MilvusClient(str(Path(self.folder.name) / "rows.db"))
        self.client.create_collection("rows", dimension=rows.shape[1], metric_type=metric.upper())
        self.add(rows, 0)

    def add(self, rows: np.ndarray, first: int) -> None:
        for start in range(0, len(rows), 1000):
            self.client.insert("rows", [{"id": first + start + i, "vector": row} for i, row in enumerate(rows[start:start + 1000].tolist())])

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        return _full([[hit["id"] for hit in hits] for hits in self.client.search("rows", data=queries.tolist(), limit=k)], k)


class SqliteVec:
    """A virtual table of sqlite-vec, in memory; it looks at every row."""

    package = "sqlite_vec"
    metrics = ("cosine", "l2")

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.db: Any = sqlite3.connect(":memory:", check_same_thread=False)
        if not hasattr(self.db, "enable_load_extension"):  # a Python without extensions of SQLite
            self.db = module("apsw").Connection(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(module("sqlite_vec").loadable_path())
        self.db.execute(f"CREATE VIRTUAL TABLE rows USING vec0(y float[{rows.shape[1]}] distance_metric={metric})")
        self.add(rows, 0)

    def add(self, rows: np.ndarray, first: int) -> None:
        self.db.executemany("INSERT INTO rows(rowid, y) VALUES(?, ?)",
                            [(first + i, row.tobytes()) for i, row in enumerate(np.ascontiguousarray(rows, np.float32))])

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        question = "SELECT rowid FROM rows WHERE y MATCH ? AND k = ? ORDER BY distance"
        return _full([[r[0] for r in self.db.execute(question, (q.tobytes(), min(k, 4096)))] for q in np.ascontiguousarray(queries, np.float32)], k)


class Duckdb:
    """A table of DuckDB, ordered by its own array functions; it looks at every row."""

    package = "duckdb"
    metrics = ("cosine", "l2", "ip")
    _names = {"cosine": "array_cosine_distance", "l2": "array_distance", "ip": "array_negative_inner_product"}

    def build(self, rows: np.ndarray, metric: str) -> None:
        self.kind, self.d = self._names[metric], rows.shape[1]
        self.db = module("duckdb").connect()
        self.db.execute(f"CREATE TABLE rows (id BIGINT, y FLOAT[{self.d}])")
        self.add(rows, 0)

    def add(self, rows: np.ndarray, first: int) -> None:
        new = Lancedb._table(rows, first)  # noqa: F841, read by DuckDB
        self.db.execute("INSERT INTO rows SELECT id, vector FROM new")

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        question = f"SELECT id FROM rows ORDER BY {self.kind}(y, ?::FLOAT[{self.d}]) LIMIT {int(k)}"
        return _full([[r[0] for r in self.db.execute(question, [q.tolist()]).fetchall()] for q in queries.astype(np.float32)], k)


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


# The engines that have a name, as `Euclidean` and `python -m capball.engines` take it, and what makes the adapter of each.
BY_NAME: dict[str, Callable[..., Engine]] = {
    "annoy": Annoy,
    "hnswlib": Hnswlib,
    "faiss-flat": lambda **settings: Faiss(**{"factory": "Flat", **settings}),
    "faiss-hnsw": Faiss,
    "faiss-ivfpq": lambda **settings: Faiss(**{"factory": "IVF100,PQ16x8", **settings}),
    "scann": Scann,
    "usearch": Usearch,
    "pgvector": Pgvector,
    "voyager": Voyager,
    "lancedb": Lancedb,
    "qdrant": Qdrant,
    "chroma": Chroma,
    "milvus-lite": MilvusLite,
    "sqlite-vec": SqliteVec,
    "duckdb": Duckdb,
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
