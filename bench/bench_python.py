#!/usr/bin/env python3
"""What the Python package costs over the C library: the same map, the same arrays, taking turns.

    build/python-short/bin/python bench/bench_python.py [rows, default 1000000] [rounds, default 15]

First one row of d = 128 into `out=`, in microseconds, the C call beside it. Then as many rows as asked for, f32 and f64, on
one thread and on two, beside the C library (build/libcapball.so, through ctypes): the best of rounds that take turns, and the
median of the rounds' ratios, so that a machine on which others work slows both alike. Last two threads on one map, each
with half of the rows, that call either, and how many times faster than one either pair is."""
import ctypes
import os
import sys
import threading
import time
import timeit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import library  # noqa: E402
import numpy as np  # noqa: E402

try:
    import capball
except ImportError:
    print("skipped: this Python has no capball; tools/test-python short makes one in build/python-short")
    raise SystemExit(0)

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
D = 128


class Library:
    """The same map in C."""

    def __init__(self, text):
        self.lib = library.load()
        self.lib.cpb_map_embed.argtypes = [ctypes.c_void_p, library.Rows, library.Rows, ctypes.c_void_p, ctypes.c_void_p]
        self.lib.cpb_pool_exec.restype = ctypes.c_void_p
        self.map, pool = ctypes.c_void_p(), ctypes.c_void_p()
        data = text.encode()
        assert self.lib.cpb_map_from_json(data, ctypes.c_size_t(len(data)), b"map", ctypes.byref(self.map), None) == 0
        assert self.lib.cpb_pool_new(ctypes.c_size_t(2), ctypes.byref(pool), None) == 0
        self.pool = self.lib.cpb_pool_exec(pool)

    def embed(self, x, y, threads):
        views = [library.Rows(a.ctypes.data, 0 if a.dtype == np.float32 else 1, *a.shape, a.shape[1]) for a in (x, y)]
        assert self.lib.cpb_map_embed(self.map, *views, self.pool if threads == 2 else None, None) == 0


def in_turns(calls):
    """The least seconds that each call takes, one round after the other, and the median ratio of the first to the second."""
    seconds = [[] for _ in calls]
    for turn in range(ROUNDS):
        for i in range(len(calls))[:: 1 if turn % 2 else -1]:
            began = time.perf_counter()
            calls[i]()
            seconds[i].append(time.perf_counter() - began)
    return *map(min, seconds), float(np.median(np.divide(*seconds[:2])))


def one_row(m, c):
    x, y = np.ones(D, np.float32), np.empty(D + 1, np.float32)
    rows = [library.Rows(a.ctypes.data, 0, 1, a.size, a.size) for a in (x, y)]
    call, embed = c.lib.cpb_map_embed, m.embed
    python = min(timeit.repeat(lambda: embed(x, y), number=2000, repeat=20 * ROUNDS)) / 2000
    empty = min(timeit.repeat(lambda: None, number=2000, repeat=20 * ROUNDS)) / 2000
    through_ctypes = min(timeit.repeat(lambda: call(c.map, *rows, None, None), number=2000, repeat=20 * ROUNDS)) / 2000
    print(f"one row of d = {D} into out=     {1e6 * (python - empty):6.2f} us    (through ctypes {1e6 * (through_ctypes - empty):.2f} us)")


def many_rows(m, c, dtype):
    x = np.random.default_rng(0).normal(size=(ROWS, D)).astype(dtype)
    y = np.zeros((ROWS, D + 1), dtype)
    single = {}
    for threads in (1, 2):
        calls = [lambda: m.embed(x, y, threads=threads if threads == 1 else None), lambda: c.embed(x, y, threads)]
        ours, theirs, ratio = single[threads] = in_turns(calls)
        print(f"{ROWS} rows, {np.dtype(dtype).name}, {threads} threads  {ours * 1e3:7.1f} ms in Python, {theirs * 1e3:7.1f} ms in C, "
              f"ratio {ours / theirs:.3f}, median {ratio:.3f}")
    halves = [(x[:ROWS // 2], y[:ROWS // 2]), (x[ROWS // 2:], y[ROWS // 2:])]
    ours, theirs, ratio = in_turns([lambda: two_threads(lambda a, b: m.embed(a, b, threads=1), halves),
                                    lambda: two_threads(lambda a, b: c.embed(a, b, 1), halves)])
    print(f"two threads on one map, {np.dtype(dtype).name}  {ours * 1e3:7.1f} ms in Python, {theirs * 1e3:7.1f} ms in C, "
          f"ratio {ours / theirs:.3f}, median {ratio:.3f}; {single[1][0] / ours:.2f} and {single[1][1] / theirs:.2f} times one thread")


def two_threads(call, halves):
    crew = [threading.Thread(target=call, args=half) for half in halves]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()


m = capball.SphereMap(D, 10.0, center=np.linspace(-1, 1, D))
c = Library(m.to_json())
print(f"capball {capball.__version__}, {capball._core.isa}, Python {sys.version.split()[0]}, NumPy {np.__version__}")
one_row(m, c)
for dtype in (np.float32, np.float64):
    many_rows(m, c, dtype)
