import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python" / "tests"))
from fixtures import shared  # noqa: E402, F401

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
FULL = os.environ.get("CPB_SQL") == "full"

full_only = pytest.mark.skipif(not FULL, reason="only in make test-sql")


class Command:
    """The command of the same tree, whose bytes the databases must reproduce."""

    def __init__(self, folder):
        self.folder = folder

    def file(self, rows, verb, *options):
        np.save(self.folder / "rows.npy", rows)
        out = self.folder / "out.json"
        subprocess.run([BUILD / "capball", verb, "-q", "rows.npy", "-o", out, *options], cwd=self.folder, check=True)
        return out.read_text()

    def map(self, rows, *options):
        """A map file; the command stores the name of the data, a database has none."""
        return self.file(rows, "fit", *options).replace('"source": "rows.npy"', '"source": null')

    def ball(self, rows, *options):
        return self.file(rows, "ball", *options)


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path)


@pytest.fixture(scope="session")
def rows():
    """Rows with ties, repeated rows, 0 and -0; columns of different scales."""
    rng = np.random.default_rng(7)
    x = np.float32(rng.normal(size=(1500, 6)) * [1, 2, 3, 10, 0.1, 5] + [7, 0, -3, 0, 0, 1])
    x[100:200] = np.round(x[100:200])
    x[200:210] = x[:10]
    return x


def sorted_rows(rows):
    """The order of rows without numbers: by contents, the first column first."""
    return rows[np.lexsort(rows.T[::-1])]


def without_list(model):
    """A model that does not list its support vectors, up to the line of the checksum."""
    head, rest = model.split('"rows": [', 1)
    return head + '"rows": null, "multipliers": null' + rest[rest.index(', "vectors"'):rest.index('"checksum"')]


def up_to_checksum(model):
    return model[:model.index('"checksum"')]
