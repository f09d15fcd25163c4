"""What the library's statuses are in Python. Each carries .row, .argument and .reason, None where there is none."""

from __future__ import annotations


class CapballError(Exception):
    """Any failure the library reports.

    row       the row the sentence speaks of, counted from 0
    argument  the argument it speaks of
    reason    a pinned number for the kind of failure, of the library's reason.h
    """

    row: int | None = None
    argument: str | None = None
    reason: int | None = None


class InvalidValue(CapballError, ValueError):
    """A value outside its domain."""


class ShapeError(CapballError, ValueError):
    """Rows, columns or memory that do not fit."""


class DtypeError(CapballError, TypeError):
    """An element type that the call does not take."""


class RowError(CapballError, ValueError):
    """A row without an answer: NaN, a pole, overflow."""


class OutOfMemory(CapballError, MemoryError):
    """Memory could not be had."""


class FileError(CapballError, OSError):
    """The operating system refused."""


class FormatError(CapballError, ValueError):
    """A file that is not what it claims to be."""


class Stopped(CapballError):
    """Ended by the caller's own progress callback."""


BY_STATUS = (
    CapballError,
    InvalidValue,
    ShapeError,
    DtypeError,
    RowError,
    OutOfMemory,
    FileError,
    FormatError,
    Stopped,
)
