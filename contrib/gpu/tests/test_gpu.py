"""capball.torch where there is a CUDA device: kernels, layers under torch's transforms, exact neighbours."""

import math

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)
pytest.importorskip("triton")

import kernel_cases as cases
import kernel_shapes
from capball.torch import CapLinear, Index, InverseSphere, Sphere, SphereCapLinear, _C, _caps, _codes, _kernels, _plain, embed, knn, range_search, unembed

LENGTHS = [1, 2, 3, 4, 7, 8, 10, 16, 17, 31, 64, 65, 100, 128, 255, 784, 1000, 2048, 4097, 8192]


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
@pytest.mark.parametrize("d", LENGTHS)
def test_rows_of_every_size(dtype, d):
    torch.manual_seed(d)
    cases.check_rows(_kernels, "cuda", dtype, d, n=1000)


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
@pytest.mark.parametrize("way", [_kernels, _plain])
def test_edges(way, dtype):
    cases.check_edges(way, "cuda", dtype)


@pytest.mark.parametrize("shape", kernel_shapes.SHAPES)
def test_layouts(monkeypatch, shape):
    monkeypatch.setattr(_kernels, "_shape", kernel_shapes.shapes_of(shape, 32))
    cases.check_layouts(_kernels, "cuda")


@pytest.mark.parametrize("shape", list(kernel_shapes.SHAPES)[1:])
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_shapes(monkeypatch, dtype, shape):
    monkeypatch.setattr(_kernels, "_shape", kernel_shapes.shapes_of(shape, 64))
    torch.manual_seed(0)
    for d in (1, 5, 16, 50):
        cases.check_rows(_kernels, "cuda", dtype, d, n=1000, scales=(1.0,))
        cases.check_usual_rows(_kernels, "cuda", dtype, d, n=10000)


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3, 10, 16, 33, 100, 784])
def test_usual_rows(dtype, d):
    torch.manual_seed(d)
    cases.check_usual_rows(_kernels, "cuda", dtype, d, n=5000)


def test_a_compiled_net_has_the_kernels_in_its_own_code():
    """And no operator to dispatch."""
    from torch.profiler import ProfilerActivity, profile
    net, x = torch.compile(torch.nn.Sequential(Sphere(), InverseSphere()).cuda()), torch.randn(100, 7, device="cuda")
    net(x).sum().backward()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        net(x).sum().backward()
    assert not any(event.key.startswith("capball::") for event in seen.key_averages())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("d, units, n", [(2, 3, 100), (16, 17, 5000), (100, 10, 3001), (512, 10, 8192)])
def test_caps(dtype, d, units, n):
    cases.check_caps(_caps, "cuda", dtype, d, units, n)


