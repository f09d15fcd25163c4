"""Figure 6: the embedding as the first activation of a small net, on moons; and on Fashion-MNIST, where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .plots import COLOURS, plotter
from .section import Section, Table
from .steps import Step

NAME = "fig6_activation"
TITLE = "The embedding as an activation"
ABOUT = """Nets of the paper's sizes on moons (500 rows, noise 0.1, full batches): 2x2, first activation, 2x16 (3x16 after S), ReLU, 16x2. S has a learned scale and,
as in the paper, a first layer that begins as the identity, while the baseline begins at random; each is also run the other way. RBF is exp(−z²), geoopt its
stereographic sphere's exponential map with learned curvature. 20 seeds. A point is undecided where the larger probability is below 0.95, on a grid around the
rows. On Fashion-MNIST: 784x32, activation, 64, 10, Adam, batches of 256."""

ACTIVATIONS = {"S": (), "S, random start": (), "ReLU": (), "ReLU, identity start": (), "tanh": (), "RBF": (), "geoopt": ("geoopt",)}
RATES = {"Adam": 0.02, "SGD": 0.5}


def first_activation(kind: str, units: int) -> tuple[Any, int]:
    """The layer, and how many numbers come out of it."""
    import torch

    from capball.torch import Sphere

    if kind.startswith("S"):
        return Sphere(1.0), units + 1
    return {"ReLU": torch.nn.ReLU(), "tanh": torch.nn.Tanh()}[kind], units


def small_net(kind: str, seed: int) -> Any:
    import torch

    torch.manual_seed(seed)
    width = 3 if kind.startswith("S") else 2
    first = torch.nn.Linear(2, 2)
    if kind == "S" or kind.endswith("identity start"):
        torch.nn.init.eye_(first.weight)
        torch.nn.init.zeros_(first.bias)
    return [first, torch.nn.Linear(width, 16), torch.nn.Linear(16, 2)]


class Nets:
    """One small net per seed, trained side by side: every layer is a stack over the seeds."""

    def __init__(self, kind: str, seeds: int) -> None:
        import torch

        nets = [small_net(kind, seed) for seed in range(seeds)]
        self.kind = kind
        self.layers = [(torch.stack([net[i].weight.detach().T for net in nets]).requires_grad_(),
                        torch.stack([net[i].bias.detach() for net in nets]).unsqueeze(1).requires_grad_()) for i in range(3)]
        self.own = torch.full((seeds, 1, 1), 1.0 if kind == "geoopt" else 0.0, requires_grad=True)  # curvature, or log s

    def parameters(self) -> list[Any]:
        return [p for layer in self.layers for p in layer] + ([self.own] if self.kind.startswith(("S", "geoopt")) else [])

    def first(self, z: Any) -> Any:
        import torch

        from capball.torch import _plain

        if self.kind.startswith("S"):
            return _plain.embed(z, self.own, None)  # a scale per seed: the layer's form in torch's own operations
        if self.kind == "geoopt":
            from geoopt.manifolds.stereographic import math

            return math.expmap0(z, k=self.own)
        return {"ReLU": torch.relu, "tanh": torch.tanh, "RBF": lambda v: torch.exp(-v * v)}[self.kind.split(",")[0]](z)

    def __call__(self, x: Any) -> Any:
        import torch

        (a, b), (c, d), (e, f) = self.layers
        return torch.relu(self.first(x @ a + b) @ c + d) @ e + f


def moons(kind: str, optimiser: str, seeds: int, steps: int) -> dict[str, Any]:
    """Loss curves of all seeds, and how decided the nets are."""
    import torch
    from sklearn.datasets import make_moons

    torch.set_num_threads(1)
    made = [make_moons(500, noise=0.1, random_state=seed) for seed in range(seeds)]
    x, y = torch.tensor(np.stack([m[0] for m in made]), dtype=torch.float32), torch.tensor(np.stack([m[1] for m in made]))
    nets = Nets(kind, seeds)
    walk = (torch.optim.Adam if optimiser == "Adam" else torch.optim.SGD)(nets.parameters(), lr=RATES[optimiser])
    curves = []
    for _ in range(steps):
        walk.zero_grad()
        loss = torch.nn.functional.cross_entropy(nets(x).flatten(0, 1), y.flatten(), reduction="none").view(seeds, -1).mean(1)
        loss.sum().backward()
        walk.step()
        curves.append(loss.detach().numpy().copy())
    losses = np.array(curves).T
    a, b = np.meshgrid(np.linspace(-2, 3, 60), np.linspace(-1.5, 2, 60))
    around = torch.tensor(np.stack([a.ravel(), b.ravel()], 1), dtype=torch.float32).expand(seeds, -1, -1)
    with torch.no_grad():
        sure = torch.softmax(nets(around.contiguous()), 2)
        right = (nets(x).argmax(2) == y).float().mean(1)
    bands = np.quantile(losses, (0.1, 0.5, 0.9), axis=0).round(5).tolist()
    reached = [int(np.argmax(c <= 0.1)) + 1 if (c <= 0.1).any() else None for c in losses]
    return {"bands": bands, "reached": reached, "final": losses[:, -1].tolist(), "undecided": (sure.max(2).values < 0.95).float().mean(1).tolist(),
            "accuracy": right.tolist(), "grid": sure[0, :, 1].reshape(60, 60).numpy().round(3).tolist()}


def images(data: Any, kind: str, seed: int, rows: int | None, epochs: int) -> dict[str, Any]:
    """Test accuracy on images."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    base, queries, labels, wanted = data.base[:rows], data.queries, data.labels[0][:rows], data.labels[1]
    mean, size = base.mean(), base.std()
    x, q = (torch.tensor((np.asarray(r, np.float32) - mean) / size, dtype=torch.float32) for r in (base, queries))
    y = torch.tensor(labels.astype(np.int64))
    layer, width = first_activation(kind, 32)
    net = torch.nn.Sequential(torch.nn.Linear(784, 32), layer, torch.nn.Linear(width, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    walk, curve = torch.optim.Adam(net.parameters(), lr=1e-3), []
    for _ in range(epochs):
        for some in torch.randperm(len(x)).split(256):
            walk.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x[some]), y[some])
            loss.backward()
            walk.step()
            curve.append(loss.item())
    with torch.no_grad():
        right = float((net(q).argmax(1).numpy() == wanted).mean())
    return {"accuracy": 100 * right, "loss": float(np.mean(curve[-50:])), "curve": [float(np.mean(c)) for c in np.array_split(curve, 60)]}


