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


def shown(value: float, digits: int | None) -> str:
    """As few digits as say it."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}f}" if digits is not None else f"{value:.3g}"


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

        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight", dpi=110)
        plt.close(figure)
        text = out.getvalue()
        self.figures.append(Figure(title, alt, text[text.index("<svg"):]))

    def facts(self) -> dict[str, Any]:
        """Without the figures, for report.json."""
        made = asdict(self)
        made["figures"] = [{"title": f.title, "alt": f.alt} for f in self.figures]
        return made
