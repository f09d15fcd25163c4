"""Progress as the caller wants it: nobody, a callable, or True for a bar of tqdm."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator

from . import _extras


@contextmanager
def bar(what: str, progress: Any) -> Iterator[Callable[[float], object] | None]:
    """What the library is to call with the share done; None where nobody asked."""
    if progress is None or progress is False or callable(progress):
        yield progress or None
        return
    with _extras.module("tqdm.auto").tqdm(total=100, desc=what, unit="%", leave=False) as shown:

        def callback(share: float) -> None:
            shown.update(round(100 * share) - shown.n)

        yield callback
