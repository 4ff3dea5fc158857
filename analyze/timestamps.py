"""Exact times: decimal microseconds as a trace writes them, to integer nanoseconds."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import msgspec
import numpy as np
import numpy.typing as npt

_DOT, _SPACE = 0x2E, 0x20
_PLAIN = np.zeros(256, bool)
_PLAIN[list(b"0123456789. ")] = True
MISSING = np.int8(1)
UNREADABLE = np.int8(2)
OUT_OF_RANGE = np.int8(3)
# Why an event with such a time is left out.
FAULT_REASONS = {
    int(MISSING): "no_timestamp",
    int(UNREADABLE): "unreadable_timestamp",
    int(OUT_OF_RANGE): "timestamp_out_of_range",
}
# Farther than this from the other events a time is no time: 52 days. Also what a double holds exactly.
FARTHEST_NS = 2**52


def nanoseconds(raws: Sequence[msgspec.Raw]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """Raw JSON values in microseconds (numbers or text, any number of decimals) to nanoseconds.

    A double cannot hold them: on an epoch base it is off by up to 253 ns. Digits below a nanosecond are rounded
    half to even. Returns the values and, for each, 0 (good), MISSING (absent or null), UNREADABLE (not a number,
    nan, inf) or OUT_OF_RANGE (beyond 64 bits); values are 0 where not good.
    """
    n = len(raws)
    if n == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int8)
    text = b" ".join(raws) + b" "
    if text.count(b'"') == 2 * n:
        text = text.replace(b'"', b"")
    values, fault = np.zeros(n, np.int64), np.zeros(n, np.int8)
    plain = _plain(text, n, values)
    for i in range(n) if plain is None else np.flatnonzero(~plain).tolist():
        value = _one(bytes(raws[i]))
        if isinstance(value, np.int8):
            values[i], fault[i] = 0, value
        else:
            values[i] = value
    return values, fault


def _plain(text: bytes, n: int, values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
    """Fill in all values that are plain digits with at most three decimals; which those are, None if too few."""
    codes = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(codes == _SPACE)
    if len(ends) != n:
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    dots = np.flatnonzero(codes == _DOT)
    if len(dots) == n and bool(((dots > starts) & (dots < ends)).all()):  # as profilers write them: one dot each
        of_dot = np.arange(n)
    else:
        of_dot = np.searchsorted(ends, dots)
    decimals = np.zeros(n, np.int64)
    decimals[of_dot] = ends[of_dot] - dots - 1
    digits = ends - starts - np.bincount(of_dot, minlength=n)
    plain = (digits > 0) & (digits <= 18) & (decimals <= 3)
    plain[of_dot[1:][np.diff(of_dot) == 0]] = False  # two dots
    strange = np.flatnonzero(~_PLAIN[codes])
    if len(strange):
        plain[np.searchsorted(ends, strange)] = False
    good = int(np.count_nonzero(plain))
    if good == 0:
        return None
    if good < n:
        codes = codes[np.repeat(plain, ends - starts + 1)]
    read = np.fromstring(codes[codes != _DOT].tobytes(), np.int64, sep=" ")  # type: ignore[call-overload]
    if len(read) != good:
        return None
    scale = 10 ** (3 - decimals[plain])
    values[plain] = read * scale
    plain[plain] = read < 2**62 // scale
    return plain


def _one(raw: bytes) -> int | np.int8:
    text = raw.strip().strip(b'"').strip()
    if text in (b"", b"null"):
        return MISSING
    try:
        value = Decimal(text.decode())
    except (InvalidOperation, UnicodeDecodeError):
        return UNREADABLE
    if not value.is_finite():
        return UNREADABLE
    # An exponent may be astronomic: look at the size before making an integer of it.
    if value and not -30 < value.adjusted() < 16:
        return OUT_OF_RANGE if value.adjusted() >= 16 else 0
    scaled = round(value * 1000)
    return scaled if -(2**62) < scaled < 2**62 else OUT_OF_RANGE
