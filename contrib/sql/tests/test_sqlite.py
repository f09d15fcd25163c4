import json
import math
import os
import subprocess
import threading

import apsw
import numpy as np
import pytest
import sqlite_vec

import capball
from conftest import BUILD, FULL, full_only, sorted_rows, up_to_checksum, without_list

EXTENSION = str(BUILD / "sqlite" / "capball")


@pytest.fixture
def db():
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(EXTENSION)
    return connection


@pytest.fixture
def table(db, rows):
    db.execute("CREATE TABLE t(row INTEGER PRIMARY KEY, x BLOB, j TEXT)")
    db.executemany("INSERT INTO t VALUES(?, ?, ?)",
                   [(i, x.tobytes(), json.dumps([float(v) for v in x])) for i, x in enumerate(rows)])
    return db


def one(db, sql, *arguments):
    return db.execute(sql, arguments).fetchone()[0]


def refused(db, message, sql, *arguments):
    with pytest.raises(apsw.SQLError, match=message):
        one(db, sql, *arguments)


SHUFFLED = "(SELECT * FROM t ORDER BY random())"


@pytest.mark.parametrize("goal", ["mean", "median", "hemisphere"])
def test_a_map_has_the_bytes_of_the_command_in_any_order(table, rows, command, goal):
    assert one(table, f"SELECT capball_fit(x, '{goal}') FROM {SHUFFLED}") == command.map(rows, "-g", goal)


def test_the_default_goal_and_f64(table, rows, command):
    assert one(table, f"SELECT capball_fit(x) FROM {SHUFFLED}") == command.map(rows)
    assert one(table, f"SELECT capball_fit(j) FROM {SHUFFLED}") == command.map(rows.astype(float))


@pytest.mark.parametrize("goal", ["spread", "recall"])
def test_goals_that_sample_depend_on_row_numbers_only(table, rows, command, goal):
    assert one(table, f"SELECT capball_fit(x, '{goal}', row) FROM {SHUFFLED}") == command.map(rows, "-g", goal)
    assert one(table, f"SELECT capball_fit(x, '{goal}') FROM {SHUFFLED}") == command.map(sorted_rows(rows), "-g", goal)


def test_balls_with_row_numbers_have_the_bytes_of_the_command(table, rows, command):
    assert one(table, f"SELECT capball_enclosing_ball(x, row) FROM {SHUFFLED}") == command.ball(rows)
    assert one(table, f"SELECT capball_svdd(x, 0.1, row) FROM {SHUFFLED}") == command.ball(rows, "--nu", "0.1")


def test_balls_without_row_numbers_are_those_of_sorted_rows(table, rows, command):
    for sql, options in (("capball_enclosing_ball(x)", ()), ("capball_svdd(x, 0.1)", ("--nu", "0.1"))):
        got = one(table, f"SELECT {sql} FROM {SHUFFLED}")
        assert up_to_checksum(got) == without_list(command.ball(sorted_rows(rows), *options))
        assert capball.BallModel.from_json(got).gap <= 1e-9


def test_support_vectors_have_the_numbers_of_the_table(table, command, rows):
    got = json.loads(one(table, "SELECT capball_enclosing_ball(x, 1000 + 3 * row) FROM t"))
    wanted = json.loads(command.ball(rows))
    assert got["support"]["rows"] == [1000 + 3 * i for i in wanted["support"]["rows"]]
    assert got["center"] == wanted["center"]


def test_scalar_functions_have_the_bits_of_the_package(table, rows):
    text = one(table, "SELECT capball_fit(x) FROM t")
    map_, x, q = capball.SphereMap.from_json(text), rows[3], rows[4]
    y = map_.embed(rows)
    embedded = [np.frombuffer(row[0], np.float32) for row in table.execute("SELECT capball_embed(?, x) FROM t", (text,))]
    assert np.array(embedded).tobytes() == y.tobytes()
    assert one(table, "SELECT capball_unembed(?, ?)", text, y[3].tobytes()) == map_.unembed(y[3:4]).tobytes()
    p, b, *_ = map_.query(q[None], 2.5)
    assert one(table, "SELECT capball_query(?, ?, 2.5)", text, q.tobytes()) == np.float32(p[0]).tobytes()
    cap = json.loads(one(table, "SELECT capball_cap(?, ?, 2.5)", text, q.tobytes()))
    assert np.array_equal(np.float32(cap["p"]), np.float32(p[0])) and cap["b"] == b[0]
    distance = one(table, "SELECT capball_distance(?, ?, ?)", text, y[3].tobytes(), q.tobytes())
    assert distance == pytest.approx(np.linalg.norm(np.float64(x) - q), rel=1e-5)


