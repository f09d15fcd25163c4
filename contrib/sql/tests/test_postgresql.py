import json
import math
import re
import threading
import time

import numpy as np
import psycopg
import pytest

import capball
from conftest import FULL, full_only, sorted_rows, up_to_checksum, without_list
from pg_server import Server, copy_rows, installed, packaged

SERVERS = {**installed(), **(packaged() if FULL else {})}


@pytest.fixture(scope="module", params=list(SERVERS) or [pytest.param(None, marks=pytest.mark.skip(reason="no PostgreSQL with its headers"))])
def server(request):
    server = Server(request.param, SERVERS[request.param])
    with server.connect() as db:
        if request.param.startswith("pypi"):
            db.execute("CREATE EXTENSION vector")
        db.execute("CREATE EXTENSION capball")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def loaded(server, rows):
    with server.connect() as db:
        copy_rows(db, "t", rows)
        copy_rows(db, "t8", rows.astype(float), "double precision[]")
        db.execute("CREATE TABLE shuffled AS SELECT * FROM t ORDER BY hashint8(row)")
        db.execute("ANALYZE")
    return server


@pytest.fixture
def db(loaded):
    with loaded.connect() as connection:
        yield connection


def one(db, sql, *arguments):
    return db.execute(sql, arguments).fetchone()[0]


def set_workers(db, count):
    for setting in (f"max_parallel_workers_per_gather = {count}", "parallel_setup_cost = 0", "parallel_tuple_cost = 0",
                    "min_parallel_table_scan_size = 0", "parallel_leader_participation = off"):
        db.execute("SET " + setting)
    db.execute(f"ALTER TABLE t SET (parallel_workers = {count})")
    db.execute(f"ALTER TABLE shuffled SET (parallel_workers = {count})")


FITS = [("capball_fit(x)", "map", ()), ("capball_fit(x, 'median')", "map", ("-g", "median")),
        ("capball_fit(x, 'recall', row)", "map", ("-g", "recall")), ("capball_enclosing_ball(x, row)", "ball", ()),
        ("capball_svdd(x, 0.1, row)", "ball", ("--nu", "0.1"))]


@pytest.mark.parametrize("workers", [0, 2, 4])
@pytest.mark.parametrize("sql, verb, options", FITS)
def test_fits_have_the_bytes_of_the_command_under_any_plan(db, rows, command, workers, sql, verb, options):
    set_workers(db, workers)
    wanted = getattr(command, verb)(rows, *options)
    for table in ("t", "shuffled") if FULL else ("shuffled",):
        plan = str(db.execute(f"EXPLAIN (ANALYZE, COSTS OFF) SELECT {sql} FROM {table}").fetchall())
        assert ("Partial Aggregate" in plan and f"Workers Launched: {workers}" in plan) == (workers > 0), plan
        assert one(db, f"SELECT {sql} FROM {table}") == wanted


def temporary_files(server):
    return [path.name for path in server.data.glob("base/pgsql_tmp/*/*")]


@pytest.fixture(scope="module")
def many(loaded):
    """Enough rows for workers to pass them on in files."""
    x = np.random.default_rng(17).normal(size=(120_000, 9)).astype(np.float32)
    with loaded.connect() as db:
        copy_rows(db, "many", x)
        db.execute("ALTER TABLE many SET (parallel_workers = 4)")
        db.execute("ANALYZE many")
    return x


@pytest.mark.parametrize("sql, verb, options", FITS[:1] + FITS[3:4])
def test_workers_pass_many_rows_in_files(db, many, loaded, command, sql, verb, options):
    set_workers(db, 4)
    assert one(db, f"SELECT {sql} FROM many") == getattr(command, verb)(many, *options)
    assert temporary_files(loaded) == []


def test_no_file_remains_after_an_error(db, many, loaded):
    """One worker fails at its last row, the others have written their files by then, or are stopped."""
    set_workers(db, 4)
    for _ in range(5):
        with pytest.raises(psycopg.Error, match="expected 9"):
            one(db, "SELECT capball_fit(CASE row WHEN 119999 THEN x || x ELSE x END) FROM many")
        assert temporary_files(loaded) == []


