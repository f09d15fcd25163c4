"""report.json, report.html and paper.md: one page that needs nothing else, the numbers behind it, the claims."""

from __future__ import annotations

import base64
import json
import os
import platform
from html import escape
from pathlib import Path
from typing import Any

import capball

from . import claims
from .section import Section
from .steps import version

PACKAGES = ("capball", "numpy", "scipy", "scikit-learn", "scann", "annoy", "hnswlib", "faiss-cpu", "torch", "geoopt", "cvxopt", "matplotlib")


def processor() -> str:
    try:
        names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    except OSError:
        names = []
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} processors"


def facts(job: Any, sections: list[Section]) -> dict[str, Any]:
    numbers = {key: vars(number) for section in sections for key, number in section.numbers.items()}
    versions = {name: version(name) for name in PACKAGES}
    versions["capball"] = capball.__version__
    judged = claims.judged(numbers)
    return {"format": 1, "level": job.level, "processor": processor(), "python": platform.python_version(), "instructions": capball._core.isa,
            "versions": versions, "sets": [s.name for s in job.search_sets()], "missing sets": job.absent(),
            "sections": [section.facts() for section in sections], "claims": judged,
            "counts": {key: number for key, number in numbers.items() if key.startswith("claims.")}}


def bars(text: str) -> str:
    """Bars of norms inside a table of Markdown."""
    return text.replace("|", "\\|")


def record(told: dict[str, Any]) -> dict[str, Any]:
    """What docs/explanation/paper.md is made of, and no more: kept in the tree beside it."""
    used = {key for claim in told["claims"] for key in claim["numbers"]}
    sections = [{"name": s["name"], "command": s["command"], "planned": s["planned"], "done": s["done"], "numbers": {k: v for k, v in s["numbers"].items() if k in used}} for s in told["sections"]]
    return {**told, "sections": sections}


def unfinished(told: dict[str, Any]) -> str:
    """Which experiments were not run whole."""
    parts = [f"{s['name']} {s['done']} of {s['planned']} steps" for s in told["sections"] if s["done"] < s["planned"]]
    return f" This run is not whole ({', '.join(parts)}): what is missing is told as not measured or not run." if parts else ""