def test_scores_reasons_and_membership(table, rows):
    text = one(table, "SELECT capball_svdd(x, 0.1) FROM t")
    model = capball.BallModel.from_json(text)
    scores = [row[0] for row in table.execute("SELECT capball_score(?, x) FROM t", (text,))]
    assert scores == list(model.scores(rows.astype(float)))
    assert [row[0] for row in table.execute("SELECT capball_inside(?, x) FROM t", (text,))] == [s >= 0 for s in scores]
    threshold = sorted(scores)[9]
    inside = table.execute("SELECT capball_inside(?, x) FROM t", (model.with_threshold(threshold).to_json(),))
    assert [row[0] for row in inside] == [s >= threshold for s in scores]
    parts = json.loads(one(table, "SELECT capball_why(?, x) FROM t WHERE row = 5", text))
    assert parts == list(model.parts(rows[5:6].astype(float))[0][0])
    assert math.fsum(parts) == pytest.approx(model.radius**2 - scores[5], rel=1e-12)


def test_a_detector_is_that_of_the_command_with_its_verdicts_and_p_values(table, rows, command):
    text = one(table, f"SELECT capball_detector(x, 0.05, row) FROM {SHUFFLED}")
    assert text == command.ball(rows, "--robust", "--contamination", "0.05")
    model = capball.BallModel.from_json(text)
    scores = model.scores(rows.astype(float))
    got = table.execute("SELECT capball_is_outlier(?1, x), capball_p_value(?1, x) FROM t", (text,)).fetchall()
    outliers, p = zip(*got)
    assert list(outliers) == list(model.verdicts(scores) == -1) and 0 < sum(outliers) <= 75
    assert list(p) == list(model.p_values(scores))
    refused(table, "contamination must be > 0, got 0", "SELECT capball_detector(x, 0) FROM t")
    refused(table, "contamination must lie in", "SELECT capball_detector(x, 0.7) FROM t")
    refused(table, "the model has no p-values", "SELECT capball_p_value(capball_svdd(x, 0.1), x) FROM t")


@pytest.mark.parametrize("region, point, answer", [
    ('{"ball":{"c":[0,0],"r":1}}', "[1,0]", 1),
    ('{"ball":{"c":[0,0],"r":1}}', "[1.0000001,0]", 0),
    ('{"halfspace":{"n":[1,0],"h":2}}', "[2,5]", 1),
    ('{"complement":{"c":[0,0],"r":1}}', "[0,0]", 0),
    ('{"ellipsoid":{"c":[0,0],"W":[[1,0],[0,0.5]],"r":1}}', "[0,2]", 1),
    ('{"everything":{"d":2}}', "[9,9]", 1),
    ('{"empty":{"d":2}}', "[9,9]", 0),
])
def test_regions(db, region, point, answer):
    assert one(db, "SELECT capball_inside(?, ?)", region, point) == answer


def test_null_in_null_out_and_rows_of_null_are_skipped(table, rows, command):
    for sql in ("capball_embed(NULL, x)", "capball_embed('{}', NULL)", "capball_cap('{}', x, NULL)", "capball_inside(NULL, x)"):
        assert one(table, f"SELECT {sql} FROM t") is None
    assert one(table, "SELECT capball_fit(x) FROM t WHERE 0") is None
    assert one(table, "SELECT capball_fit(NULL) FROM t") is None
    assert one(table, "SELECT capball_fit(y) FROM (SELECT x AS y FROM t UNION ALL SELECT NULL)") == command.map(rows)


def test_groups(table, rows, command):
    got = table.execute("SELECT capball_fit(x) FROM t GROUP BY row % 3 ORDER BY row % 3").fetchall()
    assert [row[0] for row in got] == [command.map(rows[k::3]) for k in range(3)]


