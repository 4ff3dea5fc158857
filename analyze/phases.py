"""Where the phases of a trace are: recognised by grammars, inferred from shapes, or one unknown phase."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa

from analyze.grammars import Grammar, Mark, Rule
from analyze.sql_text import sql_text

# Notes on the ways that are no rules of a grammar.
_NOTES = {
    "inferred": "No range marks the phases; they are inferred from input shapes: several tokens of a sequence at once "
    "are prefill, single tokens are decode.",
    "onnx_model_run": "A model_run is a forward, but no integer input of its nodes tells which phase it is.",
}


@dataclass(frozen=True)
class Range:
    """An occurrence of a phase: where it lies and what its name says. thread_id is None on device streams."""

    rank: int
    thread_id: int | None
    start_ns: int
    end_ns: int
    name: str
    mark: Mark
    yields_to_inner: bool = False
    engine_steps: bool = False


def recognise(con: duckdb.DuckDBPyConnection, run_id: str, pass_: str, grammar: Grammar) -> None:
    """Insert the rows of `phases` for one pass whose rows are in the store, with notes of what must be said.

    Per rank, the first that finds anything: ranges whose names are marks; arguments that are marks; the shapes of
    HF generate's embeddings; ONNX Runtime's model_run; the grammar's fallback rules; one phase `unknown` over all.
    """
    trace = _Trace(con, run_id, pass_)
    extents = {rank: (start, end, annotated) for rank, start, end, annotated in trace.rows("extents")}
    named = _named_ranges(trace, grammar)
    ways = (
        lambda: [item for item, rule in named if not rule.fallback],
        lambda: _argument_ranges(trace, [rule for rule in grammar.argument_rules() if not rule.fallback]),
        lambda: _embedding_ranges(trace),
        lambda: _onnx_ranges(trace),
        lambda: [item for item, rule in named if rule.fallback],
        lambda: _argument_ranges(trace, [rule for rule in grammar.argument_rules() if rule.fallback]),
    )
    found: dict[int, list[Range]] = {}
    for way in ways:
        if found.keys() >= extents.keys():
            break
        found = _by_rank(way()) | found
    for rank, (start, end, annotated) in extents.items():
        if rank not in found:
            found[rank] = [Range(rank, None, start, end, "whole trace", Mark("unknown", "whole_trace"))]
            trace.note(rank, "no_phase_recognised", annotated, _unknown_note(trace, rank))
    ranges = [occurrence for rank in sorted(found) for occurrence in number_steps(without_nested(found[rank]))]
    _insert(con, run_id, pass_, ranges)
    _rule_notes(trace, grammar, [r for r, *_ in ranges])
    _unsplit_notes(trace, grammar, [r for r, *_ in ranges])


def merge_timings(con: duckdb.DuckDBPyConnection, run_id: str, pass_: str, timings: pa.Table) -> None:
    """Bring tokens, cached_tokens and cpu_ns from our engine's timings to the phases that the trace shows.

    `timings` has the columns of timings.jsonl, with start_ns on the clock of the trace. A step that the trace does
    not show becomes a phase with source `timer`.
    """
    con.register("timings", timings)
    try:
        for name in ("merge_timings", "add_timings"):
            con.execute(_sql(name), {"run_id": run_id, "pass": pass_})
    finally:
        con.unregister("timings")


def without_nested(ranges: Sequence[Range]) -> list[Range]:
    """Ranges of one rank such that those of a thread do not nest: one step counts once, whoever else marked it.

    The outer range stays and takes the counts that it does not state from the only one inside it, where that names
    the same phase. A range whose rule yields to inner ones (it may be a loop) goes, if there are any.
    """
    kept: list[Range] = []
    threads: dict[int | None, list[Range]] = defaultdict(list)
    for item in ranges:
        threads[item.thread_id].append(item)
    for own in threads.values():
        if own[0].thread_id is None:
            kept += own
            continue
        own.sort(key=lambda r: (r.start_ns, -r.end_ns))
        inner: dict[int, list[int]] = defaultdict(list)
        parent: list[int | None] = []
        stack: list[int] = []
        for i, item in enumerate(own):
            while stack and own[stack[-1]].end_ns < item.end_ns:
                stack.pop()
            parent.append(stack[-1] if stack else None)
            if stack:
                inner[stack[-1]].append(i)
            stack.append(i)
        covered: list[bool] = []
        for i, item in enumerate(own):
            above = parent[i]
            inside = above is not None and covered[above]
            goes = item.yields_to_inner and bool(inner[i])
            covered.append(inside or not goes)
            if not inside and not goes:
                only = own[inner[i][0]] if len(inner[i]) == 1 else None
                kept.append(_completed(item, only))
    return sorted(kept, key=lambda r: (r.start_ns, r.end_ns))


def _completed(outer: Range, inner: Range | None) -> Range:
    if inner is None or inner.mark.phase != outer.mark.phase:
        return outer
    counts = ("sequences", "tokens", "cached_tokens", "prefill_tokens", "decode_tokens")
    missing = {name: getattr(inner.mark, name) for name in counts if getattr(outer.mark, name) is None}
    return replace(outer, mark=replace(outer.mark, **missing))


def number_steps(ranges: Sequence[Range]) -> list[tuple[Range, int, int]]:
    """Each range of one rank, in order of time, with its repeat and step.

    Our engine's: a prefill is step 0 and begins a new repeat, the calls after it are 1, 2, ... Others: repeat 0, and
    steps in order of occurrence.
    """
    if not any(item.engine_steps for item in ranges):
        return [(item, 0, step) for step, item in enumerate(ranges)]
    numbered, repeat, step = [], -1, 0
    for item in ranges:
        if item.mark.phase == "prefill":
            repeat, step = repeat + 1, 0
        else:
            repeat, step = max(repeat, 0), step + 1
        numbered.append((item, repeat, step))
    return numbered


class _Trace:
    """Queries and notes of one pass."""

    def __init__(self, con: duckdb.DuckDBPyConnection, run_id: str, pass_: str) -> None:
        self.con, self.run_id, self.pass_ = con, run_id, pass_

    def rows(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        return self.con.execute(_sql(name), {"run_id": self.run_id, "pass": self.pass_, **values}).fetchall()

    def note(self, rank: int, reason: str, events: int, detail: str) -> None:
        self.con.execute(
            "INSERT INTO quality VALUES (?, ?, ?, 'note', ?, ?)", [self.run_id, rank, reason, events, detail]
        )


def _sql(name: str) -> str:
    return sql_text(f"phases/{name}.sql")


def _by_rank(ranges: Iterable[Range]) -> dict[int, list[Range]]:
    ranks: dict[int, list[Range]] = defaultdict(list)
    for item in ranges:
        ranks[item.rank].append(item)
    return ranks


def _named_ranges(trace: _Trace, grammar: Grammar) -> list[tuple[Range, Rule]]:
    marks = {}
    for name in {name for _, name in trace.rows("mark_names")}:
        if (known := grammar.find(name)) is not None:
            marks[name] = known
    if not marks:
        return []
    trace.con.register("mark_names", pa.table({"name": pa.array(list(marks), pa.string())}))
    try:
        rows = trace.rows("marked_ranges")
    finally:
        trace.con.unregister("mark_names")
    return [(_range(row, *marks[row[-1]]), marks[row[-1]][0]) for row in rows]


def _range(row: tuple[Any, ...], rule: Rule, mark: Mark) -> Range:
    rank, thread_id, start, end, name = row
    return Range(rank, thread_id, start, end, name, mark, rule.yields_to_inner, rule.engine_steps)


def _argument_ranges(trace: _Trace, rules: Sequence[Rule]) -> list[Range]:
    ranges: list[Range] = []
    done: set[int] = set()
    for rule in rules:
        key = str(rule.argument)
        found = []
        for row in trace.rows("argument_ranges", argument=json.dumps(key), path=f"$.{json.dumps(key)}"):
            mark = rule.match(row[-1])
            if mark is not None and row[0] not in done:
                found.append(_range(row, rule, mark))
        ranges += found
        done |= {item.rank for item in found}
    return ranges


def _embedding_ranges(trace: _Trace) -> list[Range]:
    """Forwards of HF generate: the calls on the largest embedding table, [batch, N] first and [batch, 1] later."""
    calls: dict[tuple[int, int], list[tuple[int, int, int, int]]] = defaultdict(list)
    ends: dict[tuple[int, int], int] = {}
    for rank, thread_id, start, end, shapes in trace.rows("embeddings"):
        dims = _dims(shapes)
        if dims is not None:
            calls[rank, thread_id].append((start, *dims))
            ends[rank, thread_id] = end
    ranges: list[Range] = []
    for (rank, thread_id), own in calls.items():
        table = max(rows for _, rows, _, _ in own)
        forwards = [(start, batch, length) for start, rows, batch, length in own if rows == table]
        lengths = [length for _, _, length in forwards]
        first = next((i for i, length in enumerate(lengths) if length > 1), None)
        if first is None or 1 not in lengths[first:]:
            continue
        for i, (start, batch, length) in enumerate(forwards):
            end = forwards[i + 1][0] if i + 1 < len(forwards) else ends[rank, thread_id]
            name = f"aten::embedding [{batch}, {length}]"
            ranges.append(Range(rank, thread_id, start, end, name, _inferred(batch, length)))
    return ranges


def _dims(shapes: str) -> tuple[int, int, int] | None:
    """Rows of the table, batch and tokens of an embedding's recorded shapes; None where they are others."""
    try:
        (rows, _), (batch, length), *_ = json.loads(shapes)
    except (ValueError, TypeError):
        return None
    whole = [value for value in (rows, batch, length) if isinstance(value, int) and 0 < value < 2**31]
    return (rows, batch, length) if len(whole) == 3 else None


