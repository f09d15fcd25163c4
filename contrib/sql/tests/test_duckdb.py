import doctest
import json
import os
import re
import subprocess
import sys
import threading

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import capball
import capball.duckdb
from conftest import BUILD, FULL, ROOT, full_only, sorted_rows, up_to_checksum, without_list


EXTENSION = BUILD / "duckdb" / "capball.duckdb_extension"


@pytest.fixture(scope="module", params=["python", "extension"])
def con(request):
    """The functions in Python, and those of the extension."""
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute("SET threads = 4")
        if request.param == "python":
            capball.duckdb.register(connection, extension=False)
        else:
            connection.execute(f"LOAD '{EXTENSION}'")
        yield connection


def has_extension(con):
    return one(con, "SELECT count(*) FROM duckdb_functions() WHERE function_name = 'capball_fit' AND function_type = 'aggregate'") > 0


def test_the_package_loads_its_extension_where_that_is_allowed():
    for allowed in ("true", "false"):
        with duckdb.connect(config={"allow_unsigned_extensions": allowed}) as con:
            capball.duckdb.register(con)
            assert has_extension(con) == (allowed == "true")
            assert one(con, """SELECT capball_inside('{"ball": {"c": [0, 0], "r": 1}}', [0.5, 0.8]::FLOAT[2])""") is True


def table_of(rows):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    return pa.table({"row": np.arange(len(rows)), "x": lists})


def test_the_sample_of_the_page(rows, tmp_path, monkeypatch):
    """The block of docs/how-to/sql.md, on a file of rows."""
    block, = re.findall(r"```python\n(.*?)```", (ROOT / "docs/how-to/sql.md").read_text(), re.S)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as con:
        given = table_of(rows).rename_columns(["id", "x"]) # noqa: F841, read by DuckDB
        con.execute("COPY given TO 'rows.parquet'")
        names = {}
        exec(compile(block, "docs/how-to/sql.md", "exec"), names)
        names["con"].close()
        assert con.execute("SELECT count(*), min(len(y)), max(len(y)), min(score) >= -1e-6 FROM 'embedded.parquet'").fetchone() == \
            (len(rows), rows.shape[1] + 1, rows.shape[1] + 1, True)


@pytest.fixture(scope="module")
def table(con, rows):
    given = table_of(rows) # noqa: F841, read by DuckDB
    con.execute("CREATE TABLE t AS SELECT * FROM given")
    con.execute("CREATE TABLE lists AS SELECT row, x::FLOAT[] AS x FROM t")
    return con


def one(con, sql, *arguments):
    return con.execute(sql, arguments).fetchone()[0]


FITS = [("capball_fit(x)", "map", ()), ("capball_fit(x, 'median')", "map", ("-g", "median")),
        ("capball_fit(x, 'recall', row)", "map", ("-g", "recall")), ("capball_enclosing_ball(x, row)", "ball", ()),
        ("capball_svdd(x, 0.1, row)", "ball", ("--nu", "0.1"))]


@pytest.mark.parametrize("source", ["t", "lists", "(SELECT * FROM t ORDER BY hash(row))"])
@pytest.mark.parametrize("sql, verb, options", FITS)
def test_fits_have_the_bytes_of_the_command(table, rows, command, source, sql, verb, options):
    assert one(table, f"SELECT {sql} FROM {source}") == getattr(command, verb)(rows, *options)


def test_balls_without_row_numbers_are_those_of_sorted_rows(table, rows, command):
    for sql, options in (("capball_enclosing_ball(x)", ()), ("capball_svdd(x, 0.1)", ("--nu", "0.1"))):
        got = one(table, f"SELECT {sql} FROM (SELECT * FROM t ORDER BY hash(row))")
        assert up_to_checksum(got) == without_list(command.ball(sorted_rows(rows), *options))
        assert capball.BallModel.from_json(got).gap <= 1e-9


