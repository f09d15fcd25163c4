"""What the kernels of capball.torch must give, on any device: the C library's numbers, computed in double."""

import copy
import math

import numpy as np
import torch

import capball
from capball.torch import _C, _plain, embed, unembed

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
UNIT = {torch.float32: 2.0**-24, torch.float64: 2.0**-53, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}

RANGE = {torch.float32: (-38, 37), torch.float64: (-300, 300), torch.float16: (-7, 4), torch.bfloat16: (-38, 37)}
if not torch.cuda.is_available():
    RANGE[torch.bfloat16] = (-8, 8)  # Triton's interpreter has no bf16 below the normal numbers


def rows_of_every_size(n, d, dtype):
    """Gaussian rows from the smallest to the largest numbers of the type."""
    least, most = RANGE[dtype]
    size = 10.0 ** torch.linspace(least, most, n, dtype=torch.float64)[:, None]
    return (torch.randn(n, d, dtype=torch.float64) * size).to(dtype)


def scale(s):
    return torch.tensor(math.log(s), dtype=torch.float64)


def least(dtype):
    """The step of the smallest numbers of a type."""
    return torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps


def assert_near(got, wanted, dtype, units, size=None):
    """Row by row within `units` roundings of `size`, the length of the row wanted; where that fits the type."""
    most = wanted.abs().amax(-1, keepdim=True).clamp(min=1e-300)  # squares could leave the range
    size = (wanted / most).norm(dim=-1) * most[..., 0] if size is None else size
    error = ((got.cpu().double() - wanted) / most).norm(dim=-1) * most[..., 0]
    fits = torch.isfinite(wanted).all(-1) & (most[..., 0] < torch.finfo(dtype).max / 1024)
    allowed = units * UNIT[dtype] * size + 2 * least(dtype) * math.sqrt(got.shape[-1])
    worst = ((error - allowed)[fits] / (UNIT[dtype] * size[fits] + least(dtype))).max() if fits.any() else -1
    assert fits.any() and worst <= 0, f"{worst} roundings too many"


def check_rows(kernels, device, dtype, d, n=40, scales=(1.0, 1e-10, 1e12)):
    """Embedding, inverse and gradients of rows of every size."""
    x = rows_of_every_size(n, d, dtype)
    for s in scales:
        t = scale(s)
        there = x.to(device), t.to(device)
        y = kernels.embed(*there, None)
        wanted = _C.embed(x.double(), t, None)
        assert_near(y, wanted, dtype, 4, torch.ones(n, dtype=torch.float64))
        if dtype in (torch.float16, torch.bfloat16):
            ulp = wanted.abs().clamp(min=torch.finfo(dtype).smallest_normal) * torch.finfo(dtype).eps
            assert ((y.cpu().double() - wanted).abs() <= ulp + 2.0**-22).all()
        back = kernels.unembed(y, there[1], None)
        assert_near(back, _C.unembed(y.cpu().double(), t, None), dtype, 16 if dtype == torch.float64 else 4)
        check_gradients(kernels, device, x, y, t, s)


def check_usual_rows(kernels, device, dtype, d, n):
    """Rows of usual size and unit points of them, none of which needs to be scaled."""
    x, t = (torch.randn(n, d, dtype=torch.float64) * 2 / math.sqrt(d)).to(dtype), scale(1.5)
    y = kernels.embed(x.to(device), t.to(device), None)
    units = 16 if dtype == torch.float64 else 4  # doubles are compared with numbers that have errors, too
    assert_near(y, _C.embed(x.double(), t, None), dtype, units)
    assert_near(kernels.unembed(y, t.to(device), None), _C.unembed(y.cpu().double(), t, None), dtype, units)
    check_gradients(kernels, device, x, y, t, 1.5)
    if dtype in (torch.float16, torch.bfloat16):
        check_gradients_of_points(kernels, device, y, t)


def check_gradients_of_points(kernels, device, y, t):
    """Of points of any length, beside plain operations in double; the C library takes points for unit rows."""
    g = torch.randn(len(y), y.shape[1] - 1, dtype=torch.float64).to(y.dtype)
    gy, parts = kernels.unembed_backward(y, t.to(device), g.to(device))
    wanted, of_t = _plain.unembed_backward(y.cpu().double(), t, g.double())
    assert_near(gy, wanted, y.dtype, 4)
    assert abs(float(parts.double().sum() - of_t.sum())) <= 16 * UNIT[torch.float32] * float(of_t.abs().sum())


