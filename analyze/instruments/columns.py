"""Cells of one column as store values. A cell that does not fit makes its row bad, with the reason; never a guess."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from analyze.instruments.values import Composite, Process, Thread, Value, text_of

Bad: TypeAlias = dict[int, str]
"""Rows (by index in the batch) that cannot be taken, and why."""

Reader: TypeAlias = Callable[[list[Value], Bad], list[Any]]

# Apple's type reference: times are 50-bit ns with the greatest value for null, frame numbers 32-bit likewise.
TIME_NULL_NS = (1 << 50) - 1
FRAME_NULL = (1 << 32) - 1


def _integers(least: int, greatest: int, null: int | None = None) -> Reader:
    def read(values: list[Value], bad: Bad) -> list[Any]:
        out: list[Any] = []
        for index, value in enumerate(values):
            if type(value) is int and least <= value <= greatest:
                out.append(None if value == null else value)
            elif value is None:
                out.append(None)
            else:
                bad.setdefault(index, f"{text_of(value)!r} is not a whole number from {least} to {greatest}")
                out.append(None)
        return out

    return read


times = _integers(0, TIME_NULL_NS, TIME_NULL_NS)
"""Nanoseconds since the recording began."""

durations = _integers(0, TIME_NULL_NS, TIME_NULL_NS)
"""Nanoseconds. To Instruments a null duration and 0 ns are the same."""

frames = _integers(0, FRAME_NULL, FRAME_NULL)
int32 = _integers(-(2**31), 2**31 - 1)
int64 = _integers(-(2**63), 2**63 - 1)
uint64 = _integers(0, 2**64 - 1)


def floats(values: list[Value], bad: Bad) -> list[Any]:
    """Decimal numbers as they are written; nan and inf are gaps."""
    out: list[Any] = []
    for index, value in enumerate(values):
        number: float | None = None
        if value is not None:
            try:
                number = float(text_of(value) or "nan")
            except ValueError:
                bad.setdefault(index, f"{text_of(value)!r} is not a number")
        out.append(number if number is not None and math.isfinite(number) else None)
    return out


def booleans(values: list[Value], bad: Bad) -> list[Any]:
    """0 or 1."""
    out: list[Any] = []
    for index, value in enumerate(values):
        if value not in (None, 0, 1):
            bad.setdefault(index, f"{text_of(value)!r} is neither 0 nor 1")
            value = None
        out.append(None if value is None else bool(value))
    return out


def texts(values: list[Value], bad: Bad) -> list[Any]:
    """Text as people are shown it; empty text is NULL."""
    return [text_of(value) or None for value in values]


def processes(values: list[Value], bad: Bad) -> list[Any]:
    """The process itself, also of a thread. Anything else makes a bad row."""
    out: list[Any] = []
    for index, value in enumerate(values):
        if isinstance(value, Thread):
            value = value.process
        if value is not None and not isinstance(value, Process):
            bad.setdefault(index, f"{text_of(value)!r} is not a process")
            value = None
        out.append(value)
    return out


def labels(values: list[Value], bad: Bad) -> list[Any]:
    """Name of the process with its pid."""
    return [process and process.label for process in processes(values, bad)]


def pids(values: list[Value], bad: Bad) -> list[Any]:
    """Id of the process."""
    return [process and process.pid for process in processes(values, bad)]


def tids(values: list[Value], bad: Bad) -> list[Any]:
    """Id of the thread."""
    return [value.tid if isinstance(value, Thread) else None for value in values]


def part(tag: str) -> Reader:
    """A whole number among the parts of a composite."""

    def read(values: list[Value], bad: Bad) -> list[Any]:
        return int64([value.part(tag) if isinstance(value, Composite) else None for value in values], bad)

    return read