def test_row_numbers_and_rows_stay_together_in_parallel(con, command):
    rows = np.random.default_rng(11).normal(size=(250_000, 3)).astype(np.float32) # three groups of rows
    given = table_of(rows) # noqa: F841, read by DuckDB
    con.execute("CREATE TABLE large AS SELECT * FROM given")
    assert one(con, "SELECT capball_enclosing_ball(x, row) FROM large") == command.ball(rows)


def test_groups(table, rows, command):
    got = table.execute("SELECT capball_fit(x) FROM t GROUP BY row % 3 ORDER BY row % 3").fetchall()
    assert [row[0] for row in got] == [command.map(rows[k::3]) for k in range(3)]


@pytest.mark.parametrize("source", ["t", "lists"])
def test_scalar_functions_have_the_bits_of_the_package(table, rows, source):
    text = one(table, "SELECT capball_fit(x) FROM t")
    map_, q = capball.SphereMap.from_json(text), rows[4]
    y = map_.embed(rows)
    got = table.execute(f"SELECT capball_embed($1, x) AS y, capball_unembed($1, capball_embed($1, x)) AS x FROM {source} ORDER BY row", [text]).fetchnumpy()
    assert np.array(got["y"].tolist(), np.float32).tobytes() == y.tobytes()
    assert np.array(got["x"].tolist(), np.float32).tobytes() == map_.unembed(y).tobytes()
    p, b, *_ = map_.query(q[None], 2.5)
    cap, query = table.execute(f"SELECT capball_cap($1, x, 2.5), capball_query($1, x, 2.5) FROM {source} WHERE row = 4", [text]).fetchone()
    assert np.float32(cap["p"]).tobytes() == np.float32(query).tobytes() == p.tobytes() and cap["b"] == b[0]
    distance = one(table, f"SELECT capball_distance($1, capball_embed($1, a.x), b.x) FROM {source} a, {source} b WHERE a.row = 3 AND b.row = 4", text)
    assert distance == pytest.approx(np.linalg.norm(rows[3].astype(float) - q), rel=1e-5)


def test_scores_reasons_and_membership(table, rows):
    text = one(table, "SELECT capball_svdd(x, 0.1) FROM t")
    model = capball.BallModel.from_json(text)
    got = table.execute("SELECT capball_score($1, x) AS s, capball_inside($1, x) AS i, capball_why($1, x) AS w FROM t ORDER BY row", [text]).fetchnumpy()
    assert got["s"].tolist() == list(model.scores(rows.astype(float))) and got["i"].tolist() == [s >= 0 for s in got["s"]]
    assert np.array_equal(np.array(got["w"].tolist()), model.parts(rows.astype(float))[0])


def test_a_detector_is_that_of_the_command_with_its_verdicts_and_p_values(table, rows, command):
    text = one(table, "SELECT capball_detector(x, 0.05, row) FROM t")
    assert text == command.ball(rows, "--robust", "--contamination", "0.05")
    model = capball.BallModel.from_json(text)
    scores = model.scores(rows.astype(float))
    got = table.execute("SELECT capball_is_outlier($1, x) AS o, capball_p_value($1, x) AS p FROM t ORDER BY row", [text]).fetchnumpy()
    assert got["o"].tolist() == list(model.verdicts(scores) == -1) and got["p"].tolist() == list(model.p_values(scores))


def test_a_map_for_each_row(table, rows):
    table.execute("CREATE OR REPLACE TABLE m AS SELECT row % 5 AS g, capball_fit(x) AS map FROM t GROUP BY 1")
    got = table.execute("SELECT row, capball_embed(map, x) AS y FROM t, m WHERE g = row % 5 ORDER BY row").fetchnumpy()["y"]
    wanted = np.empty((len(rows), rows.shape[1] + 1), np.float32)
    for g in range(5):
        wanted[g::5] = capball.SphereMap.fit(rows[g::5]).embed(rows[g::5])
    assert np.array(got.tolist(), np.float32).tobytes() == wanted.tobytes()


