"""capball for torch: layers of a neural net, and exact neighbours.

`Sphere` is y = S(x), `InverseSphere` its inverse, `CapLinear` a linear layer on the sphere whose units are balls of the
layer's input. Forward and backward run in the C library on the CPU (f32, f64), in Triton kernels on CUDA devices, and elsewhere in
plain torch operations that give the same numbers within a few units of the last place. Derivatives of derivatives, torch.func,
forward mode, traces and exports have plain operations everywhere.

`knn`, `range_search` and `Index` find the neighbours that `capball.knn` finds, on the device of the tensors.

>>> import torch
>>> from capball.torch import CapLinear, Sphere
>>> net = torch.nn.Sequential(Sphere(s=1.0), CapLinear(2, 4))
>>> net(torch.zeros(3, 2)).shape
torch.Size([3, 4])
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Optional

from capball import _extras

_extras.module("torch")

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

import capball
from capball import _core

from . import _plain

if TYPE_CHECKING:
    from ._search import Index, Neighbors, Within, knn, range_search

__all__ = ["CapLinear", "Index", "InverseSphere", "Neighbors", "Sphere", "SphereCapLinear",
           "Within", "embed", "knn", "range_search", "unembed"]

_NATIVE = (torch.float32, torch.float64)


def __getattr__(name: str) -> Any:
    """The search, imported when it is first asked for."""
    if name not in ("Index", "Neighbors", "Within", "knn", "range_search"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _search
    return getattr(_search, name)


# ---- on the CPU, by the C library ----


def _array(x: Tensor) -> Any:
    x = x.detach()
    return (x if x.dim() == 2 else x.reshape(-1, x.shape[-1])).numpy()


def _rows(call: Any, *args: Any) -> Any:
    """A row without an answer is NaN in a net, not an exception: every other row is done."""
    try:
        return call(*args)
    except capball.RowError:
        return None


def _scale(t: Tensor) -> float:
    return math.exp(t.item())


def _map(d: int, t: Tensor, center: Tensor | None) -> _core.Map:
    return _core.Map(d, _scale(t), None if center is None else center.detach().double().numpy())


def _gradients(call: Any, x: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    gx = x.new_empty(x.shape)
    made = _rows(call, _array(x), _array(g), _scale(t), _array(gx))
    return gx, torch.scalar_tensor(math.nan if made is None else made[1], dtype=torch.float64)


class _C:
    """The functions of _kernels and _plain."""

    @staticmethod
    def embed(x: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
        y = x.new_empty((*x.shape[:-1], x.shape[-1] + 1))
        _rows(_map(x.shape[-1], t, center).embed, _array(x), _array(y))
        return y

    @staticmethod
    def unembed(y: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
        x = y.new_empty((*y.shape[:-1], y.shape[-1] - 1))
        _rows(_map(x.shape[-1], t, center).unembed, _array(y), _array(x))
        return x

    @staticmethod
    def embed_backward(x: Tensor, t: Tensor, center: Tensor | None, g: Tensor) -> tuple[Tensor, Tensor]:
        return _gradients(_core.layer_backward, _plain.centered(x, center), t, g)

    @staticmethod
    def unembed_backward(y: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        """The C library takes points for unit rows."""
        off = torch.linalg.vector_norm(y, dim=-1) - 1
        if not (off.abs() <= 8 * torch.finfo(y.dtype).eps).all():
            return _plain.unembed_backward(y, t, g)
        return _gradients(_core.layer_inverse_backward, y, t, g)


# ---- which way rows go ----

# Without the first every call could be under a transform, without the second none is an export.
_transformed = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
_exporting = getattr(torch.compiler, "is_exporting", lambda: False)


@torch.compiler.assume_constant_result
def _taken_apart() -> bool:
    """Whether torch has to see what a function consists of: under torch.func, in forward mode, in a trace, in an export."""
    return _transformed() or forward_ad._current_level >= 0 or torch.jit.is_tracing() or _exporting()


def _goes_on(g: Tensor) -> bool:
    """Whether this gradient is to have gradients, or is many in one."""
    return torch.is_grad_enabled() or _taken_apart() or torch._C._functorch.is_legacy_batchedtensor(g)


@cache
def _triton() -> Any:
    """The Triton kernels of contrib/gpu, imported when the first CUDA tensor comes; None without them or without Triton."""
    if find_spec("triton") is None or find_spec("capball.torch._kernels") is None:
        return None
    from . import _kernels as kernels
    return kernels


def _way(x: Tensor, d: int) -> Any:
    if x.is_cpu:
        return _C if x.dtype in _NATIVE else _plain
    kernels = _triton() if x.is_cuda else None
    return kernels if kernels is not None and kernels.takes(x, d) else _plain


def _there(t: Tensor, x: Tensor) -> Tensor:
    return t if t.get_device() == x.get_device() else t.to(x.device)


def _embed_rows(x: Tensor, t: Tensor, center: Optional[Tensor] = None) -> Tensor:
    return _way(x, x.shape[-1]).embed(x, _there(t, x), center)


def _unembed_rows(y: Tensor, t: Tensor, center: Optional[Tensor] = None) -> Tensor:
    return _way(y, y.shape[-1] - 1).unembed(y, _there(t, y), center)


def _embed_parts(x: Tensor, t: Tensor, center: Tensor | None, g: Tensor) -> tuple[Tensor, Tensor]:
    return (_plain if _goes_on(g) else _way(x, x.shape[-1])).embed_backward(x, _there(t, x), center, g)


def _unembed_parts(y: Tensor, t: Tensor, center: Tensor | None, g: Tensor) -> tuple[Tensor, Tensor]:
    return (_plain if _goes_on(g) else _way(y, g.shape[-1])).unembed_backward(y, _there(t, y), g)


def _total(parts: Tensor, t: Tensor) -> Tensor:
    """dL/dt from its parts."""
    total = parts.sum()
    same = total.dtype == t.dtype and total.get_device() == t.get_device() and t.dim() == 0
    return total if same else total.to(t).reshape(t.shape)


def _embed_gradients(x: Tensor, t: Tensor, g: Tensor, center: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
    gx, parts = _embed_parts(x, t, center, g)
    return gx, _total(parts, t)


def _unembed_gradients(y: Tensor, t: Tensor, g: Tensor, center: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
    gy, parts = _unembed_parts(y, t, center, g)
    return gy, _total(parts, t)


# ---- operators, for torch.compile, torch.export and torch.func, which take them as they are ----

_embed = torch.library.custom_op("capball::embed", _embed_rows, mutates_args=())
_embed_backward = torch.library.custom_op("capball::embed_backward", _embed_gradients, mutates_args=())
_unembed = torch.library.custom_op("capball::unembed", _unembed_rows, mutates_args=())
_unembed_backward = torch.library.custom_op("capball::unembed_backward", _unembed_gradients, mutates_args=())


@_embed.register_fake
def _(x: Tensor, t: Tensor, center: Tensor | None = None) -> Tensor:
    return x.new_empty(*x.shape[:-1], x.shape[-1] + 1)


@_unembed.register_fake
def _(y: Tensor, t: Tensor, center: Tensor | None = None) -> Tensor:
    return y.new_empty(*y.shape[:-1], y.shape[-1] - 1)


@_embed_backward.register_fake
@_unembed_backward.register_fake
def _(x: Tensor, t: Tensor, g: Tensor, center: Tensor | None = None) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), torch.empty_like(t)


def _save(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_of(op: Any, gradients: Any) -> Any:
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, None]:
        x, t, center = ctx.saved_tensors
        return *(gradients if _goes_on(g) else op)(x, t, g, center), None

    return backward


_embed.register_autograd(_backward_of(_embed_backward, _embed_gradients), setup_context=_save)
_unembed.register_autograd(_backward_of(_unembed_backward, _unembed_gradients), setup_context=_save)


# ---- functions: less to dispatch than an operator, which takes longer than small batches do ----


class _Embed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, t, center)
        return _embed_rows(x, t, center)

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        x, t, center = ctx.saved_tensors
        gx, parts = _embed_parts(x, t, center, *g)
        return gx, _total(parts, t) if ctx.needs_input_grad[1] else None, None


class _Unembed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
        ctx.save_for_backward(y, t, center)
        return _unembed_rows(y, t, center)

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        y, t, center = ctx.saved_tensors
        gy, parts = _unembed_parts(y, t, center, *g)
        return gy, _total(parts, t) if ctx.needs_input_grad[1] else None, None


def _applied(function: Any) -> Any:
    """`function.apply` without what it does for torch.func, which is not asked for here."""
    return super(torch.autograd.Function, function).apply  # type: ignore[misc]


_embed_function, _unembed_function = _applied(_Embed), _applied(_Unembed)


@torch.compiler.assume_constant_result
def _inlined() -> bool:
    """Whether there are operators whose kernels torch.compile can take into its own code; they are registered."""
    if _triton() is None or not hasattr(torch.library, "triton_op"):
        return False
    from . import _compiled  # noqa: F401
    return True


def _compiled_op(x: Tensor, d: int, name: str) -> Any:
    """The operator for torch.compile."""
    if x.is_cuda and 1 <= d <= 8192 and _inlined():
        return getattr(torch.ops.capball, name + "_triton")
    return getattr(torch.ops.capball, name)


def _check_floats(x: Any) -> None:
    if not hasattr(x, "is_floating_point"):
        raise TypeError(f"wanted a tensor, got {type(x).__name__}: torch.as_tensor makes one of an array")
    if not x.is_floating_point():
        raise TypeError(f"wanted a tensor of floats, got {x.dtype}")


def embed(x: Tensor, t: Tensor, center: Tensor | None = None) -> Tensor:
    """y = S(x - center) at the scale s = exp(t), over the last dimension; differentiable in x and t, not in the centre."""
    _check_floats(x)
    if _taken_apart():
        return _plain.embed(x, t, center)
    if torch.compiler.is_compiling():
        return _compiled_op(x, x.shape[-1], "embed")(x, t, center)
    return _embed_function(x, t, center)


def unembed(y: Tensor, t: Tensor, center: Tensor | None = None) -> Tensor:
    """x = S^-1(y/|y|) + center at the scale s = exp(t), over the last dimension; differentiable in y and t."""
    if _taken_apart():
        return _plain.unembed(y, t, center)
    if torch.compiler.is_compiling():
        return _compiled_op(y, y.shape[-1] - 1, "unembed")(y, t, center)
    return _unembed_function(y, t, center)


class _Scaled(nn.Module):
    """A layer with a scale s = exp(t), learned or fixed, and a fixed centre or none."""

    center: Tensor | None  # d numbers that are subtracted, or None

    def __init__(self, s: float = 1.0, learnable: bool = True, center: Any = None) -> None:
        super().__init__()
        if not (math.isfinite(s) and s > 0):
            raise ValueError(f"scale s must be > 0 and finite, got {s}")
        t = torch.tensor(math.log(s), dtype=torch.float64)
        if learnable:
            self.t = nn.Parameter(t.to(torch.get_default_dtype()))
        else:
            self.register_buffer("t", t)
        self.register_buffer("center", None if center is None else torch.as_tensor(center).detach().clone())

    @property
    def s(self) -> float:
        """The scale."""
        return _scale(self.t)

    def extra_repr(self) -> str:
        """What repr() shows between its brackets."""
        return f"s={self.s:.6g}, learnable={isinstance(self.t, nn.Parameter)}"


class Sphere(_Scaled):
    """y = S(x) = (2 s x, s^2-|x|^2)/(|x|^2+s^2), of x - center where one is given: d numbers to d+1 on the unit sphere."""

    def forward(self, x: Tensor) -> Tensor:
        """S(x) over the last dimension."""
        return embed(x, self.t, self.center)

    def map(self, d: int) -> capball.SphereMap:
        """The same map of rows of d numbers, outside of torch."""
        center = None if self.center is None else self.center.detach().double().cpu().numpy()
        return capball.SphereMap(d, self.s, center)


class InverseSphere(_Scaled):
    """x = S^-1(y/|y|), and center added where one is given: d+1 numbers to d."""

    def forward(self, y: Tensor) -> Tensor:
        """S^-1(y/|y|) over the last dimension."""
        return unembed(y, self.t, self.center)


class CapLinear(nn.Linear):
    """<p,y> - b for each unit: > 0 inside its cap, which is a ball of the space before `Sphere`.

    d      numbers before the sphere; the layer takes d+1
    units  caps
    """

    def __init__(self, d: int, units: int, **keywords: Any) -> None:
        super().__init__(d + 1, units, bias=True, **keywords)

    def extra_repr(self) -> str:
        """What repr() shows between its brackets."""
        return f"d={self.in_features - 1}, units={self.out_features}"

    def regions(self, sphere: "Sphere | nn.Module | float") -> list[capball.Region]:
        """The ball of each unit, or what else its cap is.

        sphere  the `Sphere` before this layer, a Sequential that holds both, or its scale s where it has no center
        """
        d = self.in_features - 1
        before = self._sphere_in(sphere) if isinstance(sphere, nn.Module) else None
        if before is None and not isinstance(sphere, (int, float)):
            raise TypeError(f"sphere must be the Sphere before this layer, or a Sequential that holds both, got {type(sphere).__name__}")
        there = before.map(d) if before is not None else capball.SphereMap(d, float(sphere))  # type: ignore[arg-type]
        p, b = self.weight.detach().double().cpu(), -self.bias.detach().double().cpu()
        length = p.norm(dim=1)
        return [there.ball(capball.Cap((p[i] / length[i]).numpy(), float(b[i] / length[i]))) for i in range(len(p))]

    def _sphere_in(self, module: nn.Module) -> "Sphere | None":
        """The Sphere itself, or the last one before this layer in a Sequential."""
        if isinstance(module, Sphere):
            return module
        found = None
        for layer in module.children():
            if layer is self:
                return found
            found = layer if isinstance(layer, Sphere) else found
        return None


class _Caps(torch.autograd.Function):
    """`CapLinear` after `Sphere` in the kernels of _caps."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, t: Tensor, weight: Tensor, bias: Tensor, caps: Any) -> Tensor:
        ctx.save_for_backward(x, t, weight)
        ctx.caps = caps
        return caps.values(x, t, weight, bias)

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        """Autograd converts them to the types of what they belong to."""
        if _goes_on(*g):
            return *_cap_gradients(*ctx.saved_tensors, *g), None
        return *ctx.caps.gradients(*ctx.saved_tensors, g[0].contiguous()), None


