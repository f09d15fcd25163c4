"""A thousand calls with arguments that do not belong: each gives an answer or a Python error, never a crash.

CPB_MISUSES sets how many; `make asan-python` runs them with the C part under ASan and UBSan.
"""

import os
import threading

import numpy as np
import pytest

import capball
from capball import _core

COUNT = int(os.environ.get("CPB_MISUSES", "1000"))
ERRORS = (ValueError, TypeError, MemoryError, OverflowError, BufferError, RuntimeError, AttributeError, IndexError, OSError,
          ImportError, capball.CapballError)


class Liar:
    """Says that it is an array, and is none."""

    __array_interface__ = {"shape": (3, 3), "typestr": "<f8", "version": 3, "data": (0, False)}
    dtype = np.dtype(np.float64)

    def __len__(self):
        return 2**40

    def __getitem__(self, i):
        raise KeyError(i)


class Broken:
    def __array__(self, *_, **__):
        raise ValueError("no")

    def __index__(self):
        raise TypeError("no")

    def __float__(self):
        raise TypeError("no")


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def pool(rng):
    x = rng.normal(size=(9, 3))
    bad = x.copy()
    bad[4, 1] = np.nan
    infinite = x.copy()
    infinite[0, 0] = np.inf
    m = capball.SphereMap(3, 1.0)
    statistics = capball.Statistics(3)
    statistics.update(x)
    return [
        x, x[::-1], x[:, ::-1], x[::2, ::2], np.asfortranarray(x), x.astype(np.float32), x.astype(np.float16),
        x.astype(np.uint8), x.astype(np.int8), x.astype(np.int32), x.astype(np.int64), x.astype(">f8"),
        x.astype(complex), x.astype(object), x.astype(str), x[:0], x[:, :0], np.empty((0, 0)), x[0], x[0, 0], x[None],
        bad, infinite, x * 1e308, x * 1e-308, np.zeros((9, 3)), np.ones((9, 4)) / 2, read_only(x), x.tolist(), [[1], [2, 3]],
        np.lib.stride_tricks.as_strided(x, (9, 3), (0, 8)), np.frombuffer(bytes(8 * 28), np.uint8)[1:217].view(np.float64).reshape(9, 3),
        np.ma.masked_array(x, bad != bad), np.matrix(x), np.rec.array([(1.0, 2.0)]), memoryview(x), b"bytes", bytearray(24),
        "text", "float32", "l2", "cosine", "mean", "recall", "rbf", "lift-ip", "", "\0", "\ud800", None, True, False, 0, 1, -1, 3, 7,
        2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 0.5, 1e308, float("nan"), float("inf"), 1j, (), [], {}, (1, 2),
        (np.empty((9, 3)), np.empty((9, 3), np.int64)), np.arange(9), np.arange(9)[:, None], np.full((9, 2), 2**40),
        np.full((9, 2), -1), np.zeros((9, 2), np.int64), object(), Liar(), Broken(), lambda *a: None, type, m,
        capball.enclosing_ball(x), capball.Sketch.fit(x, 8), statistics, capball.Search(x, k=1),
        capball.Transform.fit("lift-ip", x), capball.Ball([0.0, 0, 0], 1.0), capball.Cap([1.0, 0, 0, 0], 0.5), m.to_json(),
        m.to_json()[:-9], statistics.serialize(), statistics.serialize()[:40], np.float64, np.dtype("float32"), "int8",
    ]


NAMES = ("x", "out", "dtype", "threads", "k", "s", "map", "radius", "scores", "center", "weights", "nu", "ids", "metric",
         "progress", "nonsense")
# Numbers of threads are taken at their word: two of them are left.
FEW = (None, 1, 2, "two", -1)


def callables(things):
    made = [getattr(_core, name) for name in dir(_core) if not name.startswith("__") and name != "write_whole"]
    calls = [call for call in made if callable(call)]
    for thing in things:
        if type(thing).__module__.startswith("capball"):
            calls += [getattr(thing, name) for name in dir(thing)
                      if (not name.startswith("_") or name in ("_cap", "_region")) and callable(getattr(thing, name))
                      and name not in ("save",)]
    for kind in (_core.Map, _core.Model, _core.Sketch, _core.Transform, _core.Statistics):
        calls += [getattr(kind, name) for name in ("fit", "from_json", "deserialize") if hasattr(kind, name)]
    return calls


def misuse(rng, calls, things):
    call = calls[rng.integers(len(calls))]
    args = [things[i] for i in rng.integers(len(things), size=rng.integers(0, 6))]
    names = rng.choice(NAMES, size=rng.integers(0, 3), replace=False)
    keywords = {str(name): things[rng.integers(len(things))] for name in names}
    if "threads" in keywords:
        keywords["threads"] = FEW[rng.integers(len(FEW))]
    try:
        call(*args, **keywords)
    except ERRORS:
        return "refused"
    return "answered"


@pytest.mark.filterwarnings("ignore")
def test_no_misuse_is_a_crash():
    rng = np.random.default_rng(int(os.environ.get("CPB_SEED", "1")))
    things = pool(rng)
    calls = callables(things)
    outcomes = [misuse(rng, calls, things) for _ in range(COUNT)]
    assert outcomes.count("refused") > COUNT / 2
    np.testing.assert_allclose(things[0], pool(np.random.default_rng(int(os.environ.get("CPB_SEED", "1"))))[0])


def test_objects_live_as_long_as_they_are_used():
    """A map, a view and an out that nobody else holds, while a thread is in the call."""
    x = np.random.default_rng(0).normal(size=(20000, 32))
    wanted = capball.SphereMap(32, 1.0).embed(x)
    results = []

    def work():
        results.append(capball.SphereMap(32, 1.0).embed(x.copy(), out=np.empty((20000, 33))))

    crew = [threading.Thread(target=work) for _ in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    for got in results:
        np.testing.assert_array_equal(got, wanted)
