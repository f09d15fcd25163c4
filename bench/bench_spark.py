"""capball on Spark beside Spark itself, in one run on local[2].

    make bench-spark                      2,000,000 x 32 floats
    build/python-spark/bin/python bench/bench_spark.py ROWS COLUMNS

embed: Parquet -> Parquet, against mapInArrow that hands the same columns through. fit: the statistics of a map (mean,
extremes, norms about the mean), against pyspark.ml's Summarizer and SQL for the norms. Best of three, start-up apart.
"""

import json
import os
import shutil
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.ml.functions import array_to_vector
from pyspark.ml.stat import Summarizer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import capball
from capball.spark import BallDetector, SphereEmbedding

ROWS, COLUMNS = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (2_000_000, 32)
PART = 250_000
REPEATS = int(os.environ.get("CPB_REPEATS", "3"))


def write(folder: str) -> None:
    rng = np.random.default_rng(1)
    os.mkdir(folder)
    for first in range(0, ROWS, PART):
        n = min(PART, ROWS - first)
        x = rng.normal(size=(n, COLUMNS)).astype(np.float32)
        offsets = pa.array(np.arange(0, (n + 1) * COLUMNS, COLUMNS, dtype=np.int32))
        vectors = pa.ListArray.from_arrays(offsets, pa.array(x.reshape(-1)))
        pq.write_table(pa.table({"id": np.arange(first, first + n), "features": vectors}),
                       f"{folder}/{first:09d}.parquet", compression="none")


def best(run) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def same(batches):
    yield from batches


def summarize(frame) -> None:
    """Mean and extremes by Summarizer; then norms about the mean: their mean, largest and median."""
    vectors = frame.select(array_to_vector("features").alias("v"))
    found = vectors.select(Summarizer.metrics("count", "mean", "min", "max").summary(F.col("v")).alias("s")).first().s
    mean = F.array(*(F.lit(float(x)) for x in found["mean"]))
    squares = F.zip_with("features", mean, lambda x, m: (x - m) * (x - m))
    norms = frame.select(F.sqrt(F.aggregate(squares, F.lit(0.0), lambda sum, x: sum + x)).alias("n"))
    norms.agg(F.mean("n"), F.max("n"), F.percentile_approx("n", 0.5, 10000)).first()


def main() -> None:
    work = tempfile.mkdtemp()
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.sql.parquet.compression.codec", "uncompressed").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        write(f"{work}/in")
        frame = session.read.parquet(f"{work}/in")
        frame.mapInArrow(same, frame.schema).count()  # workers are started
        model = SphereEmbedding(idCol="id").fit(frame)
        narrow = frame.select("features")
        out = f"{work}/out"

        def save(made):
            made.write.mode("overwrite").parquet(out)

        seconds = {
            "copy_mapInArrow": best(lambda: save(narrow.mapInArrow(same, narrow.schema))),
            "embed": best(lambda: save(model.transform(frame).select("sphere"))),
            "summarizer": best(lambda: summarize(frame)),
            "fit": best(lambda: SphereEmbedding(idCol="id").fit(frame)),
            "fit_hashed_ids": best(lambda: SphereEmbedding().fit(frame)),
            "ball": best(lambda: BallDetector(idCol="id").fit(frame)),
            "copy_parquet": best(lambda: save(narrow)),
        }
        session.conf.set("spark.capball.readParquet", "false")
        seconds["fit_through_spark"] = best(lambda: SphereEmbedding(idCol="id").fit(frame))
        print(json.dumps({
            "rows": ROWS, "columns": COLUMNS, "isa": capball._core.isa, "cpus": os.cpu_count(), "spark": session.version,
            "seconds": {name: round(value, 2) for name, value in seconds.items()},
            "embed_of_copy": round(seconds["copy_mapInArrow"] / seconds["embed"], 3),
            "fit_of_summarizer": round(seconds["summarizer"] / seconds["fit"], 2),
            "fit_through_spark_of_summarizer": round(seconds["summarizer"] / seconds["fit_through_spark"], 2)}, indent=1))
    finally:
        session.stop()
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