@pytest.mark.parametrize("workers", [0, 4])
def test_balls_without_row_numbers_are_those_of_sorted_rows(db, rows, command, workers):
    set_workers(db, workers)
    for sql, options in (("capball_enclosing_ball(x)", ()), ("capball_svdd(x, 0.1)", ("--nu", "0.1"))):
        got = one(db, f"SELECT {sql} FROM shuffled")
        assert up_to_checksum(got) == without_list(command.ball(sorted_rows(rows), *options))
        assert capball.BallModel.from_json(got).gap <= 1e-9


def test_double_precision(db, rows, command):
    assert one(db, "SELECT capball_fit(x) FROM t8") == command.map(rows.astype(float))


def test_groups_and_windows(db, rows, command):
    set_workers(db, 2)
    got = db.execute("SELECT capball_fit(x) FROM t GROUP BY row % 3 ORDER BY row % 3").fetchall()
    assert [row[0] for row in got] == [command.map(rows[k::3]) for k in range(3)]
    got = db.execute("""SELECT capball_enclosing_ball(x, row) OVER (ORDER BY row ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING)
                        FROM t WHERE row < 5""").fetchall()
    assert [row[0] for row in got] == [command.ball(rows[:k]) for k in (3, 4, 5, 5, 5)]


@pytest.mark.parametrize("table, real", [("t", np.float32), ("t8", np.float64)])
def test_scalar_functions_have_the_bits_of_the_package(db, rows, table, real):
    text = one(db, f"SELECT capball_fit(x) FROM {table}")
    map_, x = capball.SphereMap.from_json(text), rows.astype(real)
    y = map_.embed(x)
    got = db.execute(f"SELECT capball_embed(%s, x) FROM {table} ORDER BY row", (text,), binary=True).fetchall()
    assert np.array([row[0] for row in got], real).tobytes() == y.tobytes()
    got = db.execute(f"SELECT capball_unembed(%s, capball_embed(%s, x)) FROM {table} ORDER BY row", (text, text), binary=True).fetchall()
    assert np.array([row[0] for row in got], real).tobytes() == map_.unembed(y).tobytes()
    p, b, *_ = map_.query(x[4:5], 2.5)
    cap = db.execute(f"SELECT (capball_cap(%s, x, 2.5)).*, capball_query(%s, x, 2.5) FROM {table} WHERE row = 4", (text, text), binary=True).fetchone()
    assert np.array(cap[0], real).tobytes() == p[0].astype(real).tobytes() and cap[1] == b[0] and cap[2] == cap[0]
    distance = one(db, f"""SELECT capball_distance(%s, capball_embed(%s, a.x), b.x) FROM {table} a, {table} b
                           WHERE a.row = 3 AND b.row = 4""", text, text)
    assert distance == pytest.approx(np.linalg.norm(x[3].astype(float) - x[4]), rel=1e-5)


def test_scores_reasons_and_membership(db, rows):
    text = one(db, "SELECT capball_svdd(x, 0.1) FROM t")
    model = capball.BallModel.from_json(text)
    got = db.execute("SELECT capball_score(%s, x), capball_inside(%s, x), capball_why(%s, x) FROM t ORDER BY row", (text,) * 3, binary=True).fetchall()
    scores, inside, parts = zip(*got)
    assert list(scores) == list(model.scores(rows.astype(float))) and list(inside) == [s >= 0 for s in scores]
    assert np.array_equal(parts, model.parts(rows.astype(float))[0])
    assert math.fsum(parts[5]) == pytest.approx(model.radius**2 - scores[5], rel=1e-12)
    assert one(db, """SELECT capball_inside('{"ball":{"c":[0,0],"r":1}}', '{1,0}'::real[])""") is True


