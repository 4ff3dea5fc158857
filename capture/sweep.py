"""The sweep: one capture for each point of a grid of workloads. Twin of `phasescope sweep`.

A point is complete when its manifest says so and every file is the one that was captured. A sweep that is started
again captures only what is not complete; the grid may have grown meanwhile, the other options may not have changed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capture.errors import PhasescopeError
from capture.grid import Grid, Point
from capture.models import resolve_model
from capture.redact import redact
from capture.run import Progress, capture
from capture.spec import PASSES, CaptureSpec
from capture.sweep_folder import PointResult, SweepFile, drop_halves, is_complete, locked

__all__ = ["Grid", "Point", "PointResult", "SweepProgress", "SweepResult", "sweep"]


@dataclass(frozen=True)
class SweepProgress:
    """Where a sweep stands: which point of how many, what its capture does, and the seconds that are left.

    remaining_s: (low, high), from the points captured so far as if a point cost the same whatever its size, and as if
    it cost in proportion to its tokens; None until a point has been captured.
    """

    result: PointResult
    number: int
    total: int
    capture: Progress | None = None
    remaining_s: tuple[float, float] | None = None


@dataclass
class SweepResult:
    """path: the folder of the sweep."""

    path: Path
    points: list[PointResult] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """A sentence or more for each point that failed."""
        return [f"{each.point.name}: {each.reason}" for each in self.points if each.outcome == "failed"]


def sweep(
    model: str,
    out: str | Path,
    *,
    grid: Grid | None = None,
    label: str | None = None,
    zip: bool = False,
    force: bool = False,
    on_progress: Callable[[SweepProgress], None] | None = None,
    **options: Any,
) -> SweepResult:
    """Capture every point of `grid` into a bundle in the folder `out`; `options` are those of `capture.run.capture`.

    Points that are complete already are kept, unless `force`. A point that fails is named in the result and does not
    stop the others. Raises UsageError for a wrong call, and PhasescopeError where `out` holds another sweep or
    something else, or another process sweeps into it.
    """
    grid = grid or Grid()
    points = grid.points()
    source = resolve_model(model)
    _check_calls(source, points, options)
    folder = Path(out)
    results = [PointResult(point, folder / (point.name + (".zip" if zip else ""))) for point in points]
    # No path of this machine goes into the file.
    described = {"name": source.name, "weights": source.weights, "source": source.kind}
    written = dict(options)
    if written.get("counters_template"):
        written["counters_template"] = Path(written["counters_template"]).name
    file = SweepFile(folder, {"model": described, "options": written, "axes": grid.axes()})
    estimate = _Estimate(results)
    tell = on_progress or (lambda progress: None)
    with locked(folder):
        file.check(force)
        for result in results:
            if not force and is_complete(result, options.get("passes", PASSES)):
                result.outcome, result.resumed = "complete", True
        file.write(results)
        for number, result in enumerate(results, 1):

            def say(what: Progress | None = None, result: PointResult = result, number: int = number) -> None:
                tell(SweepProgress(result, number, len(results), what, estimate.remaining_s()))

            if not result.resumed:
                began = time.monotonic()
                drop_halves(result)
                _capture(model, result, label, zip, options, say)
                estimate.captured(result, time.monotonic() - began)
                file.write(results)
            say()
    return SweepResult(folder, results)


def _check_calls(source: Any, points: list[Point], options: dict[str, Any]) -> None:
    """Raise UsageError for a wrong option now, and not once for every point."""
    names = {each.name for each in dataclasses.fields(CaptureSpec)}
    common = {name: value for name, value in options.items() if name in names}
    for point in points:
        CaptureSpec(model=source, **dataclasses.asdict(point), **common).check()


def _capture(
    model: str,
    result: PointResult,
    label: str | None,
    zip: bool,
    options: dict[str, Any],
    say: Callable[[Progress], None],
) -> None:
    """Capture one point over whatever half of it is there; its failure becomes its outcome."""
    name = result.point.name
    try:
        captured = capture(
            model,
            result.path.with_name(name),
            **dataclasses.asdict(result.point),
            **options,
            label=f"{label} {name}" if label else name,
            zip=zip,
            force=True,
            on_progress=say,
        )
    except PhasescopeError as error:
        result.outcome, result.reason = "failed", redact(str(error))
        return
    result.reason = redact(" ".join(captured.problems)) or None
    result.outcome = "failed" if captured.problems else "complete"


class _Estimate:
    """What the captured points say about the time of those to come."""

    def __init__(self, results: list[PointResult]) -> None:
        self._results = results
        self._seconds = 0.0
        self._points = 0
        self._tokens = 0

    def captured(self, result: PointResult, seconds: float) -> None:
        if result.outcome == "complete":  # one that failed early says little about the others
            self._seconds += seconds
            self._points += 1
            self._tokens += result.point.tokens

    def remaining_s(self) -> tuple[float, float] | None:
        if not self._points:
            return None
        left = [each.point.tokens for each in self._results if each.outcome == "pending"]
        by_point = self._seconds / self._points * len(left)
        by_token = self._seconds / self._tokens * sum(left)
        return min(by_point, by_token), max(by_point, by_token)