def test_null_in_null_out_and_rows_of_null_are_skipped(table, rows, command):
    text = command.map(rows)
    for sql in ("capball_embed(NULL, x)", "capball_embed($1, NULL::FLOAT[])", "capball_cap($1, x, NULL)"):
        assert one(table, f"SELECT {sql} FROM t WHERE $1 IS NOT NULL", text) is None
    assert one(table, "SELECT capball_fit(x) FROM t WHERE false") is None
    assert one(table, "SELECT capball_fit(x) FROM (SELECT x FROM t UNION ALL SELECT NULL)") == text
    with_null = table.execute("SELECT capball_embed($1, CASE row % 2 WHEN 0 THEN x END) AS y FROM t ORDER BY row", [text]).fetchall()
    assert with_null[1][0] is None and len(with_null[0][0]) == 7


def hostile(text, model):
    x = "[1,2,3,4,5,6]::FLOAT[]"
    yield "wanted 6", "SELECT capball_embed($1, [1,2]::FLOAT[])", text
    yield "empty", "SELECT capball_embed($1, []::FLOAT[])", text
    yield "NULL", "SELECT capball_embed($1, [1,NULL,3,4,5,6]::FLOAT[])", text
    yield "holds NaN", "SELECT capball_embed($1, [1,'nan'::FLOAT,3,4,5,6]::FLOAT[])", text
    yield "not JSON", f"SELECT capball_embed($1, {x})", "{"
    yield "nested too deeply", f"SELECT capball_embed($1, {x})", "[" * 100000
    yield "checksum", f"SELECT capball_embed($1, {x})", text.replace('"scale": ', '"scale": 1')
    yield 'wanted a "map"', f"SELECT capball_embed($1, {x})", model
    yield "radi", f"SELECT capball_query($1, {x}, -1)", text
    yield "too large|range", "SELECT capball_score($1, [1,2,3,4,5,1e308]::DOUBLE[])", model
    yield "nested too deeply", f"SELECT capball_inside($1, {x})", "[" * 100000
    rng = np.random.default_rng(3)
    for size in range(1, 40, 3):
        yield "map: ", f"SELECT capball_embed($1, {x})", rng.integers(1, 127, size).astype(np.uint8).tobytes().decode()
    yield "belongs to a map", f"SELECT capball_inside($1, {x})", '{"cap":{"p":[0,1],"b":0.5}}'
    yield "nu must be > 0", "SELECT capball_svdd(x, 0) FROM t"
    yield "nu must", "SELECT capball_svdd(x, 2) FROM t"
    yield "goal", "SELECT capball_fit(x, 'fast') FROM t"
    yield "twice", "SELECT capball_enclosing_ball(x, 1) FROM t"
    yield "expected", "SELECT capball_fit(CASE row WHEN 9 THEN [1]::FLOAT[] ELSE x END) FROM lists"
    for cut in range(0, len(text) - 3, 97):
        yield "map: ", f"SELECT capball_embed($1, {x})", text[:cut]


def test_the_extension_also_takes_doubles(table, rows, command):
    if not has_extension(table):
        pytest.skip("functions in Python are for floats")
    assert one(table, "SELECT capball_fit(x::DOUBLE[]) FROM t") == command.map(rows.astype(float))
    assert one(table, "SELECT capball_fit(x ORDER BY row) FILTER (row < 100) FROM t") == command.map(rows[:100])


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@full_only
def test_no_memory_is_lost_over_many_calls(table):
    text, model = one(table, "SELECT capball_fit(x) FROM t"), one(table, "SELECT capball_svdd(x, 0.1) FROM t")

    def work():
        table.execute("SELECT count(capball_embed($1, x)), count(capball_cap($1, x, 1)) FROM t, range(70)", [text]).fetchall()
        table.execute("SELECT count(m) FROM (SELECT capball_fit([i, j]::FLOAT[]) AS m FROM range(500) a(i), range(2) b(j) GROUP BY i)").fetchall()
        for _, sql, *arguments in hostile(text, model):
            with pytest.raises(duckdb.Error):
                one(table, sql, *arguments)

    for _ in range(3):
        work()
    before = resident()
    for _ in range(3):
        work()
    assert resident() - before < 16 << 20


