"""capball as layers of a neural net.

`Sphere` is y = S(x), `InverseSphere` its inverse, `CapLinear` a linear layer on the sphere whose units are balls of the
layer's input. On the CPU forward and backward run in the C library; elsewhere, and for half precision, in plain torch
operations that give the same numbers within a few units of the last place.

>>> import torch
>>> from capball.torch import CapLinear, Sphere
>>> net = torch.nn.Sequential(Sphere(s=1.0), CapLinear(2, 4))
>>> net(torch.zeros(3, 2)).shape
torch.Size([3, 4])
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

import capball
from capball import _core

_NATIVE = (torch.float32, torch.float64)


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


def _embed_rows(x: Tensor, t: Tensor) -> Tensor:
    y = x.new_empty((*x.shape[:-1], x.shape[-1] + 1))
    _rows(_core.Map(x.shape[-1], _scale(t)).embed, _array(x), _array(y))
    return y


def _unembed_rows(y: Tensor, t: Tensor) -> Tensor:
    x = y.new_empty((*y.shape[:-1], y.shape[-1] - 1))
    _rows(_core.Map(y.shape[-1] - 1, _scale(t)).unembed, _array(y), _array(x))
    return x


def _gradients(call: Any, x: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    gx = x.new_empty(x.shape)
    made = _rows(call, _array(x), _array(g), _scale(t), _array(gx))
    return gx, torch.scalar_tensor(math.nan if made is None else made[1], dtype=t.dtype).reshape(t.shape)


def _embed_gradients(x: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    return _gradients(_core.layer_backward, x, t, g)


def _unembed_gradients(y: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    return _gradients(_core.layer_inverse_backward, y, t, g)


# Operators, for torch.compile, torch.export and torch.func, which take them as they are.
_embed = torch.library.custom_op("capball::embed", _embed_rows, mutates_args=())
_embed_backward = torch.library.custom_op("capball::embed_backward", _embed_gradients, mutates_args=())
_unembed = torch.library.custom_op("capball::unembed", _unembed_rows, mutates_args=())
_unembed_backward = torch.library.custom_op("capball::unembed_backward", _unembed_gradients, mutates_args=())


@_embed.register_fake
def _(x: Tensor, t: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], x.shape[-1] + 1)


@_unembed.register_fake
def _(y: Tensor, t: Tensor) -> Tensor:
    return y.new_empty(*y.shape[:-1], y.shape[-1] - 1)


@_embed_backward.register_fake
@_unembed_backward.register_fake
def _(x: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(t)


def _save(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward_of(op: Any) -> Any:
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        return op(*ctx.saved_tensors, g)

    return backward


def _rowwise_vmap(op: Any) -> Any:
    """Rows are independent: a batch dimension is only moved to the front."""

    def batched(info: Any, in_dims: tuple[int | None, ...], x: Tensor, t: Tensor) -> tuple[Tensor, int]:
        if in_dims[1] is not None:
            each = [op(x.select(in_dims[0], i) if in_dims[0] is not None else x, t.select(in_dims[1], i))
                    for i in range(info.batch_size)]
            return torch.stack(each), 0
        return op(x if in_dims[0] is None else x.movedim(in_dims[0], 0), t), 0

    return batched


_embed.register_autograd(_backward_of(_embed_backward), setup_context=_save)
_unembed.register_autograd(_backward_of(_unembed_backward), setup_context=_save)
_embed.register_vmap(_rowwise_vmap(_embed))
_unembed.register_vmap(_rowwise_vmap(_unembed))


class _Embed(torch.autograd.Function):
    """The same without an operator's dispatch, which takes longer than small batches do."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, t: Tensor) -> Tensor:
        ctx.save_for_backward(x, t)
        return _embed_rows(x, t)

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        return _once(ctx, _embed_gradients, *g)