def _cap_gradients(x: Tensor, t: Tensor, weight: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of _caps in operations that have gradients."""
    up, image = g.float(), _plain.embed(x, t, None).float()
    gx, parts = _plain.embed_backward(x, t, None, up @ weight.float())
    of_weight = up.flatten(0, -2).transpose(0, 1) @ image.flatten(0, -2)
    return gx, _total(parts, t), of_weight, up.flatten(0, -2).sum(0)


_caps_function = _applied(_Caps)


@lru_cache(maxsize=1024)
def _caps_of(*types_and_sizes: Any) -> Any:
    """The kernels of both layers as one; None where there are none."""
    if _triton() is None:
        return None
    from . import _caps
    return _caps.caps_of(*types_and_sizes)


@torch.compiler.assume_constant_result
def _are_caps(*types_and_sizes: Any) -> bool:
    return _inlined() and _caps_of(*types_and_sizes) is not None


def _whole(x: Tensor, weight: Tensor) -> bool:
    """Whether tensors are as the kernels of both layers need them, and autocast does not change the type between the layers."""
    between = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else weight.dtype
    return between == x.dtype and x.shape[-1] + 1 == weight.shape[1] and x.is_contiguous() and weight.is_contiguous() and x.numel() > 0


class SphereCapLinear(nn.Module):
    """`CapLinear(d, units)` after `Sphere(s, learnable)` as one layer. On CUDA devices one kernel does both for up to 512 numbers
    and few units, so that the embedded rows are not stored; elsewhere it is one after the other.

    d      numbers of a row
    units  caps
    """

    def __init__(self, d: int, units: int, s: float = 1.0, learnable: bool = True, **keywords: Any) -> None:
        super().__init__()
        self.sphere = Sphere(s, learnable)
        self.caps = CapLinear(d, units, **keywords)

    def forward(self, x: Tensor) -> Tensor:
        """<p,S(x)> - b for each unit."""
        sphere, caps = self.sphere, self.caps
        t, weight, bias = sphere.t, caps.weight, caps.bias
        if x.is_cuda and t.is_cuda and _whole(x, weight) and not _taken_apart():
            key = x.dtype, x.shape[-1], weight.shape[0], t.dtype, weight.dtype, bias.dtype
            if torch.compiler.is_compiling():
                if _are_caps(*key):
                    return torch.ops.capball.caps_triton(x, t, weight, bias)
            elif (of_both := _caps_of(*key)) is not None:
                return _caps_function(x, t, weight, bias, of_both)
        return caps(sphere(x))

    def regions(self) -> list[capball.Region]:
        """The ball of each unit, or what else its cap is."""
        return self.caps.regions(self.sphere)
