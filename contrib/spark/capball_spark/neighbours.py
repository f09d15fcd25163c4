"""T13: exact neighbours of queries in a base that is spread over the workers.

Queries are sent to every partition of the base, whose search is that of the library; the lists of the partitions are
merged chunk by chunk in the workers. With a sketch only the rows whose codes are nearest are measured. A base that is asked
more than once can be written to index files, one for each partition, which the workers map instead of reading the frame.
"""

from __future__ import annotations

import os
import uuid
from typing import Any, Iterator

import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.param import TypeConverters
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .. import Index, RowError, Search, Within, _core
from .. import Sketch as _Sketch
from ._parquet import mapped
from ._shared import Files, VectorParams, hand_on, param
from ._vectors import Columns, Reader
from .embedding import statistics

BLOCK, CHUNK = 16384, 1024  # queries of one search; queries of one row that travels

_LISTS = "chunk long, queries binary, lims binary, ids binary, values binary, order binary"
_LISTS_ARROW = pa.schema([("chunk", pa.int64())] + [(name, pa.binary()) for name in
                                                    ("queries", "lims", "ids", "values", "order")])
_HITS = "query long, neighbors array<struct<id: long, distance: double>>"


class _Params(VectorParams):
    outputCol = param("outputCol", "column of the neighbours, an array of (id, distance)", TypeConverters.toString)
    k = param("k", "neighbours of a query", TypeConverters.toInt)
    metric = param("metric", "l2, ip or cosine", TypeConverters.toString)
    candidates = param("candidates", "with a sketch: rows that are measured for a query", TypeConverters.toInt)

    def defaults(self) -> None:
        self._setDefault(outputCol="neighbors", k=10, metric="l2", candidates=100)


class KNN(Files, Estimator, _Params):
    """Neighbours in a frame. fit reads it once, to count and check its rows; transform answers queries.

    setSketch(model) makes it approximate: candidates by codes, put in order by their exact distances.
    """

    sketch: _Sketch | None = None  # where candidates come from; None: exact search

    def setSketch(self, model: Any) -> "KNN":
        """Candidates come from this sketch, a SketchModel or a capball.Sketch."""
        self.sketch = getattr(model, "artefact", model)
        return self

    def copy(self, extra: Any = None) -> Any:
        """The same estimator with other Params, those of `extra`."""
        return super().copy(extra).setSketch(self.sketch)

    def _fit(self, dataset: DataFrame) -> "KNNModel":
        columns = self.columns()
        if columns.id is None:
            raise ValueError("neighbours are told by their ids: set idCol")
        found = statistics(dataset, columns, self.keeps, 0, 0, False)
        if found.rows < self.value("k"):
            raise ValueError(f"k is {self.value('k')}, and there are {found.rows} rows")
        model = hand_on(self, KNNModel(dataset, found.d, self.sketch))
        model.summary = {"rows": found.rows, "badRows": found.bad}
        return model


