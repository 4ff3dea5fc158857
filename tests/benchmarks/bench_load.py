"""Loading to phase tables against json.load, against msgspec's typed decode, and as the events grow."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from tests.benchmarks.measure import ROOT, Options, Row, child, in_turn
from tests.benchmarks.synthetic import gpu_trace

MIB = 2**20


def profiled_trace(options: Options) -> Path:
    """The trace to load: the one named, else that of the sample bundle, else a synthetic one."""
    if options.trace is not None:
        return options.trace
    found = sorted((ROOT / "sample_traces").glob("*/profiled/trace.json.gz"))
    return found[0] if found else gpu_trace(options.folder / "demo-sized.json", 300_000)


def raw_bytes(path: Path) -> int:
    """Bytes of the trace without compression."""
    if not path.name.endswith(".gz"):
        return path.stat().st_size
    with gzip.open(path) as file:
        return file.seek(0, os.SEEK_END)


def reading(options: Options) -> list[Row]:
    """One profiled trace: time and memory of loading it, of json.load and of two typed decodes."""
    trace = profiled_trace(options)
    size = raw_bytes(trace)
    tasks = ("load", "json", "msgspec-raw", "msgspec-whole")
    load, json_load, raw, whole = in_turn(
        options.repeats, *(lambda task=task: child(task, str(trace)) for task in tasks)
    )
    label = f"{trace.name} ({size / MIB:.0f} MiB raw, {load.answer['events']} events)"
    rows = []
    for name, other, most in (
        ("json.load", json_load, 1.0),
        ("msgspec, all of it", whole, 2.5),
        ("msgspec, arguments raw", raw, 2.5),
    ):
        ratio = load.wall_s / other.wall_s
        measured = (
            f"{load.wall_s:.2f} s against {other.wall_s:.2f} s (CPU {load.cpu_s:.2f} and {other.cpu_s:.2f}); {label}"
        )
        rows.append(Row(f"load / {name}: time", ratio, f"<= {most:g}", measured, ratio <= most))
    rows.append(
        Row(
            "load: peak memory / raw trace",
            load.used_bytes / size,
            "< 8",
            f"{load.used_bytes / MIB:.0f} MiB above the "
            f"{load.baseline_bytes / MIB:.0f} MiB of interpreter and imports; "
            f"with them {load.peak_bytes / size:.2f} times",
            load.used_bytes < 8 * size,
        )
    )
    rows.append(
        Row(
            "load / json.load: peak memory",
            load.used_bytes / json_load.used_bytes,
            "",
            f"{load.used_bytes / MIB:.0f} MiB against {json_load.used_bytes / MIB:.0f} MiB",
        )
    )
    return rows


def growth(options: Options) -> list[Row]:
    """The same kind of trace with 1, 2, 4 and 8 times the events."""
    sizes = [options.events * part // 8 for part in (1, 2, 4, 8)]
    traces = [gpu_trace(options.folder / f"gpu-{size}.json", size) for size in sizes]
    runs = in_turn(options.repeats, *(lambda trace=trace: child("load", str(trace)) for trace in traces))
    rows = []
    for first, last, factor, most in ((0, 1, 2, 2.1), (0, 2, 4, 4.2), (1, 3, 4, 4.2), (0, 3, 8, 8.4)):
        ratio = runs[last].wall_s / runs[first].wall_s
        memory = runs[last].used_bytes / runs[first].used_bytes
        measured = (
            f"{runs[first].wall_s:.2f} s at {sizes[first]} events, {runs[last].wall_s:.2f} s at {sizes[last]}; "
            f"memory {memory:.2f} times, {runs[last].used_bytes / traces[last].stat().st_size:.2f} times the raw trace"
        )
        rows.append(Row(f"growth: {factor} times the events", ratio, f"<= {most}", measured, ratio <= most))
    return rows
