"""Figure 1: the plane, the sphere, a ball and its cap, drawn from the library."""

from __future__ import annotations

from typing import Any

import numpy as np

import capball

from .plots import COLOURS, plotter
from .section import Section
from .steps import Step

NAME = "fig1_stereographic"
TITLE = "The stereographic picture"
ABOUT = """Rows of the line and of the plane, carried to the circle and to the sphere by the library's embedding; a ball and the cap
that it becomes."""


def picture() -> dict[str, Any]:
    """Points of a grid with their images, the edge of a ball with its image, the cap."""
    line = np.linspace(-3, 3, 25)[:, None]
    side = np.linspace(-2, 2, 17)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    angle = np.linspace(0, 2 * np.pi, 181)
    ball = capball.Ball([0.9, 0.5], 0.6)
    edge = ball.c + ball.r * np.stack([np.cos(angle), np.sin(angle)], 1)
    one, two = capball.SphereMap(1, 1.0), capball.SphereMap(2, 1.0)
    cap = two.cap(ball)
    rim = two.embed(edge)
    return {"line": line.tolist(), "circle": one.embed(line).tolist(), "grid": grid.tolist(), "sphere": two.embed(grid).tolist(),
            "edge": edge.tolist(), "rim": rim.tolist(), "p": cap.p.tolist(), "off": float(np.abs(rim @ cap.p - cap.b).max())}


def plan(job: Any) -> list[Step]:
    return [Step(picture)]


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    told = {key: np.array(value) for key, value in given[0].items()}
    section.put("rim.off", told["off"], "")
    section.notes.append(f"The rim of the cap lies in one plane: ⟨p,y⟩ − b is at most {section.numbers[NAME + '.rim.off'].shown}.")
    plt = plotter(NAME)
    if plt is None:
        return
    figure = plt.figure(figsize=(9, 4))
    axes = figure.add_subplot(1, 2, 1)
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(angle), np.sin(angle), color=COLOURS[2], label="unit circle")
    for x, y in zip(told["line"], told["circle"]):
        axes.plot([0, x[0]], [-1, 0], color="#cccccc", lw=0.5)
        axes.plot([x[0], y[0]], [0, y[1]], color="#cccccc", lw=0.5)
    axes.plot(told["line"], 0 * told["line"], "o", ms=3, color=COLOURS[0], label="rows x")
    axes.plot(*told["circle"].T, "o", ms=3, color=COLOURS[1], label="S(x)")
    axes.plot([0], [-1], "ks", ms=4, label="−e")
    axes.set(xlabel="x, in units of s", ylabel="last coordinate", title="one dimension to the circle", aspect="equal")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.15), ncols=4, fontsize=7)
    solid = figure.add_subplot(1, 2, 2, projection="3d")
    solid.scatter(*told["grid"].T, 0, s=3, color=COLOURS[0], label="plane")
    solid.scatter(*told["sphere"].T, s=3, color=COLOURS[1], label="S(plane)")
    solid.plot(*told["edge"].T, 0 * told["edge"][:, 0], color=COLOURS[0], lw=2, label="ball")
    solid.plot(*told["rim"].T, color=COLOURS[3], lw=2, label="its cap")
    solid.quiver(0, 0, 0, *(1.4 * told["p"]), color=COLOURS[3], lw=1)
    solid.set(xlabel="x₁, in units of s", ylabel="x₂, in units of s", zlabel="last coordinate", title="the plane to the sphere")
    solid.set_box_aspect((2, 2, 1))
    solid.view_init(18, -50)
    solid.legend(loc="upper left", fontsize=7)
    section.draw(figure, "Rows, sphere, ball and cap", "Left: points of a line joined to the pole below and to their images on a circle. Right: a grid of the plane with its image on the sphere; a circle in the plane and the rim of the cap it becomes.")
