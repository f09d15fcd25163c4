"""An engine as a command: python -m capball.engines NAME BASE.npy QUERIES.npy K IDS.npy [key=value ..]

The rows of BASE go into the engine, the ids of the K best rows of each query into IDS. metric=cosine|ip|l2 says what it
ranks by; seed=N goes to engines that draw lots; times=FILE gets seconds to build, seconds to ask, bytes of the index; other settings are the
adapter's. For `capball recommend --engine-command` and `capball wrap`:

  capball recommend base.npy --engine-command 'python -m capball.engines hnswlib {base} {queries} {k} {ids} metric={metric} seed={seed} times={times}'
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import BY_NAME, Pgvector, engine


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _bytes(index: Any) -> int:
    """Of the index as it is saved; 0 where it lives elsewhere."""
    if isinstance(index, Pgvector):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def main(arguments: list[str]) -> int:
    if len(arguments) < 5 or arguments[0] not in BY_NAME:
        print(__doc__, f"\nengines: {', '.join(sorted(BY_NAME))}", file=sys.stderr)
        return 2
    name, base, queries, k, ids = arguments[:5]
    settings = {key: _value(value) for key, value in (word.split("=", 1) for word in arguments[5:])}
    metric, times = settings.pop("metric", "cosine"), settings.pop("times", None)
    if "seed" in settings and "seed" not in inspect.signature(BY_NAME[name]).parameters:
        del settings["seed"]
    index = engine(name, **settings)
    rows, asked = (np.ascontiguousarray(np.load(path), np.float32) for path in (base, queries))
    begin = time.perf_counter()
    index.build(rows, metric)
    built = time.perf_counter()
    found = index.search(asked, int(k))
    ended = time.perf_counter()
    np.save(ids, np.ascontiguousarray(found, np.int64))
    if times is not None:
        with open(str(times), "w") as to:
            to.write(f"{built - begin} {ended - built} {_bytes(index)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
