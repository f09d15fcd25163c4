"""What is shown runs: examples in docstrings, samples of the pages, notebooks, and the jobs of tests/users."""

import doctest
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import forked
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


ROOT = Path(__file__).parents[2]
# Each page, with the number of blocks of Python that it has, of those that assert, and of the commands that follow.
TUTORIALS = {"README.md": (1, 1, 0), "python/README.md": (1, 0, 0), "docs/tutorials/cosine-engine.md": (1, 1, 2), "docs/tutorials/exact-neighbours.md": (2, 2, 2),
             "docs/tutorials/outlier-reasons.md": (1, 1, 2), "docs/tutorials/linear-balls.md": (4, 4, 1),
             "docs/tutorials/small-codes.md": (1, 1, 4), "docs/tutorials/layer.md": (1, 1, 0)}


def samples(page):
    """The blocks of Python of a page, and its lines of shell that are commands of capball."""
    text = (ROOT / page).read_text()
    lines = "".join(re.findall(r"```sh\n(.*?)```", text, re.S)).replace("\\\n", "").splitlines()
    return re.findall(r"```python\n(.*?)```", text, re.S), [line for line in lines if re.match("capball|echo", line)]


@pytest.mark.parametrize("page", TUTORIALS)
def test_samples_of_tutorials(page, command, tmp_path, monkeypatch):
    """Blocks of Python, one after the other in one session; they assert what they promise. Then the commands, on their files."""
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    blocks, commands = samples(page)
    assert (len(blocks), sum("assert" in block for block in blocks), len(commands)) == TUTORIALS[page]
    names = {}
    for block in blocks:
        for needed, word in (("torch", "torch"), ("pandas", "as_frame")):
            if word in block:
                pytest.importorskip(needed)
        exec(compile(block, page, "exec"), names)
    places = {"PATH": os.pathsep.join([str(Path(command).parent), str(Path(sys.executable).parent), os.environ["PATH"]])}
    for line in commands:
        engine = re.search(r"capball.engines (\w+)", line)
        if engine is None or importlib.util.find_spec(engine[1]):
            subprocess.run(line, shell=True, check=True, capture_output=True, text=True, env={**os.environ, **places})


def test_tutorials_with_samples_are_all_run():
    pages = [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").glob("tutorials/*.md"))]
    assert [page for page in pages if page not in TUTORIALS and any(samples(page))] == []


# ---- notebooks, from the first cell to the last

BOOKS = sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))
NEEDS = {"linear": "sklearn", "outliers": "sklearn", "layer": "torch"}


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for needed in ("matplotlib", "ipykernel", NEEDS.get(path.stem, "numpy")):
        pytest.importorskip(needed)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert sum(cell.cell_type == "code" for cell in book.cells) >= 4


def test_there_are_six_notebooks():
    assert len(BOOKS) == 6


# ---- what a newcomer would do from the words of the tutorials alone

JOBS = ROOT / "tests" / "users"
SKIPPED = 77  # of a script whose packages are missing; its last line says which


@pytest.mark.parametrize("name", sorted(path.stem for path in JOBS.glob("*.py")))
def test_job(name, tmp_path):
    pytest.importorskip("sklearn")
    code, said = forked.run([JOBS / f"{name}.py"], tmp_path)
    if code == SKIPPED:
        pytest.skip(said.strip().splitlines()[-1])
    assert code == 0, said
