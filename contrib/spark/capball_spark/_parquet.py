"""Parquet that the workers read themselves.

Spark hands arrays to Python element by element: columns become rows, rows become Arrow, which takes far longer than
the arithmetic. A frame that is nothing but Parquet files on a file system of this machine's kind is therefore read by
pyarrow in the workers, row group by row group; Spark still says who reads what, and repeats what was lost. Anything
else (a filter, a join, a cache, another file system) comes through Spark. spark.capball.readParquet=false turns it off.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DoubleType, FloatType, LongType

from ._vectors import ID, ROWS, Columns

BATCH = 16384  # rows at a time
MOST_FILES = 4096  # whose row groups the driver looks up

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Part(NamedTuple):
    """Some row groups of a file."""

    path: str
    groups: tuple[int, ...]
    rows: int


def _plan(frame: DataFrame) -> Any:
    """The optimized plan without projections that only leave columns out."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    while plan.getClass().getSimpleName() == "Project":
        if not frame._jdf.queryExecution().analyzed().outputSet().subsetOf(plan.child().outputSet()):
            return None
        plan = plan.child()
    return plan


def _is_parquet(frame: DataFrame) -> bool:
    plan = _plan(frame)
    if plan is None or plan.getClass().getSimpleName() != "LogicalRelation":
        return False
    relation = plan.relation()
    return relation.getClass().getSimpleName() == "HadoopFsRelation" and relation.fileFormat().toString() == "Parquet"


def _is_plain(frame: DataFrame, columns: Columns) -> bool:
    """Columns that lie in the files as they are wanted."""
    if len(columns.vectors) != 1 or columns.weight is not None:
        return False
    vectors = frame.schema[columns.vectors[0]].dataType
    named = columns.id is None or isinstance(frame.schema[columns.id].dataType, LongType)
    return named and isinstance(vectors, ArrayType) and isinstance(vectors.elementType, (FloatType, DoubleType))


def _parts(paths: list[str], wanted: list[str]) -> list[Part] | None:
    parts = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            if not set(wanted) <= set(file.schema_arrow.names):
                return None
            meta = file.metadata
            parts += [Part(path, (group,), meta.row_group(group).num_rows) for group in range(meta.num_row_groups)]
    return parts


def parts_of(frame: DataFrame, columns: Columns) -> list[Part] | None:
    """The row groups of a frame that workers may read themselves; None for any other frame."""
    if not hasattr(frame, "_jdf") or frame.sparkSession.conf.get("spark.capball.readParquet", "true") != "true":
        return None
    if not _is_plain(frame, columns) or not _is_parquet(frame):
        return None
    urls = [urlparse(name) for name in frame.inputFiles()]
    if not urls or len(urls) > MOST_FILES or any(url.scheme != "file" for url in urls):
        return None
    try:
        return _parts([unquote(url.path) for url in urls], [*columns.vectors, *([columns.id] if columns.id else [])])
    except OSError:
        return None


def _batches(part: Part, names: list[str], into: list[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(part.path, memory_map=True) as file:
        for batch in file.iter_batches(BATCH, row_groups=list(part.groups), columns=names, use_threads=False):
            arrays = [_as_list(batch.column(name)) for name in names]
            yield pa.record_batch(arrays, names=into)


def _as_list(array: pa.Array) -> pa.Array:
    return array.cast(pa.list_(array.type.value_type)) if pa.types.is_fixed_size_list(array.type) else array


def mapped(frame: DataFrame, columns: Columns, work: Work, schema: str) -> DataFrame:
    """columns.select(frame).mapInArrow(work, schema), read by the workers where they can."""
    parts = parts_of(frame, columns)
    if parts is None:
        return columns.select(frame).mapInArrow(work, schema)
    names = [*columns.vectors, *([columns.id] if columns.id else [])]
    into = [ROWS, *([ID] if columns.id else [])]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(parts[number], names, into)

    session = frame.sparkSession
    tasks = max(1, min(len(parts), 4 * session.sparkContext.defaultParallelism))
    return session.range(0, len(parts), 1, tasks).mapInArrow(lambda batches: work(read(batches)), schema)
