"""Certificates of answers from scripted engines: right, partial, lazy, lying, asked in batches and one query at a time.

CPB_CERTIFICATES sets how many are judged: 100000 take minutes.
"""
import os

import numpy as np
import pytest

import capball
from capball.engines import Euclidean

WANTED = int(os.environ.get("CPB_CERTIFICATES", 4000))
QUERIES = 20


def scores(rows, queries, metric):
    if metric == "l2":
        return -((queries[:, None] - rows) ** 2).sum(axis=2)
    product = queries @ rows.T
    return product / np.linalg.norm(rows, axis=1) if metric == "cosine" else product


class Scripted:
    """What it answers is its script's; `number` counts questions. It takes more rows in, so that places and ids differ."""

    metrics = ("cosine", "ip", "l2")

    def __init__(self, script, dtype):
        self.script, self.dtype, self.number = script, dtype, 0

    def build(self, rows, metric):
        self.rows, self.metric = rows.astype(self.dtype), metric

    def grow(self, rows, first):
        assert first == len(self.rows)
        self.rows = np.concatenate([self.rows, rows.astype(self.dtype)])

    def search(self, queries, k):
        self.number += 1
        order = np.argsort(-scores(self.rows, queries.astype(self.dtype), self.metric), axis=1, kind="stable")
        return self.script(order, k, np.random.default_rng(self.number))

    save = load = None


def right(order, k, rng):
    return order[:, :k].copy()


def partial(order, k, rng):
    """Some answers lack one of the best, and have a row less for it."""
    ids = right(order, k, rng)
    for row in ids:
        if rng.integers(2):
            place = rng.integers(min(k, 8))
            row[place:] = np.append(row[place + 1:], -1)
    return ids


def narrow(order, k, rng):
    """All answers do, and have no place for it."""
    return np.delete(right(order, k, rng), rng.integers(min(k, 8)), axis=1) if k > 6 else right(order, k, rng)


def shuffled(order, k, rng):
    """The best, in any order."""
    return rng.permuted(right(order, k, rng), axis=1)


def lazy(order, k, rng):
    """Leaves good ones out."""
    left = rng.random(order.shape[1]) < 0.7
    left[:6] = True
    kept = [row[left[row]] for row in order]
    return np.array([np.concatenate([row, np.full(max(0, k - len(row)), -1)])[:k] for row in kept])


def lying(order, k, rng):
    """Any rows at all."""
    return rng.permuted(order, axis=1)[:, :k]


KEEP = [right, partial, narrow, shuffled]  # all but the first break the promise so that it shows: that proves nothing
ALL = [*KEEP, lazy, lying]


def points(rng, n, d):
    kind = rng.integers(6)
    rows = rng.normal(size=(n, d))
    if kind == 1:
        rows = rng.normal(size=(4, d))[rng.integers(0, 4, n)] + 1e-6 * rows
    elif kind == 2:
        rows = rng.integers(-2, 3, size=(n, d)).astype(float)
    elif kind == 3:
        rows = rows[rng.integers(0, n, n)]
    elif kind == 4:
        rows += 1e3
    elif kind == 5:
        rows *= np.exp(2 * rng.normal(size=(n, 1)))
    return rows.astype(rng.choice(["float32", "float64"]))


def made(rng, engines):
    """An index of some rows, of which some have been removed, and its queries."""
    n, d = int(np.exp(rng.uniform(4, 6.8))), int(rng.integers(1, 7))
    rows = points(rng, n, d)
    transform = rng.choice(["sphere", "lift-ip", "lift-cosine"])
    metric = {"sphere": rng.choice(["cosine", "ip", "l2"]), "lift-ip": "ip"}.get(transform, rng.choice(["cosine", "ip"]))
    script = engines[rng.integers(len(engines))]
    index = Euclidean(Scripted(script, rng.choice(["float32", "float64"])), transform=transform, metric=str(metric), ball=bool(rng.integers(2)),
                      scale=float(rng.choice([0.5, 1, 4])), candidates=int(min(n, np.exp(rng.uniform(1.8, 4.5)))), twice=bool(rng.integers(2)))
    first = int(rng.integers(20, n))
    index.add(rows[:first]).add(rows[first:])
    if rng.integers(2):
        index.remove(rng.permutation(n)[: int(n * rng.random() ** 2 * 0.9)])
    kind = rng.integers(3)
    queries = rows[rng.integers(0, n, QUERIES)]
    if kind:
        queries = queries + (1e-3 if kind == 1 else 1) * rng.normal(size=(QUERIES, d)) * np.abs(queries - queries.mean(axis=0)).mean()
    return index, queries.astype(rows.dtype), script


