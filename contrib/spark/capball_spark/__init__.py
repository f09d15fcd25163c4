"""capball on Apache Spark: pyspark.ml citizens with the C library inside the workers.

    from capball.spark import SphereEmbedding
    model = SphereEmbedding(inputCol="features", outputCol="sphere", idCol="id").fit(frame)
    model.transform(frame)

Sums are exact and rows are known by their ids, so that maps, balls and neighbours have the bits that one machine gives,
however the rows are cut into partitions and whatever order they come in. Rows travel as Arrow; no Python object is made
of a row.
"""

from .ball import BallDetector, BallDetectorModel
from .codes import Sketch, SketchModel
from .embedding import SphereEmbedding, SphereEmbeddingModel
from .neighbours import KNN, KNNModel

__all__ = [
    "KNN", "BallDetector", "BallDetectorModel", "KNNModel", "Sketch", "SketchModel", "SphereEmbedding",
    "SphereEmbeddingModel",
]
