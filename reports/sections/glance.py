"""The first screen: a handful of numbers and the facts of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyze.compare.metrics import PROCESS_COUNTERS
from reports import format as fmt
from reports.queries import Result, Row
from reports.sections.names import Names

_PEAKS = (
    ("peak", "peak of tensor allocations"),
    ("driver", "held by the driver"),
    ("footprint", "physical footprint of the process"),
    ("resident", "resident set of the process"),
)

_NOT_FASTER = 0.95  # a profiled call that is faster than this share of the clean one was not on the same machine


@dataclass(frozen=True)
class Tile:
    """A number, its unit and a line about it; no number means not known, and the line says why."""

    label: str
    value: str | None
    unit: str
    note: str
    tone: str = ""
    how: str = ""  # as in tables.Column


@dataclass(frozen=True)
class Fact:
    """A word and what it is in this run; `mark` draws the eye."""

    term: str
    value: str
    mark: bool = False


@dataclass(frozen=True)
class Glance:
    """Tiles and facts with their queries."""

    tiles: tuple[Tile, ...]
    facts: tuple[Fact, ...]
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result], names: Names) -> Glance:
    """Numbers of the clean pass where there is one, of the trace's extent where not."""
    run = results["run"].one()
    clean = {row["phase"]: row for row in results["latency"]}
    tiles = _latency_tiles(run, clean) if clean else _trace_tiles(results)
    tiles += [_kv(results, run), _memory(results), *([_profiler(results)] if clean else [])]
    used = ("run", "latency", "timeline_window", "kv_per_token", "peak_memory", "profiler_cost")
    return Glance(tuple(tiles), _facts(run, names), tuple(results[name] for name in used if results[name]))


def _split(text: str) -> tuple[str, str]:
    value, _, unit = text.rpartition(fmt.THIN)
    return value, unit


def _latency_tiles(run: Row, clean: Mapping[str, Row]) -> list[Tile]:
    tiles = []
    for phase, label in (("prefill", "Time to first token"), ("decode", "Decode step, median")):
        row = clean.get(phase)
        if row is None:
            tiles.append(Tile(label, None, "", f"the clean pass has no {phase}", phase))
            continue
        unit = fmt.time_unit([row["median_ns"]])
        value, name = _split(fmt.duration(row["median_ns"], unit))
        if row["calls"] > 1:
            low, high = (fmt.significant(row[key] / unit[1]) for key in ("p5_ns", "p95_ns"))
            note = f"p5–p95: {low}–{high}{fmt.THIN}{name}, {fmt.plural(row['calls'], 'call').replace(' ', fmt.THIN)}"
        else:
            note = "one call, so no spread"
        tiles.append(Tile(label, value, name, note, phase, "step_latency.median_ns"))
    row = clean.get("decode")
    batch = run["batch_size"] or 1
    if row and row["tokens_per_second"] is not None:
        note = f"decode, all {fmt.count(batch)} sequences" if batch > 1 else "decode, one sequence"
        tiles.append(
            Tile("Tokens a second", fmt.significant(row["tokens_per_second"]), "tokens/s", note, "decode", "derived")
        )
    return tiles


def _trace_tiles(results: Mapping[str, Result]) -> list[Tile]:
    window, run = results["timeline_window"].one(), results["run"].one()
    tiles = [Tile("Latency", None, "", "needs a clean pass, which this run lacks")]
    if window["end_ns"] is not None:
        value, unit = _split(fmt.duration(window["end_ns"] - window["start_ns"]))
        tiles.append(Tile("Traced span", value, unit, "profiler on: explains, is not a latency", how="derived"))
    tiles.append(
        Tile(
            "Events",
            fmt.count(run["loaded_events"]),
            "",
            f"of {fmt.count(run['raw_events'])} in the source",
            how="runs.loaded_events",
        )
    )
    return tiles


