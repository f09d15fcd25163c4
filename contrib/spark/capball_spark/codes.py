"""T14: short codes, trained on a sample of a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.param import TypeConverters
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType

from .. import Sketch as _Sketch
from .. import _core
from ._shared import Artefact, Files, VectorParams, hand_on, param
from ._vectors import Reader, spread, texts
from .embedding import _SAMPLED, append, statistics


class _Params(VectorParams):
    outputCol = param("outputCol", "column of the codes", TypeConverters.toString)


class Sketch(Files, Estimator, _Params):
    """Trains codes on a sample by the rows' ids: the sketch that one machine trains."""

    bits = param("bits", "of a code, a multiple of 8", TypeConverters.toInt)
    codeKind = param("codeKind", "where the normals come from", TypeConverters.toString)
    s = param("s", "the scale itself, in place of a goal", TypeConverters.toFloat)
    goal = param("goal", "mean, median, hemisphere, spread or recall", TypeConverters.toString)
    sample = param("sample", "rows the training sees", TypeConverters.toInt)
    seed = param("seed", "of sample and training", TypeConverters.toInt)
    maxSteps = param("maxSteps", "of the training", TypeConverters.toInt)
    bitsPer = param("bitsPer", "bits per direction: 1, 2 or 4", TypeConverters.toInt)
    rotation = param("rotation", "chosen, random, learned or turned", TypeConverters.toString)
    factors = param("factors", "float16 or float32", TypeConverters.toString)

    def defaults(self) -> None:
        self._setDefault(outputCol="code", bits=256, goal="mean", sample=8192, seed=0)

    def _fit(self, dataset: DataFrame) -> "SketchModel":
        s, goal = self.value("s"), self.value("goal")
        found = statistics(dataset, self.columns(), self.keeps, self.value("sample"), self.value("seed"),
                           s is None and goal not in _SAMPLED)
        text = _core.sketch_from_statistics(found.piece, self.value("bits"), self.value("codeKind"), s, goal,
                                            self.value("seed"), None, self.value("maxSteps"), None,
                                            self.value("bitsPer"), self.value("rotation"), self.value("factors"))
        model = hand_on(self, SketchModel(_Sketch.from_json(text)))
        model.summary = {"rows": found.rows, "badRows": found.bad, "bytesToDriver": found.bytes}
        return model


class SketchModel(Artefact, Model, _Params):
    """A trained sketch; .artefact is the Sketch, whose file is that of the command."""

    kind = _Sketch

    def defaults(self) -> None:
        self._setDefault(outputCol="code")

    @property
    def sketch(self) -> _Sketch:
        """The trained sketch."""
        return self.artefact

    def _transform(self, dataset: DataFrame) -> DataFrame:
        sketch = self.artefact

        def work(reader: Reader) -> Any:
            def codes(vectors: pa.Array, ids: pa.Array | None) -> pa.Array:
                reader.d = sketch.d
                block = reader.read(vectors, ids)
                block = reader.usable(block)
                made = sketch.encode(block.rows, threads=1)
                missing = None
                if block.at is not None:
                    missing = spread(np.zeros(len(made), bool), block.at, len(vectors), True)
                return texts(spread(made, block.at, len(vectors), 0), missing)

            return codes

        return append(dataset, self.columns(), self.keeps, self.value("outputCol"), BinaryType(), work)
