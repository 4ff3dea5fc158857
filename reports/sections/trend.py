"""Decode over time: whether steps get slower as the context grows, the first step, and the steps that stand out."""

from __future__ import annotations

from reports import format as fmt
from reports.queries import Result, Row
from reports.sections.names import Names
from reports.tables import Cell, Column, Table, number, word

_VERDICTS = {
    "slower": "steps get slower",
    "faster": "steps get faster",
    "no trend seen": "no trend is seen",
    "not established": "a trend is not established, for too few steps",
}
_SHOWN = 5


def sentence(result: Result) -> str | None:
    """Slope, interval and verdict in words, and the first step against the others; None where there is no fit."""
    row = result.one() if result else None
    if row is None or row["slope_ns_per_token"] is None:
        return None
    unit = fmt.time_unit([row["slope_low_ns_per_token"], row["slope_high_ns_per_token"], row["slope_ns_per_token"]])
    slope = f"{_signed(row['slope_ns_per_token'], unit)} for each cached token more"
    if row["slope_low_ns_per_token"] is not None:
        low, high = (_signed(row[f"slope_{end}_ns_per_token"], unit) for end in ("low", "high"))
        slope += f" (95{fmt.THIN}% interval {low} to {high})"
    span = f"{fmt.count(row['first_cached_tokens'])} to {fmt.count(row['last_cached_tokens'])} cached tokens"
    text = f"From {span} {_VERDICTS[row['verdict']]}: {slope}."
    if row["first_step_ratio"] is not None:
        text += (
            f" The first step took {fmt.duration(row['first_step_ns'])},"
            f" {fmt.significant(row['first_step_ratio'])} times the median of the others."
        )
    return text


def _signed(ns: float, unit: tuple[str, int]) -> str:
    return ("+" if ns > 0 else "") + fmt.duration(ns, unit)


def line(row: Row | None, decode: list[Row]) -> list[Row]:
    """The fitted line at its two ends, in ms against the step; empty where there is no fit."""
    if row is None or row["slope_ns_per_token"] is None:
        return []
    steps = {step["cached_tokens"]: step["step"] for step in decode}
    return [
        {
            "step": steps[tokens],
            "verdict": _VERDICTS[row["verdict"]] if tokens == row["last_cached_tokens"] else "",
            "fit_ms": (row["intercept_ns"] + row["slope_ns_per_token"] * tokens) / 1e6,
        }
        for tokens in (row["first_cached_tokens"], row["last_cached_tokens"])
        if tokens in steps
    ]


def outliers(result: Result, calls: int, names: Names) -> Table | None:
    """Single calls far off the others, with what was different in them; None where there is none."""
    if not result:
        return None
    found = [(row, (row["difference"] or "").split("; ")[1:]) for row in result]  # its first part has a column here
    shared = [part for part in found[0][1] if len(found) > 1 and all(part in parts for _, parts in found)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            word(f"decode {row['step']}"),
            word(fmt.count(row["repeat"] + 1)),
            number(row["dur_ns"], fmt.milliseconds(row["dur_ns"])),
            number(row["times_the_median"], f"×{fmt.THIN}{fmt.significant(row['times_the_median'])}"),
            number(row["in_repeats"], f"{fmt.count(row['in_repeats'])} of {fmt.count(row['repeats'])}"),
            word(names("; ".join(part for part in parts if part not in shared)) or None),
        )
        for row, parts in found
    )
    columns: tuple[Column, ...] = (
        Column("step"),
        Column("repeat"),
        Column("took", "ms", True, how="decode_outliers.dur_ns"),
        Column("of the median", "", True, how="derived"),
        Column("off in repeats", "", True, how="decode_outliers.in_repeats"),
        Column("what was different"),
    )
    if all(cells[-1].sort is None for cells in rows):
        columns, rows = columns[:-1], tuple(cells[:-1] for cells in rows)
    caption = (
        f"{fmt.plural(len(found), 'call')} of {fmt.count(calls)} {'stands' if len(found) == 1 else 'stand'} out:"
        " over 5 median deviations from the others, the trend taken out."
    )
    note = f"Of all of them: {names('; '.join(shared))}." if shared else ""
    return Table("outliers-table", caption, columns, rows, (result,), first=_SHOWN, note=note)
