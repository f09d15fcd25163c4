#!/usr/bin/env python3
"""What the sphere could still gain on real engines: other centres of caps, rotations and whitening before S.

    python bench/engine_variants.py --log variants.jsonl [--sets all --engines annoy,hnswlib,scann --rows 5000]

The base is S about the mean at twice the mean norm, asked by balls of the median k-th distance for 100 candidates, which
are put in order by exact distances. Beside it

    own radius    asked twice: the second time by a ball per query, of the k-th distance among the first answers
    three caps    a third of the candidates each from the point and from balls of once and twice the radius
    rotated       the rows turned at random before S
    principal     the rows turned to their principal axes before S
    whitened      W before S, with the mean variance added; distances are still those of the rows

`bench/engine_recall.py --variants variants.jsonl` puts the table into docs/explanation/engines.md.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

import capball
from capball.engines import BY_NAME

K, C = 10, 100
data = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def share(base, queries, ids, kth):
    found = 0
    for query, some, limit in zip(queries, ids, kth):
        distances = np.linalg.norm(base[some[some >= 0]] - query, axis=1)
        found += min(K, int((distances <= limit * (1 + 1e-9)).sum()))
    return 100 * found / (K * len(queries))


def figures(base, queries, ids, kth):
    return [round(share(base, queries, ids[:, :K], kth), 2), round(share(base, queries, ids, kth), 2)]


def sphere(rows, norms=2.0):
    map = capball.SphereMap.fit(rows)
    return capball.SphereMap(d=rows.shape[1], s=norms * map.s, center=map.center)


def build(engine, map, rows):
    index = BY_NAME[engine]()
    index.build(map.embed(rows, dtype="float32"), "cosine")
    return index


def ask(index, map, queries, radius, count):
    caps = map.query(queries, radius, dtype="float32")[0] if np.any(radius > 0) else map.embed(queries, dtype="float32")
    return index.search(np.ascontiguousarray(caps), count)


def own_radii(base, queries, ids):
    near = [np.partition(np.linalg.norm(base[some[some >= 0]] - query, axis=1), K - 1)[K - 1] for query, some in zip(queries, ids)]
    return np.array(near)


def turned(base, queries, turn):
    return np.ascontiguousarray(base @ turn), np.ascontiguousarray(queries @ turn)


def random_turn(d):
    return np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]


def axes(base):
    return np.linalg.eigh(np.cov(base.T))


def measure(engine, base, queries):
    kth = capball.knn(base, queries, K).distances[:, -1]
    r, found = np.float64(np.median(kth)), {}
    map = sphere(base)
    index = build(engine, map, base)
    first = ask(index, map, queries, r, C)
    found["base"] = figures(base, queries, first, kth)
    found["own radius"] = figures(base, queries, ask(index, map, queries, own_radii(base, queries, first), C), kth)
    caps = [ask(index, map, queries, np.float64(f * r), C // 3) for f in (0, 1, 2)]
    mixed = [np.unique(np.concatenate(some)) for some in zip(*caps)]
    found["three caps"] = [figures(base, queries, caps[1], kth)[0],
                           round(share(base, queries, [m[m >= 0] for m in mixed], kth), 2)]
    values, vectors = axes(base)
    scaled = vectors / np.sqrt(values + values.mean()) * np.sqrt(2 * values.mean())
    for name, turn in (("rotated", random_turn(base.shape[1])), ("principal", vectors[:, ::-1]), ("whitened", scaled)):
        rows, asked = turned(base, queries, turn)
        near = np.float64(np.median(capball.knn(rows, asked, K).distances[:, -1]))
        map = sphere(rows)
        found[name] = figures(base, queries, ask(build(engine, map, rows), map, asked, near, C), kth)
    return found


def rows_of(name, rows, queries):
    base = np.load(data / name / "base.npy")
    chosen = np.sort(np.random.default_rng(0).permutation(len(base))[:rows])
    return base[chosen].astype(np.float64), np.load(data / name / "queries.npy")[:queries].astype(np.float64)


def main():
    sets = sorted(path.name for path in data.glob("*") if (path / "queries.npy").exists()) if data.is_dir() else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="all")
    parser.add_argument("--engines", default="annoy,hnswlib,scann")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    if not sets:
        print(f"{data} is not here: nothing is measured", file=sys.stderr)
        return 0
    log = Path(options.log)
    known = [json.loads(line)["key"] for line in log.read_text().splitlines()] if log.exists() else []
    for name in sets if options.sets == "all" else options.sets.split(","):
        for engine in options.engines.split(","):
            key = [name, engine, options.rows, options.queries]
            if key in known:
                continue
            found = measure(engine, *rows_of(name, options.rows, options.queries))
            with open(log, "a") as to:
                to.write(json.dumps({"key": key, "found": found}) + "\n")
            print(*key, found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
