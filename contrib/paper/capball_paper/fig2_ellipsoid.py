"""Figure 2: under a tilted pole a cap is an ellipse with one shorter axis; the library's ellipse beside the unembedded rim."""

from __future__ import annotations

from typing import Any

import numpy as np

import capball

from .plots import COLOURS, plotter
from .section import Section
from .steps import Step

NAME = "fig2_ellipsoid"
TITLE = "Caps and ellipsoids"
ABOUT = """The pole v is tilted by 30°. The rim of a cap is unembedded point by point, and drawn over the ellipse that the library
gives for the cap; its axes have the ratio v₀ = cos 30°."""


def ellipse() -> dict[str, Any]:
    v = np.array([0.0, -0.5, np.sqrt(0.75)])
    p = np.array([0.5, 0.3, 0.8])
    p /= np.linalg.norm(p)
    m, b = capball.SphereMap(2, 1.0, pole=v), 0.8
    shape = m.ball(capball.Cap(p, b))
    across = np.linalg.svd(p[None])[2][1:]
    angle = np.linspace(0, 2 * np.pi, 73)
    rim = b * p + np.sqrt(1 - b * b) * (np.cos(angle)[:, None] * across[0] + np.sin(angle)[:, None] * across[1])
    back = m.unembed(rim)
    side = np.array([-shape.axis[1], shape.axis[0]])
    drawn = shape.c + np.cos(angle)[:, None] * shape.along * shape.axis + np.sin(angle)[:, None] * shape.r * side
    return {"back": back.tolist(), "drawn": drawn.tolist(), "ratio": shape.along / shape.r, "off": float(np.abs(shape.scores(back)).max())}


def plan(job: Any) -> list[Step]:
    return [Step(ellipse)]


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    told = given[0]
    section.put("ratio", told["ratio"], "", 6)
    section.put("off", told["off"])
    section.notes.append(f"Ratio of the axes {section.numbers[NAME + '.ratio'].shown}; the rim's scores are at most {section.numbers[NAME + '.off'].shown}.")
    plt = plotter(NAME)
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(5, 4))
    axes.plot(*np.array(told["drawn"]).T, color=COLOURS[0], label="the library's ellipse")
    axes.plot(*np.array(told["back"]).T, "o", ms=3, color=COLOURS[1], label="rim of the cap, unembedded")
    axes.set(xlabel="x₁, in units of s", ylabel="x₂, in units of s", title="a cap under a pole tilted by 30°", aspect="equal")
    axes.legend(loc="center", fontsize=7)
    section.draw(figure, "Cap and ellipse", "An ellipse and points on it: the rim of a cap unembedded under a tilted pole.")
