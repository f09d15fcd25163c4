import math
import subprocess
import sys
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import capball
import kernel_cases as cases
from capball.torch import _plain
from capball.torch import CapLinear, InverseSphere, Sphere, SphereCapLinear, embed, unembed


def scale(value):
    return torch.tensor(float(value), dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("s", [-2.0, 0.0, 1.5])
def test_gradients(s):
    torch.manual_seed(0)
    x = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    y = torch.nn.functional.normalize(torch.randn(7, 6, dtype=torch.float64), dim=1).requires_grad_()
    longer = (y.detach() * torch.linspace(0.1, 3, 7, dtype=torch.float64)[:, None]).requires_grad_()
    assert torch.autograd.gradcheck(embed, (x, scale(s)))
    assert torch.autograd.gradcheck(unembed, (y, scale(s)))
    assert torch.autograd.gradcheck(unembed, (longer, scale(s)))


@pytest.mark.parametrize("dtype, u", [(torch.float32, 2**-24), (torch.float64, 2**-53)])
def test_plain_operations_give_the_same_numbers(dtype, u):
    torch.manual_seed(0)
    size = 10.0 ** torch.linspace(-6, 6, 200, dtype=dtype)[:, None]
    x = torch.randn(200, 8, dtype=dtype) * size
    t = torch.tensor(0.3, dtype=dtype)
    y = embed(x, t)
    assert (y - _plain.embed(x, t, None)).abs().max() <= 8 * u
    back, plain = unembed(y, t), _plain.unembed(y, t, None)
    assert ((back - plain).norm(dim=1) <= 16 * u * back.norm(dim=1)).all()


def test_extreme_points_have_finite_gradients():
    x = torch.tensor([[0.0] * 4, [1e-300] * 4, [1e300] * 4], dtype=torch.float64, requires_grad=True)
    embed(x, scale(0)).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_a_hundred_thousand_points():
    """The law in double, judged in numpy's long double: points of every size, 0 and the ends of the range among them."""
    torch.manual_seed(0)
    size = 10.0 ** torch.empty(100000, 1, dtype=torch.float64).uniform_(-300, 300)
    x = torch.randn(100000, 3, dtype=torch.float64) * size
    x[0], x[1], x[2] = 0.0, 1e308, 5e-324
    x.requires_grad_()
    t = scale(0.3)
    y = embed(x, t)
    wide = x.detach().numpy().astype(np.longdouble)
    s, n = np.exp(np.longdouble(0.3)), (wide * wide).sum(axis=1, keepdims=True)
    wanted = np.concatenate([2 * s * wide, s * s - n], axis=1) / (n + s * s)
    assert abs(y.detach().numpy() - wanted).max() <= 8 * 2.0**-53
    g = torch.randn(100000, 4, dtype=torch.float64)
    y.backward(g)
    up, q = g.numpy().astype(np.longdouble), n + s * s
    gradient = 2 * s * up[:, :3] / q - wide * (4 * s * ((wide * up[:, :3]).sum(axis=1, keepdims=True) + s * up[:, 3:]) / q / q)
    length = np.linalg.norm(2 * s / q * np.ones(4), axis=1)
    assert (np.linalg.norm((x.grad.numpy() - gradient).astype(np.float64), axis=1) <= 64 * 2.0**-53 * length.astype(np.float64) * 4 + 1e-300).all()
    assert torch.isfinite(t.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("s", [1.0, 1e-10, 1e12])
def test_second_derivatives_of_rows_of_every_size(dtype, s):
    torch.manual_seed(0)
    cases.check_second_derivatives("cpu", dtype, s)


def test_derivatives_of_every_order():
    cases.check_every_order("cpu")


def test_transforms():
    torch.manual_seed(0)
    net, x = torch.nn.Sequential(torch.nn.Linear(2, 3), Sphere(), CapLinear(3, 4)).double(), torch.randn(6, 2, dtype=torch.float64)
    cases.check_transforms(net, x)
    cases.check_transforms(torch.nn.Sequential(Sphere(), CapLinear(2, 3), InverseSphere()).double(), x)
    hessian = torch.autograd.functional.hessian(lambda row: torch.nn.Sequential(net[1], net[2])(row).sum(), torch.randn(3, dtype=torch.float64))
    assert hessian.abs().max() > 1e-3  # although the gradient of the sphere's output is a constant


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_second_derivatives_of_the_fused_layer(dtype):
    """With plain operations in place of the kernels."""
    torch.manual_seed(0)
    layer, x = SphereCapLinear(8, 5).to(dtype), torch.randn(3, 7, 8).to(dtype)
    kernels = types.SimpleNamespace(values=lambda x, t, weight, bias: torch.nn.functional.linear(embed(x, t), weight, bias),
                                    gradients=capball.torch._cap_gradients)
    cases.check_fused_derivatives(layer, lambda x: capball.torch._caps_function(x, *layer.parameters(), kernels), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_edges_of_plain_operations(dtype):
    cases.check_edges(_plain, "cpu", dtype)


def test_gradients_at_inf_and_nan_are_those_of_the_library():
    """Whether or not they can go on."""
    inf, nan, t = math.inf, math.nan, torch.zeros((), dtype=torch.float64)
    x = torch.tensor([[0, 0], [inf, 1], [-inf, inf], [nan, 1], [1e300, 1], [1, 2]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[0, 0, 1], [0, 0, -1], [0, 0, 0], [nan, 0, 1], [1, 0, 0]], dtype=torch.float64, requires_grad=True)
    for law, rows in ((embed, x), (unembed, y)):
        g = torch.ones_like(law(rows, t).detach())
        fused, = torch.autograd.grad(law(rows, t), rows, g)
        on, = torch.autograd.grad(law(rows, t), rows, g, create_graph=True)
        func = torch.func.vjp(lambda rows: law(rows, t), rows.detach())[1](g)[0]
        for got in (on.detach(), func):
            torch.testing.assert_close(got, fused, equal_nan=True)
        seconds, = torch.autograd.grad(on[torch.isfinite(fused).all(1)].sum(), rows)
        assert torch.isfinite(seconds[torch.isfinite(fused).all(1)]).all()


def test_nan_stays_in_its_row():
    x = torch.zeros(3, 2)
    x[1, 0] = float("nan")
    y = Sphere()(x)
    assert torch.isnan(y[1]).all() and torch.isfinite(y[[0, 2]]).all()


def test_net_compiles_batches_and_saves():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), Sphere(), CapLinear(3, 4))
    x = torch.randn(10, 2)
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), net(x))
    net(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    torch.testing.assert_close(torch.vmap(net[1])(torch.randn(6, 5, 3)).shape, torch.Size([6, 5, 4]))
    again = torch.nn.Sequential(torch.nn.Linear(2, 3), Sphere(), CapLinear(3, 4))
    again.load_state_dict(net.state_dict())
    torch.testing.assert_close(again(x), net(x), rtol=0, atol=0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.isfinite(net(x)).all()


def test_units_are_balls():
    torch.manual_seed(1)
    layer, sphere = CapLinear(2, 5), Sphere(s=1.5)
    x = torch.randn(400, 2, dtype=torch.float64)
    inside = layer.double()(sphere(x)) > 0
    for unit, region in enumerate(layer.regions(sphere)):
        sure = abs(layer(sphere(x))[:, unit].detach()) > 1e-6
        np.testing.assert_array_equal((region.scores(x) >= 0)[sure], inside[:, unit][sure])


def test_what_is_no_tensor_of_floats():
    for wrong, told in ((np.zeros((3, 2)), "got ndarray"), (torch.zeros(3, 2, dtype=torch.int64), "floats, got torch.int64")):
        with pytest.raises(TypeError, match=told):
            Sphere(s=1.0)(wrong)
    with pytest.raises(TypeError, match="capball.knn and capball.Index take arrays"):
        capball.torch.knn(np.zeros((3, 2)), np.zeros((1, 2)), 1)


def test_regions_need_the_sphere():
    torch.manual_seed(2)
    center = torch.tensor([3.0, -1.0], dtype=torch.float64)
    net = torch.nn.Sequential(Sphere(s=0.7, center=center), CapLinear(2, 3)).double()
    x = center + torch.randn(300, 2, dtype=torch.float64)
    inside = (net(x) >= 0).numpy()
    for regions in (net[1].regions(net), net[1].regions(net[0]), capball.ball_of(net)):
        found = np.stack([region.scores(x) >= 0 for region in regions], axis=1)
        sure = abs(net(x).detach().numpy()) > 1e-6
        np.testing.assert_array_equal(found[sure], inside[sure])
    with pytest.raises(TypeError):
        net[1].regions()
    with pytest.raises(TypeError, match="must be the Sphere before this layer"):
        net[1].regions(torch.nn.Sequential(net[1]))


def test_inverse():
    x = torch.randn(20, 3)
    torch.testing.assert_close(InverseSphere(2.0)(Sphere(2.0)(x)), x)


def test_ops_are_well_made():
    x = torch.randn(4, 3, requires_grad=True)
    torch.library.opcheck(torch.ops.capball.embed.default, (x, torch.zeros((), requires_grad=True)))


def test_gradients_of_each_row():
    """torch.func: vmap of grad, also of the scale."""
    torch.manual_seed(0)
    x, t = torch.randn(6, 3), torch.tensor(0.2)

    def loss(row, t):
        return (unembed(embed(row, t), t) * embed(row, t)[..., :-1]).sum()

    gx, gt = torch.vmap(torch.func.grad(loss, argnums=(0, 1)), in_dims=(0, None))(x, t)
    for i in range(len(x)):
        row, own = x[i].clone().requires_grad_(), t.clone().requires_grad_()
        loss(row, own).backward()
        torch.testing.assert_close(gx[i], row.grad)
        torch.testing.assert_close(gt[i], own.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_on_the_cpu_over_the_whole_range(dtype):
    most = 4.0 if dtype == torch.float16 else 37.0
    size = 10.0 ** torch.linspace(-most, most, 300, dtype=torch.float64)[:, None]
    x = (torch.randn(300, 5, dtype=torch.float64) * size).to(dtype)
    wanted = embed(x.double(), torch.tensor(0.0, dtype=torch.float64))
    y = embed(x, torch.tensor(0.0))
    ulp = wanted.abs().clamp(min=torch.finfo(dtype).smallest_normal) * torch.finfo(dtype).eps
    assert ((y.double() - wanted).abs() <= ulp).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_about_a_centre(dtype):
    torch.manual_seed(0)
    x, center = torch.randn(20, 4, dtype=dtype) + 3, torch.full((4,), 3.0)
    layer = Sphere(1.5, center=center)
    torch.testing.assert_close(layer(x), Sphere(1.5)(x - 3))
    torch.testing.assert_close(InverseSphere(1.5, center=center)(layer(x)), x)
    assert "center" in layer.state_dict() and "center" not in Sphere().state_dict()
    if dtype == torch.float64:
        assert torch.autograd.gradcheck(lambda x, t: embed(x, t, center.double()), (x.requires_grad_(), scale(0.3)))


def test_a_sphere_and_its_caps_as_one_layer():
    torch.manual_seed(0)
    layer, x = SphereCapLinear(3, 4, s=1.5), torch.randn(5, 3)
    assert torch.equal(layer(x), layer.caps(layer.sphere(x)))
    assert [type(a) for a in layer.regions()] == [type(a) for a in layer.caps.regions(1.5)] and len(layer.regions()) == 4
    apart = torch.nn.Sequential(layer.sphere, layer.caps)
    layer(x).sum().backward()
    got = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    apart(x).sum().backward()
    assert all(torch.equal(a, p.grad) for a, p in zip(got, layer.parameters()))


# ---- exports ----

ROWS = 10.0 ** torch.arange(-37.0, 38.0)[:, None] * torch.tensor([[0.6, -0.3, 0.5]])
ROWS = torch.cat([ROWS, torch.zeros(1, 3), torch.tensor([[math.inf, 1, 0], [1e-45, 0, 0], [3e38, 3e38, -3e38], [1, 2, 3]])])
NETS = {"in doubles": lambda: Sphere(2.0, learnable=False, center=torch.tensor([0.5, 1, 0], dtype=torch.float64)),
        "both": lambda: SphereCapLinear(3, 5), "inverse": lambda: InverseSphere(1.5),
        "there and back": lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), Sphere(), InverseSphere())}


def rows_for(name):
    """Every size that f32 has; of points those whose preimages fit."""
    rows = Sphere(1.5)(ROWS[:-4]).detach() if name == "inverse" else ROWS
    return rows[(rows[:, :-1] != 0).any(1)] if name == "inverse" else rows[rows.abs().amax(1) < 1e30] if name == "there and back" else rows


def assert_same(name, got, net, rows):
    wanted = net(rows).detach()
    size = wanted.abs().amax(1, keepdim=True) if name in ("inverse", "there and back") else 1
    assert got.shape == wanted.shape and (got - wanted).abs().div(size).max() <= 1e-6


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
def test_onnx(tmp_path, name, dynamo):
    """The graph has an input, standard operators alone, and gives the values of the net for other rows than those it was made with."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    if dynamo:
        pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    net, rows, file = NETS[name](), rows_for(name), str(tmp_path / "net.onnx")
    shapes = dict(dynamic_shapes=({0: torch.export.Dim("rows")},)) if dynamo else dict(dynamic_axes={"x": {0: "rows"}})
    torch.onnx.export(net, (torch.randn(7, rows.shape[1]),), file, dynamo=dynamo, input_names=["x"], **shapes)
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert len(model.graph.input) == 1 and not model.functions
    assert {node.domain for node in model.graph.node} == {""} and {opset.domain for opset in model.opset_import} == {""}
    session = runtime.InferenceSession(file)
    assert_same(name, torch.from_numpy(session.run(None, {"x": rows.numpy()})[0]), net, rows)


RUN_WITHOUT = """
import sys
sys.modules["capball"] = None  # no import of it succeeds
import torch
net = torch.export.load(sys.argv[1]).module() if sys.argv[1].endswith(".pt2") else torch.jit.load(sys.argv[1])
torch.save(net(torch.load(sys.argv[2])), sys.argv[3])
"""


@pytest.mark.parametrize("way", ["pt2", "trace"])
def test_programs_run_without_capball(tmp_path, way):
    """Exported and traced ones, in a process that has no capball."""
    torch.manual_seed(0)
    files = []
    for name, make in NETS.items():
        net, rows = make(), rows_for(name)
        files.append((name, net, rows, *(str(tmp_path / f"{len(files)}{ending}") for ending in ("." + way, ".rows", ".values"))))
        torch.save(rows, files[-1][4])
        example = torch.randn(7, rows.shape[1])
        if way == "pt2":
            torch.export.save(torch.export.export(net, (example,), dynamic_shapes=({0: torch.export.Dim("rows")},)), files[-1][3])
        else:
            torch.jit.trace(net, (example,)).save(files[-1][3])
    loop = "import sys; argv = sys.argv; code = argv[1]\nfor i in range(2, len(argv), 3): sys.argv = ['', *argv[i:i + 3]]; exec(code)"
    subprocess.run([sys.executable, "-W", "ignore", "-c", loop, RUN_WITHOUT, *(file for f in files for file in f[3:])], check=True)
    for name, net, rows, _, _, values in files:
        assert_same(name, torch.load(values), net, rows)


def test_exported_programs_train():
    """Their gradients, too, are those of the net, and they can be exported strictly."""
    torch.manual_seed(0)
    net, x = torch.nn.Sequential(torch.nn.Linear(2, 3), Sphere(), CapLinear(3, 4)), torch.randn(7, 2)
    for strict in (False, True):
        program = torch.export.export(net, (x,), strict=strict)
        assert not any("capball" in str(node.target) for node in program.graph.nodes)
        program = program.module()
        for got, want in zip(*(torch.autograd.grad(of(x).square().sum(), list(of.parameters())) for of in (program, net))):
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_compiled_transforms():
    """torch.compile of torch.func; what cannot be differentiated twice says so."""
    torch.manual_seed(0)
    net, x = torch.nn.Sequential(torch.nn.Linear(2, 3), Sphere(), CapLinear(3, 4)), torch.randn(7, 2)
    loss = lambda row: net(row).square().sum()
    for function in (torch.vmap(torch.func.grad(loss)), lambda x: torch.func.jvp(net, (x,), (x,))[1]):
        torch.testing.assert_close(torch.compile(function, fullgraph=True, backend="aot_eager")(x), function(x))
    own, seconds = x.clone().requires_grad_(), []
    for of in (net, torch.compile(net, fullgraph=True, backend="eager")):
        slope, = torch.autograd.grad(of(own).square().sum(), own, create_graph=True)
        seconds.append(torch.autograd.grad(slope.square().sum(), own)[0])
    torch.testing.assert_close(*seconds)
    own_net = torch.compile(net, fullgraph=True, backend="aot_eager")
    with pytest.raises(RuntimeError):
        slope, = torch.autograd.grad(own_net(own).square().sum(), own, create_graph=True)
        slope.square().sum().backward()
