"""Loading to phase tables against HolisticTraceAnalysis, each in its own environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from functools import partial
from pathlib import Path

from tests.benchmarks.measure import Options, Row, child, in_turn
from tests.benchmarks.synthetic import gpu_trace
from tests.shared import SHARED

VERSION = "0.5.0"
MIB = 2**20
_SCRIPT = Path(__file__).with_name("hta_child.py")


def _environment(folder: Path) -> str:
    """The interpreter of an environment that has HolisticTraceAnalysis, made where it is not there yet."""
    home = folder / f"hta-{VERSION}"
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", f"HolisticTraceAnalysis=={VERSION}"],
            check=True, capture_output=True,
        )  # fmt: skip
        (home / "ready").touch()
    return str(python)


def hta(options: Options) -> list[Row]:
    """TraceAnalysis with its temporal and kernel breakdown, against a load; three traces."""
    try:
        python = _environment(options.folder)
    except subprocess.CalledProcessError as error:
        reason = (error.stderr or b"").decode(errors="replace").strip().splitlines()[-1:] or [str(error)]
        return [Row("load / HolisticTraceAnalysis", None, "<= 0.2", f"not measured: cannot be installed ({reason[0]})")]
    traces = [
        path
        for path in (
            SHARED / "traces/kineto/a100-training-109k-events.json.gz",
            SHARED / "traces/kineto/h100-qwen1.5-0.5b.json.gz",
        )
        if path.exists()
    ]
    traces.append(gpu_trace(options.folder / f"gpu-{options.events}.json", options.events))
    rows = []
    for trace in traces:
        options.say(f"HolisticTraceAnalysis on {trace.name}")
        try:
            theirs, ours = in_turn(
                options.repeats,
                partial(child, str(trace), python=python, script=_SCRIPT),
                partial(child, "load", str(trace)),
            )
        except RuntimeError as error:
            rows.append(Row(f"load / HTA: time, {trace.name}", None, "<= 0.2", f"not measured: {error}"))
            continue
        failed = theirs.answer.get("failed") or []
        note = f"; {', '.join(failed)}" if isinstance(failed, list) and failed else ""
        time = ours.wall_s / theirs.wall_s
        memory = ours.peak_bytes / theirs.peak_bytes
        rows.append(
            Row(f"load / HTA: time, {trace.name}", time, "<= 0.2", f"{ours.wall_s:.2f} s against {theirs.wall_s:.2f} s"
                f" (CPU {ours.cpu_s:.2f} and {theirs.cpu_s:.2f}){note}", time <= 0.2)
        )  # fmt: skip
        rows.append(
            Row(f"load / HTA: peak memory, {trace.name}", memory, "<= 0.5",
                f"{ours.peak_bytes / MIB:.0f} MiB against {theirs.peak_bytes / MIB:.0f} MiB", memory <= 0.5)
        )  # fmt: skip
    return rows
