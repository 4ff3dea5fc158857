"""Values out of raw JSON, whatever stands there: None or empty where it is not what it should be."""

from typing import Any

import msgspec
import numpy as np


def raw_as_text(raw: msgspec.Raw) -> str | None:
    """The JSON as it is written; None where there is none."""
    return bytes(raw).decode(errors="replace") if len(raw) else None


def json_value(raw: msgspec.Raw | str | None) -> Any:
    """The value of a text of JSON; None where it is not sound."""
    if raw is None or len(raw) == 0:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def json_object(raw: msgspec.Raw | str | None) -> dict[str, Any]:
    """The object of a text of JSON; empty where it is none."""
    value = json_value(raw)
    return value if isinstance(value, dict) else {}


def whole_number(value: Any) -> int | None:
    """An integer of 64 bits, also where it is written as text."""
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def rank_number(value: Any) -> int | None:
    """A rank, or their number; None where it cannot be one."""
    rank = whole_number(value)
    return rank if rank is not None and 0 <= rank < 2**31 else None


def finite_number(value: Any) -> float | None:
    """A number that can be drawn, also where it is written as text."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None
