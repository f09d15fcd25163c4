#!/usr/bin/env python3
"""The embedding and its inverse against the best NumPy has, and torch where it is installed: f32, taking turns.

    python3 bench/bench_numpy.py [MiB of input, default 128] [rounds, default 9]

The library is build/libcapball.so, through ctypes, on one thread and on two. The last column is what the fastest copy
of as many bytes has on two threads, the roofline of bench_embed (build/libcpb_roofline.so, which `make bench` builds).
The scale is the rows' own size, sqrt(d): there the short formula of the inverse, s y/(1+y0), is good enough."""
import ctypes
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
import library  # noqa: E402
import numpy as np  # noqa: E402

MIB = int(sys.argv[1]) if len(sys.argv) > 1 else 128
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 9


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("d", ctypes.c_size_t), ("s", ctypes.c_double)] + [
        (name, ctypes.c_void_p) for name in ("center", "pole", "whiten", "toward")]


def load():
    lib = library.load()
    for call in (lib.cpb_map_embed, lib.cpb_map_unembed):
        call.argtypes = [ctypes.c_void_p, library.Rows, library.Rows, ctypes.c_void_p, ctypes.c_void_p]
    return lib


def room(n, d):
    """Rows that begin on a cache line, touched, for both sides alike. np.empty asks for huge pages, as NumPy does for its
    own results; np.zeros of NumPy 1.24 does not."""
    raw = np.empty(n * d * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    rows_of = raw[start:start + n * d * 4].view(np.float32).reshape(n, d)
    rows_of[...] = 0
    return rows_of


def embed_ways(x, y, s):
    """The ways a good NumPy user writes it; out= everywhere, so that no fresh pages are paid for."""
    def whole():
        n = np.einsum("ij,ij->i", x, x)
        factor = 1 / (n + s * s)
        np.multiply(x, (2 * s * factor)[:, None], out=y[:, :-1])
        np.multiply(s * s - n, factor, out=y[:, -1])

    def blocks():
        step = max(1, (1 << 16) // x.shape[1])
        for i in range(0, len(x), step):
            part, out = x[i:i + step], y[i:i + step]
            n = np.einsum("ij,ij->i", part, part)
            factor = 1 / (n + s * s)
            np.multiply(part, (2 * s * factor)[:, None], out=out[:, :-1])
            np.multiply(s * s - n, factor, out=out[:, -1])

    def paper():
        n = (x * x).sum(axis=1)
        y[:, :-1] = x
        y[:, -1] = s
        np.multiply(y, (2 * s / (n + s * s))[:, None], out=y)
        y[:, -1] -= 1

    return [whole, blocks, paper]


def unembed_ways(y, x, s):
    def whole():
        np.multiply(y[:, :-1], (s / (1 + y[:, -1]))[:, None], out=x)

    def blocks():
        step = max(1, (1 << 16) // x.shape[1])
        for i in range(0, len(x), step):
            part = y[i:i + step]
            np.multiply(part[:, :-1], (s / (1 + part[:, -1]))[:, None], out=x[i:i + step])

    return [whole, blocks]


def torch_ways(inverse, source, target, s):
    try:
        import torch
    except ImportError:
        return []
    torch.set_num_threads(2)
    a, b = torch.from_numpy(source), torch.from_numpy(target)
    s = float(s)

    def embed():
        n = (a * a).sum(1)
        factor = 1 / (n + s * s)
        torch.mul(a, (2 * s * factor)[:, None], out=b[:, :-1])
        torch.mul(s * s - n, factor, out=b[:, -1])

    def unembed():
        torch.mul(a[:, :-1], (s / (1 + a[:, -1]))[:, None], out=b)

    return [unembed if inverse else embed]


def best(ways):
    """The best time of each way, all taking turns."""
    times = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for i, way in enumerate(ways):
            start = time.perf_counter()
            way()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def compare(name, call, handle, two, source, target, rivals, torches):
    """One row of the table; `rivals` and `torches` write to memory of their own, of which the caller checks
    what the last of them left."""
    ours = [lambda: call(handle, library.rows(source), library.rows(target), None, None),
            lambda: call(handle, library.rows(source), library.rows(target), two, None)]
    bytes_moved = source.nbytes + target.nbytes
    small, large = sorted((source, target), key=lambda rows: rows.nbytes)
    copied = room(*large.shape)
    times = best(ours + rivals + torches + [library.roofline(small, copied, two)])
    numpy_time, copy_time = min(times[2:2 + len(rivals)]), times[-1] * bytes_moved / (2 * small.nbytes)
    torch_ratio = f"{min(times[2 + len(rivals):-1]) / times[1]:9.1f}" if torches else "        -"
    n, d = len(source), small.shape[1]
    print(f"{name:8} {d:5} {n:9} {numpy_time * 1e3:9.1f} {numpy_time / times[0]:9.1f} {numpy_time / times[1]:9.1f} "
          f"{torch_ratio} {numpy_time / copy_time:9.1f}", flush=True)


def main():
    lib = load()
    two = library.threads(lib, 2)
    print(f"# {library.processor()}, {lib.cpb_isa_name().decode()} loops, NumPy {np.__version__}, f32, {MIB} MiB of input, "
          f"best of {ROUNDS}")
    print("# times as fast as the best NumPy (and torch, 2 threads, where it is installed)")
    print(f"#{'':7} {'d':>5} {'rows':>9} {'NumPy ms':>9} {'1 thread':>9} {'2 threads':>9} {'torch':>9} {'the copy':>9}")
    for d in (2, 10, 24, 64, 128, 784, 1536):
        n = (MIB << 20) // 4 // d
        x, y, other_y, other_x = room(n, d), room(n, d + 1), room(n, d + 1), room(n, d)
        x[...] = np.random.default_rng(1).standard_normal((n, d), dtype=np.float32)
        options = Options()
        lib.cpb_map_options_init(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.d, options.s = d, float(np.float32(d ** 0.5))
        s = np.float32(options.s)
        handle = ctypes.c_void_p()
        lib.cpb_map_new(ctypes.byref(options), ctypes.byref(handle), None)
        compare("embed", lib.cpb_map_embed, handle, two, x, y, embed_ways(x, other_y, s),
                torch_ways(False, x, other_y, s))
        back = room(n, d)
        compare("unembed", lib.cpb_map_unembed, handle, two, y, back, unembed_ways(y, other_x, s),
                torch_ways(True, y, other_x, s))
        if not np.allclose(y, other_y, atol=1e-5) or not np.allclose(back, other_x, rtol=1e-4, atol=1e-4):
            sys.exit("bench_numpy: the results differ")
        lib.cpb_map_free(handle)


main()
