"""What a newcomer would do from the words of the tutorials alone: every script of tests/users ends well."""

from pathlib import Path

import forked
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "users"
SKIPPED = 77  # of a script whose packages are missing; its last line says which


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_job(name, tmp_path):
    pytest.importorskip("sklearn")
    code, said = forked.run([FOLDER / f"{name}.py"], tmp_path)
    if code == SKIPPED:
        pytest.skip(said.strip().splitlines()[-1])
    assert code == 0, said
