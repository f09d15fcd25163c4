"""Operators whose Triton kernels torch.compile puts into its own code, with nothing to dispatch between it and them."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

import capball.torch as in_eager

from . import _backward_of, _caps, _goes_on, _kernels, _save, _total


def _embed_rows(x: Tensor, t: Tensor, center: Optional[Tensor] = None) -> Tensor:
    return _kernels.embed(x, t.to(x.device), center, _kernels.traced)


def _unembed_rows(y: Tensor, t: Tensor, center: Optional[Tensor] = None) -> Tensor:
    return _kernels.unembed(y, t.to(y.device), center, _kernels.traced)


def _embed_gradients(x: Tensor, t: Tensor, g: Tensor, center: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
    gx, parts = _kernels.embed_backward(x, t.to(x.device), center, g, _kernels.traced)
    return gx, _total(parts, t)


def _unembed_gradients(y: Tensor, t: Tensor, g: Tensor, center: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
    gy, parts = _kernels.unembed_backward(y, t.to(y.device), g, _kernels.traced)
    return gy, _total(parts, t)


def _caps_of(x: Tensor, t: Tensor, weight: Tensor, bias: Tensor) -> Any:
    return _caps.caps_of(x.dtype, x.shape[-1], weight.shape[0], t.dtype, weight.dtype, bias.dtype)


def _cap_values(x: Tensor, t: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return _caps_of(x, t, weight, bias).values(x, t, weight, bias, _kernels.traced)


def _cap_gradients(x: Tensor, t: Tensor, weight: Tensor, bias: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    gx, of_t, of_weight, of_bias = _caps_of(x, t, weight, bias).gradients(x, t, weight, g.contiguous(), _kernels.traced)
    return gx, of_t.to(t.dtype), of_weight.to(weight.dtype), of_bias.to(bias.dtype)


def _operator(name: str, rows: Any) -> Any:
    return torch.library.triton_op(f"capball::{name}_triton", rows, mutates_args=())


embed, unembed, caps = _operator("embed", _embed_rows), _operator("unembed", _unembed_rows), _operator("caps", _cap_values)
embed.register_autograd(_backward_of(_operator("embed_backward", _embed_gradients), in_eager._embed_gradients), setup_context=_save)
unembed.register_autograd(_backward_of(_operator("unembed_backward", _unembed_gradients), in_eager._unembed_gradients), setup_context=_save)
_caps_backward = _operator("caps_backward", _cap_gradients)


def _backward_of_caps(ctx: Any, g: Tensor) -> Any:
    x, t, weight, bias = ctx.saved_tensors
    return in_eager._cap_gradients(x, t, weight, g) if _goes_on(g) else _caps_backward(x, t, weight, bias, g)


caps.register_autograd(_backward_of_caps, setup_context=_save)
