"""python -m capball: the command `capball`, which is installed with this package."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata


def command() -> str | None:
    """Where the command of this package is; else one that is on PATH."""
    try:
        listed = metadata.files("capball") or []
    except metadata.PackageNotFoundError:
        listed = []
    for file in listed:
        if file.name == "capball" and os.access(file.locate(), os.X_OK) and os.path.isfile(file.locate()):
            return os.fspath(file.locate())
    return shutil.which("capball")


def main() -> None:
    """Becomes the command."""
    path = command()
    if path is None:
        sys.exit("capball: this package was built without the command, and there is none on PATH")
    os.execv(path, ["capball", *sys.argv[1:]])


if __name__ == "__main__":
    main()
