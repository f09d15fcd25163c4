#!/usr/bin/env python3
"""capball.torch on a CUDA device: the layer beside a copy of the same bytes, nets beside nets with ReLU, exact neighbours.

    PYTHON bench/bench_gpu.py [layer] [nets] [search]     parts to run, all where none is named
    PYTHON bench/bench_gpu.py tune                        block sizes, the fastest first, for capball/torch/_shapes.py

Times are medians between events on the device. The layer moves 0.5 GB of rows; its numbers are fractions of the speed of a copy
measured in the same run. DATA names a folder of sets (NAME/base.npy, NAME/queries.npy), whose neighbours are compared with the
CPU's."""
import itertools
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

try:
    import torch

    import capball.torch as layers
except ImportError:
    print("skipped: this Python has no torch with capball")
    raise SystemExit(0)

BYTES = 5e8
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}
LENGTHS = (1, 2, 3, 10, 16, 32, 50, 64, 100, 128, 256, 784, 2048, 8192)


def seconds(call, repeats=20, in_a_row=8):
    """The median time of a call on the device, which has the next one when a call ends."""
    for _ in range(3):
        call()
    took = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(in_a_row):
            call()
        end.record()
        end.synchronize()
        took.append(begin.elapsed_time(end) / 1e3 / in_a_row)
    return statistics.median(took)


