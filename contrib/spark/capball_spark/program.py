"""capball-spark: the verbs of the command, on Parquet that Spark reads and writes.

    capball-spark fit vectors.parquet -o map.json --column features --id id
    spark-submit --master spark://host:7077 program.py embed -m map.json vectors.parquet -o sphere.parquet

Maps, models and sketches are the command's files. Data are named as Spark names them: folders of Parquet, hdfs://, s3a://.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from capball import BallModel, SphereMap, _core, abid
from capball import Sketch as SketchFile
from capball.spark import KNN, BallDetector, BallDetectorModel, Sketch, SketchModel, SphereEmbedding, SphereEmbeddingModel
from capball.spark.embedding import statistics


def _say(verb: str, text: str) -> None:
    print(f"capball-spark {verb}: {_core.printable(text)}", file=sys.stderr)


def _columns(options: argparse.Namespace) -> dict[str, Any]:
    names = options.column.split(",")
    where = {"inputCol": names[0]} if len(names) == 1 else {"inputCols": names}
    return {**where, "idCol": options.id, "handleInvalid": "keep" if options.skip_bad else "error"}


def _read(options: argparse.Namespace, path: str) -> DataFrame:
    return options.session.read.parquet(path)


def _told(summary: dict[str, Any]) -> str:
    bad = f", {summary['badRows']} left out" if summary.get("badRows") else ""
    return f"{summary['rows']} rows{bad}"


def _fit(o: argparse.Namespace) -> None:
    model = SphereEmbedding(goal=o.goal, s=o.scale, target=o.target, k=o.neighbours, sample=o.sample, seed=o.seed,
                            **_columns(o)).fit(_read(o, o.data))
    model.map.save(o.output)
    _say("fit", f"d = {model.map.d}, s = {model.map.s:.6g}, {_told(model.summary)}")


def _embed(o: argparse.Namespace) -> None:
    model = SphereEmbeddingModel(SphereMap.load(o.model), outputCol=o.into or "sphere", **_columns(o))
    model.transform(_read(o, o.data)).write.mode(o.mode).parquet(o.output)


def _abid(o: argparse.Namespace) -> None:
    columns = SphereEmbedding(**_columns(o)).columns()
    found = statistics(_read(o, o.data), columns, o.skip_bad, o.sample, o.seed, False)
    facts = found.piece.finish()
    original = abid(facts["sample"], center=facts["mean"])
    print(json.dumps({"abid": float(original), "rows": facts["rows"], "sample": len(facts["sample"])}))


def _ball(o: argparse.Namespace) -> None:
    model = BallDetector(nu=o.nu, gap=o.gap, **_columns(o)).fit(_read(o, o.data))
    model.ball.save(o.output)
    _say("ball", f"radius {model.ball.radius:.6g}, gap {model.ball.gap:.1e}, {model.summary['rounds']} rounds, "
         f"{sum(model.summary['bytesToDriver'])} bytes to the driver, {_told(model.summary)}")


def _score(o: argparse.Namespace) -> None:
    model = BallDetectorModel(BallModel.load(o.model), scoreCol=o.into or "score", **_columns(o))
    model.transform(_read(o, o.data)).write.mode(o.mode).parquet(o.output)


def _knn(o: argparse.Namespace) -> None:
    search = KNN(k=o.neighbours, metric=o.metric, candidates=o.candidates, outputCol=o.into or "neighbors", **_columns(o))
    if o.sketch is not None:
        search.setSketch(SketchFile.load(o.sketch))
    model, queries = search.fit(_read(o, o.data)), _read(o, o.queries)
    found = model.transform(queries) if o.radius is None else model.rangeJoin(queries, o.radius)
    found.write.mode(o.mode).parquet(o.output)
    _say("knn", _told(model.summary))


def _sketch(o: argparse.Namespace) -> None:
    if o.model is not None:
        model = SketchModel(SketchFile.load(o.model), outputCol=o.into or "code", **_columns(o))
        model.transform(_read(o, o.data)).write.mode(o.mode).parquet(o.output)
        return
    trained = Sketch(bits=o.bits, bytes=o.bytes, goal=o.goal, s=o.scale, seed=o.seed, sample=o.sample, **_columns(o)).fit(_read(o, o.data))
    trained.sketch.save(o.output)
    _say("sketch", f"{trained.sketch.bits} bits, {_told(trained.summary)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="capball-spark", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"capball {_core.version}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, run: Any, text: str, output: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        made.set_defaults(run=run)
        made.add_argument("data", help="Parquet that Spark can read")
        if output:
            made.add_argument("-o", "--output", required=True, help=output)
        made.add_argument("--column", default="features", help="column of vectors, or columns of numbers: a,b,c")
        made.add_argument("--id", help="column of whole numbers that names the rows")
        made.add_argument("--skip-bad", action="store_true", help="leave rows that are null or not finite out")
        made.add_argument("--mode", default="error", choices=("error", "overwrite"), help="when the output is there")
        made.add_argument("--into", help="name of the new column")
        made.add_argument("--master", help="Spark's master; that of spark-submit, or local[*]")
        return made

    def goals(made: argparse.ArgumentParser, sample: int) -> None:
        made.add_argument("--goal", default="mean", choices=_core.GOALS)
        made.add_argument("--scale", type=float, help="the scale itself")
        made.add_argument("--sample", type=int, default=sample)
        made.add_argument("--seed", type=int, default=0)

    fit = verb("fit", _fit, "fits a map: centre and scale for a goal", "the map file")
    goals(fit, 4096)
    fit.add_argument("--target", type=float, default=0.99)
    fit.add_argument("-k", "--neighbours", type=int, default=10)
    verb("embed", _embed, "appends the images of vectors", "Parquet").add_argument("-m", "--model", required=True)
    goals(verb("abid", _abid, "intrinsic dimension of a sample", ""), 4096)
    ball = verb("ball", _ball, "the smallest enclosing ball, or SVDD", "the model file")
    ball.add_argument("--nu", type=float, default=0.0, help="the share that may lie outside")
    ball.add_argument("--gap", type=float, default=1e-9)
    verb("score", _score, "appends scores; >= 0 is inside", "Parquet").add_argument("-m", "--model", required=True)
    knn = verb("knn", _knn, "nearest rows of DATA for each query, or with --radius all pairs within it", "Parquet")
    knn.add_argument("queries", help="Parquet of queries, with the same columns")
    knn.add_argument("-k", "--neighbours", type=int, default=10)
    knn.add_argument("--metric", default="l2", choices=_core.METRICS)
    knn.add_argument("--radius", type=float)
    knn.add_argument("--sketch", help="sketch file: candidates by codes, put in order by exact distances")
    knn.add_argument("--candidates", type=int, default=100)
    sketch = verb("sketch", _sketch, "trains a sketch; with -m appends codes", "the sketch file, or Parquet")
    sketch.add_argument("-m", "--model")
    sketch.add_argument("--bits", type=int, default=256)
    sketch.add_argument("--bytes", type=int, help="bytes of a code, all counted, in place of bits")
    goals(sketch, 16384)
    return parser


def _session(options: argparse.Namespace) -> SparkSession:
    builder = SparkSession.builder.appName(f"capball {options.verb}")
    if options.master:
        builder = builder.master(options.master)
    return builder.getOrCreate()


def _sentence(failure: BaseException) -> str:
    """The last line of what a worker said, where a worker failed."""
    lines = [line for line in str(failure).splitlines() if "BadRow:" in line]
    return lines[-1].split("BadRow:", 1)[1].strip() if lines else str(failure).splitlines()[0]


def main(arguments: list[str] | None = None) -> int:
    """Runs a verb; 0, or 1 with one sentence for data that do not go, 2 for usage."""
    options = _parser().parse_args(arguments)
    options.session = _session(options)
    options.session.sparkContext.setLogLevel("ERROR")
    try:
        options.run(options)
        return 0
    except (PySparkException, ValueError, OSError) as failure:
        _say(options.verb, _sentence(failure))
        return 1
    finally:
        options.session.stop()


if __name__ == "__main__":
    sys.exit(main())
