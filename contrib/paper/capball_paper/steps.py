"""Steps: pure functions of a data set and settings, done once.

The key of a result is the content that made it: the text of the function and of those it calls, its settings, the bytes of
the data set, the versions of what it runs on. A second run does only what changed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
import multiprocessing
import os
import sys
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable

import capball
from capball import _core


@lru_cache(None)
def version(package: str) -> str | None:
    """The installed version, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def digest(*parts: bytes) -> str:
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.hexdigest()


@lru_cache(None)
def _text(function: Any) -> str:
    return inspect.getsource(function)


@lru_cache(None)
def _library() -> str:
    """The bytes of the library, for steps that time it; others go by its version, which pins the bits."""
    return digest(Path(_core.__file__).read_bytes())


@dataclass
class Step:
    """call(data, **settings) -> what JSON can hold; `data` is left out where there is no set."""

    call: Callable[..., Any]
    settings: dict[str, Any] = field(default_factory=dict)
    data: Any = None
    needs: tuple[str, ...] = ()
    uses: tuple[Any, ...] = ()
    times_library: bool = False
    seconds: float = 1.0

    @property
    def label(self) -> str:
        where = [self.data.name] if self.data is not None else []
        return " ".join([*where, *(str(v) for v in self.settings.values())])

    @property
    def missing(self) -> str | None:
        """Why it cannot be done here."""
        lacking = [name for name in self.needs if version(name) is None]
        return f"{', '.join(lacking)} not installed" if lacking else None

    def key(self) -> str:
        texts = [_text(f) for f in (self.call, *self.uses)]
        facts = {"settings": self.settings, "data": self.data.digest if self.data is not None else None,
                 "capball": capball.__version__, "library": _library() if self.times_library else None,
                 "needs": {name: version(name) for name in ("numpy", *self.needs)}}
        return digest("\0".join(texts).encode(), json.dumps(facts, sort_keys=True).encode())

    def run(self) -> Any:
        return self.call(self.data, **self.settings) if self.data is not None else self.call(**self.settings)


class Cache:
    """Results in a folder, one file a key; written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, step: Step) -> Path:
        return self.folder / f"{step.call.__name__}-{step.key()}.json"

    def has(self, step: Step) -> bool:
        return self.path(step).exists()

    def get(self, step: Step) -> Any:
        path = self.path(step)
        if path.exists():
            return json.loads(path.read_text())["result"]
        began = time.perf_counter()
        result = step.run()
        told = {"label": step.label, "seconds": time.perf_counter() - began, "result": result}
        part = path.with_suffix(f".part{os.getpid()}")
        part.write_text(json.dumps(told))
        part.replace(path)
        return json.loads(json.dumps(result))


class Bar:
    """Progress of one experiment on stderr: a bar on a terminal, else nothing but the line at its end."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done, self.began = name, total, 0, time.perf_counter()
        self.live = sys.stderr.isatty()

    def show(self, label: str) -> None:
        if self.live:
            filled = 30 * self.done // max(1, self.total)
            line = f"{self.name:18} [{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} {label}"
            print(f"\r{line[:110]:110}", end="", file=sys.stderr, flush=True)

    def end(self, cached: int) -> None:
        seconds = time.perf_counter() - self.began
        line = f"{self.name:18} {self.done} steps, {cached} from the cache, {seconds:.1f} s"
        print(f"\r{line:110}" if self.live else line, file=sys.stderr, flush=True)


def attempt(cache: Cache, step: Step) -> str | None:
    """Puts the result into the cache; why there is none, else."""
    try:
        cache.get(step)
    except Exception as error:  # hours of other steps are not lost for it
        return f"failed: {type(error).__name__}: {error}"
    return None


_doing: tuple[Cache, list[Step]]  # of the processes that a fork makes, with sets that are read when wanted


def _attempt(at: int) -> str | None:
    return attempt(_doing[0], _doing[1][at])


def run_steps(name: str, steps: list[Step], cache: Cache, cached_only: bool = False, processes: int = 1) -> list[Any]:
    """What every step gave, in order; a step that cannot be done here gives {"missing": why}. Steps that time the library
    run alone, the others in some processes side by side."""
    global _doing
    whys = [step.missing or ("not run" if cached_only and not cache.has(step) else None) for step in steps]
    todo = [at for at, step in enumerate(steps) if not whys[at] and not cache.has(step)]
    alone = [at for at in todo if steps[at].times_library]
    beside = [at for at in todo if not steps[at].times_library]
    bar = Bar(name, len(steps))
    bar.done = len(steps) - len(todo)
    _doing = cache, steps
    for some, count in ((alone, 1), (beside, processes)):
        if not some:
            continue
        bar.show(steps[some[0]].label)
        # Never in this process: threads of what it would call do not live on in a fork.
        with multiprocessing.get_context("fork").Pool(count) as pool:
            for at, whys[at] in zip(some, pool.imap(_attempt, some)):
                bar.done += 1
                bar.show(steps[at].label)
    for at in todo:
        if whys[at]:
            print(f"{name}: {steps[at].label}: {whys[at]}", file=sys.stderr)
    bar.end(len(steps) - len(todo))
    return [{"missing": why} if why else cache.get(step) for step, why in zip(steps, whys)]


def seconds_left(steps: list[Step], cache: Cache) -> float:
    """An estimate of the work that is not in the cache."""
    return sum(step.seconds for step in steps if not step.missing and not cache.has(step))
