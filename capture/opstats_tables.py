"""PyTorch's MPS tables as they stand in stderr: operators, CPU fallbacks, copies.

The layout is that of MPSProfiler::log*ProfilingStats in aten/src/ATen/mps/MPSProfiler.mm (PyTorch 2.13): a title
between dashes, a line of column names between bars, a line of dashes, then rows until an empty line or the next
title. Milliseconds are printed to three decimals and stay as they are.
"""

from __future__ import annotations

import math
import re
from typing import Any

_OPERATIONS = re.compile(r"-+ MPS Operations Profiling: (\d+) graphs, (\d+) kernels -+")
_FALLBACKS = re.compile(r"-+ CPU Fallback Profiling: Total (\d+) Runs, .* Copies -+")
_COPIES = re.compile(r"-+ MPS Copy Profiling: (\d+) total copies \(.*\), (\d+) scalar copies -+")
_NUMBER = r"(-?\d+(?:\.\d+)?|nan|inf)"
_SIZE = r"(\d+(?:\.\d+)? (?:bytes|KB|MB|GB))"
_OPERATION_ROW = re.compile(rf"\s*([GK]\d+)\s+(\d+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+(.*)")
_FALLBACK_ROW = re.compile(rf"\s*(\d+)\s+(\d+)\s+{_NUMBER}\s+{_NUMBER}\s+{_SIZE}\s+(.*)")
_COPY_ROW = re.compile(
    rf"\s*(\w+ to \w+)\s+(\d+)\s+{_SIZE}\s+{_NUMBER}\s+{_NUMBER}\s+(\d+)\s+{_NUMBER} %\s+(\d+)\s+(\d+)\s*"
)
_NOTHING = {
    "operations": "There are no MPS operations logged for profiling",
    "fallbacks": "There are no CPU Fallbacks logged for profiling",
    "copies": "There are no copies logged for profiling",
}
_UNITS = {"bytes": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}


def read_tables(stderr: str) -> dict[str, list[dict[str, Any]] | None]:
    """Rows by table: `operations`, `fallbacks`, `copies`.

    An empty list means that PyTorch said there was nothing; None, that it printed no such table. `_approximate`
    sizes come from a text of two decimals.
    """
    tables: dict[str, list[dict[str, Any]] | None] = {
        name: [] if sentence in stderr else None for name, sentence in _NOTHING.items()
    }
    current: list[dict[str, Any]] | None = None
    reader = _operation
    for line in stderr.splitlines():
        title = next(
            (found for found in ((_OPERATIONS, "operations", _operation), (_FALLBACKS, "fallbacks", _fallback),
                                 (_COPIES, "copies", _copy)) if found[0].fullmatch(line.strip())),
            None,
        )  # fmt: skip
        if title is not None:
            current, reader = [], title[2]
            tables[title[1]] = current
        elif not line.strip():
            current = None
        elif current is not None and (row := reader(line)) is not None:
            current.append(row)
    return tables


def _operation(line: str) -> dict[str, Any] | None:
    match = _OPERATION_ROW.fullmatch(line)
    if match is None:
        return None
    return {
        "id": match[1],
        "kind": "graph" if match[1][0] == "G" else "kernel",
        "runs": int(match[2]),
        "mean_schedule_ms": _milliseconds(match[3]),
        "mean_gpu_ms": _milliseconds(match[4]),
        "total_gpu_ms": _milliseconds(match[5]),
        "name": match[6].strip(),
    }


def _fallback(line: str) -> dict[str, Any] | None:
    match = _FALLBACK_ROW.fullmatch(line)
    if match is None:
        return None
    return {
        "id": match[1],
        "runs": int(match[2]),
        "mean_cpu_ms": _milliseconds(match[3]),
        "total_cpu_ms": _milliseconds(match[4]),
        "copy_bytes_approximate": _bytes(match[5]),
        "name": match[6].strip(),
    }


def _copy(line: str) -> dict[str, Any] | None:
    match = _COPY_ROW.fullmatch(line)
    if match is None:
        return None
    return {
        "kind": match[1],
        "copies": int(match[2]),
        "bytes_approximate": _bytes(match[3]),
        "total_schedule_ms": _milliseconds(match[4]),
        "total_gpu_ms": _milliseconds(match[5]),
        "scalars": int(match[6]),
        "blocking": int(match[8]),
        "memcpy": int(match[9]),
    }


def _milliseconds(text: str) -> float | None:
    """None for nan and inf, which PyTorch prints where it divided by zero, and which JSON does not have."""
    number = float(text)
    return number if math.isfinite(number) else None


def _bytes(text: str) -> int:
    number, unit = text.split()
    return round(float(number) * _UNITS[unit])
