"""What text keys and following cost one query: an index with ids, one with keys and one that follows its file, in turn.

    bench_index_keys.py [ROWS] [COLS]"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import capball

rows, cols, turns = int(sys.argv[1]) if len(sys.argv) > 1 else 100000, int(sys.argv[2]) if len(sys.argv) > 2 else 64, 200
rng = np.random.default_rng(0)
base = rng.normal(size=(rows, cols)).astype(np.float32)
queries = rng.normal(size=(turns, 1, cols)).astype(np.float32)
with tempfile.TemporaryDirectory() as folder:
    ids, keys, few = Path(folder) / "ids", Path(folder) / "keys", Path(folder) / "few"
    capball.Index(base).save(ids)
    capball.Index(base, ids=[f"article number {i}" for i in range(rows)]).save(keys)
    capball.Index(base[:100]).save(few)
    kinds = {"ids": capball.Index.open(ids), "keys": capball.Index.open(keys), "few": capball.Index.open(few),
             "few, follow": capball.Index.open(few, follow=True)}
    times = {name: [] for name in kinds}
    for query in queries:
        for name, index in kinds.items():  # each by itself in the cache, as far as it fits
            index.search(query, 10, threads=1)
            begin = time.perf_counter()
            index.search(query, 10, threads=1)
            times[name].append(time.perf_counter() - begin)
    ratio = float(np.median(np.array(times["keys"]) / np.array(times["ids"])))
    least = {name: 1e6 * min(of) for name, of in times.items()}
    print(f"{rows} x {cols}, one query, k = 10: ids {least['ids']:.0f} us, keys {least['keys']:.0f} us (least of {turns}); "
          f"ratio {ratio:.3f} (median of pairs)")
    print(f"100 x {cols}: {least['few']:.2f} us; following while nothing changes {least['few, follow']:.2f} us")