def test_the_fused_layer_is_one_after_the_other():
    torch.manual_seed(0)
    layer, x = SphereCapLinear(40, 5).cuda(), torch.randn(7, 30, 40, device="cuda")
    fused, apart = layer(x), layer.caps(layer.sphere(x))
    assert fused.grad_fn is not None and type(fused.grad_fn) is not type(apart.grad_fn)
    torch.testing.assert_close(fused, apart, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(torch.compile(layer)(x), apart, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(torch.vmap(layer)(x), apart, rtol=1e-5, atol=1e-5)
    for got, want in zip(*(torch.autograd.grad(y.square().sum(), list(layer.parameters())) for y in (fused, apart))):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert layer(x.bfloat16()).dtype == layer(x).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_second_derivatives_of_the_fused_layer(dtype):
    torch.manual_seed(0)
    layer, x = SphereCapLinear(8, 5).cuda().to(dtype), torch.randn(3, 7, 8, device="cuda").to(dtype)
    assert type(layer(x).grad_fn) is not type(layer.caps(layer.sphere(x)).grad_fn)
    cases.check_fused_derivatives(layer, layer, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("s", [1.0, 1e-10, 1e12])
def test_second_derivatives_of_rows_of_every_size(dtype, s):
    torch.manual_seed(0)
    cases.check_second_derivatives("cuda", dtype, s)


def test_derivatives_of_every_order():
    cases.check_every_order("cuda")


def test_second_derivatives_of_rows_longer_than_a_kernel_has_them():
    torch.manual_seed(0)
    cases.check_second_derivatives("cuda", torch.float64, 1.0, n=20, d=9000)


def test_derivatives_of_nets():
    torch.manual_seed(0)
    x = torch.randn(6, 3, dtype=torch.float64, device="cuda")
    for of in (torch.nn.Sequential(Sphere(), CapLinear(3, 4)), torch.nn.Sequential(Sphere(), CapLinear(3, 4), InverseSphere()), SphereCapLinear(3, 4)):
        cases.check_transforms(of.cuda().double(), x)
    compiled = torch.compile(net(), fullgraph=True)
    x = torch.randn(6, 8, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError):  # of torch.compile
        torch.autograd.grad(compiled(x).square().sum(), x, create_graph=True)[0].square().sum().backward()


def test_programs_have_operators_of_torch_alone():
    torch.manual_seed(0)
    x = torch.randn(7, 8, device="cuda")
    for of in (net(), SphereCapLinear(8, 5).cuda()):
        program, traced = torch.export.export(of, (x,)), torch.jit.trace(of, (x,))
        assert not any("capball" in str(node.target) for node in program.graph.nodes) and "capball::" not in str(traced.inlined_graph)
        for other in (program.module(), traced):
            torch.testing.assert_close(other(x), of(x), rtol=1e-5, atol=1e-5)


def test_the_fused_layer_with_other_types_and_strides():
    torch.manual_seed(0)
    x, layer = torch.randn(70, 40, device="cuda"), SphereCapLinear(40, 5, learnable=False).cuda()
    layer.sphere.t.requires_grad_()  # in double
    turned = SphereCapLinear(40, 5, learnable=False).cuda()
    turned.load_state_dict(layer.state_dict())
    turned.sphere.t.requires_grad_()
    turned.caps.weight = torch.nn.Parameter(layer.caps.weight.detach().t().contiguous().t())
    for other in (layer, turned):
        own, y = [other.sphere.t, *other.parameters()], layer.caps(layer.sphere(x))
        torch.testing.assert_close(other(x), y, rtol=1e-5, atol=1e-5)
        wanted = torch.autograd.grad(y.square().sum(), [layer.sphere.t, *layer.parameters()])
        for got, want, of in zip(torch.autograd.grad(other(x).square().sum(), own), wanted, own):
            assert got.dtype == of.dtype
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)
    assert layer(x[:0]).shape == (0, 5)
    half = layer.half()
    half(x.half()).sum().backward()
    assert half.caps.weight.grad.dtype == torch.float16


def test_rows_longer_than_a_kernel_has_them():
    x = torch.randn(3, 9000, device="cuda")
    t = torch.zeros((), device="cuda")
    cases.assert_near(embed(x, t), _C.embed(x.cpu().double(), t.cpu().double(), None), torch.float32, 8)


def test_gradients():
    torch.manual_seed(0)
    t = torch.tensor(0.3, dtype=torch.float64, device="cuda", requires_grad=True)
    x = torch.randn(7, 5, dtype=torch.float64, device="cuda", requires_grad=True)
    y = torch.nn.functional.normalize(torch.randn(7, 6, dtype=torch.float64, device="cuda"), dim=1).requires_grad_()
    longer = (2 * y.detach()).requires_grad_()
    assert torch.autograd.gradcheck(embed, (x, t), nondet_tol=0)
    assert torch.autograd.gradcheck(unembed, (y, t), nondet_tol=0)
    assert torch.autograd.gradcheck(unembed, (longer, t), nondet_tol=0)


def net():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), Sphere(), CapLinear(16, 32), InverseSphere(), torch.nn.Linear(31, 1)).cuda()


def step(of, x):
    for p in of.parameters():
        p.grad = None
    loss = of(x).square().mean()
    loss.backward()
    return [p.grad.clone() for p in of.parameters()]


