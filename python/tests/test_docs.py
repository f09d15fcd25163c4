"""Every example in a docstring runs."""

import doctest
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name, needs", [("capball", "numpy"), ("capball.dual", "numpy"), ("capball._map", "numpy"),
                                         ("capball._model", "numpy"), ("capball._hits", "numpy"), ("capball._index", "numpy"), ("capball._recommend", "numpy"), ("capball.engines", "numpy"),
                                         ("capball.sklearn", "sklearn"), ("capball.pyod", "pyod"),
                                         ("capball.torch", "torch"), ("capball.torch._search", "torch"), ("capball.plots", "matplotlib")])
def test_examples(name, needs):
    pytest.importorskip(needs)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0


def test_samples_of_the_page(tmp_path, monkeypatch):
    """The blocks of docs/reference/python.md, one after the other in one session."""
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    torch = importlib.util.find_spec("torch")
    text = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text()
    blocks = [block for block in re.findall(r"```python\n(.*?)```", text, re.S) if torch or "torch" not in block]
    runner, names = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), {}
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", "docs/reference/python.md", 0)
        runner.run(test, clear_globs=False)
        names = test.globs
    assert len(blocks) >= 5 and runner.failures == 0


def test_samples_of_the_readme(command, tmp_path, monkeypatch):
    """Its blocks of Python, one after the other in one session; they assert what they promise. Then its commands, on their files."""
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    names = {}
    for block in blocks:
        if "torch" in block and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(block, "README.md", "exec"), names)
    assert len(blocks) == 7 and sum("assert" in block for block in blocks) >= 5
    lines = "".join(re.findall(r"```sh\n(.*?)```", text, re.S)).replace("\\\n", "").splitlines()
    commands = [line for line in lines if re.match("capball|echo", line)]
    assert len(commands) >= 12
    places = {"PATH": os.pathsep.join([str(Path(command).parent), str(Path(sys.executable).parent), os.environ["PATH"]])}
    for line in commands:
        engine = re.search(r"capball.engines (\w+)", line)
        if engine is None or importlib.util.find_spec(engine[1]):
            subprocess.run(line, shell=True, check=True, capture_output=True, text=True, env={**os.environ, **places})
