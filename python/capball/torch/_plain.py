"""T1 and T12 in plain torch operations; the laws are those of _kernels.py. For devices and types without a kernel, for derivatives
beyond the first of every kind, and for exported programs: only operators that other programs have, too.

Powers of two are taken out of rows and gradients before anything is squared, and go back in last. No law depends on which they are,
so that they are constants of every derivative.
"""

from __future__ import annotations

import torch
from torch import Tensor


def _wide(a: Tensor) -> Tensor:
    return a.float() if a.dtype in (torch.float16, torch.bfloat16) else a


def _exponent(a: Tensor) -> Tensor:
    """The exponent of a >= 0, 0 for 0, kept where 2^e and 2^-e are normal numbers with room on both sides. One less is as good."""
    most = 960 if a.dtype == torch.float64 else 120
    return a.masked_fill(a == 0, 1).log2().floor().clamp(-most, most)


def _shift(a: Tensor, e: Tensor) -> Tensor:
    """2^e a, for exponents beyond those of the type."""
    most = 2040 if a.dtype == torch.float64 else 250
    e = e.clamp(-most, most)
    half = (e / 2).floor()
    return a * 2.0**half * 2.0 ** (e - half)


def _largest(a: Tensor) -> Tensor:
    return a.abs().amax(-1, keepdim=True)


def _sum(a: Tensor) -> Tensor:
    return a.sum(-1, keepdim=True)


def _scale(t: Tensor, like: Tensor) -> Tensor:
    """s = exp(t) as a constant times exp(t - t): in derivatives s comes back, none of its powers."""
    t = t.to(like.device).to(torch.float64 if like.dtype == torch.float64 or like.device.type == "cpu" else torch.float32)
    s = t.detach().exp()
    if like.dtype != torch.float64:
        s = s.clamp(1.1754943508222875e-38, 8.507059173023462e37)
    return s.to(like.dtype) * (t - t.detach()).exp().to(like.dtype)


def centered(x: Tensor, center: Tensor | None, sign: int = -1) -> Tensor:
    """x - c or x + c of a centre that may have more digits than x."""
    if center is None:
        return x
    center = center.detach()
    high = center.to(x.dtype)
    low = (center - high.to(center.dtype)).to(x.dtype)
    return (x - high) - low if sign < 0 else (x + low) + high


def _image(x: Tensor, t: Tensor, center: Tensor | None) -> tuple[Tensor, ...]:
    """z = 2^-e x, |z|^2, |z|^2 + sigma^2, sigma = 2^-e s, e, and y0 in the form whose derivatives do not cancel on either half."""
    x = centered(_wide(x), center)
    s = _scale(t, x)
    e = _exponent(torch.maximum(_largest(x.detach()), s.detach()))
    unit = 2.0**-e
    z, sigma = x * unit, s * unit
    norm2, sigma2 = _sum(z * z), sigma * sigma
    q, north = norm2 + sigma2, norm2 <= sigma2
    y0 = 1 - 2 * torch.where(north, norm2, sigma2) / q
    return z, norm2, q, sigma, e, torch.where(north, y0, -y0)


def embed(x: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
    z, norm2, q, sigma, _, y0 = _image(x, t, center)
    rest = (z * (2 * sigma / q)).masked_fill(norm2 == torch.inf, 0)  # goes to -e, the limit
    return torch.cat([rest, y0], dim=-1).to(x.dtype)


def _powers_out(g: Tensor) -> tuple[Tensor, Tensor]:
    """2^-h g and h. Derivatives end at the floor of `_exponent`: gradients in batches cannot be detached."""
    up = _wide(g)
    h = _exponent(_largest(up))
    return up * 2.0**-h, h


def embed_backward(x: Tensor, t: Tensor, center: Tensor | None, g: Tensor) -> tuple[Tensor, Tensor]:
    z, norm2, q, sigma, e, y0 = _image(x, t, center)
    up, h = _powers_out(g)
    up, last = up[..., :-1], up[..., -1:]
    product, factor = _sum(z * up), 2 * sigma / q
    k = 2 * (product + sigma * last) / q
    of_t = factor * (factor * norm2 * last - y0 * product)
    return _shift((up - z * k) * factor, h - e).to(x.dtype), _shift(of_t, h)


def _place(y: Tensor) -> tuple[Tensor, ...]:
    """Of y = (y', y0): z = 2^-c y', |z|^2, 2^-b |y|, 2^-b y0, whether y0 < 0, and the exponents b of y and c of y'."""
    y = _wide(y)
    rest, last = y[..., :-1], y[..., -1:]
    south, b, c = last < 0, _exponent(_largest(y.detach())), _exponent(_largest(rest.detach()))
    z, z0 = rest * 2.0**-c, last * 2.0**-b
    norm2 = _sum(z * z)
    return z, norm2, (_shift(norm2, 2 * (c - b)) + z0 * z0).sqrt(), z0, south, b, c


def _per_rise(norm2: Tensor, length: Tensor, z0: Tensor, south: Tensor) -> Tensor:
    """1/(|y| + y0) without cancellation on either half of the sphere, also in derivatives."""
    return torch.where(south, length - z0, 1.0) / torch.where(south, norm2, length + z0)


def unembed(y: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
    z, norm2, length, z0, south, b, c = _place(y)
    factor = (_scale(t, z) * _per_rise(norm2, length, z0, south)).masked_fill(norm2 == torch.inf, torch.nan)
    x = _shift(z * factor, torch.where(south, b - c, c - b))
    return centered(x, center, 1).to(y.dtype)


def unembed_backward(y: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    z, norm2, length, z0, south, b, c = _place(y)
    up, h = _powers_out(g)
    product, per_rise = _sum(z * up), _per_rise(norm2, length, z0, south)
    factor, r = _scale(t, z) * per_rise, torch.where(south, 2 * c - b, b)
    k = _shift(product * per_rise / length, torch.where(south, 0.0, 2 * (c - b)))
    last = _shift(-product / length, c - b)
    slope = _shift(torch.cat([up - z * k, last], dim=-1) * factor, h - r)
    return slope.to(y.dtype), _shift(product * factor, h + c - r)
