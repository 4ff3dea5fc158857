"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from analyze.compare.comparison import Comparison, ValueChange
from analyze.compare.names import NameChange
from analyze.compare.sides import Side
from reports import format as fmt
from reports.comparison import answer, words
from reports.queries import Result
from reports.sections.names import Names
from reports.tables import Cell, Column, Table, number, word

MOST_NAMES = 300


def sql_of(comparison: Comparison, *queries: str) -> tuple[Result, ...]:
    """The queries behind a table, as they were asked of both sides."""
    found = []
    for name in queries:
        for letter, side in (("A", comparison.a), ("B", comparison.b)):
            if text := side.first.sql.get(name):
                found.append(Result(f"{name.replace('_', ' ')} of {letter}", text, (), ()))
    return tuple(found)


def differences(comparison: Comparison, names: Names) -> Table | None:
    """What differs; None where nothing that is recorded does."""
    rows = tuple(
        (word(d.what), word(d.kind), _told(d.what, d.a, names), _told(d.what, d.b, names))
        for d in comparison.differences
    )
    columns = (Column("what"), Column("of the"), Column("A"), Column("B"))
    caption = "Everything recorded that is not the same on both sides."
    sql = sql_of(comparison, "run", "trace_facts", "passes")
    return Table("differences-table", caption, columns, rows, sql, first=14) if rows else None


def _told(what: str, told: object, names: Names) -> Cell:
    if told is None:
        return Cell("not recorded")
    if isinstance(told, int) and what in ("memory", "device memory"):
        return word(fmt.size(told))
    return word(names(str(told)))


def latencies(comparison: Comparison) -> Table | None:
    """Clean latencies; None without any."""
    return _metrics(
        comparison, "latencies-table", comparison.latencies,
        f"Clean latencies. Ratios of medians, with a {comparison.options.confidence * 100:.3g} % interval over "
        f"{comparison.unit.a} and {comparison.unit.b} {comparison.unit.name}s.",
        sql_of(comparison, "repeats"),
    )  # fmt: skip


def counts(comparison: Comparison) -> Table | None:
    """Counts and readings; None without any."""
    caption = "Counted once a side. A count is the same in every repeat of a program, so a difference is one."
    shown = words.shown_counts(comparison)
    return _metrics(comparison, "counts-table", shown, caption, sql_of(comparison, "parts", "kv", "memory"))


def _metrics(
    comparison: Comparison, table_id: str, changes: Sequence, caption: str, sql: tuple[Result, ...]
) -> Table | None:
    rows = []
    for change in changes:
        before, after = words.values((change.a, change.b), change.metric.unit)
        said = words.verdict(change.judgement, comparison.options.threshold, answer.said_once(comparison))
        rows.append(
            (
                word(change.metric.meaning), word(change.metric.name), number(change.a, before),
                number(change.b, after), number(change.ratio, words.ratio(change.ratio)),
                Cell(words.interval(change.interval)),
                word(f"{words.SIGNS[change.judgement.verdict]} {said}"),
            )
        )  # fmt: skip
    columns = (
        Column("what"), Column("metric"), Column("A", "", True), Column("B", "", True),
        Column("B over A", "", True), Column("interval", "", True), Column("verdict"),
    )  # fmt: skip
    return Table(table_id, caption, columns, tuple(rows), sql) if rows else None


def steps(comparison: Comparison) -> Table | None:
    """Every step that both sides have; None without any."""
    rows = []
    for step in comparison.steps:
        before, after = words.values((step.a_ns, step.b_ns), "ns")
        cached = fmt.count(step.cached_b)
        if step.cached_a != step.cached_b:
            cached = f"{fmt.count(step.cached_a)} and {fmt.count(step.cached_b)}"
        over = step.interval.value if step.interval else None
        rows.append(
            (
                word(f"{step.phase} {step.step}"), Cell(cached, step.cached_b), number(step.a_ns, before),
                number(step.b_ns, after), number(over, words.ratio(over)), Cell(words.interval(step.interval)),
            )
        )  # fmt: skip
    columns = (
        Column("step"), Column("cached tokens", "", True), Column("A", "", True), Column("B", "", True),
        Column("B over A", "", True), Column("interval", "", True),
    )  # fmt: skip
    caption = "Median clean latency of each step. Each interval stands alone, so among many some miss 1 by chance."
    return Table("steps-table", caption, columns, tuple(rows), sql_of(comparison, "steps"), first=12) if rows else None