def wall_seconds(call, repeats=30):
    """The median time of a call that ends with the device idle."""
    for _ in range(5):
        call()
    took = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        call()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def copy_speed():
    """Bytes read and written per second by a copy."""
    here = torch.randn(int(BYTES) // 4, device="cuda")
    there = torch.empty_like(here)
    return 2 * 4 * here.numel() / seconds(lambda: there.copy_(here))


# ---- the layer ----


def written_out(x, t):
    """What people write."""
    s = t.exp()
    n = (x * x).sum(-1, keepdim=True)
    q = n + s * s
    return torch.cat([x * (2 * s / q), (s * s - n) / q], dim=-1)


def rows_of(dtype, d):
    """How many rows of d numbers are 0.5 GB."""
    return max(4096, int(BYTES / dtype.itemsize / d) // 4096 * 4096)


KERNELS = ("embed", "unembed", "embed backward", "unembed backward")


def kernel_calls(x, y, g, t):
    """Name, call and numbers moved of each kernel, for rows x, points y and gradients g of points."""
    kernels, (n, d) = layers._triton(), x.shape
    calls = (lambda: kernels.embed(x, t, None), lambda: kernels.unembed(y, t, None), lambda: kernels.embed_backward(x, t, None, g),
             lambda: kernels.unembed_backward(y, t, x))
    return dict(zip(KERNELS, zip(calls, (n * (2 * d + 1), n * (2 * d + 1), n * (3 * d + 1), n * (3 * d + 2)))))


def bench_layer():
    copy, t = copy_speed(), torch.tensor(0.3, device="cuda")
    print(f"\n## The layer, 0.5 GB of rows, fraction of the copy ({copy / 1e12:.2f} TB/s)\n")
    print("| type | d | embed | unembed | embed backward | unembed backward | torch operations, embed | torch.compile, embed |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, d in itertools.product(TYPES, LENGTHS):
        if name == "f64" and d not in (2, 16, 128, 784):
            continue
        x, g = (torch.randn(rows_of(TYPES[name], d), cols, device="cuda").to(TYPES[name]) for cols in (d, d + 1))
        size, y = x.element_size(), layers._triton().embed(x, t, None)
        cells = [size * count / seconds(call) / copy for call, count in kernel_calls(x, y, g, t).values()]
        moved = size * x.shape[0] * (2 * d + 1)
        cells.append(moved / seconds(lambda: written_out(x, t), 5) / copy)
        if name in ("f32", "bf16") and d in (2, 16, 128, 784):
            compiled = torch.compile(written_out)
            cells.append(moved / seconds(lambda: compiled(x, t), 5) / copy)
        print(f"| {name} | {d} |", " | ".join(f"{cell:.2f}" for cell in cells), "|" if len(cells) == 6 else "| |", flush=True)
        del x, y, g
        torch.cuda.empty_cache()


# ---- block sizes ----


def blocks(D):
    """Blocks of rows that are tried, as in Shape."""
    some = [(256, 1), (512, 1), (1024, 1), (512, 2), (1024, 2), (2048, 2)]
    if D > 256:
        some = [(1024, 1), (1024, 2), (2048, 1), (2048, 2), (2048, 4), (4096, 8)]
    if D > 4096:
        some = [(D, 4), (D, 8), (D, 16)]
    return [(numbers, warps, word, 0, 0) for numbers, warps in some if numbers >= D for word in (0, 4)]


def runs(kernel, size, D):
    """Runs of rows that are tried: for short rows, and embeddings of those up to 64."""
    if D > 64 or (D > 16 and kernel != "embed"):
        return
    sums = (1, 2, 4, 8) if kernel.endswith("backward") else (0,)
    for rows, warps, word, across in itertools.product((64, 128, 256, 512, 1024), (1, 2, 4), (max(1, 4 // size), 16 // size), sums):
        if 4 <= rows * D / (32 * warps) <= 64:
            yield rows * D, warps, word, across, 1


def strips(kernel, size, D):
    """Strips that are tried, of all kernels but the embedding."""
    if kernel == "embed" or D > 1024:
        return
    for rows, warps, word, across in itertools.product((2, 4, 8, 16, 32, 64, 512), (1, 2, 4), (0, 1), (2, 4, 8, 16, 32, 64)):
        if 8 <= rows * D / (32 * warps) <= 64 and rows * across >= 128 * warps // size and across <= 2 * D:
            yield rows * D, warps, word, across, 2


def shapes(kernel, name, d):
    D, size = 1 << (d - 1).bit_length(), TYPES[name].itemsize
    return [*blocks(D), *runs(kernel, size, D), *strips(kernel, size, D)]


def with_shape(shape):
    from capball.torch._shapes import Shape
    layers._triton()._shape = SHAPES.setdefault(shape, lambda kernel, size, d, D: Shape(*shape))


SHAPES = {}


def tensors(name, d, n):
    """Rows, points and gradients of such, and t."""
    x, g, y = (torch.randn(n, cols, device="cuda") for cols in (d, d + 1, d + 1))
    return x.to(TYPES[name]), torch.nn.functional.normalize(y, dim=1).to(TYPES[name]), g.to(TYPES[name]), torch.tensor(0.3, device="cuda")


def compile_one(job):
    """A kernel in the cache of this machine, so that it is there when it is timed."""
    name, d, kernel, shape = job
    with_shape(shape)
    try:
        kernel_calls(*tensors(name, d, 4096))[kernel][0]()
    except RuntimeError as error:
        print(job, error)
        return False
    return True


def tune():
    copy = copy_speed()
    jobs = [(name, d, kernel, shape) for name in ("f32", "bf16", "f64") for d in LENGTHS if name != "f64" or d in (2, 16, 128, 784)
            for kernel in KERNELS for shape in shapes(kernel, name, d)]
    with ProcessPoolExecutor(os.cpu_count() - 1, get_context("spawn")) as pool:
        jobs = [job for job, good in zip(jobs, pool.map(compile_one, jobs, chunksize=4)) if good]
    for (name, d), group in itertools.groupby(jobs, lambda job: job[:2]):
        own = tensors(name, d, rows_of(TYPES[name], d))
        found = {}
        for _, _, kernel, shape in group:
            with_shape(shape)
            run, count = kernel_calls(*own)[kernel]
            found.setdefault(kernel, []).append((TYPES[name].itemsize * count / seconds(run, 7) / copy, shape))
        for kernel, some in found.items():
            print(f"{name} {d} {kernel}:", *(f"{speed:.3f} {shape}" for speed, shape in sorted(some, reverse=True)[:5]), flush=True)
        del own
        torch.cuda.empty_cache()


# ---- nets ----


def net_of(widths, middle):
    torch.manual_seed(0)
    d, hidden, out = widths
    return torch.nn.Sequential(torch.nn.Linear(d, hidden), *middle(hidden, out)).cuda()


def capball_middle(hidden, out):
    return layers.Sphere(), layers.CapLinear(hidden, out)


def fused_middle(hidden, out):
    return (layers.SphereCapLinear(hidden, out),)


def relu_middle(hidden, out):
    return torch.nn.ReLU(), torch.nn.Linear(hidden, out)


def graphed(step):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def training_step(net, run, x, y, dtype, options):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, **options)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            out = run(x)
        torch.nn.functional.cross_entropy(out.float(), y).backward()
        optimizer.step()

    return step


# The optimizer is the one that people get from Adam(parameters), but for a graph, which needs options.
WAYS = {"eager": {}, "eager, fused Adam": {"fused": True}, "compiled": {}, "CUDA graph": {"capturable": True, "fused": True}}


def step_of(widths, middle, way, x, y, dtype):
    """A training step of a net that is made for this, after enough of them that nothing is compiled or allocated any more."""
    net = net_of(widths, middle)
    step = training_step(net, torch.compile(net) if way == "compiled" else net, x, y, dtype, WAYS[way])
    call = graphed(step) if way == "CUDA graph" else step
    for _ in range(30):
        call()
    return call, step


def step_times(call, _, steps=12):
    """Times of steps after the first two, which find the caches of the host as another net has left them. A graph needs the tensors
    of the step that it was recorded from."""
    took = []
    for _ in range(steps):
        torch.cuda.synchronize()
        began = time.perf_counter()
        call()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    return took[2:]


def bench_nets():
    print("\n## A training step (forward, backward, Adam), microseconds\n")
    print("| net | batch | type | way | Sphere, CapLinear | SphereCapLinear | ReLU, Linear | ratios |\n|---|---:|---|---|---:|---:|---:|---:|")
    for widths, batch, dtype in (((784, 512, 10), 8192, torch.float32), ((784, 512, 10), 8192, torch.bfloat16), ((2, 8, 2), 100, torch.float32)):
        x, y = torch.randn(batch, widths[0], device="cuda"), torch.randint(widths[2], (batch,), device="cuda")
        for way in WAYS:
            torch._dynamo.reset()
            calls = [step_of(widths, middle, way, x, y, dtype) for middle in (capball_middle, fused_middle, relu_middle)]
            took = [[], [], []]
            for _ in range(60):  # in turn, since the speed of the host varies
                for call, times in zip(calls, took):
                    times += step_times(*call)
            apart, fused, relu = (statistics.median(times) * 1e6 for times in took)
            name = "-".join(map(str, widths))
            print(f"| {name} | {batch} | {str(dtype)[6:]} | {way} | {apart:.0f} | {fused:.0f} | {relu:.0f} |",
                  f"{apart / relu:.2f}, {fused / relu:.2f} |", flush=True)


# ---- neighbours ----


def brute_force(base, queries, k):
    norm = (base * base).sum(1)

    def search():
        return (norm[None, :] - 2 * (queries @ base.T)).topk(k, dim=1, largest=False)

    return search


def faiss_search(base, queries, k):
    import faiss
    index = faiss.GpuIndexFlatL2(faiss.StandardGpuResources(), base.shape[1])
    index.add(base.cpu().numpy())
    asked = queries.cpu().numpy()
    return lambda: index.search(asked, k)


def cuvs_search(base, queries, k):
    from cuvs.neighbors import brute_force as cuvs
    index = cuvs.build(base)
    return lambda: cuvs.search(index, queries, k)


RIVALS = {"torch matmul + topk": brute_force, "the same, TF32": brute_force, "faiss-gpu": faiss_search, "cuVS": cuvs_search}


def rival_times(base, queries, k):
    """Milliseconds of each rival, "-" where it is not installed."""
    for name, make in RIVALS.items():
        torch.backends.cuda.matmul.allow_tf32 = name.endswith("TF32")
        try:
            yield f"{wall_seconds(make(base, queries, k), 7) * 1e3:.2f}"
        except (ImportError, AttributeError):
            yield "-"
    torch.backends.cuda.matmul.allow_tf32 = False


def bench_search():
    torch.manual_seed(0)
    print("\n## Exact neighbours, 1,000,000 x 128 f32, Gauss, base prepared, ms\n")
    base = torch.randn(1000000, 128, device="cuda")
    layers.Index(base)
    print(f"preparing the base: {wall_seconds(lambda: layers.Index(base), 5) * 1e3:.1f} ms")
    index = layers.Index(base)
    print("\n| queries | k | capball | " + " | ".join(RIVALS) + " |\n|---:|---:|---:|" + "---:|" * len(RIVALS))
    for count, k in ((1000, 10), (1, 10), (10, 10), (100, 10), (1000, 1), (1000, 100), (1000, 1000)):
        queries = torch.randn(count, 128, device="cuda")
        took = wall_seconds(lambda: index.knn(queries, k), 20)
        print(f"| {count} | {k} | {took * 1e3:.2f} |", " | ".join(rival_times(base, queries, k)), "|", flush=True)
    print("\n| set | rows | d | queries | k | capball, ms | matmul + topk, ms | same ids and distances as the CPU |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for name, base, queries in sets(base):
        index = layers.Index(base.cuda())
        asked, real = queries.cuda(), base.cuda().float()
        for k in (10, 100):
            found, wanted = index.knn(asked, k), layers.knn(base, queries, k)
            same = torch.equal(found.ids.cpu(), wanted.ids) and torch.equal(found.distances.cpu(), wanted.distances)
            took = wall_seconds(lambda: index.knn(asked, k), 10), wall_seconds(brute_force(real, asked.float(), k), 5)
            print(f"| {name} | {len(base)} | {base.shape[1]} | {len(queries)} | {k} | {took[0] * 1e3:.2f} | {took[1] * 1e3:.2f} |",
                  "yes |" if same else "NO |", flush=True)


def sets(gauss):
    import numpy as np
    yield "Gauss", gauss.cpu(), torch.randn(1000, gauss.shape[1])
    folder = Path(os.environ.get("DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    for path in sorted(folder.glob("*/queries.npy")):
        base, queries = (torch.from_numpy(np.load(path.parent / name)) for name in ("base.npy", "queries.npy"))
        if base.dim() == 2 and base.shape[1] == queries.shape[1]:
            yield path.parent.name, base, queries[:1000]
    turn = torch.rand(200000) * 6.3
    yield "a closed curve, doubles", torch.stack([(turn * i).cos() for i in range(1, 8)], 1).double(), torch.randn(1000, 7).double()
    yield "small integers", torch.randint(0, 4, (200000, 16)).float(), torch.randint(0, 4, (1000, 16)).float()


def main():
    if not torch.cuda.is_available():
        print("skipped: no CUDA device")
        return
    import triton
    print(f"{torch.cuda.get_device_name()}, {time.strftime('%Y-%m-%d')}, torch {torch.__version__}, Triton {triton.__version__}, "
          f"capball {layers.capball.__version__}", flush=True)
    parts = {"layer": bench_layer, "nets": bench_nets, "search": bench_search, "tune": tune}
    for part in sys.argv[1:] or ("layer", "nets", "search"):
        parts[part]()


if __name__ == "__main__":
    main()
