"""Figure 3: pairwise cosines before and after the embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

import capball

from . import datasets
from .plots import COLOURS, plotter
from .section import Section, Table
from .steps import Step

NAME = "fig3_cosines"
TITLE = "Cosines before and after"
ABOUT = """500 rows, centred, s the mean norm; 10000 random pairs. Of rows with y₀ = tanh t the new cosine is sech t·sech t'·cos + tanh t·tanh t',
so no cosine moves by more than 2 max y₀²: the bound beside."""


def cosines(rows: Any, seed: int) -> dict[str, Any]:
    x = rows - rows.mean(0)
    y = capball.fit(x, center=False).embed(x)
    i, j = np.random.default_rng(seed).integers(len(x), size=(2, 10000))
    i, j = i[i != j], j[i != j]
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    before, after = (unit[i] * unit[j]).sum(1), (y[i] * y[j]).sum(1)
    return {"before": before[:4000].round(4).tolist(), "after": after[:4000].round(4).tolist(), "correlation": float(np.corrcoef(before, after)[0, 1]),
            "moved": float(np.abs(after - before).max()), "typical": float(np.median(np.abs(after - before))), "bound": float(2 * (y[:, -1] ** 2).max()),
            "slope": float(np.polyfit(before, after, 1)[0])}


def sample(data: Any, seed: int) -> dict[str, Any]:
    rows = np.random.default_rng(seed).permutation(len(data.base))[:500]
    return cosines(data.base[rows].astype(float), seed)


def drawn(kind: str, seed: int) -> dict[str, Any]:
    return cosines(datasets.uniform_ball(seed=seed) if kind == "uniform ball" else datasets.normal(seed=seed), seed)


def plan(job: Any) -> list[Step]:
    made = [Step(drawn, {"kind": kind, "seed": 0}, uses=(cosines, datasets.uniform_ball, datasets.normal)) for kind in ("uniform ball", "normal")]
    return made + [Step(sample, {"seed": 0}, data, uses=(cosines,)) for data in job.euclidean_sets()]


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    rows = []
    for step, told in zip(steps, given):
        name = step.data.name if step.data is not None else step.settings["kind"]
        key = name.replace(" ", "-")
        rows.append([name, section.put(f"{key}.correlation", told["correlation"], "", 4, [0]), section.put(f"{key}.slope", told["slope"], "", 3, [0]),
                     section.put(f"{key}.typical", told["typical"], "", 3, [0]), section.put(f"{key}.moved", told["moved"], "", 3, [0]),
                     section.put(f"{key}.bound", min(2.0, told["bound"]), "", 3, [0])])
    section.put("correlation.least", min(t["correlation"] for t in given), "", 3)
    section.put("moved.beyond-bound", sum(t["moved"] > t["bound"] for t in given), "", 0)
    section.tables.append(Table("Cosines of 10000 pairs", ["rows", "correlation", "slope", "median |change|", "largest |change|", "bound"], rows))
    plt = plotter(NAME)
    if plt is None:
        return
    few = [(s, g) for s, g in zip(steps, given) if s.data is None or s.data.name.startswith(("mnist", "digits", "fashion"))][:4]
    figure, all_axes = plt.subplots(1, len(few), figsize=(3.1 * len(few), 3.4), sharey=True, squeeze=False)
    for axes, (step, told) in zip(all_axes[0], few):
        axes.plot(told["before"], told["after"], ".", ms=2, alpha=0.35, color=COLOURS[1], rasterized=True, label="pairs")
        axes.plot([-1, 1], [-1, 1], color=COLOURS[0], lw=1, label="identity")
        axes.set(title=step.data.name if step.data is not None else step.settings["kind"], xlabel="cosine before (no unit)", xlim=(-1, 1), ylim=(-1, 1))
        axes.legend(loc="upper left", fontsize=7)
    all_axes[0][0].set_ylabel("cosine after (no unit)")
    section.draw(figure, "Cosines before and after the embedding", "Scatter plots of pairwise cosines after the embedding over those before; the points lie around the identity line.")
