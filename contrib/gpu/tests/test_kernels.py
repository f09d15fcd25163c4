"""The Triton kernels of capball.torch by Triton's interpreter, on machines without a GPU (conftest.py turns it on)."""

import types

import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("test_gpu.py runs the kernels", allow_module_level=True)
if np.lib.NumpyVersion(np.__version__) >= "2.4.0" and tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9):
    pytest.skip("Triton's interpreter does not run with this NumPy", allow_module_level=True)

import kernel_cases as cases
import kernel_shapes
from capball.torch import _caps, _codes, _kernels, _search

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
@pytest.mark.parametrize("d", [1, 3, 16, 33])
def test_rows_of_every_size(dtype, d):
    torch.manual_seed(d)
    cases.check_rows(_kernels, "cpu", dtype, d)


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_edges(dtype):
    cases.check_edges(_kernels, "cpu", dtype)


@pytest.mark.parametrize("shape", ["blocks", "runs"])
def test_layouts(monkeypatch, shape):
    monkeypatch.setattr(_kernels, "_shape", kernel_shapes.shapes_of(shape, 32))
    cases.check_layouts(_kernels, "cpu")


@pytest.mark.parametrize("shape", ["runs", "strips and rows"])
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_shapes(monkeypatch, dtype, shape):
    monkeypatch.setattr(_kernels, "_shape", kernel_shapes.shapes_of(shape, 16))
    torch.manual_seed(0)
    cases.check_rows(_kernels, "cpu", dtype, 5, n=24, scales=(1.0,))
    for d in (5, 10):
        cases.check_usual_rows(_kernels, "cpu", dtype, d, n=24)


@pytest.mark.parametrize("shape", ["narrow blocks", "wide runs", "strips"])
def test_other_shapes(monkeypatch, shape):
    monkeypatch.setattr(_kernels, "_shape", kernel_shapes.shapes_of(shape, 16))
    torch.manual_seed(0)
    cases.check_usual_rows(_kernels, "cpu", torch.bfloat16, 10, n=24)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_caps(dtype):
    cases.check_caps(_caps, "cpu", dtype, 5, 3, 150)


class Launcher:
    """As Triton has it: a function behind one that adds arguments."""

    def __init__(self, *added):
        self.added, self.launch = added, lambda *given: given

    def __call__(self, x, y, z, stream, function, *others):
        return self.launch(x, y, z, stream, function, *self.added, *others)


class Moved(Launcher):
    def __call__(self, x, y, z, stream, function, *others):
        return self.launch(stream, x, y, z, function, *self.added, *others)


@pytest.mark.parametrize("run, direct", [
    (Launcher(False, False, None, None), True), (Launcher(), True), (Launcher(False, bytearray(8)), False), (Moved(False), False),
    (lambda *given: given, False)])
def test_a_launch_has_the_arguments_that_triton_passes(run, direct):
    """Whichever function is called; the one behind the launcher only if that one adds nothing but constants."""
    compiled = types.SimpleNamespace(run=run, function=7, packed_metadata=(4, 1, 0))
    launch, function, first, last = _kernels._launch_of(compiled, [1, 2], (3,))
    assert (launch is not run) == direct
    wanted = run(5, 1, 1, 9, 7, (4, 1, 0), None, None, None, 10, 20, 3)
    assert launch(5, 1, 1, 9, function, *first, 10, 20, *last) == wanted


@pytest.mark.parametrize("case", list(cases.sets_of_rows(260, 2, 9)), ids=lambda case: case[0])
def test_neighbours(monkeypatch, case):
    monkeypatch.setattr(_search, "_has_kernels", lambda device: True)
    monkeypatch.setattr(_codes, "_BLOCK_ROWS", 128)
    _, base, queries = case
    index = _search.Index(base)
    cases.check_neighbours(index, base, queries, 5)


def test_many_neighbours_of_long_rows(monkeypatch):
    monkeypatch.setattr(_search, "_has_kernels", lambda device: True)
    torch.manual_seed(4)
    base, queries = torch.randn(300, 530), torch.randn(2, 530)
    cases.check_neighbours(_search.Index(base), base, queries, 40)