def claims_page(told: dict[str, Any]) -> str:
    """docs/explanation/paper.md, from report.json alone."""
    versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items() if number)
    lines = ["# The paper, repeated", "",
             "Claim by claim, what holds of Thordsen and Schubert, *Explicit Formulae to Interchangeably use Hyperplanes and Hyperballs using Inversive Geometry*, TMLR 2024.",
             "Written by `make paper` from its report.json, which has every number with its command, seed and spread; report.html has the figures and the whole tables." + unfinished(told), "",
             "| where | claim | verdict | found |", "|---|---|---|---|"]
    lines += [f"| {c['where']} | {bars(c['claim'])} | **{c['verdict']}** | {bars(c['found'])} |" for c in told["claims"]]
    lines += ["", "## Commands", "", "`make paper` runs all of them; each alone, and the claims that rest on it:", ""]
    for section in told["sections"]:
        own = [c["claim"] for c in told["claims"] if section["command"] in c["commands"]]
        if own:
            lines.append(f"- `{section['command']}`: {'; '.join(own)}.")
    run = f"Part of a {told['level']} run" if unfinished(told) else f"{told['level'].capitalize()} run"
    lines += ["", "## Run", "", f"{run}, Python {told['python']}, {versions}; {told['processor']}, {told['instructions']}.",
              f"Sets: {', '.join(told['sets'])}." + (f" Not here: {', '.join(told['missing sets'])}." if told["missing sets"] else ""), ""]
    return "\n".join(lines)


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; background: #fff; color-scheme: light; }
h1 { font-size: 1.7rem; } h2 { border-top: 2px solid #1f5fa8; padding-top: .6rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .8rem; } th, td { border: 1px solid #ccc; padding: .2rem .45rem; vertical-align: top; }
th { background: #eef3fa; text-align: left; } td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } small { color: #555; }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; } figcaption { color: #444; font-size: .85rem; }
.headline { background: #f6e7cf; border-left: 5px solid #d97b1c; padding: .7rem 1rem; font-size: 1.05rem; }
.v-holds { color: #1d6b3c; } .v-limit { color: #8a5a00; } .v-fails { color: #a02030; } code { font-size: .85em; }
@media print { body { max-width: none; margin: 0; font-size: 10pt; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } .wide { overflow: visible; } table { font-size: 6.5pt; } }
"""
MARKS = {claims.HOLDS: "v-holds", claims.LIMIT: "v-limit", claims.FAILS: "v-fails"}


def cell_html(cell: Any, numbers: dict[str, Any]) -> str:
    if not isinstance(cell, dict):
        return f"<td>{escape(str(cell))}</td>"
    number = numbers[cell["number"]]
    spread = f" <small>± {number['spread']:.2f}</small>" if number["spread"] is not None else ""
    return f"<td class=n title=\"{escape(cell['number'])}\">{escape(number['shown'])}{spread}</td>"


def rows_html(columns: list[str], body: str) -> str:
    """A table that scrolls by itself, by keys too."""
    head = "".join(f"<th scope=col>{escape(c)}</th>" for c in columns)
    return f"<div class=wide tabindex=0><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def table_html(table: dict[str, Any], numbers: dict[str, Any]) -> str:
    body = "\n".join("<tr>" + "".join(cell_html(c, numbers) for c in row) + "</tr>" for row in table["rows"])
    note = f"<p><small>{escape(table['note'])}</small></p>" if table["note"] else ""
    return f"<h3>{escape(table['title'])}</h3>{rows_html(table['columns'], body)}{note}"


def figure_html(figure: Any) -> str:
    data = base64.b64encode(figure.svg.encode()).decode()
    return (f"<figure><img alt=\"{escape(figure.alt)}\" src=\"data:image/svg+xml;base64,{data}\">"
            f"<figcaption><b>{escape(figure.title)}.</b> {escape(figure.alt)}</figcaption></figure>")


def section_html(section: Section, told: dict[str, Any]) -> str:
    notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in section.notes)
    tables = "".join(table_html(table, told["numbers"]) for table in told["tables"])
    return (f"<section id={section.name}><h2>{escape(section.title)}</h2><p>{escape(section.about)}</p><p><small><code>{escape(section.command)}</code></small></p>"
            f"{''.join(map(figure_html, section.figures))}{tables}{notes}</section>")


def claims_html(told: dict[str, Any]) -> str:
    rows = "\n".join(f"<tr><td>{escape(c['where'])}</td><td>{escape(c['claim'])}</td><td class={MARKS.get(c['verdict'], 'v-open')}><b>{escape(c['verdict'])}</b></td>"
                     f"<td>{escape(c['found'])}</td></tr>" for c in told["claims"])
    return f"<section id=claims><h2>Claim by claim</h2>{rows_html(['where', 'claim', 'verdict', 'found'], rows)}</section>"


def page(told: dict[str, Any], sections: list[Section]) -> str:
    head = next(c for c in told["claims"] if c["claim"].startswith("On Fashion-MNIST"))
    first = f"The paper's loss on Fashion-MNIST: {head['found']}." if head["verdict"] != claims.OPEN else "A run without Fashion-MNIST or without ScaNN: its headline is not measured here."
    versions = ", ".join(f"{name} {number or 'not installed'}" for name, number in told["versions"].items())
    absent = f"<p>Sets that are not here: {escape(', '.join(told['missing sets']))}.</p>" if told["missing sets"] else ""
    contents = " · ".join(f"<a href='#{s.name}'>{escape(s.title)}</a>" for s in sections)
    body = "".join(section_html(s, t) for s, t in zip(sections, told["sections"]))
    return (f"<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'><title>The paper, repeated</title><style>{STYLE}</style>"
            f"<link rel=icon href='data:,'></head><body><main><h1>The paper, repeated</h1><p class=headline>{escape(first)}</p><p>{contents}</p>{absent}{claims_html(told)}{body}"
            f"<section><h2>Run</h2><p>{escape(told['level'])} run, Python {escape(told['python'])}, {escape(versions)}; {escape(told['processor'])}, {escape(told['instructions'])}.{escape(unfinished(told))}</p></section></main></body></html>")


def write(job: Any, sections: list[Section], out: Path, copy: Path | None) -> None:
    """All files; the copies in the tree only from a full run with every set."""
    told = facts(job, sections)
    text = json.dumps(told, indent=1, ensure_ascii=False)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")
    (out / "report.html").write_text(page(told, sections), encoding="utf-8")
    (out / "paper.md").write_text(claims_page(told), encoding="utf-8")
    print(f"{out / 'report.html'}: {sum(c['verdict'] != claims.OPEN for c in told['claims'])} of {len(told['claims'])} claims judged")
    if copy is not None and job.level == "full" and not told["missing sets"]:
        copy.write_text(claims_page(told), encoding="utf-8")
        copy.with_suffix(".json").write_text(json.dumps(record(told), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