def check_gradients(kernels, device, x, y, t, s):
    dtype, n, d = x.dtype, *x.shape
    g = torch.randn(n, d + 1, dtype=torch.float64).to(dtype)
    gx, parts = kernels.embed_backward(x.to(device), t.to(device), None, g.to(device))
    wanted, of_t = _C.embed_backward(x.double(), t, None, g.double())
    largest = torch.maximum(x.double().abs().amax(1), torch.tensor(s, dtype=torch.float64))
    z, sigma = x.double() / largest[:, None], s / largest
    stretch = 2 * sigma / (z.norm(dim=1) ** 2 + sigma * sigma) / largest
    assert_near(gx, wanted, dtype, 12, stretch * g.double().norm(dim=1))
    assert abs(float(parts.double().sum()) - float(of_t)) <= 16 * UNIT[dtype] * float(g.double().norm(dim=1).sum())
    # The C library takes y for a unit row, which rows of halves are not.
    if dtype in (torch.float16, torch.bfloat16):
        return
    g = torch.randn(n, d, dtype=torch.float64).to(dtype)
    gy, parts = kernels.unembed_backward(y, t.to(device), g.to(device))
    wanted, of_t = _C.unembed_backward(y.cpu().double(), t, g.double())
    assert_near(gy, wanted, dtype, 16 if dtype == torch.float64 else 12)


def check_edges(kernels, device, dtype):
    """0, inf and NaN; rows without an image; gradients as large and as small as the type has them."""
    inf, nan, t = math.inf, math.nan, torch.zeros((), dtype=torch.float64, device=device)
    x = torch.tensor([[0, 0], [inf, 1], [-inf, inf], [nan, 1], [inf, nan]], dtype=dtype, device=device)
    y = kernels.embed(x, t, None).cpu()
    assert y[:3].tolist() == [[0, 0, 1], [0, 0, -1], [0, 0, -1]] and torch.isnan(y[3:]).all()
    y = torch.tensor([[0, 0, -1], [0, 0, 0], [0, nan, 1], [inf, 0, 1], [0, 0, 2], [3, 0, 0]], dtype=dtype, device=device)
    x = kernels.unembed(y, t, None).cpu()
    assert torch.isnan(x[:4]).all() and x[4:].tolist() == [[0, 0], [1, 0]]
    most = torch.finfo(dtype).max / 4096
    x = torch.tensor([[1, 1], [1e-3, 0]], dtype=dtype, device=device)
    g = torch.tensor([[most, -most, most], [0, most, 0]], dtype=dtype, device=device)
    gx, _ = kernels.embed_backward(x, t, None, g)
    wanted, _ = _C.embed_backward(x.cpu().double(), t.cpu(), None, g.cpu().double())
    assert_near(gx, wanted, dtype, 8, g.cpu().double().abs().amax(1) * 4)


def check_layouts(kernels, device):
    """Strided, batched, transposed and empty rows, a centre, and runs of rows that are moved whole."""
    torch.manual_seed(2)
    t = scale(1.5).to(device)
    for d in (1, 5, 16, 33):
        x = torch.randn(70, d).to(device)
        y = kernels.embed(x, t, None)
        torch.testing.assert_close(kernels.embed(torch.cat([x, x], 1)[:, :d], t, None), y, rtol=0, atol=4 * 2.0**-24)
        torch.testing.assert_close(kernels.embed(x.t().contiguous().t(), t, None), y, rtol=0, atol=4 * 2.0**-24)
        assert torch.equal(kernels.embed(x.reshape(7, 10, d), t, None), y.reshape(7, 10, d + 1))
        torch.testing.assert_close(kernels.unembed(torch.cat([y, y], 1)[:, :d + 1], t, None), kernels.unembed(y, t, None))
        assert kernels.embed(x[:0], t, None).shape == (0, d + 1)
        assert kernels.embed_backward(x[:0], t, None, y[:0])[1].sum() == 0
        center = torch.randn(d, dtype=torch.float64)
        about = kernels.embed(x, t, center.to(device))
        assert_near(about, _C.embed(x.cpu().double(), t.cpu(), center), torch.float32, 4)
        back = kernels.unembed(about, t, center.to(device)).cpu()
        assert (back - x.cpu()).norm(dim=1).max() <= 64 * 2.0**-24 * float(x.norm(dim=1).max() + center.norm())
        gx, _ = kernels.embed_backward(x, t, center.to(device), y)
        wanted, _ = _C.embed_backward(x.cpu().double() - center, t.cpu(), None, y.cpu().double())
        assert_near(gx, wanted, torch.float32, 8, torch.full((70,), 2 / 1.5, dtype=torch.float64))


