"""The notebooks run from the first cell to the last."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("matplotlib")

BOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
NEEDS = {"linear": "sklearn", "outliers": "sklearn", "layer": "torch"}


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path, monkeypatch):
    pytest.importorskip("ipykernel")
    pytest.importorskip(NEEDS.get(path.stem, "numpy"))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert sum(cell.cell_type == "code" for cell in book.cells) >= 4


def test_there_are_five():
    assert len(BOOKS) == 5
