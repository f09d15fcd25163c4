"""capball on Spark beside Spark itself, in one run on local[2].

    make bench-spark                      2,000,000 x 32 floats
    build/python-spark/bin/python contrib/spark/bench_spark.py ROWS COLUMNS

embed: Parquet -> Parquet, against mapInArrow that hands the same columns through. fit: the statistics of a map (mean,
extremes, norms about the mean), against pyspark.ml's Summarizer and SQL for the norms. Best of three, start-up apart; seconds of
the clock, and of the processors, which tell on a machine that others work on.
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


def processor() -> float:
    """Seconds that this process and all it has started have had of the processors: Spark's JVM and the workers."""
    parents, used = {}, {}
    for name in os.listdir("/proc"):
        try:
            words = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split() if name.isdigit() else None
        except OSError:
            continue
        if words:
            parents[int(name)], used[int(name)] = int(words[1]), sum(map(int, words[11:15]))
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used[pid] for pid in family if pid in used) / os.sysconf("SC_CLK_TCK")


def best(run) -> tuple[float, float]:
    """Seconds of the clock and of the processors; on a machine that others work on only the second tell."""
    times = []
    for _ in range(REPEATS):
        began, had = time.perf_counter(), processor()
        run()
        times.append((time.perf_counter() - began, processor() - had))
    return min(clock for clock, _ in times), min(used for _, used in times)


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
    os.environ["PYSPARK_PYTHON"] = sys.executable
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

        jobs = {
            "copy_mapInArrow": lambda: save(narrow.mapInArrow(same, narrow.schema)),
            "embed": lambda: save(model.transform(frame).select("sphere")),
            "summarizer": lambda: summarize(frame),
            "fit": lambda: SphereEmbedding(idCol="id").fit(frame),
            "ball": lambda: BallDetector(idCol="id").fit(frame),
        }
        took = {name: best(run) for name, run in jobs.items()}
        session.conf.set("spark.capball.readParquet", "false")
        took["fit_through_spark"] = best(jobs["fit"])

        def ratio(of: str, to: str) -> list[float]:
            return [round(a / b, 2) for a, b in zip(took[of], took[to])]

        print(json.dumps({
            "rows": ROWS, "columns": COLUMNS, "isa": capball._core.isa, "cpus": os.cpu_count(), "spark": session.version,
            "load": os.getloadavg()[0], "seconds_clock_and_processors": {n: [round(x, 2) for x in t] for n, t in took.items()},
            "embed_of_copy": ratio("copy_mapInArrow", "embed"), "fit_of_summarizer": ratio("summarizer", "fit"),
            "fit_through_spark_of_summarizer": ratio("summarizer", "fit_through_spark")}, indent=1))
    finally:
        session.stop()
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
