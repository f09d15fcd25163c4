"""On Spark, whatever the partitions and the order: the command's map, ball, neighbours and codes, bit for bit."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test-spark")
import pyarrow as pa  # noqa: E402
import pyspark  # noqa: E402
from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.functions import array_to_vector  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

import capball  # noqa: E402
from capball.spark import KNN, BallDetector, BallDetectorModel, KNNModel, Sketch, SphereEmbedding, SphereEmbeddingModel  # noqa: E402
from capball.spark import _gather, program  # noqa: E402

FULL = os.environ.get("CPB_SPARK", "short") == "full"
PARTITIONS = (1, 2, 7, 64) if FULL else (3,)
ROWS, COLUMNS = (20000, 8) if FULL else (1000, 5)
WORKER_MEMORY = "1g"
# A session of seconds ends before generated code, optimised code and verified classes pay.
BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions"
                                          " -XX:-BytecodeVerificationRemote",
         "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
         "spark.sql.adaptive.enabled": "false"}
full = pytest.mark.skipif(not FULL, reason="make test-spark")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """A master and two workers on loopback, each a process that is stopped by its id."""

    def __init__(self, folder):
        self.folder, self.port, self.processes = folder, free_port(), []
        self.master = f"spark://127.0.0.1:{self.port}"
        self.start("master.Master", "--host", "127.0.0.1", "--port", self.port, "--webui-port", free_port())
        self.wait(self.port)
        self.workers = [self.start("worker.Worker", "--host", "127.0.0.1", "--cores", 1, "--memory", WORKER_MEMORY,
                                   "--webui-port", free_port(), "-d", folder / f"worker{i}", self.master)
                        for i in range(2)]

    def start(self, name, *words):
        home = Path(pyspark.__file__).parent
        log = open(self.folder / f"{name}-{len(self.processes)}.log", "w")
        process = subprocess.Popen([home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *map(str, words)],
                                   stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"})
        self.processes.append(process)
        return process

    @staticmethod
    def wait(port):
        for _ in range(600):
            try:
                return socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                time.sleep(0.1)
        raise TimeoutError("the master does not answer")

    def kill(self, worker):
        """A worker and the executors it started."""
        for child in children(worker.pid):
            os.kill(child, signal.SIGKILL)
        worker.kill()

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(60)


def children(pid):
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if parent == pid:
                found += [int(folder.name), *children(int(folder.name))]
    return found


@pytest.fixture(scope="module", params=["local[2]", "cluster"] if FULL else ["local[1]"])
def session(request, tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster")) if request.param == "cluster" else None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "1g",
               "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
               "spark.sql.shuffle.partitions": "2", "spark.sql.parquet.compression.codec": "zstd",
               "spark.executor.memory": "700m", "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    if not FULL:
        options |= BRIEF
    builder = SparkSession.builder.master(cluster.master if cluster else request.param)
    made = builder.config(map=options).getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    made.cluster = cluster
    yield made
    made.stop()
    if cluster:
        cluster.stop()


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(20240607).normal(size=(ROWS, COLUMNS)).astype(np.float32) + 3


@pytest.fixture(scope="module")
def frame(session, rows, tmp_path_factory):
    """The rows with their numbers, in a shuffled order."""
    path = str(tmp_path_factory.mktemp("rows") / "rows.parquet")
    order = np.random.default_rng(5).permutation(len(rows))
    as_frame(session, rows[order], order).write.parquet(path)
    return session.read.parquet(path)


@pytest.fixture(scope="module")
def of_command(command, rows, tmp_path_factory):
    """What the command makes of the same rows."""
    folder = tmp_path_factory.mktemp("command")
    np.save(folder / "rows.npy", rows)
    np.save(folder / "queries.npy", rows[:40])

    def run(*words):
        subprocess.run([command, *map(str, words)], check=True, capture_output=True, cwd=folder)
        return folder

    return run


def as_frame(session, rows, ids):
    vectors = pa.FixedSizeListArray.from_arrays(np.ascontiguousarray(rows).reshape(-1), rows.shape[1])
    return session.createDataFrame(pa.table({"id": np.asarray(ids), "features": vectors.cast(pa.list_(vectors.type.value_type))}))


def test_a_model_of_the_command_has_its_p_values_and_verdicts(session, frame, rows, of_command, tmp_path):
    folder = of_command("ball", "rows.npy", "-o", "robust.json", "--contamination", "0.05")
    ball = capball.BallModel.load(folder / "robust.json")
    model = BallDetectorModel(ball, idCol="id", pCol="p", outlierCol="outlier")
    model.write().overwrite().save(str(tmp_path / "detector"))
    for stage in (model, BallDetectorModel.load(str(tmp_path / "detector"))):
        found = stage.transform(frame).orderBy("id").select("score", "p", "outlier").toPandas()
        scores = ball.scores(rows.astype(float))
        np.testing.assert_array_equal(found["score"], scores)
        np.testing.assert_array_equal(found["p"], ball.p_values(scores))
        np.testing.assert_array_equal(found["outlier"], ball.verdicts(scores) == -1)
    with pytest.raises(ValueError, match="pCol: the model has no p-values"):
        BallDetectorModel(capball.svdd(rows, 0.5), idCol="id", pCol="p").transform(frame)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_map_ball_and_neighbours_are_the_commands(session, frame, rows, of_command, partitions, monkeypatch, tmp_path):
    monkeypatch.setattr(_gather, "DIRECT", 32)  # 64 pieces are merged in the workers first
    some = frame.repartition(partitions).cache()
    of_command("fit", "rows.npy", "-o", "map.json")
    map = SphereEmbedding(idCol="id").fit(some)
    assert map.map.to_json() == capball.SphereMap.load(of_command("help") / "map.json").to_json()
    assert map.summary["rows"] == ROWS and map.summary["badRows"] == 0

    folder = of_command("ball", "rows.npy", "-o", "ball.json")
    ball = BallDetector(idCol="id").fit(some)
    assert ball.ball.to_json() == capball.BallModel.load(folder / "ball.json").to_json()
    assert ball.ball.gap <= 1e-9 and ball.summary["rounds"] <= 4

    of_command("knn", "rows.npy", "queries.npy", "-k", 7, "-o", "ids.npy", "--distances", "d.npy", "--dtype", "f64")
    model = KNN(idCol="id", k=7).fit(some)
    for search in (model, model.copy().buildIndex(str(tmp_path / "indexes"))):
        found = search.transform(some.where("id < 40")).orderBy("id").select("neighbors")
        hits = [row.neighbors for row in found.collect()]
        np.testing.assert_array_equal([[hit.id for hit in one] for one in hits], np.load(folder / "ids.npy"))
        np.testing.assert_array_equal([[hit.distance for hit in one] for one in hits], np.load(folder / "d.npy"))
    assert sum(len(capball.Index.open(name)) for name in search.indexes[1]) == ROWS
    with pytest.raises(ValueError, match="built for metric l2, not ip"):
        search.copy({search.metric: "ip"}).transform(some)
    some.unpersist()


@full
@pytest.mark.parametrize("goal", ["median", "hemisphere", "spread", "recall"])
def test_goals(frame, of_command, goal):
    folder = of_command("fit", "rows.npy", "-o", "goal.json", "--goal", goal)
    map = SphereEmbedding(idCol="id", goal=goal).fit(frame).map
    assert map.to_json() == capball.SphereMap.load(folder / "goal.json").to_json()


def test_embed_and_scores(frame, rows, tmp_path):
    map = SphereEmbedding(idCol="id").fit(frame)
    found = map.transform(frame).orderBy("id").toArrow()
    np.testing.assert_array_equal(np.stack(found["sphere"].to_numpy()), map.map.embed(rows))
    map.save(str(tmp_path / "map"))
    assert SphereEmbeddingModel.load(str(tmp_path / "map")).map.to_json() == map.map.to_json()


@full
def test_svdd_has_the_certificate_of_one_machine(frame, rows, tmp_path):
    model = BallDetector(idCol="id", nu=0.1).fit(frame)
    one = capball.svdd(rows, 0.1)
    assert model.ball.converged and model.ball.gap <= 1e-9
    assert model.ball.radius == pytest.approx(one.radius, rel=1e-6)
    np.testing.assert_allclose(model.ball.center, one.center, atol=1e-4)
    assert max(model.summary["bytesToDriver"]) < 64 << 20
    found = model.transform(frame).orderBy("id").toArrow()["score"].to_numpy()
    np.testing.assert_array_equal(found, model.ball.scores(rows))
    model.save(str(tmp_path / "ball"))
    assert BallDetectorModel.load(str(tmp_path / "ball")).ball.to_json() == model.ball.to_json()


@full
def test_sketches(frame, rows):
    model = Sketch(idCol="id", bits=64).fit(frame)
    one = capball.Sketch.fit(rows, 64)
    assert model.sketch.to_json() == one.to_json()
    codes = model.transform(frame).orderBy("id").toArrow()["code"].to_pylist()
    np.testing.assert_array_equal(np.frombuffer(b"".join(codes), np.uint8).reshape(ROWS, -1), one.encode(rows))
    search = KNN(idCol="id", k=5, candidates=100).setSketch(model).fit(frame.repartition(3))
    found = search.transform(frame.where("id < 20")).orderBy("id").collect()
    _, ids = one.search(one.encode(rows), rows[:20], 5, base=rows, candidates=100)
    np.testing.assert_array_equal([[hit.id for hit in row.neighbors] for row in found], ids)


@full
def test_range_join(frame, rows, tmp_path):
    model = KNN(idCol="id", k=1).fit(frame)
    found = model.rangeJoin(frame.where("id < 30"), 1.5).toArrow().sort_by([("query", "ascending"), ("distance", "ascending"),
                                                                           ("id", "ascending")])
    one = capball.range_search(rows, rows[:30], 1.5)
    np.testing.assert_array_equal(found["id"].to_numpy(), one.ids)
    np.testing.assert_array_equal(found["distance"].to_numpy(), one.distances)
    again = model.copy().buildIndex(str(tmp_path / "indexes")).rangeJoin(frame.where("id < 30"), 1.5).toArrow()
    assert again.sort_by([("query", "ascending"), ("distance", "ascending"), ("id", "ascending")]) == found
    model.save(str(tmp_path / "knn"))
    assert KNNModel.load(str(tmp_path / "knn")).rangeJoin(frame.where("id < 30"), 1.5).count() == len(one.ids)


@full
def test_the_sample_of_the_page(frame, tmp_path, monkeypatch):
    """The block of docs/how-to/scale.md, with indexes in a folder of this machine."""
    block = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[3] / "docs/how-to/scale.md").read_text(), re.S)[0]
    monkeypatch.chdir(tmp_path)
    names = {"frame": frame, "queries": frame.limit(5)}
    exec(compile(block.replace("/shared/indexes", str(tmp_path / "indexes")), "docs/how-to/scale.md", "exec"), names)
    assert names["near"].count() == 5 and names["pairs"].count() >= 5 and capball.SphereMap.load("map.json").s == names["model"].map.s


@full
def test_columns_of_every_kind(session, frame, rows, tmp_path):
    wanted = capball.fit(rows.astype(np.float64)).to_json()
    doubles = frame.withColumn("features", F.col("features").cast("array<double>"))
    assert SphereEmbedding(idCol="id").fit(doubles).map.to_json() == wanted
    vectors = frame.withColumn("features", array_to_vector("features"))
    stages = [SphereEmbedding(idCol="id"), BallDetector(inputCol="sphere", idCol="id")]
    pipeline = Pipeline(stages=stages).fit(vectors)
    assert pipeline.stages[0].map.to_json() == wanted
    pipeline.save(str(tmp_path / "pipeline"))
    scores = PipelineModel.load(str(tmp_path / "pipeline")).transform(vectors)
    assert scores.schema["sphere"].dataType.typeName() == vectors.schema["features"].dataType.typeName()
    assert scores.where("score < -1e-9").count() == 0
    names = [f"c{i}" for i in range(COLUMNS)]
    columns = frame.select("id", *(F.col("features")[i].cast("double").alias(name) for i, name in enumerate(names)))
    assert SphereEmbedding(inputCols=names, idCol="id").fit(columns).map.to_json() == wanted


@full
def test_without_ids_a_hash_of_the_row_is_one(session, rows):
    twice = np.concatenate([rows, rows[:100]])
    some = as_frame(session, twice, np.arange(len(twice))).drop("id")
    maps = {SphereEmbedding(goal="spread").fit(some.repartition(n)).map.to_json() for n in (1, 5)}
    assert len(maps) == 1
    balls = {BallDetector().fit(some.repartition(n)).ball.to_json() for n in (1, 5)}
    assert len(balls) == 1


BAD = {"null": (None, "is null"), "length": ([1.0, 2.0], "has 2 numbers"), "nan": ([1.0, float("nan"), 2.0], "holds NaN"),
       "hole": ([1.0, None, 2.0], "has a null among its numbers"), "inf": ([1.0, 2.0, float("inf")], "holds inf")}


@pytest.mark.parametrize("kind", BAD if FULL else ["nan"])
def test_bad_rows_are_refused_by_name_or_counted(session, kind):
    value, why = BAD[kind]
    good = [(i, [float(i), float(i * i % 7), 1.0]) for i in range(50)]
    some = session.createDataFrame(good + [(977, value)], "id long, features array<double>").repartition(9 if FULL else 2)
    clean = session.createDataFrame(good, "id long, features array<double>")
    estimators = (SphereEmbedding(idCol="id"), BallDetector(idCol="id"), Sketch(idCol="id", bits=8),
                  KNN(idCol="id", k=1))
    for estimator in estimators if FULL else estimators[:1]:
        with pytest.raises(ValueError) as refused:
            estimator.fit(some)
        said = str(refused.value)
        assert "'features'" in said and ("id 977 " in said or "numbers" in said and "id" in said)
        assert "\n" not in said
        kept = estimator.copy().setParams(handleInvalid="keep").fit(some)
        assert kept.summary["rows"] == 50 and kept.summary["badRows"] == 1
    model = SphereEmbedding(idCol="id").fit(clean)
    if kind == "inf":  # has an image: the pole
        assert model.transform(some).where("id = 977").first().sphere == [0, 0, 0, -1]
        return
    with pytest.raises(Exception, match=f"id 977 {why}"):
        model.transform(some).select("sphere").collect()
    kept = model.setParams(handleInvalid="keep").transform(some)
    assert kept.where("sphere is null").select("id").collect() == [(977,)]
    assert kept.count() == 51


@full
def test_no_rows(session):
    none = session.createDataFrame([], "id long, features array<float>")
    for estimator in (SphereEmbedding(idCol="id"), BallDetector(idCol="id")):
        with pytest.raises(ValueError, match="there are no rows"):
            estimator.fit(none)
    with pytest.raises(ValueError, match="no column 'vectors'"):
        SphereEmbedding(inputCol="vectors").fit(none)


@full
def test_the_program(session, frame, rows, of_command, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program, "_session", lambda options: session)
    monkeypatch.setattr(type(session), "stop", lambda self: None)
    source, at = frame.inputFiles()[0].rsplit("/", 1)[0], lambda name: str(tmp_path / name)
    usual = ["--id", "id"]
    assert program.main(["fit", source, "-o", at("map.json"), *usual]) == 0
    assert program.main(["embed", source, "-m", at("map.json"), "-o", at("sphere"), *usual]) == 0
    folder = of_command("fit", "rows.npy", "-o", "map.json")
    assert capball.SphereMap.load(at("map.json")).to_json() == capball.SphereMap.load(folder / "map.json").to_json()
    assert session.read.parquet(at("sphere")).count() == ROWS
    assert program.main(["ball", source, "-o", at("ball.json"), *usual]) == 0
    assert program.main(["score", source, "-m", at("ball.json"), "-o", at("scores"), *usual]) == 0
    assert session.read.parquet(at("scores")).where("score < -1e-9").count() == 0
    assert program.main(["sketch", source, "-o", at("sketch.json"), "--bits", "64", *usual]) == 0
    assert program.main(["sketch", source, "-m", at("sketch.json"), "-o", at("codes"), *usual]) == 0
    assert program.main(["knn", source, at("sphere"), "-k", "1", "-o", at("near"), *usual]) == 0
    assert session.read.parquet(at("near")).where("neighbors[0].id = id").count() == ROWS
    assert program.main(["abid", source, *usual]) == 0
    assert program.main(["fit", source, "--column", "nothing", "-o", at("no.json")]) == 1
    assert "no column 'nothing'" in capsys.readouterr().err and not (tmp_path / "no.json").exists()


@full
def test_a_worker_is_killed_in_the_middle(session, frame, rows, tmp_path):
    if session.cluster is None:
        pytest.skip("there is no worker to kill")
    marks = str(tmp_path)

    def slow(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        Path(marks, f"{task.stageId()}-{task.partitionId()}-{task.attemptNumber()}").touch()
        time.sleep(0.2)
        yield from batches

    some = frame.repartition(40).mapInArrow(slow, frame.schema)
    killed = []

    def kill():
        while len(list(tmp_path.iterdir())) < 6:
            time.sleep(0.02)
        session.cluster.kill(session.cluster.workers[0])
        killed.append(len(list(tmp_path.iterdir())))

    killer = threading.Thread(target=kill)
    killer.start()
    model = SphereEmbedding(idCol="id").fit(some)
    killer.join()
    assert 6 <= killed[0] < 80, "in the middle of a fit of two reads"
    assert any(not mark.name.endswith("-0") for mark in tmp_path.iterdir()), "a task was repeated"
    assert model.map.to_json() == capball.fit(rows).to_json()