def test_a_detector_is_that_of_the_command_with_its_verdicts_and_p_values(db, rows, command):
    text = one(db, "SELECT capball_detector(x, 0.05, row) FROM t")
    assert text == command.ball(rows, "--robust", "--contamination", "0.05")
    model = capball.BallModel.from_json(text)
    scores = model.scores(rows.astype(float))
    got = db.execute("SELECT capball_is_outlier(%s, x), capball_p_value(%s, x) FROM t ORDER BY row", (text,) * 2, binary=True).fetchall()
    outliers, p = zip(*got)
    assert list(outliers) == list(model.verdicts(scores) == -1) and list(p) == list(model.p_values(scores))


def test_a_map_from_a_table_is_parsed_once(db):
    """Compressed and stored apart as it is, a map of 200 columns would cost a hundred times the row if read each time."""
    db.execute("CREATE TEMP TABLE wide AS SELECT i AS row, (SELECT array_agg((sin(i * j) * 9)::real) FROM generate_series(1, 200) j) AS x FROM generate_series(1, 500) i")
    db.execute("CREATE TEMP TABLE map AS SELECT capball_fit(x) AS map FROM wide")
    assert one(db, "SELECT pg_column_size(map) < length(map) FROM map")
    same = one(db, "SELECT count(*) FROM wide, map WHERE capball_embed(map, x) = capball_embed((SELECT map || '' FROM map), x)")
    assert same == 500
    db.execute("CREATE TEMP TABLE two AS SELECT map FROM map UNION ALL SELECT capball_fit(x, 'median') FROM wide")
    changing = one(db, "SELECT count(DISTINCT capball_embed(map, x)) FROM wide, two WHERE row <= 50")
    assert changing == 100


def test_null_in_null_out_and_rows_of_null_are_skipped(db, rows, command):
    for sql in ("capball_embed(NULL, x)", "capball_embed('{}', NULL::real[])", "capball_inside(NULL, x)", "(capball_cap('{}', x, NULL)).p"):
        assert one(db, f"SELECT {sql} FROM t") is None
    assert one(db, "SELECT capball_fit(x) FROM t WHERE false") is None
    assert one(db, "SELECT capball_svdd(x, NULL) FROM t") is None
    assert one(db, "SELECT capball_fit(x) FROM (SELECT x FROM t UNION ALL SELECT NULL) u") == command.map(rows)


def test_properties_of_the_functions(db):
    got = db.execute("""SELECT DISTINCT provolatile, proparallel, proisstrict FROM pg_proc
                        WHERE proname ~ '^capball_(embed|unembed|query|cap|distance|score|why|inside)$'""").fetchall()
    assert got == [("i", "s", True)]
    got = db.execute("""SELECT DISTINCT proparallel, aggcombinefn <> 0, aggserialfn <> 0, aggdeserialfn <> 0
                        FROM pg_aggregate JOIN pg_proc ON oid = aggfnoid WHERE proname ~ '^capball'""").fetchall()
    assert got == [("s", True, True, True)]
    db.execute("BEGIN")
    db.execute("DROP EXTENSION capball")
    assert one(db, "SELECT count(*) FROM pg_proc WHERE proname ~ '^capball'") == 0
    db.execute("ROLLBACK")


