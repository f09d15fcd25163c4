#!/usr/bin/env python3
"""capball in databases: make bench-sql, or contrib/sql/run bench [ROWS [COLUMNS]]; 1000000 x 96 by default.

PostgreSQL: capball_fit and capball_embed of all rows, compared with the averages of all columns as SQL, written for any number
of columns (unnest, GROUP BY) or as a list of one expression per column, with the sums of such a list, and with the least that any
pair of queries costs: reading the rows twice, as by sum(x[1]), and copying them once, since a fit needs them again when their mean
is known.
DuckDB: rows per second of capball_embed, summed or stored as a table, compared with `capball embed` on the same rows as
an .npy file, and with storing the rows themselves.
All of a group take turns; the best of each is reported, and the ratios.
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("BUILD", str(ROOT / "build"))
sys.path.insert(0, str(ROOT / "contrib/sql/tests"))

import capball
import capball.duckdb
from conftest import BUILD
from pg_server import Server, copy_rows, installed, packaged

def best(jobs, rounds=3):
    """Seconds of each job, the best of several rounds in which they take turns."""
    seconds = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


AVERAGE_ROWS = "SELECT i, avg(v) FROM t, unnest(x) WITH ORDINALITY AS cell(v, i) GROUP BY i"


def of_each_column(aggregate, d):
    return "SELECT " + ", ".join(f"{aggregate}(x[{j}])" for j in range(1, d + 1)) + " FROM t"


def print_ratios(title, seconds):
    both, reading = seconds["capball_fit"] + seconds["capball_embed"], 2 * seconds["sum(x[1])"]
    for name in ("avg by unnest", "avg(x[1]), ..", "sum(x[1]), .."):
        print(f"{title} capball_fit + capball_embed: {seconds[name] / both:.1f} times as fast as {name} of all columns; "
              f"reading twice alone would be {seconds[name] / reading:.1f} times")
    print(f"{title} capball_fit + capball_embed = {both / reading:.2f} times reading twice; "
          f"reading twice and a copy are {(reading + seconds['a copy in memory']) / reading:.2f} times")


def bench_postgresql(rows):
    servers = installed() or packaged()
    name = list(servers)[0]
    server = Server(name, servers[name], settings=["shared_buffers=1GB", "work_mem=64MB"])
    d = rows.shape[1]
    try:
        with server.connect() as db:
            db.execute("CREATE EXTENSION capball")
            copy_rows(db, "t", rows)
            db.execute("VACUUM ANALYZE t")
            db.execute("CREATE TABLE map AS SELECT capball_fit(x) AS map FROM t")
            queries = {"capball_fit": "SELECT length(capball_fit(x)) FROM t",
                       "capball_embed": "SELECT count(capball_embed((SELECT map FROM map), x)) FROM t",
                       "sum(x[1])": "SELECT sum(x[1]) FROM t", "sum(x[1]), ..": of_each_column("sum", d),
                       "avg(x[1]), ..": of_each_column("avg", d)}
            for workers in (0, 2):
                db.execute(f"SET max_parallel_workers_per_gather = {workers}")
                jobs = {name: lambda sql=sql: db.execute(sql).fetchall() for name, sql in queries.items()}
                seconds = best(jobs | {"a copy in memory": rows.copy})
                seconds |= best({"avg by unnest": lambda: db.execute(AVERAGE_ROWS).fetchall()}, rounds=1)
                for query, value in seconds.items():
                    print(f"PostgreSQL, {workers} workers  {query:20} {value:8.2f} s")
                print_ratios(f"PostgreSQL, {workers} workers ", seconds)
    finally:
        server.stop()


def duckdb_of(way, rows):
    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    capball.duckdb.register(con, extension=way == "extension")
    t = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])}) # noqa: F841, read by DuckDB
    con.execute("CREATE TABLE t AS SELECT * FROM t")
    return con


def bench_duckdb(rows):
    ways = ["extension", "Python"]
    with tempfile.TemporaryDirectory() as folder:
        connections = {way: duckdb_of(way, rows) for way in ways}
        np.save(f"{folder}/rows.npy", rows)
        Path(f"{folder}/map.json").write_text(text := capball.SphereMap.fit(rows).to_json())
        embed = [BUILD / "capball", "embed", "-q", "-m", "map.json", "rows.npy", "-o", "y.npy"]
        jobs = {"capball embed": lambda: subprocess.run(embed, cwd=folder, check=True)}
        for way, con in connections.items():
            jobs |= {f"{way}, embed, sum": lambda con=con: con.execute("SELECT sum(capball_embed($1, x)[1]) FROM t", [text]).fetchall(),
                     f"{way}, embed, table": lambda con=con: con.execute("CREATE OR REPLACE TABLE y AS SELECT capball_embed($1, x) AS y FROM t", [text]),
                     f"{way}, copy, table": lambda con=con: con.execute("CREATE OR REPLACE TABLE y AS SELECT x::FLOAT[] AS y FROM t"),
                     f"{way}, fit": lambda con=con: con.execute("SELECT capball_fit(x) FROM t").fetchall()}
        seconds = best(jobs)
        for name, value in seconds.items():
            print(f"DuckDB  {name:26} {value:8.2f} s {len(rows) / value:12.0f} rows/s, / capball embed = {seconds['capball embed'] / value:.2f}")
        for way in ways:
            copies = seconds[f"{way}, copy, table"] / seconds[f"{way}, embed, table"]
            print(f"DuckDB  {way}, rows per second into a table / those of DuckDB's own copy = {copies:.2f}")


def main():
    n, d = [int(word) for word in sys.argv[1:]] + [1_000_000, 96][len(sys.argv) - 1:]
    rows = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    print(f"{n} x {d} f32, {capball._core.isa}, {os.cpu_count()} processors; contrib/sql/bench_sql.py {n} {d}")
    bench_postgresql(rows)
    bench_duckdb(rows)


main()