def hostile(text, model, x):
    nan = np.array([1, 2, 3, np.nan, 5, 6], np.float32).tobytes()
    yield "wanted 6", "SELECT capball_embed(?, ?)", text, x[:8]
    yield "not a blob of f32", "SELECT capball_embed(?, ?)", text, x[:7]
    yield "not a blob of f32", "SELECT capball_embed(?, ?)", text, b""
    yield "holds NaN", "SELECT capball_embed(?, ?)", text, nan
    yield "holds NaN", "SELECT capball_fit(?)", nan
    yield "element 1 is not a number", "SELECT capball_embed(?, ?)", text, "[1,null,3]"
    yield "not a JSON array", "SELECT capball_embed(?, ?)", text, "[]"
    yield "neither a blob", "SELECT capball_embed(?, ?)", text, 5
    yield "not JSON", "SELECT capball_embed(?, ?)", "{", x
    yield "nested too deeply", "SELECT capball_embed(?, ?)", "[" * 100000, x
    yield "nested too deeply", "SELECT capball_inside(?, ?)", "[" * 100000, x
    yield "checksum", "SELECT capball_embed(?, ?)", text.replace('"scale": ', '"scale": 1'), x
    yield "wanted a \"map\"", "SELECT capball_embed(?, ?)", model, x
    yield "wanted a \"model\"", "SELECT capball_score(?, ?)", text, x
    yield "too large", "SELECT capball_score(?, ?)", model, "[1,2,3,4,5,1e308]"
    yield "radi", "SELECT capball_query(?, ?, -1)", text, x
    yield "not a number", "SELECT capball_query(?, ?, 'wide')", text, x
    yield "belongs to a map", "SELECT capball_inside(?, ?)", '{"cap":{"p":[0,1],"b":0.5}}', x
    yield "nu must be > 0", "SELECT capball_svdd(?, 0)", x
    yield "nu must", "SELECT capball_svdd(?, 2)", x
    yield "no goal", "SELECT capball_fit(?, 'fast')", x
    yield "twice", "SELECT capball_enclosing_ball(y, 1) FROM (SELECT ? AS y UNION ALL SELECT ?)", x, x
    yield "expected 6", "SELECT capball_fit(y) FROM (SELECT ? AS y UNION ALL SELECT ?)", x, x[:8]
    yield "the rows before were f32", "SELECT capball_fit(y) FROM (SELECT ? AS y UNION ALL SELECT ?)", x, "[1,2,3,4,5,6]"
    rng = np.random.default_rng(3)
    for size in range(1, 40):
        yield "map: ", "SELECT capball_embed(?, ?)", rng.integers(1, 127, size).astype(np.uint8).tobytes().decode(), x
    for size in range(1, 40):
        yield "map: ", "SELECT capball_embed(?, ?)", rng.integers(0, 256, size).astype(np.uint8).tobytes(), x
    for cut in range(0, len(text) - 3, 37):
        yield "map: ", "SELECT capball_embed(?, ?)", text[:cut], x


def test_hostile_input_is_an_error_with_a_message(table, rows):
    text, model = one(table, "SELECT capball_fit(x) FROM t"), one(table, "SELECT capball_svdd(x, 0.1) FROM t")
    for message, sql, *arguments in hostile(text, model, rows[0].tobytes()):
        refused(table, message, sql, *arguments)
    assert len(one(table, "SELECT capball_embed(?, ?)", text, rows[0].tobytes())) == 28


def test_an_interrupt_stops_a_query(table, rows):
    text = one(table, "SELECT capball_fit(x) FROM t")
    timer = threading.Timer(0.3, table.interrupt)
    timer.start()
    with pytest.raises(apsw.InterruptError):
        one(table, "SELECT count(capball_embed(?, a.x)) FROM t a, t b, t c", text)
    assert one(table, "SELECT count(capball_embed(?, x)) FROM t", text) == len(rows)


def little_memory():
    yield f".load {EXTENSION}"
    yield "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT json_array(i % 97, i % 89, i % 83, i) AS x FROM n;"
    yield "SELECT length(capball_fit(x)) > 0 FROM t;"
    yield "SELECT 'still here';"


