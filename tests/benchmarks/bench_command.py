"""Start-up of the command, and the report."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from analyze.load import load
from tests.benchmarks.bench_load import profiled_trace
from tests.benchmarks.measure import ROOT, Options, Row, median_s

_HEAVY = (
    "torch",
    "transformers",
    "duckdb",
    "pyarrow",
    "numpy",
    "pandas",
    "wasmtime",
    "altair",
    "jinja2",
    "scipy",
    "dask",
)


def _seconds(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - began


def _store(options: Options) -> Path:
    store = options.folder / "command.duckdb"
    store.unlink(missing_ok=True)
    result = load([profiled_trace(options)], store)
    if result.failed:
        raise result.failed[0]
    return store


def startup(options: Options) -> list[Row]:
    """`phasescope --help` and `phasescope query`, beside an interpreter that does nothing."""
    store = _store(options)
    program = (sys.executable, "-m", "phasescope")
    commands = {
        "python, doing nothing": (sys.executable, "-c", "pass"),
        "phasescope --help": (*program, "--help"),
        "phasescope query": (*program, "query", "SELECT count(*) FROM runs", "--store", str(store)),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(max(5, options.repeats)):
        for name, command in commands.items():
            times[name].append(_seconds(*command))
    nothing = median_s(times["python, doing nothing"])
    rows = []
    for name, most in (("phasescope --help", 0.15), ("phasescope query", None)):
        took = median_s(times[name])
        aim = f"<= {most} s" if most else ""
        measured = f"{took:.3f} s, where python doing nothing takes {nothing:.3f} s"
        rows.append(Row(f"{name} / python", took / nothing, aim, measured, took <= most if most else None))
    code = (
        "import sys, phasescope; phasescope.cli.get_help(phasescope.click.Context(phasescope.cli)); print(*sys.modules)"
    )
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    heavy = sorted(set(modules.split()) & set(_HEAVY))
    rows.append(Row("phasescope --help: heavy imports", float(len(heavy)), "0", ", ".join(heavy) or "none", not heavy))
    return rows


def report(options: Options) -> list[Row]:
    """The HTML report of a run in the store."""
    store = _store(options)
    out = options.folder / "report.html"
    times = [
        _seconds(sys.executable, "-m", "phasescope", "report", "--store", str(store), "--out", str(out))
        for _ in range(options.repeats)
    ]
    measured = f"{median_s(times):.2f} s, {out.stat().st_size / 2**20:.2f} MiB, of {profiled_trace(options).name}"
    return [Row("phasescope report", None, "", measured)]