def judge(rng, engines, certificates):
    """How many are proven, and how many of these are wrong."""
    try:
        index, queries, script = made(rng, engines)
    except (capball.InvalidValue, capball.RowError):  # rows that are all the same
        return 0, 0, 0, False
    k = int(rng.integers(1, 6))
    alive = np.flatnonzero(index._alive)
    filter = None
    if rng.integers(3) == 0:
        filter = np.sort(rng.permutation(alive)[: int(k + (len(alive) - k) * rng.random() ** 0.3)])
        alive = filter
    truth = capball.knn(index.rows[alive], queries, k)
    step = 1 if rng.integers(2) else QUERIES
    try:
        found = [index.search(queries[i: i + step], k, filter=filter, certificates=certificates) for i in range(0, QUERIES, step)]
    except capball.InvalidValue as error:
        assert "the engine must find" in str(error) and script in (partial, narrow, lazy)
        return 0, 0, 0, False
    distances, ids, proven = (np.concatenate(part) for part in zip(*((*one, one.proven) for one in found)))
    plain = np.sort(np.linalg.norm(index.rows[alive].astype(float) - queries.astype(float)[:, None], axis=2), axis=1)[:, :k]
    wrong = (ids != alive[truth.ids]).any(axis=1) | (np.abs(distances - plain) > 1e-9 * (1 + plain)).any(axis=1)
    return QUERIES, int(proven.sum()), int((proven & wrong).sum()), script is right


@pytest.mark.parametrize("certificates, engines", [("engine", KEEP), (True, ALL)])
def test_no_certificate_is_wrong(certificates, engines):
    judged = proven = wrong = of_right = proven_of_right = 0
    rng = np.random.default_rng(11)
    while judged < WANTED / 2:
        count, sure, false, is_right = judge(rng, engines, certificates)
        judged, proven, wrong = judged + count, proven + sure, wrong + false
        of_right, proven_of_right = of_right + count * is_right, proven_of_right + sure * is_right
    print(f"{judged} certificates, {proven} proven, {wrong} of them wrong; of the right engine {proven_of_right} of {of_right}")
    assert wrong == 0 and judged / 10 < proven < judged * 9 / 10 and proven_of_right > of_right / 4


def test_an_engine_is_judged_by_all_of_its_rows(rng):
    """Also where queries are asked one at a time: candidates that are as many as their distinct rows are not all rows."""
    rows, queries = rng.normal(size=(2000, 8)), rng.normal(size=(200, 8))
    truth = capball.knn(rows, queries, 10).ids
    index = Euclidean(Scripted(right, "float64"), transform="sphere", candidates=10, ball=False).add(rows)
    found = [index.search(query[None], 10, certificates="engine") for query in queries]
    wrong = [bool((near.proven & (near.ids != true).any(axis=1)).any()) for near, true in zip(found, truth)]
    assert sum(wrong) == 0
    batch = index.search(queries, 10, certificates="engine")
    np.testing.assert_array_equal(batch.proven, [near.proven[0] for near in found])
    every = Euclidean(Scripted(right, "float64"), transform="sphere", candidates=2000).add(rows).search(queries, 10, certificates="engine")
    assert every.proven.all() and (every.ids == truth).all()


def test_fewer_rows_than_asked_for_prove_nothing(rng):
    rows, queries = rng.normal(size=(3000, 3)), rng.normal(size=(50, 3))

    def proven(script, **settings):
        index = Euclidean(Scripted(script, "float64"), transform="lift-cosine", **settings).add(rows)
        return index.search(queries, 3, certificates="engine").proven

    assert proven(right).all() and not proven(narrow).any()
    assert not Euclidean(Scripted(narrow, "float64"), transform="sphere").add(rows).search(queries[:1], 3, certificates="engine").proven.any()


def test_certificates_that_cannot_be_had(rng):
    rows = rng.normal(size=(300, 3))
    for settings, told in (({"transform": "normalize"}, "not of normalize"),
                           ({"transform": "lift-ip", "metric": "cosine"}, "by the scores of lift-ip, not by cosine"),
                           ({"map": capball.fit(rows, whiten=True)}, r"ranks by \|W\(x-q\)\|")):
        with pytest.raises(ValueError, match=told):
            Euclidean(Scripted(right, "float64"), **settings).add(rows).search(rows[:1], 3, certificates="engine")