def test_no_memory_is_an_error_too():
    """The shell of the system with ever more address space, until the fit succeeds."""
    outcomes = []
    for megabytes in range(8, 72, 4 if FULL else 9):
        done = subprocess.run(["bash", "-c", f"ulimit -v {megabytes << 10}; exec sqlite3"], input="\n".join(little_memory()), capture_output=True, text=True, timeout=60)
        assert done.returncode >= 0, (megabytes, done.stderr) # not by a signal
        if "still here" in done.stdout:
            outcomes.append("1\n" in done.stdout)
            assert outcomes[-1] or done.stderr != ""
    assert outcomes[-1] and not outcomes[0], outcomes


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_no_memory_is_lost_over_many_calls(table, rows):
    text, x = one(table, "SELECT capball_fit(x) FROM t"), rows[0].tobytes()
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
    calls = f"{numbers.format(100000 if FULL else 5000)} SELECT count(capball_embed(?, ?)), count(capball_cap(?, ?, 1)) FROM n"
    changing = f"{numbers.format(1000 if FULL else 200)} SELECT count(capball_embed(? || substr('          ', 1, i % 7), ?)) FROM n"
    groups = f"{numbers.format(1000 if FULL else 200)} SELECT count(m) FROM (SELECT capball_fit(json_array(i, j)) AS m FROM n, (SELECT 1 AS j UNION SELECT 2) GROUP BY i)"

    def work():
        one(table, calls, text, x, text, x)
        one(table, changing, text, x)
        one(table, groups)
        for message, sql, *arguments in hostile(text, "{}", x):
            with pytest.raises(apsw.Error):
                one(table, sql, *arguments)

    work()
    before = resident()
    work()
    assert resident() - before < 4 << 20


def script(rows):
    yield f".load {EXTENSION}"
    yield "CREATE TABLE t(row INTEGER PRIMARY KEY, x BLOB);"
    for i, x in enumerate(rows):
        yield f"INSERT INTO t VALUES({i}, x'{x.tobytes().hex()}');"
    yield "CREATE TABLE m AS SELECT capball_fit(x) AS map, capball_svdd(x, 0.2, row) AS model FROM t;"
    yield "SELECT map FROM m;"


def hostile_script(rows):
    yield from script(rows)
    yield "SELECT count(capball_embed(map, x)), count(capball_why(model, x)), count(capball_inside(model, x)) FROM t, m;"
    for bad in ("capball_embed(substr(map, 1, 99), x)", "capball_embed(map, x'00')", "capball_inside('{\"ball\":{\"c\":[1]}}', x)",
                "capball_fit(x, 'no')", "capball_svdd(x, 0.0)", "capball_embed(map, '[1,null]')", "capball_enclosing_ball(x, 1)"):
        yield f"SELECT {bad} FROM t, m;"


def test_the_shell_of_the_system(rows, command):
    done = subprocess.run(["sqlite3"], input="\n".join(script(rows[:300])), capture_output=True, text=True, timeout=60)
    assert done.stdout.rstrip("\n") == command.map(rows[:300]).rstrip("\n"), done.stderr


@full_only
def test_valgrind_finds_nothing(rows):
    done = subprocess.run(["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite",
                           "sqlite3"], input="\n".join(hostile_script(rows[:40])), capture_output=True, text=True, timeout=600)
    assert done.returncode != 99, done.stderr[-3000:]
    assert "40|40|40" in done.stdout and done.stderr.count("Runtime error") == 7, done.stderr


def test_with_sqlite_vec_a_cosine_answers_a_range(table, rows):
    table.load_extension(sqlite_vec.loadable_path())
    text = one(table, "SELECT capball_fit(x) FROM t")
    table.execute("CREATE TABLE e AS SELECT row, x, capball_embed(?, x) AS y FROM t", (text,))
    for q in rows[:20]:
        near = table.execute("""
            WITH q(p, b) AS (SELECT capball_query(:m, :q, 4), json_extract(capball_cap(:m, :q, 4), '$.b'))
            SELECT row FROM e, q WHERE vec_distance_cosine(y, p) <= 1 - b + 1e-5 AND vec_distance_l2(x, :q) <= 4 ORDER BY row""",
                             {"m": text, "q": q.tobytes()}).fetchall()
        wanted = table.execute("SELECT row FROM e WHERE vec_distance_l2(x, ?) <= 4 ORDER BY row", (q.tobytes(),)).fetchall()
        assert near == wanted and len(wanted) > 0


def test_version(db):
    assert one(db, "SELECT capball_version()") == capball.__version__
