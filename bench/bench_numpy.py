#!/usr/bin/env python3
"""The embedding against the best NumPy has, and torch where it is installed: f32, same rows, taking turns.

    python3 bench/bench_numpy.py [MiB of input, default 128] [rounds, default 9]

The library is build/libcapball.so, through ctypes, on one thread and on two. The last column is what the fastest copy
of as many bytes has on two threads, the roofline of bench_embed (build/libcpb_roofline.so, which `make bench` builds)."""
import ctypes
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import library  # noqa: E402
import numpy as np  # noqa: E402

MIB = int(sys.argv[1]) if len(sys.argv) > 1 else 128
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 9
S = np.float32(1)


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("d", ctypes.c_size_t), ("s", ctypes.c_double)] + [
        (name, ctypes.c_void_p) for name in ("center", "pole", "whiten", "toward")]


def load():
    lib = library.load()
    lib.cpb_map_options_default.restype = Options
    lib.cpb_map_embed.argtypes = [ctypes.c_void_p, library.Rows, library.Rows, ctypes.c_void_p, ctypes.c_void_p]
    return lib


def zeros(n, d):
    """Rows that begin on a cache line, touched, for both sides alike. np.empty asks for huge pages, as for any result of
    NumPy's own; np.zeros does not."""
    raw = np.empty(n * d * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    rows_of = raw[start:start + n * d * 4].view(np.float32).reshape(n, d)
    rows_of[...] = 0
    return rows_of


def numpy_ways(x, y):
    """The ways a good NumPy user writes it; out= everywhere, so that no fresh pages are paid for."""
    def whole():
        n = np.einsum("ij,ij->i", x, x)
        factor = 1 / (n + S * S)
        np.multiply(x, (2 * S * factor)[:, None], out=y[:, :-1])
        np.multiply(S * S - n, factor, out=y[:, -1])

    def blocks():
        step = max(1, (1 << 16) // x.shape[1])
        for i in range(0, len(x), step):
            part, out = x[i:i + step], y[i:i + step]
            n = np.einsum("ij,ij->i", part, part)
            factor = 1 / (n + S * S)
            np.multiply(part, (2 * S * factor)[:, None], out=out[:, :-1])
            np.multiply(S * S - n, factor, out=out[:, -1])

    def paper():
        n = (x * x).sum(axis=1)
        y[:, :-1] = x
        y[:, -1] = S
        np.multiply(y, (2 * S / (n + S * S))[:, None], out=y)
        y[:, -1] -= 1

    return [whole, blocks, paper]


def torch_ways(x, y):
    try:
        import torch
    except ImportError:
        return []
    torch.set_num_threads(2)
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)

    def whole():
        n = (tx * tx).sum(1)
        factor = 1 / (n + 1)
        torch.mul(tx, (2 * factor)[:, None], out=ty[:, :-1])
        torch.mul(1 - n, factor, out=ty[:, -1])

    return [whole]


def best(ways):
    """The best time of each way, all taking turns."""
    times = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for i, way in enumerate(ways):
            start = time.perf_counter()
            way()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def main():
    lib = load()
    two = library.threads(lib, 2)
    print(f"# {lib.cpb_isa_name().decode()} loops, NumPy {np.__version__}, f32, {MIB} MiB of input, best of {ROUNDS}")
    print("# times as fast as the best NumPy (and torch, 2 threads, where it is installed)")
    print(f"#{'d':>5} {'rows':>9} {'NumPy ms':>9} {'1 thread':>9} {'2 threads':>9} {'torch':>9} {'the copy':>9}")
    for d in (2, 10, 24, 64, 128, 784, 1536):
        n = (MIB << 20) // 4 // d
        x, y, z = zeros(n, d), zeros(n, d + 1), zeros(n, d + 1)
        x[...] = np.random.default_rng(1).standard_normal((n, d), dtype=np.float32)
        options = lib.cpb_map_options_default()
        options.d = d
        handle = ctypes.c_void_p()
        lib.cpb_map_new(ctypes.byref(options), ctypes.byref(handle), None)
        ours = [lambda: lib.cpb_map_embed(handle, library.rows(x), library.rows(z), None, None),
                lambda: lib.cpb_map_embed(handle, library.rows(x), library.rows(z), two, None)]
        rivals, torches = numpy_ways(x, y), torch_ways(x, y)
        room = zeros(n, d + 1)
        times = best(ours + rivals + torches + [library.roofline(x, room, two)])
        if not np.allclose(y, z, atol=1e-5):
            sys.exit("bench_numpy: the results differ")
        numpy_time = min(times[2:2 + len(rivals)])
        torch_ratio = f"{min(times[2 + len(rivals):-1]) / times[1]:9.1f}" if torches else "        -"
        print(f"{d:6} {n:9} {numpy_time * 1e3:9.1f} {numpy_time / times[0]:9.1f} {numpy_time / times[1]:9.1f} {torch_ratio} "
              f"{numpy_time / (times[-1] * (x.nbytes + y.nbytes) / (2 * x.nbytes)):9.1f}",
              flush=True)
        lib.cpb_map_free(handle)


main()