class KNNModel(Files, Model, _Params):
    """A base that answers queries. save writes the base too."""

    def __init__(self, base: DataFrame | None = None, d: int = 0, sketch: _Sketch | None = None, **given: Any):
        super().__init__(**given)
        self.base, self.d, self.sketch = base, d, sketch
        self.summary: dict[str, Any] = {}
        self.indexes: tuple[str, list[str]] | None = None  # their metric and names

    def copy(self, extra: Any = None) -> Any:
        """The same model with other Params, those of `extra`."""
        made = super().copy(extra)
        made.base, made.d, made.sketch, made.summary = self.base, self.d, self.sketch, self.summary
        made.indexes = self.indexes
        return made

    def buildIndex(self, path: str) -> "KNNModel":
        """Writes the base to index files in a directory that every worker can read; exact queries then use these files.

        The base is neither read nor prepared again. The files have the model's metric, and are no part of what save writes.
        """
        columns, keep, metric, d = self.columns(), self.keeps, self.value("metric"), self.d
        label, dtype = columns.label, _dtype(columns, self.base)
        os.makedirs(path, exist_ok=True)

        def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            reader, index = Reader(label, keep, dtype, d), Index(d, metric, dtype, copy=False)
            for block in reader.blocks(batches):
                block = reader.usable(block)
                try:
                    index.add(block.rows, ids=block.ids, threads=1)
                except RowError as failure:
                    reader.refuse_row(block, failure.row or 0, failure)
            if len(index):
                name = os.path.join(path, f"{uuid.uuid4().hex}.index")  # a task that is repeated writes another file
                index.save(name)
                yield pa.record_batch([pa.array([name])], names=["name"])

        self.indexes = metric, [row["name"] for row in mapped(self.base, columns, build, "name string").collect()]
        return self

    def parts(self, session: Any) -> dict[str, DataFrame]:
        texts = [(str(self.d), self.sketch.to_json() if self.sketch is not None else None)]
        return {"base": self.base, "artefact": session.createDataFrame(texts, "d string, sketch string").coalesce(1)}

    def take_parts(self, read: Any) -> None:
        d, text = read("artefact").first()
        self.base, self.d = read("base"), int(d)
        self.sketch = None if text is None else _Sketch.from_json(text)

    # ---- queries

    def _queries(self, queries: DataFrame) -> tuple[np.ndarray, np.ndarray]:
        columns = self.columns()
        reader = Reader(columns.label, False, _dtype(columns, queries), self.d)
        table = columns.select(queries).toArrow()
        blocks = [reader.block(batch) for batch in table.combine_chunks().to_batches()]
        if not blocks:
            return np.empty((0, self.d)), np.empty(0, np.int64)
        rows, ids = np.concatenate([b.rows for b in blocks]), np.concatenate([b.ids for b in blocks])
        if len(np.unique(ids)) != len(ids):
            raise ValueError(f"idCol '{columns.id}': ids of queries must differ")
        return rows, ids

    def _search_indexes(self, rows: np.ndarray, ids: np.ndarray, limits: np.ndarray | None) -> DataFrame:
        (metric, names), k = self.indexes or ("", []), self.value("k")
        if metric != self.value("metric"):
            raise ValueError(f"the index files were built for metric {metric}, not {self.value('metric')}")

        def search(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for number in (number for batch in batches for number in batch.column(0).to_pylist()):
                index = Index.open(names[number])
                for start in range(0, len(rows), BLOCK):
                    part = slice(start, start + BLOCK)
                    yield from _lists(start, ids[part], _found(index, rows[part], k, None if limits is None else limits[part]))

        return self.base.sparkSession.range(0, len(names), 1, max(1, len(names))).mapInArrow(search, _LISTS)

    def _search(self, rows: np.ndarray, ids: np.ndarray, limits: np.ndarray | None) -> DataFrame:
        if self.indexes is not None and (self.sketch is None or limits is not None):
            return self._search_indexes(rows, ids, limits)
        columns, keep, k, metric = self.columns(), self.keeps, self.value("k"), self.value("metric")
        label, dtype, d = columns.label, _dtype(columns, self.base), self.d
        sketch, candidates = (None, 0) if limits is not None else (self.sketch, max(k, self.value("candidates")))
        if sketch is not None and metric != "l2":
            raise ValueError(f"codes are of distances: a sketch goes with metric l2, got {metric}")

        def search(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            reader = Reader(label, keep, dtype, d)
            parts = [slice(i, i + BLOCK) for i in range(0, len(rows), BLOCK)]
            if sketch is not None:
                searches: list[Any] = [Candidates(sketch, rows[p], candidates) for p in parts]
            elif limits is None:
                searches = [Search(rows[p], k, metric) for p in parts]
            else:
                searches = [Search(rows[p], metric=metric, limits=limits[p]) for p in parts]
            for block in reader.blocks(batches):
                block = reader.usable(block)
                try:
                    for one in searches:
                        one.feed(block.rows, ids=block.ids, threads=1)
                except RowError as failure:  # such as a row without a direction: the search is void
                    reader.refuse_row(block, failure.row or 0, failure)
            for part, one in zip(parts, searches):
                yield from _lists(part.start, ids[part], one.result(), one.bits if isinstance(one, Candidates) else None)

        return mapped(self.base, columns, search, _LISTS)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        rows, ids = self._queries(dataset)
        k, metric, name, exact = self.value("k"), self.value("metric"), self.value("outputCol"), self.sketch is None
        candidates = max(k, self.value("candidates"))

        def merge(table: pa.Table) -> pa.Table:
            return _merge_lists(table, k, metric) if exact else _merge_candidates(table, candidates, k)

        found = self._search(rows, ids, None).groupBy("chunk").applyInArrow(merge, _HITS)
        found = found.select(F.col("query").alias("__query"), F.col("neighbors").alias(name))
        return dataset.join(found, dataset[self.value("idCol")] == F.col("__query"), "left").drop("__query")

    def rangeJoin(self, queries: DataFrame, radius: float) -> DataFrame:
        """All pairs (query, id, distance) within a radius; under ip and cosine of at least that product."""
        rows, ids = self._queries(queries)

        def pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.to_pylist():
                    lims = np.frombuffer(row["lims"], np.int64)
                    names = np.repeat(np.frombuffer(row["queries"], np.int64), np.diff(lims))
                    yield pa.record_batch([pa.array(names), pa.array(np.frombuffer(row["ids"], np.int64)),
                                           pa.array(np.frombuffer(row["values"], np.float64))],
                                          names=["query", "id", "distance"])

        limits = np.full(len(rows), float(radius))
        return self._search(rows, ids, limits).mapInArrow(pairs, "query long, id long, distance double")


def _dtype(columns: Columns, frame: DataFrame) -> str:
    return "f4" if columns.element(frame).typeName() == "float" else "f8"


def _found(index: Index, queries: np.ndarray, k: int, limits: np.ndarray | None) -> Within:
    """As Search.result."""
    if limits is not None:
        return index.range_search(queries, limits, threads=1)
    width = min(k, len(index))
    near = index.search(queries, width, threads=1)
    return Within(np.arange(len(queries) + 1) * width, near.ids.reshape(-1), near.distances.astype(np.float64).reshape(-1))


class Candidates:
    """The rows whose codes are nearest to the queries', by estimates or bits, and their exact distances."""

    def __init__(self, sketch: _Sketch, queries: np.ndarray, count: int):
        self.sketch, self.queries, self.count = sketch, np.ascontiguousarray(queries), count
        self.codes = None if sketch.kind in ("joined", "principal") else sketch.encode(queries, threads=1)
        shape = (len(queries), 0)
        self.bits, self.ids, self.values = np.empty(shape), np.empty(shape, np.int64), np.empty(shape)

    def feed(self, rows: np.ndarray, ids: np.ndarray, threads: int | None = None) -> None:
        order = np.argsort(ids, kind="stable")  # codes of equal bits are found in the order of ids
        rows, ids = np.ascontiguousarray(rows[order]), ids[order]
        count = min(self.count, len(rows))
        bits, at = self._nearest(self.sketch.encode(rows, threads=threads), count, threads)
        values, near = _core.rerank(rows, self.queries, at, count, None, threads)
        to_bits, to_values = np.argsort(at, axis=1), np.argsort(near, axis=1)  # both in the order of places
        bits = np.take_along_axis(bits, to_bits, 1)
        places = np.take_along_axis(at, to_bits, 1)
        self._keep(bits, ids[places], np.take_along_axis(values, to_values, 1))

    def _nearest(self, codes: np.ndarray, count: int, threads: int | None) -> tuple[np.ndarray, np.ndarray]:
        if self.codes is None:
            return self.sketch.search(codes, self.queries, count, threads=threads)
        return _core.hamming_knn(codes, self.codes, count, threads)

    def _keep(self, bits: np.ndarray, ids: np.ndarray, values: np.ndarray) -> None:
        kept = _nearest_codes(np.concatenate([self.bits, bits], 1), np.concatenate([self.ids, ids], 1),
                              np.concatenate([self.values, values], 1), self.count)
        self.bits, self.ids, self.values = kept

    def result(self) -> Within:
        width = self.ids.shape[1]
        lims = np.arange(0, (len(self.ids) + 1) * width, width) if width else np.zeros(len(self.ids) + 1, np.int64)
        return Within(lims, self.ids.reshape(-1), self.values.reshape(-1))


def _nearest_codes(bits: np.ndarray, ids: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    order = np.lexsort((ids, bits), axis=1)[:, :count]
    return tuple(np.take_along_axis(part, order, 1) for part in (bits, ids, values))


def _lists(first: int, queries: np.ndarray, found: Within, order: np.ndarray | None = None) -> Iterator[pa.RecordBatch]:
    """What a partition found, in chunks of queries."""
    for start in range(0, len(queries), CHUNK):
        some = found.lims[start:start + CHUNK + 1]
        part = slice(int(some[0]), int(some[-1]))
        parts = (queries[start:start + CHUNK], some - some[0], found.ids[part], found.distances[part],
                 np.empty(0) if order is None else order.reshape(-1)[part])
        row = [pa.array([(first + start) // CHUNK])]
        yield pa.record_batch(row + [pa.array([np.ascontiguousarray(p).tobytes()], pa.binary()) for p in parts],
                              schema=_LISTS_ARROW)


def _numbers(table: pa.Table, name: str, dtype: Any) -> list[np.ndarray]:
    return [np.frombuffer(text.as_buffer(), dtype) for text in table[name]]


def _hits(queries: np.ndarray, lims: np.ndarray, ids: np.ndarray, values: np.ndarray) -> pa.Table:
    pairs = pa.StructArray.from_arrays([pa.array(ids), pa.array(values)], names=["id", "distance"])
    return pa.table({"query": pa.array(queries), "neighbors": pa.ListArray.from_arrays(pa.array(lims, pa.int32()), pairs)})


def _merge_lists(table: pa.Table, k: int, metric: str) -> pa.Table:
    queries = _numbers(table, "queries", np.int64)[0]
    lims, ids, values = (_numbers(table, n, t) for n, t in (("lims", np.int64), ("ids", np.int64), ("values", np.float64)))
    found = []
    for q in range(len(queries)):
        parts = [slice(one[q], one[q + 1]) for one in lims]
        ends = np.cumsum([0] + [p.stop - p.start for p in parts])
        found.append(_core.hits_merge(ends, np.concatenate([one[p] for one, p in zip(ids, parts)]),
                                      np.concatenate([one[p] for one, p in zip(values, parts)]), k, metric))
    return _hits(queries, np.cumsum([0] + [one[1].size for one in found]),
                 np.concatenate([one[1].reshape(-1) for one in found]),
                 np.concatenate([one[0].reshape(-1) for one in found]))


def _merge_candidates(table: pa.Table, candidates: int, k: int) -> pa.Table:
    queries = _numbers(table, "queries", np.int64)[0]

    def of_all(name: str, dtype: Any) -> np.ndarray:
        return np.concatenate([one.reshape(len(queries), -1) for one in _numbers(table, name, dtype)], 1)

    _, ids, values = _nearest_codes(of_all("order", np.float64), of_all("ids", np.int64), of_all("values", np.float64),
                                    candidates)
    order = np.lexsort((ids, values), axis=1)[:, :k]
    width = order.shape[1]
    return _hits(queries, np.arange(0, (len(queries) + 1) * width, max(width, 1)),
                 np.take_along_axis(ids, order, 1).reshape(-1), np.take_along_axis(values, order, 1).reshape(-1))


__all__ = ["KNN", "KNNModel"]