def hostile(text, model, x):
    embed, score = "SELECT capball_embed(%s, %s::real[])", "SELECT capball_score(%s, %s::double precision[])"
    yield "22000", "wanted 6", embed, text, "{1,2}"
    yield "2202E", "one-dimensional", embed, text, "{}"
    yield "2202E", "one-dimensional", embed, text, "{{1,2,3,4,5,6}}"
    yield "22004", "NULL", embed, text, "{1,2,NULL,4,5,6}"
    yield "22023", "x holds NaN", embed, text, "{1,2,NaN,4,5,6}"
    yield "22032", "not JSON", embed, "{", x
    yield "22032", "nested too deeply", embed, "[" * 100000, x
    yield "22032", "nested too deeply", "SELECT capball_inside(%s, %s::real[])", "[" * 100000, x
    yield "22P02", "checksum", embed, text.replace('"scale": ', '"scale": 1'), x
    yield "22P02", 'wanted a "map"', embed, model, x
    yield "22P02", 'wanted a "model"', score, text, x
    yield "22003", "too large", score, model, "{1,2,3,4,5,1e308}"
    yield "22023", "radi", "SELECT capball_query(%s, %s::real[], -1)", text, x
    yield "22P02", "belongs to a map", "SELECT capball_inside(%s, %s::real[])", '{"cap":{"p":[0,1],"b":0.5}}', x
    yield "22023", "nu must be > 0", "SELECT capball_svdd(x, 0) FROM t"
    yield "22023", "nu must", "SELECT capball_svdd(x, 'nan') FROM t"
    yield "22023", "nu must", "SELECT capball_svdd(x, 2) FROM t"
    yield "22023", "contamination must", "SELECT capball_detector(x, 'nan') FROM t"
    yield "22023", "constant", "SELECT capball_svdd(x, 1 / (row + 1.0)) FROM t"
    yield "22023", "no goal", "SELECT capball_fit(x, 'größer') FROM t"
    yield "22023", "twice", "SELECT capball_enclosing_ball(x, 1) FROM t"
    yield "22023", "must be >= 0", "SELECT capball_enclosing_ball(x, -1) FROM t"
    yield "22023", "holds NaN", "SELECT capball_fit(x || '{NaN}'::real[]) FROM t"
    yield "22023", "holds inf", "SELECT capball_enclosing_ball(x || '{inf}'::real[]) FROM t"
    yield "22000", "expected 6", "SELECT capball_fit(CASE row WHEN 9 THEN x || x ELSE x END) FROM t"
    yield "22004", "NULL", "SELECT capball_fit(x || NULL::real) FROM t"
    yield "22P02", 'wanted a "map"', embed, json.dumps({"capball": {"kind": "ä" * 300, "version": 1}}, ensure_ascii=False), x
    rng = np.random.default_rng(3)
    for size in range(1, 40):
        yield None, "map: ", embed, rng.integers(1, 127, size).astype(np.uint8).tobytes().decode(), x
    for cut in range(0, len(text) - 3, 37):
        yield None, "map: ", embed, text[:cut], x


@pytest.mark.parametrize("workers", [0, 2])
def test_hostile_input_is_an_error_with_a_message_and_an_sqlstate(db, rows, workers):
    set_workers(db, workers)
    check_hostile(db, rows)


def check_hostile(db, rows):
    text, model = one(db, "SELECT capball_fit(x) FROM t"), one(db, "SELECT capball_svdd(x, 0.1) FROM t")
    backend = db.info.backend_pid
    for state, message, sql, *arguments in hostile(text, model, rows[0].tolist()):
        with pytest.raises(psycopg.Error, match=message) as raised:
            one(db, sql, *arguments)
        assert state is None or raised.value.sqlstate == state, (sql, raised.value)
        assert raised.value.sqlstate[:2] in ("22", "42")
    assert one(db, "SELECT pg_backend_pid()") == backend
    with pytest.raises(psycopg.Error, match="cannot be null|does not exist|internal"):
        one(db, "SELECT capball_finish_map('x')") # state types have no literals


def test_a_cancel_stops_a_fit(db):
    """The rows of a sphere and a large share outside: thousands of passes, in a single call of the library."""
    db.execute("CREATE TEMP TABLE big AS SELECT (SELECT array_agg((sin(i * j * 0.37) * cos(i + j))::real) FROM generate_series(1, 24) j) AS x FROM generate_series(1, 20000) i")
    one(db, "SELECT count(capball_embed(capball_fit, x)) FROM big, (SELECT capball_fit(x) FROM big) m")
    started = time.monotonic()
    many = "SELECT capball_svdd(x, 0.3) FROM (SELECT x FROM big, generate_series(1, 40)) b"
    db.execute("SET statement_timeout = 0")
    timer = threading.Timer(1, db.cancel)
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        one(db, many)
    assert time.monotonic() - started < 60
    assert one(db, "SELECT 1") == 1


