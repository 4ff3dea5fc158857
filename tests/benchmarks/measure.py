"""Measuring in child processes, the things compared taking turns, and rows of a table with a ratio in each."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Row:
    """One comparison. `ratio` is what `aim` speaks of; `measured` says what was measured, with units."""

    what: str
    ratio: float | None
    aim: str
    measured: str
    met: bool | None = None


@dataclass(frozen=True)
class Run:
    """A child's own account: seconds from after its imports to its end, and the peak of its resident memory."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    baseline_bytes: int
    answer: dict[str, object] = field(default_factory=dict)

    @property
    def used_bytes(self) -> int:
        """Peak less what the interpreter and its imports take."""
        return self.peak_bytes - self.baseline_bytes


@dataclass(frozen=True)
class Options:
    """What to measure with. `scale` shrinks the synthetic inputs."""

    repeats: int = 3
    events: int = 1_000_000
    operators: int = 10_000_000
    quick: bool = False
    trace: Path | None = None
    folder: Path = Path()
    say: Callable[[str], None] = lambda text: None


def child(*args: str, python: str = sys.executable, script: Path | None = None) -> Run:
    """Run `tests.benchmarks.child` (or a script by itself) in a new process; raises RuntimeError with its last line."""
    command = [python, str(script)] if script else [python, "-m", "tests.benchmarks.child"]
    done = subprocess.run([*command, *args], capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(next((line for line in reversed(lines) if line.strip(" ^~")), lines[-1]))
    return Run(**json.loads(done.stdout.strip().splitlines()[-1]))


def in_turn(repeats: int, *jobs: Callable[[], Run]) -> list[Run]:
    """Each job's median run by wall time; the jobs take turns, so that a busy machine is busy for all of them."""
    runs: list[list[Run]] = [[] for _ in jobs]
    for repeat in range(repeats):
        order = list(enumerate(jobs))
        for i, job in order if repeat % 2 == 0 else reversed(order):
            runs[i].append(job())
    return [sorted(own, key=lambda run: run.wall_s)[len(own) // 2] for own in runs]


def median_s(values: Sequence[float]) -> float:
    """Median of seconds."""
    return statistics.median(values)


def print_table(rows: Sequence[Row]) -> None:
    """Print rows as they come, ratios aligned."""
    width = max((len(row.what) for row in rows), default=0)
    for row in rows:
        ratio = f"{row.ratio:8.3f}" if row.ratio is not None else " " * 8
        verdict = "" if row.met is None else "met" if row.met else "MISSED"
        print(f"{row.what:<{width}}  {ratio}  {row.aim:<12} {verdict:<7} {row.measured}", flush=True)
