"""Numbers as people read them: three significant digits, thin spaces in thousands, a unit that fits.

Every function takes None for "not known" and answers `MISSING` then, as for NaN and infinity; none of them turns a
missing number into 0.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from math import floor, isfinite, log10
from typing import TypeGuard

THIN = "\u202f"  # narrow no-break space: groups thousands and joins a number to its unit, never breaks a line
MISSING = "–"

_TIME_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1))
_BYTE_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))

Number = int | float


def known(value: Number | None) -> TypeGuard[Number]:
    """Whether `value` is a number to show: neither None nor NaN nor infinite."""
    return value is not None and isfinite(value)


def _grouped(text: str) -> str:
    whole, dot, rest = text.partition(".")
    sign = "−" if whole.startswith("-") else ""
    digits = whole.lstrip("-")
    groups = []
    while len(digits) > 3:
        digits, last = digits[:-3], digits[-3:]
        groups.append(last)
    return sign + THIN.join([digits, *reversed(groups)]) + dot + rest


def significant(value: Number | None, digits: int = 3) -> str:
    """`value` with that many significant digits, never in scientific notation: 48.7, 0.412, 1 930."""
    if not known(value):
        return MISSING
    if value == 0:
        return "0"
    rounded = round(float(value), digits - 1 - floor(log10(abs(value))))
    decimals = digits - 1 - floor(log10(abs(rounded)))  # again: 9.996 has become 10.0
    return _grouped(f"{rounded:.{max(decimals, 0)}f}")


def count(value: Number | None) -> str:
    """A whole number, every digit of it: 14 680 064."""
    return _grouped(str(round(value))) if known(value) else MISSING


def rate(value: Number | None) -> str:
    """A count for each of something (per token, per step): whole when it is whole, else three digits."""
    if not known(value):
        return MISSING
    return count(value) if value == round(value) else significant(value)


def time_unit(values: Sequence[Number | None]) -> tuple[str, int]:
    """The unit, and its nanoseconds, in which the largest of `values` (ns) has one to three digits ahead."""
    largest = max((abs(v) for v in values if known(v)), default=0)
    for name, size in _TIME_UNITS:
        if largest >= size:
            return name, size
    return "ns", 1


def duration(ns: Number | None, unit: tuple[str, int] | None = None) -> str:
    """A duration with its unit: 48.7 ms."""
    if not known(ns):
        return MISSING
    name, size = unit or time_unit([ns])
    return f"{significant(ns / size)}{THIN}{name}"


def milliseconds(ns: Number | None) -> str:
    """A duration as bare milliseconds, for a column whose head names the unit."""
    return significant(ns / 1_000_000) if known(ns) else MISSING


def byte_unit(values: Sequence[Number | None]) -> tuple[str, int]:
    """The binary unit, and its bytes, that fits the largest of `values` (bytes)."""
    largest = max((abs(v) for v in values if known(v)), default=0)
    for name, size in _BYTE_UNITS:
        if largest >= size:
            return name, size
    return "B", 1


def size(value: Number | None, unit: tuple[str, int] | None = None) -> str:
    """An amount of memory with its unit: 14.0 MiB."""
    if not known(value):
        return MISSING
    name, factor = unit or byte_unit([value])
    number = count(value) if factor == 1 else significant(value / factor)
    return f"{number}{THIN}{name}"


def scaled(value: Number | None, unit: str) -> str:
    """A large amount in decimal thousands of `unit`: 27.2 GFLOP, 2.04 TB/s."""
    if not known(value):
        return MISSING
    for prefix, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor:
            return f"{significant(value / factor)}{THIN}{prefix}{unit}"
    return f"{significant(value)}{THIN}{unit}"


def percent(share: Number | None, digits: int = 3) -> str:
    """A share (0 to 1) as per cent. Parts below a thousandth are said to be so, not rounded to nothing."""
    if not known(share):
        return MISSING
    if 0 < share < 0.001:
        return f"<{THIN}0.1{THIN}%"
    if 0.9995 <= abs(share) < 1:
        return f"{'−' if share < 0 else ''}99.9{THIN}%"  # not all of it, so not 100 %
    return f"{significant(share * 100, max(digits, 3) if 0.99 <= abs(share) < 1 else digits)}{THIN}%"


def moment(unix_ns: int | None) -> str:
    """A moment in UTC to the minute."""
    if unix_ns is None:
        return MISSING
    at = datetime.datetime.fromtimestamp(unix_ns / 1e9, tz=datetime.UTC)
    return at.strftime("%Y-%m-%d %H:%M UTC")


def plural(number: int, one: str, many: str | None = None) -> str:
    """1 step, 31 steps."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


_FOLDERS = re.compile(r"(?<![\w.:/\\])(?:file://)?(?:[A-Za-z]:)?(?:[\\/][^\s\\/:*?\"<>|()']+)+[\\/](?=[^\s\\/])")


def without_folders(text: str) -> str:
    """`text` with every absolute path cut down to its last part: what a file is called, not where it lies."""
    return _FOLDERS.sub("", text)
