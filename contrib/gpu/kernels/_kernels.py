"""Calls of the Triton kernels (_blocks.py, _runs.py): which kernel serves a tensor, with which block, and how it is launched."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import torch
import triton
from torch import Tensor

from . import _blocks, _runs, _strips
from ._shapes import BLOCK, RUN, shape_of

_FINE = 512  # from so many f32 numbers on, squares are added in double
_FINE_THREAD = 2  # the same for numbers that a thread adds one after the other
_FINE_SLOPE = 8  # the same for gradients
LONGEST = 8192  # numbers in a row; longer rows are for plain operations
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_shape = shape_of  # which a benchmark and tests replace


def takes(x: Tensor, d: int) -> bool:
    """Whether these kernels serve rows of d numbers of this type."""
    return x.dtype in _TYPES and 1 <= d <= LONGEST


@dataclass(eq=False)
class Plan:
    """A kernel, the rows of a program, and what follows the pointers and the number of rows: arguments, constants, options. One plan
    serves tensors of the same types; `launches` has what each device needs to launch the compiled kernel."""

    kernel: Any
    rows: int
    numbers: tuple[int, ...]
    constants: dict[str, Any]
    warps: int
    launches: dict[int, Any] = field(default_factory=dict)


_BLOCKS = {"embed": _blocks.embed_kernel, "unembed": _blocks.unembed_kernel, "embed backward": _blocks.embed_backward_kernel,
           "unembed backward": _blocks.unembed_backward_kernel}
_RUNS = {"embed": _runs.embed_run_kernel, "unembed": _runs.unembed_run_kernel, "embed backward": _runs.embed_back_run_kernel,
         "unembed backward": _runs.unembed_back_run_kernel}
_STRIPS = {"unembed": _strips.unembed_strip_kernel, "embed backward": _strips.embed_back_strip_kernel,
           "unembed backward": _strips.unembed_back_strip_kernel}


def _power_of_two(n: int) -> int:
    return 1 << max(0, n - 1).bit_length()


def _pieces(n: int) -> tuple[int, int]:
    """Two powers of two, or one and 0, that cover n."""
    head = 1 << (n.bit_length() - 1)
    return head, _power_of_two(n - head) if n > head else 0


def _plan_run(name: str, d: int, shape: Any, known: dict[str, Any]) -> Plan:
    R = known["R"]
    head, rest = _pieces(R * (d + 1 if name in ("embed", "unembed backward") else d))
    known.update(WORD=shape.word, HEAD=head, REST=rest)
    if name.endswith("backward"):
        known.update(T=shape.across)
    else:
        known.update(IN=_power_of_two(R * (d if name == "embed" else d + 1)))
    return Plan(_RUNS[name], R, (), known, shape.warps)


def _plan_strip(name: str, d: int, shape: Any, known: dict[str, Any], size: int) -> Plan:
    known.update(T=shape.across, APART=shape.word > 0)
    if name == "unembed backward":
        known.update(G=2 if size == 2 and d % 2 == 0 else 1)
    return Plan(_STRIPS[name], known["R"], (), known, shape.warps)


@lru_cache(maxsize=1024)
def _plan(name: str, types: tuple[torch.dtype, ...], d: int, plain: tuple[int, ...], points: tuple[int, ...], centered: bool | None,
          shape_of: Any) -> Plan:
    """For n rows of d numbers with the strides `plain` and of d+1 with the strides `points`, where they are read."""
    D, dtype = _power_of_two(d), types[0]
    shape = shape_of(name, dtype.itemsize, d, D)
    one_by_one = _FINE_SLOPE if name.endswith("backward") else _FINE_THREAD
    fine = D >= _FINE if shape.kind == BLOCK else d > one_by_one * max(1, shape.across)
    common = dict(WIDE=dtype == torch.float64, FINE=dtype == torch.float32 and fine, D=D)
    if shape.kind != BLOCK and not centered and plain in ((), (d, 1)) and points in ((), (d + 1, 1)):
        # Blocks that are left to _blocks.py have one number per thread: with more, their registers would limit the usual blocks.
        known = dict(common, d=d, R=shape.numbers // D, STEP=max(1, min(shape.numbers, 32 * shape.warps) // D))
        return _plan_run(name, d, shape, known) if shape.kind == RUN else _plan_strip(name, d, shape, known, dtype.itemsize)
    R = max(1, shape.numbers // D)
    align, strides, far = math.gcd(d, 16), [], R * (d + 1)
    if plain:
        align = math.gcd(align, plain[0])
        strides += [plain[0] // align, plain[1]]
        far = max(far, R * plain[0] + D * plain[1])
    if points:
        strides += points
        far = max(far, R * points[0] + D * points[1])
    known = dict(common, ALIGN=align, NEAR=far < 1 << 31, R=R, WORD=shape.word if shape.kind == BLOCK else 0)
    if centered is not None:
        known["CENTER"] = centered
    return Plan(_BLOCKS[name], R, (d // align, *strides), known, shape.warps)


# ---- launches ----


@cache
def _several_devices() -> bool:
    return torch.cuda.device_count() > 1


# What Triton's own launcher asks for, without the Python around it.
_stream_of: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def eager(plan: Plan, tensors: tuple[Tensor, ...], numbers: tuple[int, ...], programs: int) -> None:
    """Launches a kernel. Triton finds a compiled kernel by all of its arguments, which takes longer than small batches do: here
    a plan has one kernel, whose numbers never change but for those that it does not specialize."""
    if programs == 0:
        return
    if _several_devices():
        with torch.cuda.device_of(tensors[0]):
            _run_here(plan, tensors, numbers, programs)
    else:
        _run_here(plan, tensors, numbers, programs)


def _run_here(plan: Plan, tensors: tuple[Tensor, ...], numbers: tuple[int, ...], programs: int) -> None:
    device, places, bits = tensors[0].get_device(), [a.data_ptr() for a in tensors], 0
    for place in places:
        bits |= place
    usual = bits & 15 == 0 and numbers[0] < 1 << 31  # what Triton makes kernels of their own for
    if usual:
        known = plan.launches.get(device)
        if known is not None:
            launch, function, first, last = known
            launch(programs, 1, 1, _stream_of(device), function, *first, *places, *numbers, *last)
            return
    compiled = plan.kernel[(programs, 1, 1)](*tensors, *numbers, num_warps=plan.warps, **plan.constants)
    if compiled is not None and _stream_of is not None and usual:  # it is None in Triton's interpreter
        names = plan.kernel.arg_names[len(tensors) + len(numbers):]
        plan.launches[device] = _launch_of(compiled, [*places, *numbers], tuple(plan.constants[name] for name in names))


def _launch_of(compiled: Any, varying: list[int], last: tuple[Any, ...]) -> tuple[Any, ...]:
    """What launches a compiled kernel, its function, and the arguments before and after those that vary. Triton's launcher is a
    function in C behind one in Python: where the latter only adds constants, the former is called with these."""
    first = (compiled.packed_metadata, None, None, None)
    launcher, seen = copy(compiled.run), []
    if "launch" in getattr(launcher, "__dict__", ()):
        launcher.launch = lambda *given: seen.append(given)
        before, after = (1, 1, 1, 0, compiled.function), (*first, *varying, *last)
        launcher(*before, *after)
        added = seen[0][len(before):-len(after)]
        if seen[0] == (*before, *added, *after) and all(a is None or a is False for a in added):
            return compiled.run.launch, compiled.function, (*added, *first), last
    return compiled.run, compiled.function, first, last


def traced(plan: Plan, tensors: tuple[Tensor, ...], numbers: tuple[Any, ...], programs: Any) -> None:
    """The same for torch.compile, which takes the kernel into its own code."""
    torch.library.wrap_triton(plan.kernel)[(programs, 1, 1)](*tensors, *numbers, num_warps=plan.warps, **plan.constants)


def _flat(x: Tensor) -> Tensor:
    return x if x.dim() == 2 else x.reshape(-1, x.shape[-1])


def _strides(x: Tensor | None) -> tuple[int, ...]:
    return () if x is None else x.stride()


def _launch(name: str, tensors: tuple[Tensor, ...], d: int, plain: Tensor | None, points: Tensor | None, centered: bool | None,
            run: Any, part: torch.dtype | None = None) -> Any:
    """Runs a kernel over rows of d numbers in `plain` and of d+1 in `points`, where it reads such. Those of gradients give a part
    of dL/dt for each block."""
    rows, parts = tensors[0], None
    types = rows.dtype, tensors[1].dtype, tensors[2].dtype
    plan, n = _plan(name, types, d, _strides(plain), _strides(points), centered, _shape), rows.shape[0]
    if plan.numbers == ():
        tensors = (*tensors[:2], *tensors[3:]) if centered is not None else tensors
    programs = -(-n // plan.rows)
    if part is not None:
        parts = rows.new_empty(programs, dtype=part)
        tensors = (*tensors, parts)
    run(plan, tensors, (n, *plan.numbers), programs)
    return parts


def _part_type(t: Tensor) -> torch.dtype:
    return torch.float64 if t.dtype == torch.float64 else torch.float32


def embed(x: Tensor, t: Tensor, center: Tensor | None, run: Any = eager) -> Tensor:
    d, rows = x.shape[-1], _flat(x)
    y = x.new_empty((*x.shape[:-1], d + 1))
    _launch("embed", (rows, t, rows if center is None else center, y), d, rows, None, center is not None, run)
    return y


def unembed(y: Tensor, t: Tensor, center: Tensor | None, run: Any = eager) -> Tensor:
    d, rows = y.shape[-1] - 1, _flat(y)
    x = y.new_empty((*y.shape[:-1], d))
    _launch("unembed", (rows, t, rows if center is None else center, x), d, None, rows, center is not None, run)
    return x


def embed_backward(x: Tensor, t: Tensor, center: Tensor | None, g: Tensor, run: Any = eager) -> tuple[Tensor, Tensor]:
    """The gradient of x, and parts of dL/dt that are to be added."""
    gx, rows, up = torch.empty_like(x, memory_format=torch.contiguous_format), _flat(x), _flat(g)
    parts = _launch("embed backward", (rows, t, rows if center is None else center, up, gx), x.shape[-1], rows, up,
                    center is not None, run, _part_type(t))
    return gx, parts


def unembed_backward(y: Tensor, t: Tensor, g: Tensor, run: Any = eager) -> tuple[Tensor, Tensor]:
    """The gradient of y, and parts of dL/dt that are to be added."""
    gy, rows, up = torch.empty_like(y, memory_format=torch.contiguous_format), _flat(y), _flat(g)
    parts = _launch("unembed backward", (rows, t, up, gy), g.shape[-1], up, rows, None, run, _part_type(t))
    return gy, parts
