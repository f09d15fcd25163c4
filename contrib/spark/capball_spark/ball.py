"""T10, T11: a ball around the rows of a frame, by rounds, with a proof of how small it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.ml import Estimator, Model
from pyspark.ml.param import TypeConverters
from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DoubleType

import pyarrow as pa

from .. import BallModel, _core
from ._gather import BALL_ROUNDS, STATISTICS, SVDD_ROUNDS, Kind, gather, ids_of, update
from ._shared import Artefact, Files, VectorParams, hand_on, param
from ._vectors import Block, Columns, Reader
from .embedding import append, by_rows

ALL_SCORES, SOME_SCORES = 1 << 17, 1 << 14  # rows up to which quantiles are those of all; the sample beyond


class _Params(VectorParams):
    scoreCol = param("scoreCol", "column of the scores r^2 - |x-c|^2; >= 0 is inside", TypeConverters.toString)
    pCol = param("pCol", "column of p-values, of a model that has them: one of `capball ball --robust` or --calibrate", TypeConverters.toString)
    outlierCol = param("outlierCol", "column of the verdicts: true where the score is below the model's threshold", TypeConverters.toString)


class BallDetector(Files, Estimator, _Params):
    """The smallest enclosing ball, or with nu SVDD: a ball that may leave the share nu of the rows outside.

    A round is one read of the frame: the partitions give the few rows that matter about the present centre, the driver
    solves for them exactly. A ball takes two to four rounds, SVDD some more; one more read gives the quantiles of the
    scores, exact for up to 131072 rows, of a sample of 16384 beyond.
    """

    nu = param("nu", "the share of the rows that may lie outside; 0 for none", TypeConverters.toFloat)
    gap = param("gap", "wanted relative gap between the bounds", TypeConverters.toFloat)
    maxRounds = param("maxRounds", "reads of the frame before SVDD gives up", TypeConverters.toInt)
    weightCol = param("weightCol", "weights >= 0 of the rows, with nu", TypeConverters.toString)

    def defaults(self) -> None:
        self._setDefault(scoreCol="score", nu=0.0, gap=1e-9, maxRounds=1000)

    def _kind(self) -> tuple[Kind, Any]:
        nu, gap, rounds = self.value("nu"), self.value("gap"), self.value("maxRounds")
        if nu == 0:
            return BALL_ROUNDS, lambda d: _core.BallRounds(d, gap)
        return SVDD_ROUNDS, lambda d: _core.SvddRounds(d, nu, gap, rounds)

    def _fit(self, dataset: DataFrame) -> "BallDetectorModel":
        if self.value("weightCol") is not None and self.value("nu") == 0:
            raise ValueError("weightCol goes with nu > 0")
        columns, (kind, start) = self.columns(self.value("weightCol")), self._kind()
        whole, summary = _rounds(dataset, columns, self.keeps, kind, start)
        ball = BallModel.from_json(whole.model(summary["rows"]))
        scores = _scores(dataset, self.columns(), self.keeps, ball, summary["rows"])
        model = hand_on(self, BallDetectorModel(BallModel.from_json(whole.model(summary["rows"], scores))))
        model.summary = summary
        return model


def _rounds(frame: DataFrame, columns: Columns, keep: bool, kind: Kind, start: Any) -> tuple[Any, dict[str, Any]]:
    found = gather(frame, columns, keep, kind, start, update)
    if found.piece is None or found.rows == 0:
        raise ValueError(f"{columns.label}: there are no rows")
    whole, shipped, rounds = found.piece, [found.bytes], 1
    while not whole.solve():
        question = start(found.d)
        question.restart(whole)
        state, d = question.serialize(), found.d
        part = gather(frame, columns, keep, kind, lambda d: kind.read(state, d), update, d)
        if part.rows != found.rows:
            raise ValueError(f"{columns.label}: a round had {part.rows} rows, the first {found.rows}: the frame changes")
        whole.merge(part.piece)
        shipped.append(part.bytes)
        rounds += 1
    return whole, {"rows": found.rows, "badRows": found.bad, "rounds": rounds, "bytesToDriver": shipped}


def _scores(frame: DataFrame, columns: Columns, keep: bool, ball: BallModel, rows: int) -> np.ndarray:
    """The scores of all rows, or of a sample that does not depend on how they are cut."""
    sample, repeats = rows if rows <= ALL_SCORES else SOME_SCORES, columns.id is None

    def start(d: int) -> Any:
        return _core.Statistics(1, "float64", sample, 0, repeats)

    def take(reader: Reader, piece: Any, block: Block) -> int:
        block = reader.usable(block)
        scores = ball.scores(block.rows, threads=1)
        piece.update(scores.reshape(-1, 1), ids=ids_of(block))
        return len(block.rows)

    return gather(frame, columns, keep, STATISTICS, start, take).piece.finish()["sample"].reshape(-1)


class BallDetectorModel(Artefact, Model, _Params):
    """A fitted ball; .artefact is the BallModel, whose file is that of the command. .summary tells rounds and bytes."""

    kind = BallModel

    def defaults(self) -> None:
        self._setDefault(scoreCol="score")

    @property
    def ball(self) -> BallModel:
        """The fitted ball."""
        return self.artefact

    def _transform(self, dataset: DataFrame) -> DataFrame:
        ball = self.artefact
        if self.value("pCol") is not None and not ball.calibrated:
            raise ValueError("pCol: the model has no p-values: make it by `capball ball --robust` or --calibrate")
        dataset = self._append(dataset, self.value("scoreCol"), DoubleType(), lambda scores: scores)
        if self.value("pCol") is not None:
            dataset = self._append(dataset, self.value("pCol"), DoubleType(), ball.p_values)
        if self.value("outlierCol") is not None:
            dataset = self._append(dataset, self.value("outlierCol"), BooleanType(), lambda scores: ball.verdicts(scores) == -1)
        return dataset

    def _append(self, frame: DataFrame, name: str, kind: Any, of_scores: Any) -> DataFrame:
        """A column of what a function makes of the scores."""
        ball = self.artefact

        def work(reader: Reader) -> Any:
            make = by_rows(reader, ball.d, 1, lambda rows, out: ball.scores(rows, out.reshape(-1), threads=1), np.float64)

            def column(vectors: pa.Array, ids: pa.Array | None) -> pa.Array:
                out, missing = make(vectors, ids)
                return pa.array(of_scores(out.reshape(-1)), mask=missing)

            return column

        return append(frame, self.columns(), self.keeps, name, kind, work)
