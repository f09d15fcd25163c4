"""capball-paper: repeats the paper's figures and tables and writes report.html, report.json and paper.md.

  capball-paper --data FOLDER --out build/paper            everything
  capball-paper --quick                                    smaller sets, fewer seeds: under ten minutes on two cores
  capball-paper --short                                    generated data only, under a minute
  capball-paper --only fig4_abid,fig3_cosines              some experiments
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import datasets, report_files
from .section import Section
from .steps import Cache, run_steps, seconds_left

EXPERIMENTS = ("theorems", "fig1_stereographic", "fig2_ellipsoid", "fig3_cosines", "fig4_abid", "fig5_svm_svdd", "fig5_enclosing_ball",
               "fig6_activation", "table_scann_annoy", "hiob_sketches")



@dataclass
class Job:
    """What a run is asked for."""

    level: str
    folder: Path | None
    sets: list[datasets.DataSet] = field(default_factory=list)
    seeds: int = 3

    @property
    def leaves(self) -> int:
        return 2000 if self.level == "full" else 200

    def search_sets(self) -> list[datasets.DataSet]:
        """The sets of the tables, cut to the level."""
        if self.level == "full":
            return self.sets
        if self.level == "short":
            return [s.cut(1500, 50) for s in self.sets if s.name in ("blobs-50", "normalised-blobs-50", "digits-64")]
        wanted = ("fashion-mnist-784-euclidean", "bigann10k-sift-128-euclidean", "glove-100-angular", "blobs-50", "digits-64")
        return [s.cut(4000, 200) for s in self.sets if s.name in wanted]

    def euclidean_sets(self) -> list[datasets.DataSet]:
        """Those whose lengths mean something."""
        return [s for s in self.search_sets() if not s.angular]

    def absent(self) -> list[str]:
        return datasets.absent(self.sets)

    def named(self, name: str) -> datasets.DataSet | None:
        return next((s for s in self.sets if s.name == name), None)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="capball-paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with ann-benchmarks HDF5 files or NAME/base.npy, queries.npy")
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="where report and cache go")
    parser.add_argument("--quick", action="store_true", help="smaller sets, one seed")
    parser.add_argument("--short", action="store_true", help="generated data only, as a test")
    parser.add_argument("--only", default="", help="experiments, with commas")
    parser.add_argument("--sets", default="", help="data sets, with commas (default: all)")
    parser.add_argument("--seeds", type=int, help="seeds of what is random (default 3; quick and short 1)")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="steps side by side (default: one a processor)")
    parser.add_argument("--cached", action="store_true", help="only what is in the cache; the rest is told as not run")
    parser.add_argument("--page", type=Path, help="write the claims page here too, if every set is there")
    return parser.parse_args()


def command(job: Job, name: str) -> str:
    level = "" if job.level == "full" else f" --{job.level}"
    data = f" --data {job.folder}" if job.folder else ""
    return f"capball-paper --only {name}{level}{data}"


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def main() -> int:
    asked = arguments()
    level = "short" if asked.short else "quick" if asked.quick else "full"
    folder = None if level == "short" else asked.data
    sets = [s for s in datasets.found(folder) + datasets.generated() if not asked.sets or s.name in asked.sets.split(",")]
    job = Job(level, folder, sets, asked.seeds or {"short": 1, "quick": 1, "full": 3}[level])
    wanted = [n for n in EXPERIMENTS if not asked.only or n in asked.only.split(",")]
    if not wanted:
        print(f"capball-paper: --only takes some of {', '.join(EXPERIMENTS)}, got {asked.only}", file=sys.stderr)
        return 2
    cache = Cache(asked.out / "cache")
    modules = [importlib.import_module(f"capball_paper.{name}") for name in wanted]
    plans = [module.plan(job) for module in modules]
    left = sum(seconds_left(steps, cache) for steps in plans)
    print(f"{level} run of {len(wanted)} experiments, {sum(map(len, plans))} steps: about {minutes(left)} of processor time left to do", flush=True)
    sections = []
    for module, steps in zip(modules, plans):
        began = time.perf_counter()
        given = run_steps(module.NAME, steps, cache, asked.cached, asked.processes)
        section = Section(module.NAME, module.TITLE, module.ABOUT, command(job, module.NAME), planned=len(steps),
                          done=sum("missing" not in result for result in given))
        module.report(job, section, steps, given)
        section.seconds = time.perf_counter() - began
        sections.append(section)
    report_files.write(job, sections, asked.out, asked.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