class _Unembed(torch.autograd.Function):
    """Likewise."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, t: Tensor) -> Tensor:
        ctx.save_for_backward(y, t)
        return _unembed_rows(y, t)

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        return _once(ctx, _unembed_gradients, *g)


@once_differentiable
def _refusing_more(ctx: Any, gradients: Any, g: Tensor) -> Any:
    return gradients(*ctx.saved_tensors, g)


def _once(ctx: Any, gradients: Any, g: Tensor) -> Any:
    """Gradients of gradients are refused; where none can be asked for, nothing is spent on that."""
    return _refusing_more(ctx, gradients, g) if torch.is_grad_enabled() else gradients(*ctx.saved_tensors, g)


# vmap, grad and the like; without this function of torch every call could be under one of them.
_transformed = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)


def _as_operator() -> bool:
    return torch.compiler.is_compiling() or _transformed()


def _in_c(x: Tensor) -> bool:
    return x.is_cpu and x.dtype in _NATIVE and not torch.is_autocast_enabled("cpu")


def _plain_embed(x: Tensor, t: Tensor) -> Tensor:
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    s = t.to(wide.dtype).exp()
    n = (wide * wide).sum(-1, keepdim=True)
    q = n + s * s
    return torch.cat([wide * (2 * s / q), (s * s - n) / q], dim=-1).to(x.dtype)


def _plain_unembed(y: Tensor, t: Tensor) -> Tensor:
    wide = y.float() if y.dtype in (torch.float16, torch.bfloat16) else y
    s = t.to(wide.dtype).exp()
    wide = wide / wide.norm(dim=-1, keepdim=True)
    rest, y0 = wide[..., :-1], wide[..., -1:]
    norm2 = (rest * rest).sum(-1, keepdim=True)
    south = y0 < 0
    rise = torch.where(south, norm2 / torch.where(south, 1 - y0, 2), 1 + y0)
    return (rest * (s / rise)).to(y.dtype)


def embed(x: Tensor, t: Tensor) -> Tensor:
    """y = S(x) at the scale s = exp(t), over the last dimension; differentiable in x and t."""
    if not _in_c(x):
        return _plain_embed(x, t)
    return _embed(x, t) if _as_operator() else _Embed.apply(x, t)


def unembed(y: Tensor, t: Tensor) -> Tensor:
    """x = S^-1(y/|y|) at the scale s = exp(t), over the last dimension; differentiable in y and t."""
    if not _in_c(y):
        return _plain_unembed(y, t)
    return _unembed(y, t) if _as_operator() else _Unembed.apply(y, t)


class _Scaled(nn.Module):
    """A layer with a scale s = exp(t), learned or fixed."""

    def __init__(self, s: float = 1.0, learnable: bool = True) -> None:
        super().__init__()
        if not (math.isfinite(s) and s > 0):
            raise ValueError(f"scale s must be > 0 and finite, got {s}")
        t = torch.tensor(math.log(s), dtype=torch.float64)
        if learnable:
            self.t = nn.Parameter(t.to(torch.get_default_dtype()))
        else:
            self.register_buffer("t", t)

    @property
    def s(self) -> float:
        """The scale."""
        return _scale(self.t)

    def extra_repr(self) -> str:
        return f"s={self.s:.6g}, learnable={isinstance(self.t, nn.Parameter)}"


class Sphere(_Scaled):
    """y = S(x) = (2 s x, s^2-|x|^2)/(|x|^2+s^2): d numbers to d+1 on the unit sphere."""

    def forward(self, x: Tensor) -> Tensor:
        return embed(x, self.t)


class InverseSphere(_Scaled):
    """x = S^-1(y/|y|): d+1 numbers to d."""

    def forward(self, y: Tensor) -> Tensor:
        return unembed(y, self.t)


class CapLinear(nn.Linear):
    """<p,y> - b for each unit: > 0 inside its cap, which is a ball of the space before `Sphere`.

    d      numbers before the sphere; the layer takes d+1
    units  caps
    """

    def __init__(self, d: int, units: int, **keywords: Any) -> None:
        super().__init__(d + 1, units, bias=True, **keywords)

    def regions(self, s: float = 1.0) -> list[capball.Region]:
        """The ball of each unit, or what else its cap is, under the scale of the layer before."""
        sphere = capball.SphereMap(self.in_features - 1, s)
        p, b = self.weight.detach().double(), -self.bias.detach().double()
        length = p.norm(dim=1)
        return [sphere.ball(capball.Cap((p[i] / length[i]).numpy(), float(b[i] / length[i]))) for i in range(len(p))]
