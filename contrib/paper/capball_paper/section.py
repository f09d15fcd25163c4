"""A section of the report: numbers with their origin, tables and figures made of them."""

from __future__ import annotations

import io
import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass
class Number:
    """A value as it is shown, with what it takes to get it again."""

    value: float
    shown: str
    unit: str
    command: str
    seeds: list[int]
    spread: float | None = None


@dataclass
class Cell:
    """A place of a table that shows a number."""

    number: str


@dataclass
class Table:
    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str = ""


@dataclass
class Figure:
    title: str
    alt: str
    svg: str
    lacks: list[str] = field(default_factory=list)


def shown(value: float, digits: int | None) -> str:
    """As few digits as say it."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}f}" if digits is not None else f"{value:.3g}"


def shared_label(axes: Any) -> str:
    """The y label, which plots beside each other have once."""
    return "".join(other.get_ylabel() for other in axes.get_shared_y_axes().get_siblings(axes))


def unlabelled(figure: Any) -> list[str]:
    """What a reader would miss: titles, names of axes, a legend."""
    shown_axes = [axes for axes in figure.axes if axes.get_visible()]
    plots = [axes for axes in shown_axes if axes.get_label() != "<colorbar>"]
    lacks = [f"plot {i}: no {word}" for i, axes in enumerate(plots) for word, text in
             (("title", axes.get_title()), ("x label", axes.get_xlabel()), ("y label", shared_label(axes))) if not text]
    keys = figure.legends or len(plots) < len(shown_axes) or any(axes.get_legend() for axes in plots)
    return lacks if keys else [*lacks, "no legend"]


@dataclass
class Section:
    """What one experiment tells."""

    name: str
    title: str
    about: str
    command: str
    numbers: dict[str, Number] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    planned: int = 0
    done: int = 0

    def put(self, key: str, value: float, unit: str = "", digits: int | None = None, seeds: Any = (), spread: Any = None) -> Cell:
        """Keeps a number under its key and gives the cell that shows it."""
        self.numbers[f"{self.name}.{key}"] = Number(float(value), shown(float(value), digits), unit, self.command, list(seeds), spread)
        return Cell(f"{self.name}.{key}")

    def put_mean(self, key: str, values: Any, unit: str = "", digits: int | None = 2) -> Cell:
        """The mean over seeds, with half the range as its spread."""
        values = np.asarray(values, float)
        spread = float((values.max() - values.min()) / 2) if len(values) > 1 else None
        return self.put(key, values.mean(), unit, digits, range(len(values)), spread)

    def draw(self, figure: Any, title: str, alt: str) -> None:
        """Takes a figure of matplotlib in, as SVG."""
        import matplotlib.pyplot as plt

        lacks, out = unlabelled(figure), io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight", dpi=110)
        plt.close(figure)
        text = out.getvalue()
        self.figures.append(Figure(title, alt, text[text.index("<svg"):], lacks))

    def facts(self) -> dict[str, Any]:
        """Without the figures, for report.json."""
        made = asdict(self)
        made["figures"] = [{"title": f.title, "alt": f.alt, "lacks": f.lacks} for f in self.figures]
        return made