def test_hostile_input_is_an_error_with_a_message(table):
    text, model = one(table, "SELECT capball_fit(x) FROM t"), one(table, "SELECT capball_svdd(x, 0.1) FROM t")
    for message, sql, *arguments in hostile(text, model):
        with pytest.raises(duckdb.Error, match=message):
            one(table, sql, *arguments)
    assert one(table, "SELECT count(capball_embed($1, x)) FROM t", text) == 1500


def test_an_interrupt_stops_a_query(table):
    text = one(table, "SELECT capball_fit(x) FROM t")
    timer = threading.Timer(0.3, table.interrupt)
    timer.start()
    with pytest.raises(duckdb.InterruptException):
        one(table, "SELECT count(capball_embed($1, x)) FROM t, range(1000000)", text)
    assert one(table, "SELECT count(capball_embed($1, x)) FROM t", text) == 1500


# Allocations of the extension, of which one can be made to fail.
FAILING = """
#include <stdlib.h>
static _Atomic long left = -1;
void fail_after(long count) { left = count; }
static int fails(void) { return left >= 0 && left-- == 0; }
void *sometimes_malloc(size_t size) { return fails() ? NULL : malloc(size); }
void *sometimes_calloc(size_t count, size_t size) { return fails() ? NULL : calloc(count, size); }
void *sometimes_realloc(void *old, size_t size) { return fails() ? NULL : realloc(old, size); }
"""
FAILING_NAMES = """
#include <stdlib.h>
void *sometimes_malloc(size_t size);
void *sometimes_calloc(size_t count, size_t size);
void *sometimes_realloc(void *old, size_t size);
#define malloc sometimes_malloc
#define calloc sometimes_calloc
#define realloc sometimes_realloc
"""

