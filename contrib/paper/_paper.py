"""The command capball-paper. The experiments come with the sources and what pip makes of them, not with the small wheel."""

from __future__ import annotations

import sys


def main() -> int | None:
    try:
        from capball_paper.__main__ import main as run
    except ModuleNotFoundError as missing:
        if missing.name != "capball_paper":
            raise
        print("capball-paper: this wheel has no experiments; `pip install .` in a clone, or the sdist, has them", file=sys.stderr)
        return 2
    return run()