def check_caps(caps, device, dtype, d, units, n):
    """The fused layer beside the embedding and a linear layer, both in double."""
    torch.manual_seed(d)
    x, g = torch.randn(n, d, dtype=torch.float64).to(dtype), torch.randn(n, units, dtype=torch.float64).to(dtype)
    x[0] *= 2.0**-14 if dtype == torch.float16 else 1e-30
    x[1] *= 2.0**12 if dtype == torch.float16 else 1e30
    t, weight, bias = scale(1.5).float(), torch.randn(units, d + 1), torch.randn(units)
    there = [a.to(device) for a in (x, t, weight)]
    y = _C.embed(x.double(), t.double(), None)
    wanted = y @ weight.double().T + bias.double()
    unit = UNIT[dtype] * math.sqrt(d + 1)
    layers = caps.caps_of(dtype, d, units, t.dtype, weight.dtype, bias.dtype)
    out = layers.values(*there, bias.to(device)).cpu().double()
    assert ((out - wanted).abs() <= 8 * unit * (weight.double().norm(dim=1) + bias.double().abs())).all()
    up = g.double() @ weight.double()
    gx, of_t = _C.embed_backward(x.double(), t.double(), None, up)
    weights, found = (g.double().T @ y, g.double().sum(0)), layers.gradients(*there, g.to(device))
    assert_near(found[0], gx, dtype, 16, up.norm(dim=1) * 2 / 1.5)
    assert abs(float(found[1]) - float(of_t)) <= 16 * unit * float(up.norm(dim=1).sum())
    for got, want in zip(found[2:], weights):
        assert ((got.cpu().double() - want).norm() <= 16 * unit * math.sqrt(n) * g.double().norm())


def neighbours(base, queries, k):
    """(ids, distances) of the C library."""
    found = capball.knn(*(a.float().numpy() if a.dtype == torch.bfloat16 else a.numpy() for a in (base, queries)), k)
    return torch.from_numpy(found.ids), torch.from_numpy(found.distances)


def check_neighbours(index, base, queries, k):
    """The same ids, order and bits of distances; all rows within the k-th distance, too."""
    ids, distances = neighbours(base.cpu(), queries.cpu(), k)
    found = index.knn(queries, k)
    assert torch.equal(found.ids.cpu(), ids) and torch.equal(found.distances.cpu(), distances)
    radius = distances[:, -1].contiguous()
    near = index.range_search(queries, radius.to(queries.device))
    arrays = (a.cpu().float().numpy() if a.dtype == torch.bfloat16 else a.cpu().numpy() for a in (base, queries))
    wanted = capball.range_search(*arrays, radius.numpy())
    assert near.lims.tolist() == wanted.lims.tolist()
    assert torch.equal(near.ids.cpu(), torch.from_numpy(wanted.ids))
    assert torch.equal(near.distances.cpu(), torch.from_numpy(wanted.distances))


