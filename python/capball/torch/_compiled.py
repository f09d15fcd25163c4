"""Operators whose Triton kernels torch.compile puts into its own code, with nothing to dispatch between it and them."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from . import _backward_of, _kernels, _looped_vmap, _rowwise_vmap, _save, _total


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


embed = torch.library.triton_op("capball::embed_triton", _embed_rows, mutates_args=())
unembed = torch.library.triton_op("capball::unembed_triton", _unembed_rows, mutates_args=())
_embed_backward = torch.library.triton_op("capball::embed_backward_triton", _embed_gradients, mutates_args=())
_unembed_backward = torch.library.triton_op("capball::unembed_backward_triton", _unembed_gradients, mutates_args=())
embed.register_autograd(_backward_of(_embed_backward), setup_context=_save)
unembed.register_autograd(_backward_of(_unembed_backward), setup_context=_save)
for _op, _batched in ((embed, _rowwise_vmap), (unembed, _rowwise_vmap), (_embed_backward, _looped_vmap),
                      (_unembed_backward, _looped_vmap)):
    _op.register_vmap(_batched(_op))
