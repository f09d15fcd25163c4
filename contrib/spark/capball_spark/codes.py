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
    bytes = param("bytes", "of a code, all counted, in place of bits", TypeConverters.toInt)
    form = param("form", "chosen, principal, columns, signs or turned", TypeConverters.toString)
    certain = param("certain", "whether every code keeps a bound of its error", TypeConverters.toBoolean)
    s = param("s", "the scale itself, in place of a goal", TypeConverters.toFloat)
    goal = param("goal", "mean, median, hemisphere, spread or recall", TypeConverters.toString)
    sample = param("sample", "rows the training sees", TypeConverters.toInt)
    seed = param("seed", "of sample and training", TypeConverters.toInt)

    def defaults(self) -> None:
        self._setDefault(outputCol="code", bits=256, goal="mean", sample=16384, seed=0)

    def _fit(self, dataset: DataFrame) -> "SketchModel":
        s, goal = self.value("s"), self.value("goal")
        found = statistics(dataset, self.columns(), self.keeps, self.value("sample"), self.value("seed"),
                           s is None and goal not in _SAMPLED)
        text = _core.sketch_from_statistics(found.piece, self.value("bits"), s, goal, self.value("seed"), None, None,
                                            self.value("bytes"), self.value("form"), self.value("certain"))
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