def plan(job: Any) -> list[Step]:
    seeds, length = {"short": (2, 100), "quick": (5, 200), "full": (20, 250)}[job.level]
    steps = [Step(moons, {"kind": kind, "optimiser": optimiser, "seeds": seeds, "steps": length}, needs=("torch", "scikit-learn", *needs),
                  uses=(small_net, Nets), seconds=1 + seeds * length * 5e-4) for optimiser in RATES for kind, needs in ACTIVATIONS.items()]
    data = job.named("fashion-mnist-784-euclidean")
    if data is not None and job.level != "short":
        rows, epochs, repeat = (10000, 2, 2) if job.level == "quick" else (None, 3, 3)
        steps += [Step(images, {"kind": kind, "seed": seed, "rows": rows, "epochs": epochs}, data, ("torch",), (first_activation,), seconds=6)
                  for kind in ("S", "ReLU", "tanh") for seed in range(repeat)]
    return steps


def typical(reached: list[Any]) -> float:
    """The median; NaN where half of the runs do not get there."""
    return float(np.median([np.inf if r is None else r for r in reached]))


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    section.notes += sorted({f"{s.settings['kind']}: {g['missing']}" for s, g in zip(steps, given) if "missing" in g})
    on_moons = {(s.settings["optimiser"], s.settings["kind"]): g for s, g in zip(steps, given) if s.call is moons and "bands" in g}
    for optimiser in RATES:
        rows = []
        for kind in ACTIVATIONS:
            own = on_moons.get((optimiser, kind))
            if own is None:
                rows.append([kind, "not run", "", "", "", ""])
                continue
            key, n = f"moons.{optimiser}.{kind}".replace(",", "").replace(" ", "-"), range(len(own["reached"]))
            steps_needed = typical(own["reached"])
            rows.append([kind, section.put(f"{key}.steps", steps_needed, "steps", 0, n) if np.isfinite(steps_needed) else "not within the run",
                         section.put(f"{key}.reached", 100 * np.mean([r is not None for r in own["reached"]]), "%", 0, n),
                         section.put(f"{key}.loss", float(np.median(own["final"])), "", 4, n), section.put(f"{key}.undecided", float(np.mean(own["undecided"])), "", 3, n),
                         section.put(f"{key}.accuracy", 100 * float(np.mean(own["accuracy"])), "%", 1, n), against(section, key, own, on_moons.get((optimiser, "S")))])
        section.tables.append(Table(f"Moons, {optimiser}", ["first activation", "steps to loss 0.1 (median)", "seeds that get there, %", "last loss (median)", "undecided share", "accuracy, %", "p, last loss against S"], rows,
                                    "p: two-sided Mann-Whitney test over the seeds."))
    on_images(section, [(s.settings, g) for s, g in zip(steps, given) if s.call is images and "accuracy" in g])
    draw(section, on_moons)