def _inferred(batch: int, length: int) -> Mark:
    phase, tokens = ("prefill" if length > 1 else "decode"), batch * length
    prefill, decode = (tokens, 0) if length > 1 else (0, tokens)
    return Mark(phase, "inferred", batch, tokens, None, prefill, decode)


def _onnx_ranges(trace: _Trace) -> list[Range]:
    ranges = []
    for rank, thread_id, start, end, batch, tokens in trace.rows("onnx_runs"):
        known = batch and tokens
        mark = _inferred(batch, tokens) if known else Mark("unknown", "onnx_model_run")
        ranges.append(Range(rank, thread_id, start, end, "model_run", mark))
    return ranges


def _unknown_note(trace: _Trace, rank: int) -> str:
    common = trace.rows("common_annotations", rank=rank)
    if not common:
        return "The trace has no annotations, so that all of it is one phase `unknown`."
    names = ", ".join(f"{name} ({times})" for name, times in common)
    return f"No annotation marks a phase, so that all of it is one phase `unknown`; the commonest are {names}."


def _rule_notes(trace: _Trace, grammar: Grammar, ranges: Sequence[Range]) -> None:
    used = Counter((item.rank, item.mark.rule) for item in ranges)
    notes = _NOTES | {rule.name: rule.note for rule in grammar.rules if rule.note}
    for (rank, rule), times in used.items():
        if rule in notes:
            reason = "phases_inferred" if rule == "inferred" else f"phase_rule_{rule}"
            trace.note(rank, reason, times, str(notes[rule]))


