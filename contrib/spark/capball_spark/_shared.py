"""What estimators and models share: Params, and files."""

from __future__ import annotations

from typing import Any

from pyspark import keyword_only
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame

from ._vectors import Columns


def param(name: str, doc: str, convert: Any) -> Any:
    """A Param of the class it is written in."""
    return Param(Params._dummy(), name, doc, typeConverter=convert)


def _one_of(*words: str) -> Any:
    def convert(value: Any) -> str:
        if value not in words:
            raise TypeError(f"wanted one of {', '.join(words)}, got {value!r}")
        return str(value)

    return convert


class VectorParams(Params):
    """Where the vectors are, and what becomes of rows that are none."""

    inputCol = param("inputCol", "column of vectors: arrays of float or double, or pyspark.ml vectors",
                     TypeConverters.toString)
    inputCols = param("inputCols", "columns of numbers, in place of inputCol", TypeConverters.toListString)
    idCol = param("idCol", "whole numbers that name the rows; without it a hash of each row does", TypeConverters.toString)
    handleInvalid = param("handleInvalid", "rows that are null, of another length or not finite: 'error' refuses them, "
                          "'keep' leaves them out of a fit, counted, and gives null for them", _one_of("error", "keep"))

    def __init__(self, **given: Any):
        super().__init__()
        self._setDefault(inputCol="features", handleInvalid="error")
        self.defaults()
        self.setParams(**given)

    def defaults(self) -> None:
        """The defaults of a class."""

    def setParams(self, **given: Any) -> "VectorParams":
        """Sets Params by name."""
        for name in given:
            if not self.hasParam(name):
                raise TypeError(f"{type(self).__name__} has no Param '{name}'")
        self._set(**{name: value for name, value in given.items() if value is not None})
        return self

    def value(self, name: str) -> Any:
        """A Param's value, or None."""
        return self.getOrDefault(name) if self.isDefined(name) else None

    @property
    def keeps(self) -> bool:
        """Whether rows that are no vectors are left out, and not refused."""
        return self.value("handleInvalid") == "keep"

    def columns(self, weight: str | None = None) -> Columns:
        """Where a frame has vectors, ids and weights."""
        return Columns(self.value("inputCols") or [self.value("inputCol")], self.value("idCol"), weight)


class _Writer(MLWriter):
    def __init__(self, instance: Any):
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession)
        for name, frame in self.instance.parts(self.sparkSession).items():
            frame.write.parquet(f"{path}/{name}")


class _Reader(MLReader):
    def __init__(self, kind: Any):
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        made = self.kind()
        made._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(made, metadata)
        made.take_parts(lambda name: self.sparkSession.read.parquet(f"{path}/{name}"))
        return made


class Files(MLWritable, MLReadable):
    """save and load: the Params, and parts as Parquet beside them."""

    def write(self) -> MLWriter:
        """What saves it, as every stage of pyspark.ml has it."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """What loads it."""
        return _Reader(cls)

    def parts(self, session: Any) -> dict[str, DataFrame]:
        """What is written beside the Params."""
        return {}

    def take_parts(self, read: Any) -> None:
        """The same, back."""


class Artefact(Files):
    """A model that has an object of capball, whose file is the command's: a map, a ball, a sketch."""

    kind: Any = None  # the class of the object

    def __init__(self, artefact: Any = None, **given: Any):
        super().__init__(**given)  # type: ignore[call-arg]
        self.artefact = artefact
        self.summary: dict[str, Any] = {}

    def parts(self, session: Any) -> dict[str, DataFrame]:
        return {"artefact": session.createDataFrame([(self.artefact.to_json(),)], "text string").coalesce(1)}

    def take_parts(self, read: Any) -> None:
        self.artefact = self.kind.from_json(read("artefact").first()[0])

    def copy(self, extra: Any = None) -> Any:
        """The same model with other Params, those of `extra`."""
        made = super().copy(extra)  # type: ignore[misc]
        made.artefact, made.summary = self.artefact, self.summary
        return made


def hand_on(estimator: Params, model: Params) -> Any:
    """A fitted model with the Params of its estimator."""
    for p, value in estimator.extractParamMap().items():
        if model.hasParam(p.name):
            model._set(**{p.name: value})
    model._resetUid(estimator.uid)
    return model


__all__ = ["Artefact", "Files", "VectorParams", "hand_on", "keyword_only", "param"]
