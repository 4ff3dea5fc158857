"""How far each phase is from what the machine's peaks allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports import palette
from reports.figure import Figure
from reports.queries import Result, Row
from reports.roofline_chart import roofline
from reports.sections.timeline import label_of
from reports.tables import Column, Table, number, word


@dataclass(frozen=True)
class Roofline:
    """The chart where both peaks are known, the distances, the terms, where the peaks are from, what is missing."""

    figure: Figure | None
    table: Table
    terms: Table
    peaks: tuple[str, ...]
    reason: str | None
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result]) -> Roofline | None:
    """None where the architecture says nothing of operations and bytes."""
    rows = [row for row in results["roofline"] if row["intensity"] is not None]
    if not rows:
        return None
    return Roofline(
        figure=_figure(rows),
        table=_table(_chosen(rows), results["roofline"]),
        terms=_terms(results["roofline_terms"]),
        peaks=_peaks(rows[0]),
        reason=next((row["reason"] for row in rows if row["reason"]), None),
        sql=(results["roofline"], results["roofline_terms"]),
    )


def _figure(rows: list[Row]) -> Figure | None:
    bandwidth, peak = rows[0]["peak_bytes_per_s"], rows[0]["peak_flops_per_s"]
    reached = [row for row in rows if row["achieved_flops_per_s"]]
    if not (bandwidth and peak and reached):
        return None
    ridge = peak / bandwidth
    low = min(ridge, *(row["intensity"] for row in reached)) / 3
    high = max(ridge, *(row["intensity"] for row in reached)) * 3
    roof = [
        {"intensity": low, "rate": low * bandwidth},
        {"intensity": ridge, "rate": peak},
        {"intensity": high, "rate": peak},
    ]
    points = [
        {
            "intensity": row["intensity"],
            "rate": row["achieved_flops_per_s"],
            "colour": palette.of_phase(row["phase"]),
            "label": label_of(row["phase"], row["step"]),
            "intensity_text": fmt.significant(row["intensity"]),
            "rate_text": fmt.scaled(row["achieved_flops_per_s"], "FLOP/s"),
            "measured_text": fmt.duration(row["measured_ns"]),
        }
        for row in reached
    ]
    return roofline(points, roof)


def _chosen(rows: list[Row]) -> list[Row]:
    """Prefill, the first decode step and the last: the others lie between."""
    decode = [row for row in rows if row["phase"] == "decode"]
    ends = [decode[0], decode[-1]] if len(decode) > 1 else decode
    return [*(row for row in rows if row["phase"] == "prefill"), *ends]


def _table(rows: list[Row], sql: Result) -> Table:
    def per_token(row: Row, key: str) -> float | None:
        return None if row[key] is None else row[key] / (row["tokens_per_sequence"] or 1)

    times = ("weights_ns", "kv_ns", "logits_ns", "compute_ns", "bound_ns", "measured_ns", "remainder_ns")
    kept = [key for key in times if any(row[key] is not None for row in rows)]
    heads = {
        "weights_ns": "weights",
        "kv_ns": "KV at this depth",
        "logits_ns": "logits",
        "compute_ns": "arithmetic",
        "bound_ns": "bound",
        "measured_ns": "clean",
        "remainder_ns": "remainder",
    }
    rates = {"bound_tokens_per_s": "at the bound", "measured_tokens_per_s": "clean"}
    shown = [key for key in rates if any(row[key] is not None for row in rows)]
    cells = tuple(
        (
            word(label_of(row["phase"], row["step"])),
            number(row["flops"], fmt.scaled(row["flops"], "FLOP")),
            number(row["bytes"], fmt.size(row["bytes"])),
            number(row["intensity"], fmt.significant(row["intensity"])),
            *(number(per_token(row, key), fmt.duration(per_token(row, key))) for key in kept),
            *(number(row[key], fmt.significant(row[key])) for key in shown),
        )
        for row in rows
    )
    columns = (
        Column("step"),
        Column("operations", "", True, "from the shapes", how="roofline.flops"),
        Column("bytes", "", True, "from the shapes", how="roofline.bytes"),
        Column("FLOP/byte", "", True, "from the shapes", how="roofline.intensity"),
        *(Column(heads[key], "", True, "for each token of a sequence", how=f"roofline.{key}") for key in kept),
        *(Column(rates[key], "", True, "tokens/s", how=f"roofline.{key}") for key in shown),
    )
    caption = "Least work of a step, the time it takes at the peaks, and the clean time beside it."
    return Table("roofline-table", caption, columns, cells, (sql,))


def _terms(terms: Result) -> Table:
    rows = tuple(
        (
            word(label_of(row["phase"], row["step"])),
            word(row["term"]),
            word(row["formula"]),
            number(row["value"], _value(row)),
            word(row["provenance"]),
        )
        for row in terms
    )
    columns = (
        Column("step"),
        Column("term"),
        Column("how"),
        Column("value", "", True),
        Column("provenance"),
    )
    return Table("roofline-terms", "The terms with the model's numbers in them.", columns, rows, (terms,))


def _value(row: Row) -> str:
    if row["value"] is None:
        return fmt.MISSING
    if row["unit"] == "ns":
        return fmt.duration(row["value"])
    if row["unit"] == "bytes":
        return fmt.size(row["value"])
    return fmt.scaled(row["value"], row["unit"])


def _peaks(row: Row) -> tuple[str, ...]:
    peaks = []
    for key, unit in (("bytes", "B/s"), ("flops", "FLOP/s")):
        value = row[f"peak_{key}_per_s"]
        if value:
            peaks.append(f"{fmt.scaled(value, unit)}, {row[f'peak_{key}_provenance']} ({row[f'peak_{key}_source']})")
    return tuple(peaks)
