"""What passes opstats and energy of a bundle tell, as rows of the store."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

_OPERATORS = {
    "place": pa.int32(), "name": pa.string(), "kind": pa.string(), "operator_id": pa.string(), "runs": pa.int64(),
    "mean_gpu_ns": pa.int64(), "total_gpu_ns": pa.int64(), "mean_schedule_ns": pa.int64(),
}  # fmt: skip
_FALLBACKS = {
    "name": pa.string(), "operator_id": pa.string(), "runs": pa.int64(), "mean_cpu_ns": pa.int64(),
    "total_cpu_ns": pa.int64(), "copied_bytes_approximate": pa.int64(),
}  # fmt: skip
_COPIES = {
    "kind": pa.string(), "copies": pa.int64(), "bytes_approximate": pa.int64(), "total_gpu_ns": pa.int64(),
    "total_schedule_ns": pa.int64(), "scalars": pa.int64(), "blocking": pa.int64(), "memcpy": pa.int64(),
}  # fmt: skip
_ENERGY = {
    "work": pa.string(), "counter": pa.string(), "runs": pa.int32(), "dur_ns": pa.int64(), "energy_mj": pa.float64(),
    "derived": pa.bool_(),
}  # fmt: skip


def opstats_rows(content: dict[str, Any]) -> dict[str, pa.Table]:
    """Tables mps_operators, mps_fallbacks and mps_copies out of opstats.json; a table not printed has no rows."""
    ranked = sorted(content.get("operations") or [], key=lambda row: -_rank(row["total_gpu_ms"]))
    operators = [
        {**row, "place": place, "operator_id": row["id"], "mean_gpu_ns": _ns(row["mean_gpu_ms"]),
         "total_gpu_ns": _ns(row["total_gpu_ms"]), "mean_schedule_ns": _ns(row["mean_schedule_ms"])}
        for place, row in enumerate(ranked, 1)
    ]  # fmt: skip
    fallbacks = [
        {**row, "operator_id": row["id"], "mean_cpu_ns": _ns(row["mean_cpu_ms"]),
         "total_cpu_ns": _ns(row["total_cpu_ms"]), "copied_bytes_approximate": row["copy_bytes_approximate"]}
        for row in content.get("fallbacks") or []
    ]  # fmt: skip
    copies = [
        {**row, "total_gpu_ns": _ns(row["total_gpu_ms"]), "total_schedule_ns": _ns(row["total_schedule_ms"])}
        for row in content.get("copies") or []
    ]
    return {
        "mps_operators": _table(operators, _OPERATORS),
        "mps_fallbacks": _table(fallbacks, _FALLBACKS),
        "mps_copies": _table(copies, _COPIES),
    }


def energy_rows(content: dict[str, Any]) -> dict[str, pa.Table]:
    """Table energy out of energy.json: every counter of every window, and of decode, which is derived."""
    rows = [
        {"work": window["name"], "counter": counter.removesuffix("_mj"), "runs": window["runs"],
         "dur_ns": window["dur_ns"], "energy_mj": value, "derived": False}
        for window in content["windows"] for counter, value in window["energy_mj"].items()
    ]  # fmt: skip
    rows += [
        {"work": "decode", "counter": counter.removesuffix("_mj"), "runs": 1, "energy_mj": value, "derived": True}
        for counter, value in content["decode_derived"].items()
    ]
    return {"energy": _table(rows, _ENERGY)}


def _ns(ms: float | None) -> int | None:
    """PyTorch prints ms to three decimals, and nan where it divided by zero."""
    return None if ms is None or not math.isfinite(ms) else round(ms * 1_000_000)


def _rank(ms: float | None) -> float:
    return -math.inf if ms is None or not math.isfinite(ms) else ms


def _table(rows: list[dict[str, Any]], types: dict[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in types.items()})
