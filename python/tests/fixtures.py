"""Fixtures that the tests of contrib use, too."""
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Without a GPU Triton's kernels are interpreted. Triton looks at this when it is first imported.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def command():
    """The command of the same tree, for results that must agree bit for bit."""
    build = Path(os.environ.get("BUILD", ROOT / "build"))
    found = build / "capball"
    if not found.exists():
        found = shutil.which("capball")
    if not found:
        pytest.skip("the command is not built")
    return str(found)


@pytest.fixture(scope="session")
def shared():
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not there")
    return folder