def sets_of_rows(n, m, d):
    """Names, bases and queries that are easy, and some that are not."""
    torch.manual_seed(3)
    gauss, asked = torch.randn(n, d), torch.randn(m, d)
    yield "gauss", gauss, asked
    yield "ties", torch.randint(0, 3, (n, d)).float(), torch.randint(0, 3, (m, d)).float()
    yield "bytes", torch.randint(0, 256, (n, d), dtype=torch.uint8), torch.randint(0, 256, (m, d), dtype=torch.uint8)
    yield "bf16, far queries", gauss.bfloat16(), asked * 1000
    yield "doubles far from 0", gauss.double() * 1e3 + 1e7, asked.double() * 1e3 + 1e7
    outliers = gauss.clone()
    outliers[::97] *= 10.0 ** torch.linspace(1, 30, len(outliers[::97]))[:, None]
    yield "outliers", outliers, asked
    yield "two clusters", torch.cat([gauss[n // 2:] * 1e-4, gauss[:n // 2] * 1e-4 + 1]), asked * 1e-4
    yield "smallest numbers", gauss * 1e-40, asked * 1e-40
    yield "equal rows", torch.ones(n, d), torch.ones(m, d)
    yield "squares out of range", gauss.double() * 1e-170, asked.double() * 1e-170
    yield "squares out of range, too", gauss.double() * 1e200, asked.double() * 1e200


def wide(*tensors):
    """In numpy's long double, whose range has the squares of doubles."""
    return [a.detach().cpu().double().numpy().astype(np.longdouble) for a in tensors]


def dots(a, b):
    return (a * b).sum(axis=1, keepdims=True)


def embed_derivatives(x, s, g, v):
    """T12 in long double: the gradient of <g,S(x)>, its derivative along v, and the sizes that their roundings are measured by."""
    x, g, v = wide(x, g, v)
    s = np.longdouble(s)
    up, g0, n = g[:, :-1], g[:, -1:], dots(x, x)
    q = n + s * s
    factor, k = 2 * s / q, 2 * (dots(x, up) + s * g0) / q
    of_factor, of_k = -2 * factor * dots(x, v) / q, 2 * (dots(v, up) - k * dots(x, v)) / q
    first, second = factor * (up - k * x), of_factor * (up - k * x) - factor * (of_k * x + k * v)
    size = factor * np.sqrt(dots(g, g))
    return first, second, size, size * np.sqrt(dots(v, v)) * 2 * (np.sqrt(n) + s) / q


def unembed_derivatives(y, s, g, v):
    """The same of S^-1(y/|y|), of points of any length."""
    y, g, v = wide(y, g, v)
    s = np.longdouble(s)
    z, z0, w, w0 = y[:, :-1], y[:, -1:], v[:, :-1], v[:, -1:]
    N = dots(z, z)
    L, product = np.sqrt(N + z0 * z0), dots(z, g)
    f = np.where(z0 < 0, (L - z0) / np.where(N == 0, 1, N), 1 / (L + abs(z0)))  # 1/(L + z0)
    k = product * f / L
    of_L, of_f = (dots(z, w) + z0 * w0) / L, -f * f * (dots(z, w) + w0 / f) / L
    of_k = (dots(w, g) * f + product * of_f) / L - k * of_L / L
    first = np.concatenate([s * f * (g - k * z), -s * k], axis=1)
    second = np.concatenate([s * of_f * (g - k * z) - s * f * (of_k * z + k * w), -s * of_k], axis=1)
    size = s * f * np.sqrt(dots(g, g)) * np.maximum(1, np.sqrt(N) / L)
    return first, second, size, size * np.sqrt(dots(v, v)) * (f * np.sqrt(N) + 2) / L


def assert_derivative(got, wanted, size, dtype, units, fits):
    error = np.sqrt(dots(*[wide(got)[0] - wanted] * 2)) / size
    worst = float(np.where(np.isfinite(error), error, np.inf)[fits].max() / UNIT[dtype])
    assert fits.any() and worst <= units, f"{worst} roundings"


def check_second_derivatives(device, dtype, s, n=600, d=6):
    """Gradients that can go on, their derivatives, and those of torch.func, for rows whose derivatives are numbers of the type."""
    t = scale(s).to(device)
    most = 18 if dtype == torch.float32 else 140
    units = 16 if device == "cpu" else 24  # exp of a GPU rounds twice
    x = (torch.randn(n, d, dtype=torch.float64) * 10.0 ** torch.linspace(-most, most, n, dtype=torch.float64)[:, None]).to(dtype)
    x[0] = 0
    points = _C.embed(x.double(), t.cpu(), None)
    longer = points * 10.0 ** (torch.rand(n, 1, dtype=torch.float64) * 8 - 4)
    for law, derivatives, rows, more in ((embed, embed_derivatives, x, 1), (unembed, unembed_derivatives, points.to(dtype), -1),
                                         (unembed, unembed_derivatives, longer.to(dtype), -1)):
        rows = rows if law is embed else rows[(rows[:, :-1] != 0).any(1) | (rows[:, -1] > 0)]
        g, v = torch.randn(len(rows), rows.shape[1] + more).to(dtype), torch.randn(rows.shape).to(dtype)
        first, second, size, size2 = derivatives(rows, math.exp(t.item()), g, v)
        limits = torch.finfo(dtype)
        fits = (np.minimum(size, size2) > 1e9 * limits.tiny) & (np.maximum(size, size2) < limits.max / 1e9)
        rows, g, v = rows.to(device), g.to(device), v.to(device)
        own = rows.clone().requires_grad_()
        gradient, = torch.autograd.grad(law(own, t), own, g, create_graph=True)
        assert_derivative(gradient, first, size, dtype, units, fits)
        assert_derivative(torch.autograd.grad(gradient, own, v)[0], second, size2, dtype, units + 8, fits)
        gradient, along = torch.func.jvp(lambda rows: torch.func.vjp(lambda rows: law(rows, t), rows)[1](g)[0], (rows,), (v,))
        assert_derivative(gradient, first, size, dtype, units, fits)
        assert_derivative(along, second, size2, dtype, units + 8, fits)


def check_every_order(device):
    """Derivatives of both laws by both modes, in x and t, of the third order, too."""
    torch.manual_seed(0)
    t = torch.tensor(0.3, dtype=torch.float64, device=device, requires_grad=True)
    x = torch.randn(5, 3, dtype=torch.float64, device=device)
    x[0] = 0
    points = [rows.detach().requires_grad_() for rows in (x, embed(x, t), 3 * embed(x, t))]
    center = torch.randn(3, dtype=torch.float64, device=device)
    for law, rows in zip((embed, unembed, unembed), points):
        about = lambda rows, t, law=law: law(rows, t, center)
        assert torch.autograd.gradcheck(about, (rows, t), check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
        assert torch.autograd.gradgradcheck(about, (rows, t), check_fwd_over_rev=True, check_rev_over_rev=True)
        value = lambda t, law=law, rows=rows: law(rows.detach(), t).square().sum() ** 2
        third = torch.func.jacfwd(torch.func.jacfwd(torch.func.jacfwd(value)))(t.detach())
        other, = torch.autograd.grad(value(t), t, create_graph=True)
        for _ in range(2):
            other, = torch.autograd.grad(other, t, create_graph=True) if other.requires_grad else (torch.zeros_like(t),)
        torch.testing.assert_close(third, other.detach(), rtol=1e-9, atol=1e-9)


def check_transforms(net, x):
    """Hessians, forward mode, vmap and gradients of each row of a net, beside each other and beside gradients of rows alone."""
    def loss(row):
        return net(row).square().sum() + net(row).sum()

    own = x.clone().requires_grad_()
    slopes, = torch.autograd.grad(sum(loss(row) for row in own), own)
    torch.testing.assert_close(torch.vmap(torch.func.grad(loss))(x), slopes)
    torch.testing.assert_close(torch.vmap(net)(x), net(x))
    row, v = x[0], torch.randn_like(x[0])
    hessian = torch.autograd.functional.hessian(loss, row)
    assert hessian.abs().max() > 1e-3
    torch.testing.assert_close(hessian, hessian.T)
    step = 1e-4 * v
    ahead, behind = (torch.func.grad(loss)(row + a) for a in (step, -step))
    torch.testing.assert_close(hessian @ v, (ahead - behind) / 2e-4, rtol=1e-4, atol=1e-4)
    for other in (torch.func.hessian(loss)(row), torch.func.jacrev(torch.func.jacrev(loss))(row),
                  torch.func.jacfwd(torch.func.jacfwd(loss))(row), torch.autograd.functional.hessian(loss, row, vectorize=True)):
        torch.testing.assert_close(other, hessian)
    value, along = torch.func.jvp(net, (row,), (v,))
    torch.testing.assert_close(value, net(row))
    torch.testing.assert_close(along, torch.autograd.functional.jacobian(net, row) @ v)
    torch.testing.assert_close(torch.vmap(lambda v: torch.func.jvp(net, (row,), (v,))[1])(torch.stack([v, 2 * v]))[1], 2 * along)
    with torch.autograd.forward_ad.dual_level():
        dual = net(torch.autograd.forward_ad.make_dual(row, v))
        torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(dual).tangent, along)


def check_fused_derivatives(layer, forward, x):
    """First and second derivatives of a SphereCapLinear by `forward` are those of both layers apart, in double."""
    exact, found = copy.deepcopy(layer).double(), []
    apart = torch.nn.Sequential(exact.sphere, exact.caps)
    for of, rows, parameters in ((forward, x.clone(), layer.parameters()), (apart, x.double(), exact.parameters())):
        inputs = [rows.requires_grad_(), *parameters]
        y = of(rows).to(torch.float64)
        firsts = torch.autograd.grad(y.square().sum() + y.sum(), inputs, create_graph=True)
        seconds = torch.autograd.grad(sum(a.double().square().sum() for a in firsts), inputs)
        hessian = torch.autograd.functional.hessian(lambda rows: of(rows).double().sum(), rows.detach().flatten(0, -2)[:1])
        assert hessian.abs().max() > 1e-3
        found.append([a.detach().double() for a in (*firsts, *seconds, hessian)])
    for got, want in zip(*found):
        assert (got - want).norm() <= 32 * UNIT[x.dtype] * want.norm()