def _unsplit_notes(trace: _Trace, grammar: Grammar, ranges: Sequence[Range]) -> None:
    """Say which steps a grammar cannot split, and which modes it does not know."""
    modes = {rule.name for rule in grammar.rules if rule.phases}
    unsplit = Counter(
        item.rank
        for item in ranges
        if item.mark.phase == "mixed" and None in (item.mark.prefill_tokens, item.mark.decode_tokens)
    )
    for rank, times in unsplit.items():
        text = f"{times} steps mix prefill and decode, and their names do not tell the tokens of each."
        trace.note(rank, "mixed_steps_not_split", times, text)
    unknown = Counter(
        (item.rank, item.name) for item in ranges if item.mark.phase == "unknown" and item.mark.rule in modes
    )
    for rank in sorted({rank for rank, _ in unknown}):
        names = [name for (other, name), _ in unknown.most_common() if other == rank]
        text = f"The grammar knows no such mode, so that the phase is unknown: {', '.join(names[:5])}."
        trace.note(rank, "unknown_mode", sum(times for (r, _), times in unknown.items() if r == rank), text)


def _insert(con: duckdb.DuckDBPyConnection, run_id: str, pass_: str, ranges: Sequence[tuple[Range, int, int]]) -> None:
    if not ranges:
        return
    whole = {"rank", "repeat", "step", "sequences", "thread_id"}
    rows = [
        {
            "run_id": run_id, "pass": pass_, "rank": item.rank, "repeat": repeat, "phase": item.mark.phase,
            "step": step, "start_ns": item.start_ns, "dur_ns": item.end_ns - item.start_ns,
            "tokens": item.mark.tokens, "cached_tokens": item.mark.cached_tokens, "sequences": item.mark.sequences,
            "prefill_tokens": item.mark.prefill_tokens, "decode_tokens": item.mark.decode_tokens,
            "name": item.name, "source": item.mark.rule, "thread_id": item.thread_id,
        }
        for item, repeat, step in ranges
    ]  # fmt: skip
    texts = {"run_id", "pass", "phase", "name", "source"}
    kinds = {key: pa.string() if key in texts else pa.int32() if key in whole else pa.int64() for key in rows[0]}
    table = pa.table({key: pa.array([row[key] for row in rows], kind) for key, kind in kinds.items()})
    con.register("phase_rows", table)
    try:
        con.execute("INSERT INTO phases BY NAME SELECT * FROM phase_rows")
    finally:
        con.unregister("phase_rows")