def test_compiled_nets_and_graphs_give_the_same_gradients():
    torch.manual_seed(0)
    x, eager = torch.randn(64, 8, device="cuda"), net()
    wanted = step(eager, x)
    for got, want in zip(step(torch.compile(eager, fullgraph=True), x), wanted):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step(eager, x)
    torch.cuda.current_stream().wait_stream(stream)
    graph, seen = torch.cuda.CUDAGraph(), x.clone()
    with torch.cuda.graph(graph):
        held = step(eager, seen)
    seen.copy_(torch.randn(64, 8, device="cuda"))
    graph.replay()
    for got, want in zip(held, step(net(), seen)):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_transforms_and_autocast():
    torch.manual_seed(0)
    x, layer = torch.randn(6, 5, 3, device="cuda"), Sphere().cuda()
    torch.testing.assert_close(torch.vmap(layer)(x), layer(x))
    each = torch.vmap(torch.func.grad(lambda row: embed(row, layer.t.detach()).square()[..., 0].sum()))(x[0])
    row = x[0].clone().requires_grad_()
    embed(row, layer.t.detach()).square()[..., 0].sum().backward()
    torch.testing.assert_close(each, row.grad)
    exported = torch.export.export(layer, (x,))
    torch.testing.assert_close(exported.module()(x), layer(x))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.isfinite(net()(torch.randn(9, 8, device="cuda"))).all()
    torch.library.opcheck(torch.ops.capball.embed.default, (x[0].requires_grad_(), torch.zeros((), device="cuda", requires_grad=True)))


def test_the_scale_may_stay_on_the_cpu():
    x = torch.randn(4, 3, device="cuda")
    torch.testing.assert_close(embed(x, torch.tensor(0.5)).cpu(), embed(x.cpu(), torch.tensor(0.5)))


def same(index, base, queries, k):
    cases.check_neighbours(index, base, queries.cuda(), k)


@pytest.mark.parametrize("case", list(cases.sets_of_rows(20000, 50, 24)), ids=lambda case: case[0])
def test_neighbours(case):
    _, base, queries = case
    same(Index(base.cuda()), base, queries, 10)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 32, 33, 128, 784, 4096])
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_neighbours_of_rows_of_every_length(d, k):
    torch.manual_seed(d)
    base, queries = torch.randn(5000, d), torch.randn(7, d)
    same(Index(base.cuda()), base, queries, k)


@pytest.mark.parametrize("queries", [1, 17, 65, 5000])
def test_any_number_of_queries(queries):
    torch.manual_seed(0)
    base, asked = torch.randn(3000, 16), torch.randn(queries, 16)
    same(Index(base.cuda()), base, asked, 5)


@pytest.mark.parametrize("dtype", [*cases.DTYPES, torch.int8], ids=str)
def test_every_type(dtype):
    torch.manual_seed(0)
    base = (torch.randn(3000, 16) * 30).to(dtype)
    same(Index(base.cuda()), base, torch.randn(9, 16) * 30, 5)


def test_lists_without_room(monkeypatch):
    """Queries that have more candidates than a list has room for are done again."""
    monkeypatch.setattr(_codes, "_LISTED", 1 << 16)
    torch.manual_seed(0)
    base = torch.cat([torch.randn(20000, 8), torch.randn(20000, 8) * 1e-5])
    same(Index(base.cuda()), base, torch.cat([torch.randn(20, 8), torch.randn(20, 8) * 1e-5]), 10)


def test_a_base_in_blocks_and_one_that_is_streamed(monkeypatch):
    monkeypatch.setattr(_codes, "_BLOCK_ROWS", 4096)
    torch.manual_seed(0)
    base, queries = torch.randn(20000, 24), torch.randn(30, 24)
    same(Index(base.cuda()), base, queries, 10)
    same(Index(base, "cuda"), base, queries, 10)
    assert torch.equal(knn(base, queries.cuda(), 3).ids, knn(base.cuda(), queries.cuda(), 3).ids)
    assert torch.equal(range_search(base.cuda(), queries.cuda(), 4.0).ids.cpu(), range_search(base, queries, 4.0).ids)


def test_what_the_c_library_refuses_is_refused():
    base = torch.randn(10, 3, device="cuda")
    for bad in (lambda: knn(base, base, 11), lambda: knn(base, base[:, :2]), lambda: knn(base, base * math.nan),
                lambda: knn(base * math.nan, base), lambda: range_search(base, base, -1.0)):
        with pytest.raises(ValueError):
            bad()
