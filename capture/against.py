"""A fair pair: baseline and candidate captured here and now, in turns. Twin of `phasescope capture --against`.

What drifts while a machine works (heat, clocks, neighbours) falls on both sides alike when they take turns as A B B A.
Each capture is a run of its own, and a run is one independent measurement, so a verdict needs several turns.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capture.bundle import Workload, open_bundle
from capture.errors import PhasescopeError, UsageError
from capture.models import resolve_model
from capture.run import Progress, capture
from capture.spec import CLEAN, PASSES

# 2 runs a side in each turn of A B B A: 3 turns make 6, and `phasescope compare` gives no verdict below 5.
TURNS = 3
LEAST_RUNS = 5
_ORDER = ("baseline", "candidate", "candidate", "baseline")
_LAYERS = re.compile(r"(?P<name>.*) \(layers=(?P<layers>\d+)\)")
# What a baseline's manifest says of its workload, under the names that `capture` takes.
_FROM_BASELINE = (
    "device", "dtype", "attention", "logits", "batch_size", "prompt_tokens", "new_tokens", "warmup", "repeat", "seed",
)  # fmt: skip
# What makes another workload of it, so that `phasescope compare` calls neither side faster.
_WORK = ("prompt_tokens", "new_tokens", "batch_size", "logits", "seed", "layers")


@dataclass(frozen=True)
class PairProgress:
    """Where a pair stands: which run of how many, of which side, and what its capture does."""

    side: str
    number: int
    total: int
    capture: Progress


@dataclass
class PairResult:
    """baseline, candidate: folders that hold one bundle a run. problems: a sentence for each pass not measured."""

    baseline: Path
    candidate: Path
    problems: list[str] = field(default_factory=list)


def capture_against(
    model: str,
    baseline: str | Path,
    out: str | Path,
    *,
    turns: int = TURNS,
    label: str | None = None,
    force: bool = False,
    on_progress: Callable[[PairProgress], None] | None = None,
    on_warning: Callable[[str], None] | None = None,
    **options: Any,
) -> PairResult:
    """Capture `model` in turns with the settings of the bundle `baseline` and with `options` on top of them.

    `out` gets the folders `baseline` and `candidate`, with 2 bundles a turn each. The clean passes take turns; the
    other passes are made once a side, in its last run, so that no profiler runs between clean passes before that.
    Raises UsageError for a baseline of another model, a wrong option or a pair that could not be judged, and
    PhasescopeError where `out` is there. What was captured before a failure stays. `on_warning` gets a sentence
    before the first capture where too few turns allow no verdict.
    """
    if turns < 1:
        raise UsageError(f"--turns must be at least 1, not {turns}.")
    with open_bundle(Path(baseline)) as bundle:
        settings = baseline_options(model, bundle.manifest.model.name, bundle.manifest.workload)
        name = bundle.manifest.label or "baseline"
    folder = Path(out)
    if folder.suffix == ".zip":
        raise UsageError("--against writes a folder of bundles; give --out a name that does not end in .zip.")
    passes = list(options.pop("passes", PASSES))
    _refuse_what_cannot_be_judged(settings, options, passes)
    _make_way(folder, force)
    if 2 * turns < LEAST_RUNS and on_warning is not None:
        on_warning(
            f"--turns {turns} makes {2 * turns} runs a side, and `phasescope compare` gives no verdict on latencies "
            f"below {LEAST_RUNS}; --turns {TURNS} is enough."
        )
    labels = {"baseline": name, "candidate": label or "candidate"}
    if labels["baseline"] == labels["candidate"]:
        labels["baseline"] += " (baseline)"
    sides = {"baseline": settings, "candidate": settings | options}
    shared = {key: options[key] for key in options if key not in (*_FROM_BASELINE, "cache", "layers")}
    sides["baseline"] = sides["baseline"] | shared  # how to look is the same on both sides
    order = _ORDER * turns
    result = PairResult(folder / "baseline", folder / "candidate")
    for number, side in enumerate(order, 1):

        def say(progress: Progress, side: str = side, number: int = number) -> None:
            if on_progress is not None:
                on_progress(PairProgress(side, number, len(order), progress))

        last = side not in order[number:]
        wanted = passes if last else [each for each in passes if each == CLEAN] or passes
        place = folder / side / f"{number:02}"
        done = capture(model, place, passes=wanted, label=labels[side], on_progress=say, **sides[side])
        result.problems += [f"{side}, run {number}: {problem}" for problem in done.problems]
    return result


def baseline_options(model: str, name: str, workload: Workload) -> dict[str, Any]:
    """The options of `capture` that repeat a baseline's workload. Raises UsageError where they cannot."""
    found: dict[str, Any] = {each: getattr(workload, each) for each in _FROM_BASELINE}
    found["cache"] = _cache_word(workload.cache)
    if match := _LAYERS.fullmatch(name):
        name, found["layers"] = match["name"], int(match["layers"])
    given = resolve_model(model).name
    if given != name:
        raise UsageError(f"The baseline is a capture of {name}, not of {given}; capture the same model against it.")
    return found


def _refuse_what_cannot_be_judged(settings: dict[str, Any], options: dict[str, Any], passes: list[str]) -> None:
    """Raise UsageError before hours of captures that no comparison could judge."""
    if CLEAN not in passes:
        raise UsageError(f"A pair is judged by its clean passes; name {CLEAN} in --passes.")
    changed = [
        f"--{name.replace('_', '-')} {options[name]}, baseline: {settings.get(name)}"
        for name in _WORK
        if name in options and options[name] != settings.get(name)
    ]
    if changed:
        raise UsageError(
            f"The candidate would do other work than the baseline ({'; '.join(changed)}), so neither could be called "
            "faster; leave that away, or make the two captures without --against."
        )


def _cache_word(seen: str) -> str:
    """The word for `--cache` that makes a cache of the class `seen`; a model's own class comes with dynamic."""
    if seen in ("dynamic", "static"):
        return seen
    if "Quant" in seen:
        raise UsageError(f"The baseline's {seen} does not tell which backend it used; give --cache yourself.")
    return "static" if "Static" in seen else "dynamic"


def _make_way(folder: Path, force: bool) -> None:
    """Raise PhasescopeError where `folder` holds something; with force, only where that is no pair of ours."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not force:
        raise PhasescopeError(f"Will not overwrite {folder}; give another --out, or --force if it may be replaced.")
    if not folder.is_dir() or {each.name for each in folder.iterdir()} - {"baseline", "candidate"}:
        raise PhasescopeError(f"Will not replace {folder}: it is not a pair of captures; give another --out.")
    shutil.rmtree(folder)
