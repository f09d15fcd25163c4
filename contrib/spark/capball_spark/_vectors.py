"""Vectors of a data frame: one column of arrays on Spark's side, rows that lie side by side in the workers."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, IntegralType, NumericType

ROWS, ID, WEIGHT = "rows", "id", "weight"


class BadRow(ValueError):
    """A row that cannot be taken: one sentence with the column and the id."""


def _is_single(kind: DataType) -> bool:
    return isinstance(kind, FloatType)


def _type_of(frame: DataFrame, name: str) -> DataType:
    if name not in frame.columns:
        raise ValueError(f"there is no column '{name}', only {', '.join(frame.columns)}")
    return frame.schema[name].dataType


class Columns(NamedTuple):
    """Where a frame has its vectors: a column of vectors, or several of numbers; ids and weights."""

    vectors: list[str]
    id: str | None = None
    weight: str | None = None

    @property
    def label(self) -> str:
        return f"column '{self.vectors[0]}'" if len(self.vectors) == 1 else f"columns '{self.vectors[0]}', .."

    def element(self, frame: DataFrame) -> DataType:
        """What the vectors are made of: floats where everything is a float, otherwise doubles."""
        kinds = [_type_of(frame, name) for name in self.vectors]
        if len(kinds) == 1 and isinstance(kinds[0], ArrayType):
            kinds = [kinds[0].elementType]
        elif len(kinds) == 1 and isinstance(kinds[0], VectorUDT):
            return DoubleType()
        for name, kind in zip(self.vectors, kinds):
            if not isinstance(kind, NumericType):
                raise ValueError(f"column '{name}' is {kind.simpleString()}, wanted vectors or numbers")
        return FloatType() if all(map(_is_single, kinds)) else DoubleType()

    def is_vector(self, frame: DataFrame) -> bool:
        return len(self.vectors) == 1 and isinstance(_type_of(frame, self.vectors[0]), VectorUDT)

    def array(self, frame: DataFrame) -> Column:
        """The vectors as one column of arrays."""
        element, first = self.element(frame), _type_of(frame, self.vectors[0])
        if len(self.vectors) > 1 or not isinstance(first, (ArrayType, VectorUDT)):
            return F.array(*(F.col(name).cast(element) for name in self.vectors))
        if isinstance(first, VectorUDT):
            return vector_to_array(F.col(self.vectors[0]))
        same = first.elementType == element
        return F.col(self.vectors[0]) if same else F.col(self.vectors[0]).cast(ArrayType(element))

    def ids(self, frame: DataFrame) -> list[Column]:
        if self.id is None:
            return []
        kind = _type_of(frame, self.id)
        if not isinstance(kind, IntegralType):
            raise ValueError(f"idCol '{self.id}' is {kind.simpleString()}, wanted whole numbers")
        return [F.col(self.id).cast("long").alias(ID)]

    def select(self, frame: DataFrame) -> DataFrame:
        """Vectors, ids and weights alone, under names of our own."""
        weights = [F.col(self.weight).cast("double").alias(WEIGHT)] if self.weight is not None else []
        return frame.select(self.array(frame).alias(ROWS), *self.ids(frame), *weights)


class Block(NamedTuple):
    """Rows of one Arrow batch that can be taken."""

    rows: np.ndarray
    ids: np.ndarray | None  # where the frame has them
    weights: np.ndarray | None
    at: np.ndarray | None  # their places in the batch; None for all of it


class Reader:
    """Reads Arrow batches in a worker. Bad rows are refused with a sentence, or counted and left out."""

    def __init__(self, label: str, keep: bool, dtype: str, d: int | None = None):
        self.label, self.keep, self.dtype, self.d = label, keep, np.dtype(dtype), d
        self.nulls = self.lengths = self.unusable = 0
        self.first: int | None = None

    @property
    def bad(self) -> int:
        return self.nulls + self.lengths + self.unusable

    def refuse(self, name: str, why: str) -> None:
        raise BadRow(f"{self.label}: {name} {why}")

    def blocks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
        for batch in batches:
            block = self.block(batch)
            if len(block.rows):
                yield block

    def block(self, batch: pa.RecordBatch) -> Block:
        columns = dict(zip(batch.schema.names, batch.columns))
        return self.read(columns[ROWS], columns.get(ID), columns.get(WEIGHT))

    def read(self, vectors: pa.Array, ids: pa.Array | None = None, weights: pa.Array | None = None) -> Block:
        numbers = None if ids is None else self._numbers(ids)
        offsets = np.asarray(vectors.offsets)
        lengths, values = np.diff(offsets), vectors.values
        good = self._good(vectors, lengths, values, offsets, ids)
        flat = values.to_numpy(zero_copy_only=False) if values.null_count else np.asarray(values)
        flat = flat.astype(self.dtype, copy=False)
        masses = None if weights is None else weights.to_numpy(zero_copy_only=False)
        if good is None:
            rows = flat[offsets[0]:offsets[-1]].reshape(len(vectors), self.d or 0)
            return Block(rows, self._name(rows, numbers), masses, None)
        at = np.flatnonzero(good)
        rows = flat[offsets[:-1][at][:, None] + np.arange(self.d or 0)]
        numbers = None if numbers is None else numbers[at]
        return Block(rows, self._name(rows, numbers), None if masses is None else masses[at], at)

    def _numbers(self, ids: pa.Array) -> np.ndarray:
        if ids.null_count:
            self.refuse("a row", "has no id")
        numbers = np.asarray(ids)
        if len(numbers) and numbers.min() < 0:
            self.refuse(f"id {numbers.min()}", "is negative")
        return numbers

    def _name(self, rows: np.ndarray, ids: np.ndarray | None) -> np.ndarray | None:
        if ids is not None and len(ids) and self.first is None:
            self.first = int(ids[0])
        return ids

    def _good(self, vectors: pa.Array, lengths: np.ndarray, values: pa.Array, offsets: np.ndarray,
              ids: pa.Array | None) -> np.ndarray | None:
        """Which rows have d numbers; None where all have."""
        if self.d is None and len(vectors):
            self.d = self._first_length(vectors, lengths)
        if vectors.null_count == 0 and values.null_count == 0 and (len(vectors) == 0 or (lengths == self.d).all()):
            return None
        null = np.asarray(vectors.is_null())
        other = ~null & (lengths != self.d)
        holes = np.add.reduceat(np.append(np.asarray(values.is_null()), False), offsets[:-1]) if values.null_count else 0
        gaps = ~null & ~other & (lengths > 0) & (np.broadcast_to(holes, lengths.shape) > 0)
        if not self.keep:
            self._refuse_first(null, other, gaps, lengths, ids)
        self.nulls += int(null.sum() + gaps.sum())
        self.lengths += int(other.sum())
        return ~(null | other | gaps)

    @staticmethod
    def _first_length(vectors: pa.Array, lengths: np.ndarray) -> int | None:
        whole = np.flatnonzero(~np.asarray(vectors.is_null()))
        return int(lengths[whole[0]]) if len(whole) else None

    def _refuse_first(self, null: np.ndarray, other: np.ndarray, gaps: np.ndarray, lengths: np.ndarray,
                      ids: pa.Array | None) -> None:
        bad = np.flatnonzero(null | other | gaps)
        if not len(bad):
            return
        at = bad[0]
        name = "a row" if ids is None else f"id {ids[int(at)].as_py()}"
        self.refuse(name, "is null" if null[at] else "has a null among its numbers" if gaps[at] else
                    f"has {lengths[at]} numbers, others have {self.d}")

    def refuse_row(self, block: Block, at: int, failure: Any = None) -> None:
        row = block.rows[at]
        name = f"id {block.ids[at]}" if block.ids is not None else f"the row {row[:3].tolist()}.."
        self.refuse(name, "holds NaN" if np.isnan(row).any() else "holds inf" if np.isinf(row).any() else f"({failure})")

    def usable(self, block: Block, failure: Any = None) -> Block:
        """The rows without NaN and inf, and without the one that the library refused; counted, or refused."""
        fine = np.isfinite(block.rows).all(axis=1)
        if fine.all() and failure is not None and failure.row is not None:
            fine[failure.row] = False
        if fine.all():
            return block
        if not self.keep:
            self.refuse_row(block, int(np.argmin(fine)), failure)
        self.unusable += int((~fine).sum())
        ids, weights = (None if part is None else part[fine] for part in (block.ids, block.weights))
        return Block(block.rows[fine], ids, weights, np.flatnonzero(fine) if block.at is None else block.at[fine])


def lists(rows: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    """Rows as an Arrow array of lists, without a copy of the numbers; null where `missing`."""
    n, d = rows.shape
    offsets = pa.array(np.arange(0, (n + 1) * d, d, dtype=np.int32) if d else np.zeros(n + 1, np.int32))
    mask = None if missing is None else pa.array(missing)
    return pa.ListArray.from_arrays(offsets, pa.array(rows.reshape(-1)), mask=mask)


def texts(codes: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    """Rows of bytes as an Arrow array of binaries."""
    n, size = codes.shape
    offsets = np.arange(0, (n + 1) * size, size, dtype=np.int32)
    made = pa.BinaryArray.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(codes)])
    return made if missing is None else pa.compute.if_else(pa.array(missing), pa.nulls(n, pa.binary()), made)


def spread(parts: Any, at: np.ndarray | None, n: int, fill: Any) -> np.ndarray:
    """Results of some rows at their places among n."""
    if at is None:
        return parts
    whole = np.full((n, *parts.shape[1:]), fill, parts.dtype)
    whole[at] = parts
    return whole