SANITIZED = """
import ctypes, json, sys, duckdb
con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
con.execute("LOAD '%s'")
con.execute("CREATE TABLE t AS SELECT i AS row, [sin(i), cos(i), sin(2 * i), 1, i %% 7, i]::FLOAT[] AS x FROM range(5000) r(i)")
con.execute("CREATE TABLE lists AS SELECT * FROM t")
text, model = con.execute("SELECT capball_fit(x), capball_svdd(x, 0.1, row) FROM t").fetchall()[0]
for sql, *arguments in json.load(open(sys.argv[1])):
    try:
        con.execute(sql, [{"TEXT": text, "MODEL": model}.get(a, a) for a in arguments]).fetchall()
        print("no error:", sql)
    except duckdb.Error:
        pass
failed, fail_after = set(), ctypes.CDLL("%s").fail_after
for sql in ("SELECT capball_fit(x, 'recall', row) FROM t", "SELECT capball_svdd(x, 0.1, row) FROM t", "SELECT capball_enclosing_ball(x) FROM t GROUP BY row %% 3",
            "SELECT sum(capball_why($2, x)[1] + capball_embed($1, x)[1]) FROM t"):
    for count in range(30):
        fail_after(count)
        try:
            con.execute(sql, [text, model][:sql.count("$")]).fetchall()
        except duckdb.Error as error:
            assert "memory" in str(error), error
            failed.add(sql)
        fail_after(-1)
assert len(failed) == 4, failed
print(*con.execute("SELECT count(capball_embed($1, x)), count(capball_cap($1, x, 1)), count(capball_why($2, x)), count(capball_score($2, x)), "
                   "count(capball_unembed($1, capball_embed($1, x))), count(capball_distance($1, capball_embed($1, x), x)) FROM t",
                   [text, model]).fetchall()[0])
"""


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@full_only
def test_the_address_sanitizer_finds_nothing(tmp_path):
    """Neither with hostile input nor where memory is refused."""
    (tmp_path / "failing.c").write_text(FAILING)
    (tmp_path / "failing.h").write_text(FAILING_NAMES)
    extension, compiler = tmp_path / "capball.duckdb_extension", ["gcc", "-g", "-O1", "-fsanitize=address", "-fPIC"]
    subprocess.run([*compiler, "-c", "failing.c"], cwd=tmp_path, check=True)
    subprocess.run([*compiler, "-shared", "-include", tmp_path / "failing.h", *[f"-I{ROOT / folder}" for folder in ("include", "src", "contrib/sql/common")],
                    *(ROOT / "contrib/sql/common").glob("*.c"), ROOT / "contrib/sql/duckdb/duckdb_capball.c", tmp_path / "failing.o", BUILD / "libcapball.a",
                    "-lz", "-lzstd", "-lm", "-o", tmp_path / "capball.so"], check=True)
    subprocess.run([sys.executable, ROOT / "contrib/sql/duckdb/add_footer.py", tmp_path / "capball.so", extension, duckdb.sql("PRAGMA platform").fetchall()[0][0], "0"], check=True)
    (tmp_path / "hostile.json").write_text(json.dumps([case[1:] for case in hostile("TEXT", "MODEL") if case[0] != "checksum"]))
    preload = " ".join(printed("gcc", "-print-file-name=" + name) for name in ("libasan.so", "libstdc++.so.6"))
    done = subprocess.run([sys.executable, "-c", SANITIZED % (extension, extension), tmp_path / "hostile.json"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 0 and done.stdout.strip() == " ".join(["5000"] * 6), done.stdout[-2000:] + done.stderr[-4000:]


def test_a_parquet_file_is_fitted_embedded_and_scored_in_one_statement(con, tmp_path):
    rows = np.random.default_rng(5).normal(size=(1_000_000 if FULL else 5_000, 96)).astype(np.float32)
    given = table_of(rows) # noqa: F841, read by DuckDB
    con.execute(f"COPY given TO '{tmp_path}/rows.parquet' (FORMAT parquet)")
    con.execute(f"""COPY (WITH fitted AS MATERIALIZED (SELECT capball_fit(x) AS map, capball_enclosing_ball(x) AS ball FROM '{tmp_path}/rows.parquet')
                          SELECT row, capball_embed(map, x) AS y, capball_score(ball, x) AS score FROM '{tmp_path}/rows.parquet', fitted)
                    TO '{tmp_path}/embedded.parquet' (FORMAT parquet)""")
    rows_written, least, unit = con.execute(f"""SELECT count(*), min(score), max(abs(list_inner_product(y, y) - 1))
                                                FROM '{tmp_path}/embedded.parquet'""").fetchone()
    assert rows_written == len(rows) and least >= 0 and unit < 1e-5
    np.save(tmp_path / "rows.npy", rows)
    subprocess.run([BUILD / "capball", "fit", "-q", "rows.npy", "-o", "map.json"], cwd=tmp_path, check=True)
    subprocess.run([BUILD / "capball", "embed", "-q", "-m", "map.json", "rows.npy", "-o", "y.npy"], cwd=tmp_path, check=True)
    got = con.cursor().sql(f"SELECT y FROM '{tmp_path}/embedded.parquet' ORDER BY row").to_arrow_table()["y"].combine_chunks()
    assert got.values.to_numpy().tobytes() == np.load(tmp_path / "y.npy").tobytes()


def test_the_sample_of_the_module():
    assert doctest.testmod(capball.duckdb).failed == 0


def test_version(con):
    assert one(con, "SELECT capball_version()") == capball.__version__
