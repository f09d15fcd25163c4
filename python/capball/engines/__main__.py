"""An engine as a command: python -m capball.engines NAME BASE.npy QUERIES.npy K IDS.npy [key=value ..]

The rows of BASE go into the engine, the ids of the K best rows of each query into IDS. metric=cosine|ip|l2 says what it
ranks by; other settings are the adapter's. For `capball recommend --engine-command`:

  capball recommend base.npy --engine-command 'python -m capball.engines hnswlib {base} {queries} {k} {ids} metric={metric}'
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import BY_NAME, engine


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def main(arguments: list[str]) -> int:
    if len(arguments) < 5 or arguments[0] not in BY_NAME:
        print(__doc__, f"\nengines: {', '.join(sorted(BY_NAME))}", file=sys.stderr)
        return 2
    name, base, queries, k, ids = arguments[:5]
    settings = {key: _value(value) for key, value in (word.split("=", 1) for word in arguments[5:])}
    index = engine(name, **{key: value for key, value in settings.items() if key != "metric"})
    index.build(np.ascontiguousarray(np.load(base), np.float32), settings.get("metric", "cosine"))
    found = index.search(np.ascontiguousarray(np.load(queries), np.float32), int(k))
    np.save(ids, np.ascontiguousarray(found, np.int64))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
