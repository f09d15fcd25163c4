"""T1: the map of a data set, fitted in two reads, and its images."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import TypeConverters
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from .. import RowError, SphereMap, _core
from ._gather import STATISTICS, Gathered, gather, ids_of
from ._shared import Artefact, Files, VectorParams, hand_on, param
from ._vectors import Block, Columns, Reader, lists, spread

_SAMPLED = ("spread", "recall")


def _take_counted(reader: Reader, piece: Any, block: Block) -> int:
    """Into statistics, which count NaN themselves."""
    before = piece.bad_rows
    piece.update(block.rows, ids=ids_of(block))
    bad = piece.bad_rows - before
    if bad and not reader.keep:
        reader.usable(block)
    reader.unusable += bad
    return len(block.rows) - bad


def _take_all(reader: Reader, piece: Any, block: Block) -> int:
    """Into the norms of pass 2, which know no ids."""
    piece.update(block.rows)
    return len(block.rows)


def statistics(frame: DataFrame, columns: Columns, keep: bool, sample: int, seed: int, norms: bool) -> Gathered:
    """Statistics of all rows: one read, a second one for norms about the mean."""
    dtype = "float32" if columns.element(frame).typeName() == "float" else "float64"
    repeats = columns.id is None

    def start(d: int) -> Any:
        return _core.Statistics(d, dtype, sample, seed, repeats)

    first = gather(frame, columns, keep, STATISTICS, start, _take_counted)
    if first.piece is None or first.rows == 0:
        raise ValueError(f"{columns.label}: there are no rows")
    if not norms:
        return first
    first.piece.begin_norms()
    empty = start(first.d)
    empty.restart(first.piece)
    state = empty.serialize()
    second = gather(frame, columns, keep, STATISTICS, lambda d: _core.Statistics.deserialize(state), _take_all, first.d)
    if second.piece is not None:
        first.piece.merge(second.piece)
    return first._replace(bytes=first.bytes + second.bytes)


class _Params(VectorParams):
    outputCol = param("outputCol", "column of the images", TypeConverters.toString)


class SphereEmbedding(Files, Estimator, _Params):
    """Fits y = S(x-m) to a frame: the mean m and the scale s for a goal, bit for bit those of one machine.

    Two reads of the frame for the goals mean, median and hemisphere, one for spread, recall and a given s.
    """

    goal = param("goal", "mean, median, hemisphere, spread or recall", TypeConverters.toString)
    s = param("s", "the scale itself, in place of a goal", TypeConverters.toFloat)
    target = param("target", "of the goal recall", TypeConverters.toFloat)
    k = param("k", "neighbours of the goal recall", TypeConverters.toInt)
    sample = param("sample", "rows of the sample for spread and recall", TypeConverters.toInt)
    seed = param("seed", "of the sample", TypeConverters.toInt)

    def defaults(self) -> None:
        self._setDefault(outputCol="sphere", goal="mean", target=0.99, k=10, sample=4096, seed=0)

    def _fit(self, dataset: DataFrame) -> "SphereEmbeddingModel":
        s, goal = self.value("s"), self.value("goal")
        sampled = s is None and goal in _SAMPLED
        found = statistics(dataset, self.columns(), self.keeps, self.value("sample") if sampled else 0,
                           self.value("seed"), s is None and not sampled)
        text = _core.map_from_statistics(found.piece, s, goal, None, self.value("target"), self.value("k"))
        model = hand_on(self, SphereEmbeddingModel(SphereMap.from_json(text)))
        model.summary = {"rows": found.rows, "badRows": found.bad, "bytesToDriver": found.bytes}
        return model


def append(frame: DataFrame, columns: Columns, keep: bool, name: str, kind: Any,
           work: Callable[[Reader], Callable[[pa.Array, pa.Array | None], pa.Array]]) -> DataFrame:
    """A column that a function of Arrow arrays makes of the vectors."""
    label, dtype = columns.label, "f4" if columns.element(frame).typeName() == "float" else "f8"
    arguments: list[Column] = [columns.array(frame), *columns.ids(frame)]

    def images(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        reader = Reader(label, keep, dtype)
        make = work(reader)
        for batch in batches:
            vectors, ids = (batch, None) if isinstance(batch, pa.Array) else (batch[0], batch[1])
            yield make(vectors, ids)

    return frame.withColumn(name, _arrow_udf(images, kind, len(arguments))(*arguments))


def _arrow_udf(function: Any, kind: Any, arguments: int) -> Any:
    """The hints say which kind of UDF it is."""
    one = arguments == 1
    function.__annotations__ = {
        "batches": Iterator[pa.Array] if one else Iterator[tuple[pa.Array, pa.Array]], "return": Iterator[pa.Array]}
    return F.arrow_udf(function, kind)


def by_rows(reader: Reader, d: int, width: int, call: Callable[[np.ndarray, np.ndarray], Any], dtype: Any) -> Any:
    """call(rows, out) row by row into a new array; rows without an answer are refused, or NaN where they are kept."""

    def make(vectors: pa.Array, ids: pa.Array | None) -> tuple[np.ndarray, np.ndarray | None]:
        reader.d = d
        block = reader.read(vectors, ids)
        out = np.empty((len(block.rows), width), dtype)
        missing = None
        try:
            call(block.rows, out)
        except RowError as failure:
            reader.usable(block, failure)
            missing = np.isnan(out[:, -1])
        if block.at is not None:
            missing = spread(np.zeros(len(out), bool) if missing is None else missing, block.at, len(vectors), True)
        return spread(out, block.at, len(vectors), 0), missing

    return make


class SphereEmbeddingModel(Artefact, Model, _Params):
    """A fitted map; .artefact is the SphereMap, whose file is that of the command."""

    kind = SphereMap

    def defaults(self) -> None:
        self._setDefault(outputCol="sphere")

    @property
    def map(self) -> SphereMap:
        """The fitted map."""
        return self.artefact

    def _transform(self, dataset: DataFrame) -> DataFrame:
        columns, map = self.columns(), self.artefact
        element = columns.element(dataset)
        dtype = np.float32 if element.typeName() == "float" else np.float64

        def work(reader: Reader) -> Any:
            make = by_rows(reader, map.d, map.d + 1, lambda rows, out: map.embed(rows, out, threads=1), dtype)
            return lambda vectors, ids: lists(*make(vectors, ids))

        name = self.value("outputCol")
        frame = append(dataset, columns, self.keeps, name, ArrayType(element), work)
        return frame.withColumn(name, array_to_vector(F.col(name))) if columns.is_vector(dataset) else frame
