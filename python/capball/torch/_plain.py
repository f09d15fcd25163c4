"""T1 and T12 in plain torch operations, for devices and types without a kernel; the laws are those of _kernels.py.

Powers of two are taken out of rows and gradients before anything is squared, and go back in last.
"""

from __future__ import annotations

import torch
from torch import Tensor


def _wide(a: Tensor) -> Tensor:
    return a.float() if a.dtype in (torch.float16, torch.bfloat16) else a


def _exponent(a: Tensor) -> Tensor:
    """The exponent of a >= 0, kept where 2^e and 2^-e are normal numbers with room on both sides."""
    most = 960 if a.dtype == torch.float64 else 120
    return (torch.frexp(a).exponent - 1).clamp(-most, most)


def _power(e: Tensor, dtype: torch.dtype) -> Tensor:
    """2^e, to the bit."""
    if dtype == torch.float64:
        return ((e.long() + 1023) << 52).view(dtype)
    return ((e.int() + 127) << 23).view(dtype)


def _shift(a: Tensor, e: Tensor) -> Tensor:
    """2^e a, for exponents beyond those of the type."""
    most = 2040 if a.dtype == torch.float64 else 250
    e = e.clamp(-most, most)
    half = e >> 1
    return a * _power(half, a.dtype) * _power(e - half, a.dtype)


def _largest(a: Tensor) -> Tensor:
    return a.abs().amax(-1, keepdim=True)


def _sum(a: Tensor) -> Tensor:
    return a.sum(-1, keepdim=True)


def _scale(t: Tensor, like: Tensor) -> Tensor:
    s = t.to(like.device).to(torch.float64 if like.dtype == torch.float64 or like.device.type == "cpu" else torch.float32).exp()
    if like.dtype == torch.float64:
        return s
    return s.clamp(1.1754943508222875e-38, 8.507059173023462e37).to(like.dtype)


def centered(x: Tensor, center: Tensor | None, sign: int = -1) -> Tensor:
    """x - c or x + c of a centre that may have more digits than x."""
    if center is None:
        return x
    high = center.to(x.dtype)
    low = (center - high.to(center.dtype)).to(x.dtype)
    return (x - high) - low if sign < 0 else (x + low) + high


def _image(x: Tensor, t: Tensor, center: Tensor | None) -> tuple[Tensor, ...]:
    """z = 2^-e x, |z|^2, |z|^2 + sigma^2, sigma = 2^-e s, and e."""
    x = centered(_wide(x), center)
    s = _scale(t, x)
    e = _exponent(torch.maximum(_largest(x), s))
    unit = _power(-e, x.dtype)
    z, sigma = x * unit, s * unit
    norm2 = _sum(z * z)
    return z, norm2, norm2 + sigma * sigma, sigma, e


def embed(x: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
    z, norm2, q, sigma, _ = _image(x, t, center)
    infinite = norm2 == torch.inf  # goes to -e, the limit
    rest = torch.where(infinite, 0, z * (2 * sigma / q))
    last = torch.where(infinite, -1, (sigma * sigma - norm2) / q)
    return torch.cat([rest, last], dim=-1).to(x.dtype)


def embed_backward(x: Tensor, t: Tensor, center: Tensor | None, g: Tensor) -> tuple[Tensor, Tensor]:
    z, norm2, q, sigma, e = _image(x, t, center)
    up = _wide(g)
    h = _exponent(_largest(up))
    up = up * _power(-h, up.dtype)
    up, last = up[..., :-1], up[..., -1:]
    product, factor = _sum(z * up), 2 * sigma / q
    k = 2 * (product + sigma * last) / q
    of_t = factor * (factor * norm2 * last - (sigma * sigma - norm2) / q * product)
    return _shift((up - z * k) * factor, h - e).to(x.dtype), _shift(of_t, h)


def _place(y: Tensor) -> tuple[Tensor, ...]:
    """Of y = (y', y0): z = 2^-c y', |z|^2, 2^-b |y|, 2^-b y0, and the exponents b of y and c of y'."""
    y = _wide(y)
    rest, last = y[..., :-1], y[..., -1:]
    b, c = _exponent(_largest(y)), _exponent(_largest(rest))
    z, z0 = rest * _power(-c, y.dtype), last * _power(-b, y.dtype)
    norm2 = _sum(z * z)
    return z, norm2, (_shift(norm2, 2 * (c - b)) + z0 * z0).sqrt(), z0, b, c


def unembed(y: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
    z, norm2, length, z0, b, c = _place(y)
    south, s = z0 < 0, _scale(t, z)
    factor = torch.where(south, s * (length - z0), s) / torch.where(south, norm2, length + z0)
    factor = torch.where(norm2 < torch.inf, factor, torch.nan)
    return centered(_shift(z * factor, torch.where(south, b - c, c - b)), center, 1).to(y.dtype)


def unembed_backward(y: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    z, norm2, length, z0, b, c = _place(y)
    up = _wide(g)
    h = _exponent(_largest(up))
    up = up * _power(-h, up.dtype)
    south, product = z0 < 0, _sum(z * up)
    rise = torch.where(south, norm2 / (length - z0), length + z0)
    r = torch.where(south, 2 * c - b, b)
    factor = _scale(t, z) / rise
    k = _shift(product / (rise * length), torch.where(south, 0, 2 * (c - b)))
    last = _shift(-product / length, c - b)
    slope = _shift(torch.cat([up - z * k, last], dim=-1) * factor, h - r)
    return slope.to(y.dtype), _shift(product * factor, h + c - r)
