"""What a newcomer would do from the README's words alone: every script of tests/jobs ends well."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "jobs"
SKIPPED = 77  # of a script whose packages are missing; its last line says which


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_job(name, tmp_path):
    pytest.importorskip("sklearn")
    ran = subprocess.run([sys.executable, FOLDER / f"{name}.py"], cwd=tmp_path, capture_output=True, text=True)
    if ran.returncode == SKIPPED:
        pytest.skip(ran.stdout.strip().splitlines()[-1])
    assert ran.returncode == 0, ran.stdout + ran.stderr
