"""The recipes of docs/how-to/sql.md: Euclidean range and k-NN by an index of inner products, compared with sequential scans.

CPB_SQL_ROWS and CPB_SQL_QUERIES set how many rows and queries of each set are used.
"""
import os
import re

import numpy as np
import pytest

from conftest import ROOT, full_only
from pg_server import Server, copy_rows, packaged

ROWS, QUERIES = int(os.environ.get("CPB_SQL_ROWS", 10000)), int(os.environ.get("CPB_SQL_QUERIES", 50))
SETS = ["fashion-mnist-784-euclidean", "sift-bsds-128-euclidean"]
K = 10

pytestmark = full_only


@pytest.fixture(scope="module")
def server():
    servers = packaged()
    server = Server("pgvector", servers[list(servers)[-1]], settings=["maintenance_work_mem=2GB", "shared_buffers=1GB"])
    with server.connect() as db:
        db.execute("CREATE EXTENSION vector")
        db.execute("CREATE EXTENSION capball")
    yield server
    server.stop()


def recipe():
    return re.findall(r"```sql recipe\n(.*?)```", (ROOT / "docs/how-to/sql.md").read_text(), re.S)


@pytest.fixture(scope="module", params=SETS)
def data(server, shared, request):
    rows = np.load(shared / request.param / "base.npy")[:ROWS].astype(np.float32)
    queries = np.load(shared / request.param / "queries.npy")[:QUERIES].astype(np.float32)
    with server.connect() as db:
        db.execute("DROP TABLE IF EXISTS t, items, map, embedded")
        db.execute("DROP FUNCTION IF EXISTS nearest, within")
        d = rows.shape[1]
        copy_rows(db, "t", rows)
        db.execute(f"CREATE TABLE items AS SELECT row AS id, x::vector({d}) AS x FROM t")
        for block in recipe():
            db.execute(block.replace("vector(129)", f"vector({d + 1})"))
        db.execute("CREATE INDEX items_x ON items USING hnsw (x vector_l2_ops) WITH (m = 32, ef_construction = 200)")
        db.execute("VACUUM ANALYZE")
        yield db, [str(q.tolist()) for q in queries]


def truth(db, q, limit):
    """The nearest rows by a sequential scan."""
    db.execute("SET enable_indexscan = off")
    found = db.execute("SELECT id, x <-> %s::vector FROM items ORDER BY 2, 1 LIMIT %s", (q, limit)).fetchall()
    db.execute("SET enable_indexscan = on")
    return found


@pytest.fixture(scope="module")
def radii(data):
    """For every query the middle between the distances of neighbours K and K+1: a range of K rows."""
    db, queries = data
    nearest = [truth(db, q, K + 1) for q in queries]
    return [(near[K - 1][1] + near[K][1]) / 2 for near in nearest], [[row[0] for row in near[:K]] for near in nearest]


def test_the_plan_uses_the_index(data):
    db, queries = data
    db.execute("SET enable_seqscan = off")
    plan = "\n".join(row[0] for row in db.execute(
        "EXPLAIN (COSTS OFF) SELECT id FROM embedded ORDER BY y <#> capball_query((SELECT map FROM map), %s::vector, 250) LIMIT 100", (queries[0],)))
    db.execute("SET enable_seqscan = on")
    print(re.sub(r"\{[^}]*\}|\[[^]]*\]", "[..]", plan))
    assert "Index Scan using embedded_y" in plan and "Order By: (y <#>" in plan


def test_the_condition_of_the_cap_is_the_ball(data, radii):
    """Without an index: for every query the rows of the cap that are in the ball are all rows of the ball."""
    db, queries = data
    for q, radius in zip(queries, radii[0]):
        got = db.execute("""
            WITH cap AS MATERIALIZED (SELECT p::vector, b - 2 * (vector_dims(%(q)s::vector) + 4) * 2.0 ^ -24 AS b
                                      FROM map, capball_cap(map, %(q)s::vector::real[], %(r)s))
            SELECT id FROM embedded, cap WHERE -(y <#> p) >= b AND x <-> %(q)s::vector <= %(r)s ORDER BY x <-> %(q)s::vector, id""",
                         {"q": q, "r": radius}).fetchall()
        wanted = db.execute("SELECT id FROM items WHERE x <-> %(q)s::vector <= %(r)s ORDER BY x <-> %(q)s::vector, id", {"q": q, "r": radius}).fetchall()
        assert got == wanted and len(wanted) >= K


def test_the_range_recipe_answers_as_the_sequential_scan(data, radii):
    db, queries = data
    different = [i for i, (q, radius) in enumerate(zip(queries, radii[0]))
                 if {row[0] for row in db.execute("SELECT id FROM within(%s::vector, %s)", (q, radius))} != set(radii[1][i])]
    print(f"range: {len(queries) - len(different)} of {len(queries)} queries as the sequential scan")
    assert different == []


def test_the_k_nn_recipe_is_as_good_as_an_index_of_distances(data, radii):
    db, queries = data
    radius = float(np.median(radii[0]))
    db.execute("SET hnsw.ef_search = 100")
    db.execute("SET enable_seqscan = off")

    def recall(sql, *arguments):
        return np.mean([len({row[0] for row in db.execute(sql, (q, *arguments))} & set(wanted)) / K for q, wanted in zip(queries, radii[1])])

    sphere = recall("SELECT id FROM nearest(%s::vector, %s, %s)", K, radius)
    l2 = recall("SELECT id FROM items ORDER BY x <-> %s::vector LIMIT 10")
    print(f"k-NN: {sphere:.4f} by inner products, {l2:.4f} by distances")
    assert sphere >= l2 - 0.01
    db.execute("SET enable_seqscan = on")
