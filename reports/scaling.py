"""The page of a scaling study: what prefill, decode, KV cache and memory do as lengths and batches grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log

import duckdb

from analyze.scaling import interval
from reports import format as fmt
from reports import palette, scaling_charts
from reports.figure import Figure, Row
from reports.queries import Result, run
from reports.scaling_charts import glyph_of, shape_of
from reports.tables import Column, Table, number, word

QUERIES = ("points", "prefill", "decode", "decode_steps", "kv", "kv_points", "headroom")
SIGNS = {"holds": "✓", "does not hold": "✗", "not established": "○"}


@dataclass(frozen=True)
class Part:
    """A figure with the finding over it and the numbers under it."""

    finding: str
    figure: Figure | None
    table: Table


@dataclass(frozen=True)
class Verdict:
    """A claim about the KV cache with its sign."""

    claim: str
    verdict: str

    @property
    def sign(self) -> str:
        return SIGNS[self.verdict]


@dataclass(frozen=True)
class Scaling:
    """All that the page shows. A part is None where the runs have no data for it."""

    title: str
    subtitle: str
    random_weights: bool
    runs: int
    disturbed: str | None
    batches: tuple[tuple[int, str], ...]
    prefill: Part
    decode: Part | None
    kv: Part | None
    kv_verdicts: tuple[Verdict, ...]
    headroom: Part
    points: Table

    def figures(self) -> Iterator[Figure]:
        """Every chart of the page, in reading order."""
        for part in (self.prefill, self.decode, self.kv, self.headroom):
            if part and part.figure:
                yield part.figure


def series_of(connection: duckdb.DuckDBPyConnection) -> Result:
    """The series of the store that have several lengths or batch sizes, a row each."""
    return run(connection, "scaling_series")


def collect(connection: duckdb.DuckDBPyConnection, series: str) -> dict[str, Result]:
    """The results of all queries about a series, by name."""
    return {name: run(connection, f"scaling_{name}", series=series) for name in QUERIES}


def build(series: Row, results: dict[str, Result]) -> Scaling:
    """Build it from a row of `series_of` and the results that `collect` answers."""
    points = results["points"].rows
    batches = sorted({row["batch_size"] for row in points})
    return Scaling(
        title=series["model"],
        subtitle=about(series),
        random_weights=series["weights"] == "random",
        runs=len(points),
        disturbed=_disturbed(points),
        batches=tuple((size, glyph_of(batches, size)) for size in batches),
        prefill=_prefill(results, batches),
        decode=_decode(results, batches),
        kv=_kv(results, batches),
        kv_verdicts=_verdicts(results["kv"].one()),
        headroom=_headroom(results["headroom"]),
        points=_points(results["points"]),
    )


def about(series: Row) -> str:
    """What is the same in all runs of a series, in words."""
    counted = [
        fmt.plural(series[name], word)
        for name, word in (("cpu_threads", "CPU thread"), ("warmup", "warm-up"))
        if series[name] is not None
    ]
    facts = (series["device_name"] or series["device"], series["dtype"], series["attention"], series["cache"], *counted)
    return " · ".join(str(fact) for fact in facts if fact)


def _disturbed(points: Sequence[Row]) -> str | None:
    """The mark of the report, for the runs that carry it there."""
    why: dict[str, list[str]] = {}
    for row in points:
        if row["disturbed"]:
            why.setdefault(row["disturbed"], []).append(row["run_id"])
    if not why:
        return None
    told = "; ".join(f"{reason}: {', '.join(run_ids)}" for reason, run_ids in why.items())
    several = sum(map(len, why.values()))
    return (
        f"Do not quote the times of {fmt.plural(several, 'run')} of {fmt.count(len(points))}, nor lines through them"
        f" ({told})."
    )


def _exponent(estimate: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{fmt.significant(estimate)}, without an interval from two lengths"
    bounds = f"95{fmt.THIN}% interval {fmt.significant(low)} to {fmt.significant(high)}"
    if low <= 0 <= high:
        return f"not established ({bounds} holds 0: noise hides it)"
    return f"{fmt.significant(estimate)} ({bounds})"


def _prefill(results: dict[str, Result], batches: list[int]) -> Part:
    points, fits = results["points"].rows, results["prefill"].rows
    unit, size = fmt.time_unit([row["prefill_ns"] for row in points])
    marks = [
        {
            "tokens": row["prompt_tokens"],
            "value": row["prefill_ns"] / size,
            "low": row["prefill_p5_ns"] / size,
            "high": row["prefill_p95_ns"] / size,
            "shape": shape_of(batches, row["batch_size"]),
            "prompt": fmt.count(row["prompt_tokens"]),
            "batch": str(row["batch_size"]),
            "text": fmt.duration(row["prefill_ns"]),
            "range": f"{fmt.duration(row['prefill_p5_ns'])} to {fmt.duration(row['prefill_p95_ns'])}",
            "local": fmt.significant(row["local_exponent"]),
        }
        for row in points
    ]
    lines, findings, rows = [], [], []
    for fit in fits:
        low, high = interval(fit["exponent"], fit["standard_error"], fit["points"])
        rows.append(
            (
                number(fit["batch_size"], fmt.count(fit["batch_size"])),
                number(fit["points"], fmt.count(fit["points"])),
                word(f"{fmt.count(fit['shortest_tokens'])} to {fmt.count(fit['longest_tokens'])}"),
                number(fit["exponent"], fmt.significant(fit["exponent"])),
                word(None if low is None else f"{fmt.significant(low)} to {fmt.significant(high)}"),
                number(fit["r_squared"], fmt.significant(fit["r_squared"], 4)),
            )
        )
        if fit["exponent"] is None:
            continue
        findings.append(f"batch {fit['batch_size']}: {_exponent(fit['exponent'], low, high)}")
        for step in range(17):
            share = step / 16
            tokens = fit["shortest_tokens"] * (fit["longest_tokens"] / fit["shortest_tokens"]) ** share
            value = exp(fit["ln_ns_at_one_token"] + fit["exponent"] * log(tokens)) / size
            label = f"batch {fit['batch_size']}: n^{fmt.significant(fit['exponent'])}" if step == 16 else ""
            lines.append({"batch": str(fit["batch_size"]), "tokens": tokens, "value": value, "label": label})
    finding = (
        "Exponent with which prefill grows with the prompt length: " + "; ".join(findings) + "."
        if findings
        else "No exponent of prefill: every batch size has one prompt length."
    )
    table = Table(
        id="scaling-prefill-table",
        caption="The fitted power law of each batch size. 1 is linear in the prompt, 2 quadratic; it says nothing "
        "beyond the lengths it was fitted to.",
        columns=(
            Column("batch"), Column("runs", numeric=True), Column("prompt tokens"),
            Column("exponent", numeric=True), Column("95 % interval"), Column("R²", numeric=True),
        ),
        rows=tuple(rows),
        sql=(results["prefill"], results["points"]),
    )  # fmt: skip
    return Part(finding, scaling_charts.prefill(marks, lines, unit), table)


def _decode(results: dict[str, Result], batches: list[int]) -> Part | None:
    points = [row for row in results["points"] if row["decode_ns"] is not None]
    if not points:
        return None
    steps, fits = results["decode_steps"].rows, results["decode"].rows
    unit, size = fmt.time_unit([row["decode_ns"] for row in points])
    every = [{"tokens": r["cached_tokens"], "value": r["median_ns"] / size, "run": r["run_id"]} for r in steps]
    marks = [
        {
            "tokens": row["decode_cached_tokens"],
            "value": row["decode_ns"] / size,
            "shape": shape_of(batches, row["batch_size"]),
            "batch": str(row["batch_size"]),
            "cached": fmt.significant(row["decode_cached_tokens"], 4),
            "text": fmt.duration(row["decode_ns"]),
        }
        for row in points
    ]
    lines, findings, rows = [], [], []
    for fit in fits:
        slope = fit["ns_per_cached_token"]
        low, high = interval(slope, fit["standard_error_ns"], fit["points"])
        per_thousand = None if slope is None else slope * 1000
        shown = None if low is None or high is None else f"{_signed(low * 1000)} to {_signed(high * 1000)}"
        rows.append(
            (
                number(fit["batch_size"], fmt.count(fit["batch_size"])),
                number(fit["points"], fmt.count(fit["points"])),
                number(per_thousand, _signed(per_thousand)),
                word(shown),
                number(fit["r_squared"], fmt.significant(fit["r_squared"], 4)),
            )
        )
        if slope is None:
            continue
        text = f"batch {fit['batch_size']}: {_signed(per_thousand)} for each 1{fmt.THIN}000 cached tokens"
        if low is not None and high is not None and low <= 0 <= high:
            text += " (its 95 % interval holds 0: no growth established)"
        findings.append(text)
        for tokens in (fit["shortest_tokens"], fit["longest_tokens"]):
            value = (fit["ns_at_empty_cache"] + slope * tokens) / size
            lines.append({"batch": str(fit["batch_size"]), "tokens": tokens, "value": value})
    finding = "What the cache adds to a decode step: " + "; ".join(findings) + "." if findings else ""
    table = Table(
        id="scaling-decode-table",
        caption="What the cache adds to a decode step: the slope of a straight line through the runs, a run a point.",
        columns=(
            Column("batch"), Column("runs", numeric=True),
            Column("for 1 000 cached tokens", numeric=True),
            Column("95 % interval"), Column("R²", numeric=True),
        ),
        rows=tuple(rows),
        sql=(results["decode"], results["decode_steps"]),
    )  # fmt: skip
    return Part(finding, scaling_charts.decode(every, marks, lines, unit), table)


def _signed(ns: float | None) -> str:
    return fmt.duration(ns) if ns is None or ns <= 0 else "+" + fmt.duration(ns)


def _kv(results: dict[str, Result], batches: list[int]) -> Part | None:
    rows = results["kv_points"].rows
    if not rows:
        return None
    unit, size = fmt.byte_unit([row["measured_bytes"] for row in rows])
    marks = [
        {
            "tokens": row["cached_tokens"],
            "value": row["measured_bytes"] / size,
            "batch": str(row["batch_size"]),
            "shape": shape_of(batches, row["batch_size"]),
            "colour": palette.of_phase(row["phase"]),
            "cached": fmt.count(row["cached_tokens"]),
            "text": f"{fmt.count(row['measured_bytes'])} bytes",
            "verdict": row["verdict"],
        }
        for row in rows
    ]
    fact = results["kv"].one()
    if fact["bytes_per_token"] is not None:
        finding = f"One more token of one sequence takes {fmt.count(fact['bytes_per_token'])} bytes"
        finding += f", beside {fmt.count(fact['fixed_bytes'])} bytes that do not grow." if fact["fixed_bytes"] else "."
    else:
        finding = (
            f"{fmt.plural(fact['off_the_line'] or 0, 'point')} of {fmt.count(fact['points'])} off a straight line."
        )
    finding += (
        f" {fmt.count(fact['equal_to_computed'])} of {fmt.plural(fact['points'], 'measured point')} equal the bytes"
    )
    finding += " computed from the architecture."
    table = Table(
        id="scaling-kv-table",
        caption="Measured and computed bytes over the batch, after prefill and after the last step of each run.",
        columns=(
            Column("batch"), Column("cached tokens", numeric=True), Column("after"),
            Column("measured", "bytes", numeric=True), Column("computed", "bytes", numeric=True), Column("verdict"),
        ),
        rows=tuple(
            (
                number(row["batch_size"], fmt.count(row["batch_size"])),
                number(row["cached_tokens"], fmt.count(row["cached_tokens"])),
                word(row["phase"]),
                number(row["measured_bytes"], fmt.count(row["measured_bytes"])),
                number(row["computed_bytes"], fmt.count(row["computed_bytes"])),
                word(row["verdict"]),
            )
            for row in rows
        ),
        sql=(results["kv"], results["kv_points"]),
        first=12,
    )  # fmt: skip
    return Part(finding, scaling_charts.kv(marks, unit), table)


def _verdicts(fact: Row) -> tuple[Verdict, ...]:
    if fact["points"] is None:
        return ()
    return (
        Verdict("KV bytes are linear in cached tokens", fact["linear_in_length"]),
        Verdict("KV bytes are linear in the batch", fact["linear_in_batch"]),
    )


def _headroom(result: Result) -> Part:
    known = [row for row in result if row["headroom_bytes"] is not None]
    fits = [row["longest_context_tokens"] for row in known if row["longest_context_tokens"] is not None]
    if not known:
        finding = "Not available: this device has no counter of its memory, or the runs did not sample it."
    elif not fits:
        finding = "Headroom is known, but no longest context follows: the cache did not grow linearly."
    else:
        finding = (
            f"The KV cache alone would fill the headroom at {fmt.count(min(fits))} to {fmt.count(max(fits))} tokens of"
            " one sequence: an upper bound, since a longer prefill needs more activations too."
        )
    table = Table(
        id="scaling-headroom-table",
        caption="What the driver held at most, against the working set that the system recommends or the device's "
        "memory.",
        columns=(
            Column("batch"), Column("prompt tokens", numeric=True), Column("driver", numeric=True),
            Column("limit", numeric=True), Column("headroom", numeric=True),
            Column("longest context", "tokens", numeric=True),
        ),
        rows=tuple(
            (
                number(row["batch_size"], fmt.count(row["batch_size"])),
                number(row["prompt_tokens"], fmt.count(row["prompt_tokens"])),
                number(row["driver_bytes"], fmt.size(row["driver_bytes"])),
                number(row["limit_bytes"], fmt.size(row["limit_bytes"])),
                number(row["headroom_bytes"], fmt.size(row["headroom_bytes"])),
                number(row["longest_context_tokens"], fmt.count(row["longest_context_tokens"])),
            )
            for row in known
        ),
        sql=(result,),
    )  # fmt: skip
    return Part(finding, None, table)


def _points(result: Result) -> Table:
    return Table(
        id="scaling-points",
        caption="Every run of the study. Latencies are medians of the clean pass.",
        columns=(
            Column("run"), Column("batch", numeric=True), Column("prompt", "tokens", numeric=True),
            Column("new", "tokens", numeric=True), Column("prefill", "ms", numeric=True),
            Column("prefill", "tokens/s", numeric=True), Column("decode step", "ms", numeric=True),
            Column("decode", "tokens/s", numeric=True), Column("times"),
        ),
        rows=tuple(
            (
                word(row["run_id"]),
                number(row["batch_size"], fmt.count(row["batch_size"])),
                number(row["prompt_tokens"], fmt.count(row["prompt_tokens"])),
                number(row["new_tokens"], fmt.count(row["new_tokens"])),
                number(row["prefill_ns"], fmt.milliseconds(row["prefill_ns"])),
                number(row["prefill_tokens_per_s"], fmt.significant(row["prefill_tokens_per_s"])),
                number(row["decode_ns"], fmt.milliseconds(row["decode_ns"])),
                number(row["decode_tokens_per_s"], fmt.significant(row["decode_tokens_per_s"])),
                word(f"do not quote: {row['disturbed']}" if row["disturbed"] else None),
            )
            for row in result
        ),
        sql=(result,),
        sortable=True,
        first=20,
    )  # fmt: skip
