"""Exact times: decimal microseconds as a trace writes them, to integer nanoseconds."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import msgspec
import numpy as np
import numpy.typing as npt

_DOT, _SPACE, _DIGITS = 0x2E, 0x20, frozenset(b"0123456789. ")
MISSING = np.int8(1)
UNREADABLE = np.int8(2)
OUT_OF_RANGE = np.int8(3)


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
    quick = _same_decimals(text, n)
    if quick is not None:
        return quick, np.zeros(n, np.int8)
    values, fault = np.zeros(n, np.int64), np.zeros(n, np.int8)
    for i, raw in enumerate(raws):
        value = _one(bytes(raw))
        if isinstance(value, np.int8):
            fault[i] = value
        else:
            values[i] = value
    return values, fault


def _same_decimals(text: bytes, n: int) -> npt.NDArray[np.int64] | None:
    """All values at once where every one is plain digits with three decimals, or plain digits; else None."""
    if not _DIGITS.issuperset(text):
        return None
    codes = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(codes == _SPACE)
    dots = np.flatnonzero(codes == _DOT)
    starts = np.concatenate(([0], ends[:-1] + 1))
    # 18 digits stay below 2**63; an empty value has no digits at all.
    if len(ends) != n or (ends - starts).max() > 18 or (ends - starts).min() < 1:
        return None
    if len(dots) == 0 and (ends - starts).max() <= 15:
        return np.fromstring(text, np.int64, sep=" ") * 1000
    if len(dots) == n and bool(np.all(ends - dots == 4)):
        return np.fromstring(text.replace(b".", b""), np.int64, sep=" ")
    return None


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