def against(section: Section, key: str, own: Any, sphere: Any) -> Any:
    if sphere is None or own is sphere:
        return "-"
    from scipy.stats import mannwhitneyu

    return section.put(f"{key}.p", float(mannwhitneyu(own["final"], sphere["final"]).pvalue), "", None, range(len(own["final"])))


def on_images(section: Section, told: list[Any]) -> None:
    if not told:
        section.notes.append("Fashion-MNIST: this set is not here")
        return
    rows = []
    for kind in dict.fromkeys(s["kind"] for s, _ in told):
        own = [g for s, g in told if s["kind"] == kind]
        rows.append([kind, section.put_mean(f"images.{kind}.accuracy", [g["accuracy"] for g in own], "%", 2), section.put_mean(f"images.{kind}.loss", [g["loss"] for g in own], "", 4)])
    section.tables.append(Table("Fashion-MNIST", ["first activation", "test accuracy, %", "training loss at the end"], rows))


def draw(section: Section, on_moons: Any) -> None:
    plt = plotter(NAME)
    if plt is None or not on_moons:
        return
    figure, grid = plt.subplots(2, 2, figsize=(9.5, 6.8))
    for axes, optimiser in zip(grid[0], RATES):
        for kind, colour in zip(ACTIVATIONS, COLOURS):
            if (optimiser, kind) in on_moons:
                low, middle, high = on_moons[(optimiser, kind)]["bands"]
                axes.semilogy(middle, color=colour, label=kind)
                axes.fill_between(range(len(low)), low, high, color=colour, alpha=0.12, lw=0)
        axes.set(title=f"training loss, {optimiser}: median and 10-90 % of the seeds", xlabel="step", ylabel="cross entropy (nats)")
    grid[0][0].legend(fontsize=7)
    for axes, kind in zip(grid[1], ("S", "ReLU")):
        if ("Adam", kind) in on_moons:
            shown = axes.contourf(np.linspace(-2, 3, 60), np.linspace(-1.5, 2, 60), np.array(on_moons[("Adam", kind)]["grid"]), levels=np.linspace(0, 1, 11), cmap="RdBu_r")
            figure.colorbar(shown, ax=axes, label="probability of class 1")
        axes.set(title=f"{kind}: what the net decides", xlabel="x₁ (no unit)", ylabel="x₂ (no unit)")
    figure.tight_layout()
    section.draw(figure, "Loss curves and decision boundaries on moons", "Above: training loss over steps for every first activation, with Adam and with SGD, as bands over the seeds. Below: the probability that the nets with S and with ReLU give to class 1 over the plane.")