def test_no_memory_is_an_error_too(loaded, db):
    """The address space of the backend is limited a little above its size, more with each trial, until the fit succeeds."""
    one(db, "SELECT capball_svdd(x, 0.1) FROM t")
    db.execute(f"CREATE TEMP TABLE large AS SELECT x FROM t, generate_series(1, {100 if FULL else 25})")
    backend, states = db.info.backend_pid, []
    with open(f"/proc/{backend}/statm") as statm:
        size = int(statm.read().split()[0]) * 4096
    for more in (0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256) if FULL else (0, 1, 3, 8, 256):
        loaded.limit(backend, size + (more << 20))
        try:
            one(db, "SELECT capball_svdd(x, 0.1) FROM large")
            states.append("00000")
        except psycopg.Error as error:
            states.append(error.sqlstate)
        loaded.limit(backend, "unlimited")
        assert one(db, "SELECT pg_backend_pid()") == backend
    assert states[0] == "53200" and states[-1] == "00000" and set(states) == {"53200", "00000"}, states


VALGRIND = ("valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--error-limit=no", "--log-file=valgrind.log")


@full_only
def test_valgrind_finds_nothing_in_the_extension(rows):
    """In single-user mode. Reports without a function of the extension are about PostgreSQL itself."""
    name = list(SERVERS)[0]
    server = Server(name, SERVERS[name])
    try:
        with server.connect() as db:
            db.execute("CREATE EXTENSION capball")
            copy_rows(db, "t", rows[:60])
            db.execute("CREATE TABLE m AS SELECT capball_fit(x) AS map, capball_svdd(x, 0.2, row) AS model FROM t")
            text, model = db.execute("SELECT map, model FROM m").fetchone()
            bad = [psycopg.ClientCursor(db).mogrify(sql, arguments).replace("\n", " ")
                   for _, _, sql, *arguments in hostile(text, model, rows[0].tolist())]
        server.halt("fast")
        good = ["SELECT count(capball_embed(map, x)), count(capball_cap(map, x, 1)), count(capball_why(model, x)) FROM t, m",
                "SELECT count(capball_distance(map, capball_embed(map, x), x)), count(capball_inside(model, x)) FROM t, m",
                "SELECT count(m) FROM (SELECT capball_fit(x, 'recall', row) AS m FROM t GROUP BY row % 3) g"]
        done = server.single(*good, *bad, *good, under=VALGRIND)
        assert done.stdout.count('= "60"') == 10 and done.stderr.count("ERROR:") == len(bad), done.stdout + done.stderr
        blocks = re.split(r"==\d+== \n", (server.folder / "valgrind.log").read_text())
        assert len(blocks) > 3 and [block for block in blocks if re.search(r"capball|sql_|cpb_", block.split("Command:")[0])] == []
    finally:
        server.stop()


def memory(db):
    with open(f"/proc/{db.info.backend_pid}/statm") as statm:
        resident = int(statm.read().split()[1]) * 4096
    return resident, one(db, "SELECT sum(total_bytes) FROM pg_backend_memory_contexts")


@full_only
def test_no_memory_is_lost_over_many_calls(db, rows):
    text, model = one(db, "SELECT capball_fit(x) FROM t"), one(db, "SELECT capball_svdd(x, 0.1) FROM t")

    def work():
        one(db, """SELECT count(capball_embed(%s, x)) + count(capball_cap(%s, x, 1)) + count(capball_why(%s, x))
                    FROM (SELECT x FROM t WHERE row = 0) t, generate_series(1, 100000)""", text, text, model)
        one(db, "SELECT count(capball_embed(%s || repeat(' ', i %% 7), x)) FROM (SELECT x FROM t WHERE row = 0) t, generate_series(1, 2000) i", text)
        one(db, "SELECT count(m) FROM (SELECT capball_fit(ARRAY[i, j]::real[]) AS m FROM generate_series(1, 5000) i, generate_series(1, 2) j GROUP BY i) g")
        for _, _, sql, *arguments in hostile(text, model, rows[0].tolist()):
            with pytest.raises(psycopg.Error):
                one(db, sql, *arguments)

    work()
    work()
    before = memory(db)
    work()
    after = memory(db)
    assert after[0] - before[0] < 4 << 20 and after[1] - before[1] < 1 << 20, (before, after)


def test_version(db):
    assert one(db, "SELECT capball_version()") == capball.__version__
