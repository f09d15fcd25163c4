"""Pieces that are gathered in the partitions and come together as bytes: statistics, cores, tails.

A worker gives one row per partition: how many rows it took, how many it left out, and the bytes of its piece; or the
sentence that says why a row was refused, which the driver raises. With many partitions the bytes are merged in the
workers first, in as many tasks as the square root of their number, then the fourth root.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Iterator, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from .. import RowError, _core
from ._parquet import mapped
from ._vectors import BadRow, Block, Columns, Reader

_SCHEMA = pa.schema([("d", pa.int64()), ("first", pa.int64()), ("rows", pa.int64()), ("bad", pa.int64()),
                     ("state", pa.binary()), ("fault", pa.string())])
_SPARK_SCHEMA = "d long, first long, rows long, bad long, state binary, fault string"

DIRECT = 64  # pieces that the driver merges alone


class Kind(NamedTuple):
    """How pieces of one kind are read back."""

    read: Callable[[bytes, int], Any]


def _read_statistics(state: bytes, d: int) -> Any:
    return _core.Statistics.deserialize(state)


def _read_ball_rounds(state: bytes, d: int) -> Any:
    return _core.BallRounds.deserialize(state, d)


def _read_svdd_rounds(state: bytes, d: int) -> Any:
    return _core.SvddRounds.deserialize(state, d)


STATISTICS, BALL_ROUNDS, SVDD_ROUNDS = Kind(_read_statistics), Kind(_read_ball_rounds), Kind(_read_svdd_rounds)


class Gathered(NamedTuple):
    """All pieces as one; None where no partition had a row."""

    piece: Any
    d: int
    rows: int
    bad: int
    bytes: int  # that came to the driver


def ids_of(block: Block) -> Any:
    """The ids of rows, or a hash of each row where they have none."""
    return block.ids if block.ids is not None else _core.rows_hash(block.rows)


def update(reader: Reader, piece: Any, block: Block) -> int:
    """Takes a block into a piece that refuses NaN; how many rows were taken."""
    while True:
        try:
            _take(piece, block)
            return len(block.rows)
        except RowError as failure:
            block = reader.usable(block, failure)


def _take(piece: Any, block: Block) -> None:
    if block.weights is None:
        piece.update(block.rows, ids_of(block))
    else:
        piece.update(block.rows, ids_of(block), block.weights)


def _row(d: int, first: int | None, rows: int, bad: int, state: bytes | None, fault: str | None) -> pa.RecordBatch:
    values = (d, first, rows, bad, state, fault)
    return pa.record_batch([pa.array([value], field.type) for value, field in zip(values, _SCHEMA)], schema=_SCHEMA)


def _work(make_reader: Callable[[], Reader], start: Callable[[int], Any],
          take: Callable[[Reader, Any, Block], int]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader, piece, rows = make_reader(), None, 0
        try:
            for block in reader.blocks(batches):
                if piece is None:
                    piece = start(block.rows.shape[1])
                rows += take(reader, piece, block)
            if piece is not None or reader.bad:
                state = None if piece is None else piece.serialize()
                yield _row(reader.d or 0, reader.first, rows, reader.bad, state, None)
        except BadRow as refused:
            for _ in batches:  # what Spark still sends has to be taken
                pass
            yield _row(0, None, 0, 0, None, str(refused))

    return work


def _merged(kind: Kind, label: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = _Whole(kind, label)
        try:
            for batch in batches:
                for row in batch.to_pylist():
                    whole.add(row)
            yield _row(whole.d, whole.first, whole.rows, whole.bad,
                       None if whole.piece is None else whole.piece.serialize(), None)
        except ValueError as refused:
            yield _row(0, None, 0, 0, None, str(refused))

    return work


class _Whole:
    """The piece of all pieces so far."""

    def __init__(self, kind: Kind, label: str):
        self.kind, self.label, self.piece, self.first = kind, label, None, None
        self.d = self.rows = self.bad = self.bytes = 0

    def add(self, row: dict[str, Any]) -> None:
        if row["fault"] is not None:
            raise BadRow(row["fault"])
        self.rows += row["rows"]
        self.bad += row["bad"]
        if row["state"] is None:
            return
        self.bytes += len(row["state"])
        piece = self.kind.read(row["state"], row["d"])
        if self.piece is None:
            self.piece, self.d, self.first = piece, row["d"], row["first"]
        elif row["d"] != self.d:
            raise BadRow(f"{self.label}: {_name(row['first'])} has {row['d']} numbers, {_name(self.first)} {self.d}")
        else:
            self.piece.merge(piece)


def _name(id: int | None) -> str:
    return "a row" if id is None else f"id {id}"


def gather(frame: DataFrame, columns: Columns, keep: bool, kind: Kind, start: Callable[[int], Any],
           take: Callable[[Reader, Any, Block], int], d: int | None = None) -> Gathered:
    """One read of the frame. start(d) makes an empty piece, take(reader, piece, block) takes rows into it."""
    label, dtype = columns.label, "f4" if columns.element(frame).typeName() == "float" else "f8"
    pieces = mapped(frame, columns, _work(lambda: Reader(label, keep, dtype, d), start, take), _SPARK_SCHEMA)
    count = _partitions(pieces)
    for _ in range(2 if count > DIRECT else 0):
        count = math.isqrt(count)
        pieces = pieces.repartition(count).mapInArrow(_merged(kind, label), _SPARK_SCHEMA)
    whole = _Whole(kind, label)
    for row in pieces.toArrow().to_pylist():
        whole.add(row)
    return Gathered(whole.piece, whole.d, whole.rows, whole.bad, whole.bytes)


def _partitions(frame: DataFrame) -> int:
    """How many there will be; more than DIRECT where only running a shuffle would tell."""
    execution = frame._jdf.queryExecution()
    plan = execution.executedPlan()
    known = plan.outputPartitioning().numPartitions()
    if known or "Exchange" in plan.toString():
        return known or DIRECT + 1
    return execution.toRdd().getNumPartitions()
