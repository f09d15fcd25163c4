"""The stubs name what the C part has, and mypy finds nothing in the package."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from capball import _core

ROOT = Path(__file__).resolve().parents[2]


def members(nodes):
    """The names that the body of a stub gives, those of its bases included; {name: members} for classes."""
    found, classes = {}, {}
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            bases = [classes[base.id] for base in node.bases]
            classes[node.name] = {name for base in bases for name in base} | set(members(node.body))
            found[node.name] = classes[node.name]
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


def public(names):
    return {name for name in names if not name.startswith("_") or name in ("_cap", "_region")}


def test_stubs_name_what_there_is():
    stub = members(ast.parse((ROOT / "python" / "capball" / "_core.pyi").read_text()).body)
    if not (ROOT / "contrib" / "sql").is_dir():
        stub = {name: inside for name, inside in stub.items() if not name.lower().startswith("sql")}
    assert public(stub) == public(dir(_core))
    for name, inside in stub.items():
        if inside is not None and not name.startswith("_"):
            assert public(inside) == public(dir(getattr(_core, name))), name


def test_mypy_finds_nothing(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    asked = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", str(tmp_path)]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