def parts(comparison: Comparison) -> Table | None:
    """What the mean call of each phase is made of, on both sides; None without a phase in common."""
    rows = []
    for part in comparison.parts:
        over = part.b_ns / part.a_ns if part.a_ns and part.b_ns is not None else None
        before, after = words.values((part.a_ns, part.b_ns), "ns")
        calls = fmt.count(part.calls_a)
        if part.calls_a != part.calls_b:
            calls = f"{fmt.count(part.calls_a)} and {fmt.count(part.calls_b)}"
        rows.append(
            (
                word(part.phase), word(part.part), Cell(calls, part.calls_a), number(part.a_ns, before),
                number(part.b_ns, after), number(over, words.ratio(over)),
            )
        )  # fmt: skip
    columns = (
        Column("phase"), Column("part"), Column("calls", "", True), Column("A", "", True), Column("B", "", True),
        Column("B over A", "", True),
    )  # fmt: skip
    caption = "The mean call of each phase in the traced passes, in parts."
    return Table("parts-table", caption, columns, tuple(rows), sql_of(comparison, "parts")) if rows else None


def named(
    comparison: Comparison, table_id: str, caption: str, found: Sequence[NameChange], query: str, names: Names,
    *, tone: str, first: int = 12,
) -> Table | None:  # fmt: skip
    """Operators or kernels by name, the largest change first; None where a side has none."""
    if not found:
        return None
    largest = max(abs(item.delta_ns) for item in found) or 1
    rows = []
    for item in found[:MOST_NAMES]:
        before, after = words.values((item.ns_a, item.ns_b), "ns")
        rows.append(
            (
                word(names(item.name)), word(item.phase), word(words.state(item)),
                number(item.calls_a, fmt.rate(item.calls_a)), number(item.calls_b, fmt.rate(item.calls_b)),
                number(item.ns_a, before), number(item.ns_b, after),
                number(item.delta_ns, words.signed(item.delta_ns), abs(item.delta_ns) / largest, tone),
                number(item.ratio, words.ratio(item.ratio)),
            )
        )  # fmt: skip
    columns = (
        Column("name"), Column("phase"), Column("is"), Column("A", "", True, "calls"), Column("B", "", True, "calls"),
        Column("A", "", True, "time"), Column("B", "", True, "time"), Column("B − A", "", True, "time"),
        Column("B over A", "", True, "time"),
    )  # fmt: skip
    rest = len(found) - len(rows)
    note = f"{fmt.plural(rest, 'name')} more with smaller changes are left out; the SQL lists them." if rest else ""
    return Table(
        table_id, caption, columns, tuple(rows), sql_of(comparison, query), sortable=True, searchable=len(rows) > 8,
        first=first, note=note,
    )  # fmt: skip


def readings(comparison: Comparison, kinds: Sequence[str], table_id: str, caption: str, *queries: str) -> Table | None:
    """Values that were read once a side; None without any of these kinds."""
    chosen: list[ValueChange] = [item for item in comparison.values if item.kind in kinds]
    rows = []
    for item in chosen:
        before, after = words.values((item.a, item.b), item.unit)
        over = item.b / item.a if item.a and item.b else None
        rows.append((word(item.name), number(item.a, before), number(item.b, after), number(over, words.ratio(over))))
    columns = (Column("what"), Column("A", "", True), Column("B", "", True), Column("B over A", "", True))
    return Table(table_id, caption, columns, tuple(rows), sql_of(comparison, *queries), first=14) if rows else None


def claims(comparison: Comparison, names: Names) -> Table | None:
    """Claims whose verdict changed; None where there are none."""
    rows = tuple((word(names(c.claim)), word(c.a or "not made"), word(c.b or "not made")) for c in comparison.claims)
    columns = (Column("claim"), Column("A"), Column("B"))
    caption = "Claims whose verdict is not the same on both sides."
    return Table("claims-table", caption, columns, rows, sql_of(comparison, "claims")) if rows else None


def quality(comparison: Comparison, names: Names) -> Table:
    """Events and passes of the runs of both sides."""
    rows = [row for letter, side in (("A", comparison.a), ("B", comparison.b)) for row in _runs(letter, side, names)]
    columns = (
        Column("run"), Column("side"), Column("events", "", True), Column("left out", "", True),
        Column("repaired", "", True), Column("passes"),
    )  # fmt: skip
    caption = "What was loaded of each run, and what became of its passes."
    return Table("quality-table", caption, columns, tuple(rows), sql_of(comparison, "quality", "passes"))


def _runs(letter: str, side: Side, names: Names) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for run in side.runs:
        repaired = sum(row["events"] for row in run.rows["quality"] if row["kind"] == "repaired")
        passes = ", ".join(f"{row['pass']} {row['status'].replace('_', ' ')}" for row in run.rows["passes"])
        rows.append(
            (
                word(names(run.run_id)), word(letter), number(run.run["raw_events"], fmt.count(run.run["raw_events"])),
                number(run.run["excluded_events"], fmt.count(run.run["excluded_events"])),
                number(repaired, fmt.count(repaired)), word(names(passes)),
            )
        )  # fmt: skip
    return rows
