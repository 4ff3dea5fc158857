"""The folder of a sweep: a bundle for each point, and sweep.json, which says what the grid is and how it stands."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from capture.bundle import open_bundle, write_then_rename
from capture.errors import PhasescopeError
from capture.grid import Point

SWEEP_NAME = "sweep.json"
LOCK_NAME = ".sweep.lock"
SCHEMA_VERSION = 1
# A pass that this machine cannot do will not do better the next time.
SETTLED = ("measured", "unsupported")
# These change how long a sweep takes or what comes on top, never what a complete point holds.
FREE_TO_CHANGE = ("passes", "timeout_s")


@dataclass
class PointResult:
    """How a point stands. resumed: it was complete already. reason: what its capture said against it."""

    point: Point
    path: Path
    outcome: Literal["pending", "complete", "failed"] = "pending"
    reason: str | None = None
    resumed: bool = False


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the sweep's folder and hold it for this process; the lock goes with the process, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise PhasescopeError(
            f"Could not write into {folder} ({error.strerror}); choose another place with --out."
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise PhasescopeError(
                f"Another sweep is writing into {folder}; wait for it or give another --out."
            ) from error
        yield
    finally:
        os.close(handle)


class SweepFile:
    """sweep.json: the model, the options and the grid of a sweep, and the outcome of each point."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self._path = folder / SWEEP_NAME
        self._header = {"sweep_schema_version": SCHEMA_VERSION, **json.loads(json.dumps(header))}
        self._before: list[dict[str, Any]] = []

    def check(self, force: bool) -> None:
        """Raise PhasescopeError where the folder is no sweep's, or its points were captured in another way."""
        folder = self._path.parent
        if not self._path.exists():
            others = sorted(each.name for each in folder.iterdir() if each.name != LOCK_NAME)
            if others:
                raise PhasescopeError(
                    f"Will not sweep into {folder}: it holds {others[0]} and no sweep; give another --out."
                )
            return
        try:
            before = json.loads(self._path.read_bytes())
            old, new = _identity(before), _identity(self._header)
            self._before = list(before["points"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PhasescopeError(f"{self._path} is no description of a sweep; give another --out.") from error
        changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        if changed and not force:
            raise PhasescopeError(
                f"{folder} holds a sweep with another {', '.join(changed)}; "
                "give another --out, or --force to capture it anew."
            )
        if changed:
            self._before = []

    def write(self, results: Sequence[PointResult]) -> None:
        """Write the file whole or not at all; points of an earlier, larger grid stay in it."""
        points = [
            {
                "name": each.point.name,
                "bundle": each.path.name,
                **dataclasses.asdict(each.point),
                "outcome": each.outcome,
                "reason": each.reason,
            }
            for each in results
        ]
        names = {each["name"] for each in points}
        points += [each for each in self._before if each.get("name") not in names]
        with write_then_rename(self._path) as stream:
            stream.write(json.dumps({**self._header, "points": points}, indent=1).encode() + b"\n")


def _identity(header: dict[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in header["options"].items() if name not in FREE_TO_CHANGE}
    return {**options, "model": header["model"]}


def is_complete(result: PointResult, passes: Sequence[str]) -> bool:
    """Whether the bundle is there, of this workload, with these passes settled and every file as captured."""
    if not result.path.exists():
        return False
    try:
        with open_bundle(result.path) as bundle:
            workload, point = bundle.manifest.workload, result.point
            settled = {each.name for each in bundle.passes if each.status in SETTLED}
            for name in bundle.files:
                bundle.open(name).close()  # checks its sha256
            return settled.issuperset(passes) and (
                (workload.prompt_tokens, workload.new_tokens, workload.batch_size)
                == (point.prompt_tokens, point.new_tokens, point.batch_size)
            )
    except PhasescopeError:
        return False


def drop_halves(result: PointResult) -> None:
    """Remove what a killed capture of this point left under temporary names."""
    for partial in result.path.parent.glob(f".{result.point.name}.*.partial"):
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
