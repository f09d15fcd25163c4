"""Figures in one style, where matplotlib is installed."""

from __future__ import annotations

from typing import Any

COLOURS = ["#1f5fa8", "#d97b1c", "#2e8b57", "#b03a48", "#6f4ea0", "#7a6a4f", "#3aa0b5"]


def plotter(name: str) -> Any:
    """matplotlib.pyplot, or None; ids inside a figure depend on its name alone."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    plt.rcParams.update({
        "svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Arial"],
        "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6",
        "axes.axisbelow": True, "legend.frameon": False, "axes.titlesize": 10, "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
    })
    return plt
