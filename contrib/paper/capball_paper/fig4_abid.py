"""Figure 4: ABID of the embedded rows over s."""

from __future__ import annotations

from typing import Any

import numpy as np

import capball

from . import datasets
from .plots import COLOURS, plotter
from .section import Section, Table
from .steps import Step

NAME = "fig4_abid"
TITLE = "ABID over the scale"
ABOUT = """ABID = 1/E[cos²] of 500 embedded rows (centred) as s goes from 0.01 to 100 times the mean norm. The horizontal line is the ABID of
the rows themselves plus one, which the paper expects to be an upper bound; the true bound is d + 1. Both maxima are marked."""


def sweep(rows: Any) -> dict[str, Any]:
    x = rows - rows.mean(0)
    mean = capball.fit(x, center=False).s
    factors = np.geomspace(0.01, 100, 401)
    values = capball.abid(x, mean * factors)
    peaks = [i for i in range(1, 400) if values[i] > values[i - 1] and values[i] >= values[i + 1]]
    peaks = sorted(sorted(peaks, key=lambda i: -values[i])[:2])
    grid = capball.abid(x, mean * np.geomspace(0.1, 10, 20))
    return {"d": x.shape[1], "factors": factors.tolist(), "values": values.tolist(), "peaks": peaks, "own": float(capball.abid(x)),
            "mean": float(capball.abid(x, mean)), "grid": float(grid.max())}


def sample(data: Any, seed: int) -> dict[str, Any]:
    rows = np.random.default_rng(seed).permutation(len(data.base))[:500]
    return sweep(data.base[rows].astype(float))


def drawn(kind: str, n: int, seed: int) -> dict[str, Any]:
    return sweep(datasets.uniform_ball(n, seed=seed) if kind == "uniform ball" else datasets.normal(n, seed=seed))


def plan(job: Any) -> list[Step]:
    sizes = (500,) if job.level == "short" else (500, 5000)
    made = [Step(drawn, {"kind": kind, "n": n, "seed": 0}, uses=(sweep, datasets.uniform_ball, datasets.normal))
            for kind in ("uniform ball", "normal") for n in sizes]
    return made + [Step(sample, {"seed": 0}, data, uses=(sweep,), seconds=2) for data in job.euclidean_sets()]


def name_of(step: Step) -> str:
    return step.data.name if step.data is not None else f"{step.settings['kind']}, n = {step.settings['n']}"


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    rows, over, dips, beyond, lost = [], 0, 0, 0.0, 0.0
    for step, told in zip(steps, given):
        key = name_of(step).replace(", n = ", "-").replace(" ", "-")
        values, factors = np.array(told["values"]), np.array(told["factors"])
        best, two = values.max(), len(told["peaks"]) > 1
        over += best > told["own"] + 1
        dips += two
        beyond = max(beyond, abs(np.log10(factors[values.argmax()])))
        lost = max(lost, 1 - told["grid"] / best)
        where = [section.put(f"{key}.peak{i}", factors[p], "mean norms", 2, [0]) for i, p in enumerate(told["peaks"])]
        rows.append([name_of(step), section.put(f"{key}.own", told["own"] + 1, "", 2, [0]), section.put(f"{key}.best", best, "", 2, [0]),
                     *(where + ["-"])[:2], section.put(f"{key}.mean", told["mean"], "", 2, [0]), section.put(f"{key}.mean-share", 100 * told["mean"] / best, "%", 1, [0])])
    section.put("sets", len(given), "", 0)
    section.put("over-bound", over, "", 0)
    section.put("two-maxima", dips, "", 0)
    section.put("farthest", 10**beyond, "times", 2)
    section.put("grid-loss", 100 * lost, "%", 2)
    section.put("mean-share.least", min(100 * t["mean"] / max(t["values"]) for t in given), "%", 1)
    section.tables.append(Table("ABID and the scale", ["rows", "own ABID + 1", "largest", "first maximum at s/mean norm", "second", "at the mean norm", "share of the largest, %"], rows))
    draw(section, steps, given)


def draw(section: Section, steps: list[Step], given: list[Any]) -> None:
    plt = plotter(NAME)
    if plt is None:
        return
    width = 3
    height = -(-len(steps) // width)
    figure, grid = plt.subplots(height, width, figsize=(10, 2.7 * height), squeeze=False)
    for axes, step, told in zip(grid.flat, steps, given):
        axes.semilogx(told["factors"], told["values"], color=COLOURS[1], label="ABID(s)")
        axes.axhline(told["own"] + 1, color="black", lw=0.8, label="own ABID + 1")
        axes.axvline(1, color=COLOURS[3], lw=0.8, label="mean norm")
        for edge in (0.1, 10):
            axes.axvline(edge, color=COLOURS[0], lw=0.6, label="0.1, 10 × mean norm" if edge < 1 else None)
        axes.plot([told["factors"][p] for p in told["peaks"]], [told["values"][p] for p in told["peaks"]], "v", ms=5, color=COLOURS[2], label="maxima")
        axes.set(title=name_of(step), xlabel="s / mean norm", ylabel="ABID (dimensions)")
    for axes in list(grid.flat)[len(steps):]:
        axes.set_visible(False)
    figure.tight_layout()
    figure.legend(*grid.flat[0].get_legend_handles_labels(), fontsize=7.5, ncols=5, loc="lower center", bbox_to_anchor=(0.5, -0.06))
    section.draw(figure, "ABID over s", "Curves of ABID over the scale for every set: low at both ends, with one or two maxima near the mean norm, and a dip between them.")