def _kv(results: Mapping[str, Result], run: Row) -> Tile:
    row = results["kv_per_token"].one()
    if row["bytes_per_token"] is None:
        return Tile("KV cache a token", None, "", "no samples of the cache")
    value, unit = _split(fmt.size(row["bytes_per_token"]))
    batch = run["batch_size"] or 1
    note = f"for {fmt.count(batch)} sequences" if batch > 1 else "growth from step to step"
    note += "" if row["least"] == row["most"] else ", median; it is not even"
    return Tile("KV cache a token", value, unit, note, how="derived")


def _memory(results: Mapping[str, Result]) -> Tile:
    peaks = {row["counter"]: row for row in results["peak_memory"] if row["bytes"]}
    for counter, meaning in _PEAKS:
        if row := peaks.get(counter):
            value, unit = _split(fmt.size(row["bytes"]))
            note = f"{meaning}, in pass {row['pass']}"
            if row["pass"] == "profiled" and counter in PROCESS_COUNTERS:
                note += ", the profiler's own included"
            return Tile("Peak memory", value, unit, note, how="derived")
    allocated = [row for row in results["allocations"] if not row["device"].startswith("cpu")]
    if allocated:
        row = max(allocated, key=lambda row: row["most_bytes"])
        value, unit = _split(fmt.size(row["most_bytes"]))
        return Tile("Peak memory", value, unit, f"in tensors, by the allocations of pass {row['pass']}", how="derived")
    return Tile("Peak memory", None, "", "no memory samples")


def _profiler(results: Mapping[str, Result]) -> Tile:
    ratios = {row["phase"]: row["ratio"] for row in results["profiler_cost"]}
    main = ratios.get("decode", ratios.get("prefill"))
    if main is None:
        return Tile("Profiler's own cost", None, "", "no profiled pass")
    note = ", ".join(f"{phase} ×{fmt.THIN}{fmt.significant(ratio)}" for phase, ratio in ratios.items())
    note = f"median call, profiled over clean: {note}"
    if min(ratios.values()) < _NOT_FASTER:
        return Tile("Profiler's own cost", None, "", f"{note}: the machine was busier in the clean pass", how="derived")
    return Tile("Profiler's own cost", f"×{fmt.THIN}{fmt.significant(main)}", "", note, how="derived")


def _facts(run: Row, names: Names) -> tuple[Fact, ...]:
    def lengths() -> str | None:
        if run["prompt_tokens"] is None or run["new_tokens"] is None:
            return None
        return f"{fmt.count(run['prompt_tokens'])} prompt + {fmt.count(run['new_tokens'])} new tokens"

    weights = {"random": "random: exact shapes, no trained values", "real": "real"}.get(run["weights"], run["weights"])
    repeats = None
    if run["repeats"] is not None:
        repeats = f"{fmt.count(run['repeats'])}, after {fmt.plural(run['warmup'] or 0, 'warm-up')}"
    device = " · ".join(part for part in (run["device"], run["device_name"]) if part)
    version = (run["trace_engine_version"] or "").partition(" (")[0]  # the whole of it is under Quality
    engine = " ".join(part for part in (run["trace_engine"], version) if part)
    facts: list[tuple[str, str | None]] = [
        ("Model", names(run["model"])),
        ("Weights", weights),
        ("Parameters", fmt.count(run["parameters"]) if run["parameters"] else None),
        ("Device", device or None),
        ("Element type", run["dtype"]),
        ("Attention", run["attention"]),
        ("Cache", run["cache"]),
        ("Logits", {"last": "last position only", "all": "all positions"}.get(run["logits"], run["logits"])),
        ("Lengths", lengths()),
        ("Batch", fmt.plural(run["batch_size"], "sequence") if run["batch_size"] else None),
        ("Repeats", repeats),
        ("Ranks", fmt.count(run["ranks"]) if run["ranks"] > 1 else None),
        ("PyTorch", run["torch_version"]),
        ("transformers", run["transformers_version"]),
        ("Python", run["python_version"]),
        ("System", run["os"]),
        ("Trace engine", engine or None),
        ("Source", names(run["source"])),
        ("Captured", fmt.moment(run["captured_unix_ns"]) if run["captured_unix_ns"] else None),
    ]
    return tuple(Fact(term, value, term == "Weights" and run["weights"] == "random") for term, value in facts if value)
