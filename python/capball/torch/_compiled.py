"""Operators whose Triton kernels torch.compile puts into its own code, with nothing to dispatch between it and them."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from . import _backward_of, _caps, _kernels, _looped_vmap, _rowwise_vmap, _save, _total


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


def _operator(name: str, rows: Any, batched: Any) -> Any:
    op: Any = torch.library.triton_op(f"capball::{name}_triton", rows, mutates_args=())
    op.register_vmap(batched(op))
    return op


embed = _operator("embed", _embed_rows, _rowwise_vmap)
unembed = _operator("unembed", _unembed_rows, _rowwise_vmap)
embed.register_autograd(_backward_of(_operator("embed_backward", _embed_gradients, _looped_vmap)), setup_context=_save)
unembed.register_autograd(_backward_of(_operator("unembed_backward", _unembed_gradients, _looped_vmap)), setup_context=_save)

caps = _operator("caps", _cap_values, _looped_vmap)
_caps_backward = _operator("caps_backward", _cap_gradients, _looped_vmap)
caps.register_autograd(lambda ctx, g: _caps_backward(*ctx.saved_tensors, g), setup_context=_save)
