"""The capture: every pass in its turn, and the bundle they make. Twin of `phasescope capture`."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from capture.bundle import (
    Architecture,
    BundleWriter,
    Calibration,
    Clock,
    Machine,
    Manifest,
    Model,
    PassRecord,
    Workload,
    is_bundle,
    new_run_id,
    write_then_rename,
    zip_bundle,
)
from capture.child import ChildResult
from capture.environment import PROFILING_VARIABLES
from capture.errors import PhasescopeError, UsageError
from capture.launchers import start_pass
from capture.machine import machine_facts, software_versions
from capture.models import resolve_model
from capture.spec import CALIBRATION, PASSES, CaptureSpec

LOG_NAME = "worker.log"
# Metal prints a fault of a command buffer and goes on as if nothing were: what follows is not to be trusted.
FAULT_MARKS = ("command buffer exited with error status",)


@dataclass(frozen=True)
class Progress:
    """Where a capture stands: generations done of total in this pass (0 of 0 before it runs), and what goes on."""

    pass_name: str
    done: int
    total: int
    what: str


@dataclass
class CaptureResult:
    """path: the bundle, a folder or a zip. problems: one sentence for each pass that is not measured."""

    path: Path
    manifest: Manifest
    problems: list[str] = field(default_factory=list)


def capture(
    model: str,
    out: str | Path,
    *,
    prompt_tokens: int = 512,
    new_tokens: int = 32,
    batch_size: int = 1,
    device: str = "auto",
    dtype: str = "auto",
    attention: str = "auto",
    cache: str = "dynamic",
    logits: Literal["all", "last"] = "all",
    warmup: int = 3,
    repeat: int = 5,
    seed: int = 0,
    prompt: str | None = None,
    layers: int | None = None,
    passes: Sequence[str] = PASSES,
    with_stack: bool = False,
    record_shapes: bool = True,
    dims_only: bool = False,
    profile_memory: bool = True,
    counters_template: str | None = None,
    calibrate: bool = False,
    label: str | None = None,
    zip: bool = False,
    force: bool = False,
    timeout_s: float = 3600,
    on_progress: Callable[[Progress], None] | None = None,
) -> CaptureResult:
    """Capture one run of `model` into the bundle `out`, each pass in a process of its own.

    Raises UsageError for a wrong call, and PhasescopeError where nothing could be captured (an unknown model, a
    device that is not there, something at `out` already without force); then nothing is left at `out`. A pass that
    fails later is in the bundle with its reason, and in the result's `problems`.
    """
    spec = CaptureSpec(
        model=resolve_model(model),
        prompt_tokens=prompt_tokens,
        new_tokens=new_tokens,
        batch_size=batch_size,
        device=device,
        dtype=dtype,
        attention=attention,
        cache=cache,
        logits=logits,
        warmup=warmup,
        repeat=repeat,
        seed=seed,
        prompt=prompt,
        layers=layers,
        passes=[*passes, *([CALIBRATION] if calibrate and CALIBRATION not in passes else [])],
        with_stack=with_stack,
        record_shapes=record_shapes,
        dims_only=dims_only,
        profile_memory=profile_memory,
        counters_template=counters_template,
    )
    spec.check()
    folder, zipped = _places(Path(out), zip)
    if zipped is not None and zipped.exists() and not force:
        raise PhasescopeError(f"Will not overwrite {zipped}; give another --out, or --force if it may be replaced.")
    with _put_aside(folder, force):
        writer = BundleWriter.create(folder, _first_manifest(spec, label), force=force)
        try:
            problems = _run_passes(spec, writer, timeout_s, on_progress or (lambda progress: None))
        except BaseException:
            if not any(each.status == "measured" for each in writer.manifest.passes):
                shutil.rmtree(folder, ignore_errors=True)
            raise
    if zipped is None:
        return CaptureResult(folder, writer.manifest, problems)
    zip_bundle(folder, zipped, force=force)
    shutil.rmtree(folder)
    return CaptureResult(zipped, writer.manifest, problems)


@contextlib.contextmanager
def _put_aside(folder: Path, force: bool) -> Iterator[None]:
    """With force, keep a bundle that is at `folder` until the new one has something measured to put there."""
    if not force or not is_bundle(folder):
        yield
        return
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.replaced")
    folder.rename(aside)
    try:
        yield
    finally:
        if folder.exists():
            shutil.rmtree(aside)
        else:
            aside.rename(folder)


def _places(out: Path, zipped: bool) -> tuple[Path, Path | None]:
    """The folder to capture into, and the zip to make of it."""
    if out.suffix == ".zip":
        return out.with_suffix(""), out
    return out, out.with_name(out.name + ".zip") if zipped else None


def _first_manifest(spec: CaptureSpec, label: str | None) -> Manifest:
    name = spec.model.name if spec.layers is None else f"{spec.model.name} (layers={spec.layers})"
    try:
        version = importlib.metadata.version("phasescope")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"
    return Manifest(
        run_id=new_run_id(),
        label=label,
        captured_unix_ns=time.time_ns(),
        phasescope_version=version,
        model=Model(name=name, weights=spec.model.weights, source=spec.model.kind),
        workload=Workload(
            device=spec.device,
            dtype=spec.dtype,
            attention=spec.attention,
            cache=spec.cache,
            logits=spec.logits,
            batch_size=spec.batch_size,
            prompt_tokens=spec.prompt_tokens,
            new_tokens=spec.new_tokens,
            warmup=spec.warmup,
            repeat=spec.repeat,
            seed=spec.seed,
        ),
        machine=machine_facts(),
        software=software_versions(),
        passes=[PassRecord(name) for name in spec.passes],
    )


def _run_passes(
    spec: CaptureSpec, writer: BundleWriter, timeout_s: float, on_progress: Callable[[Progress], None]
) -> list[str]:
    problems = []
    for name in spec.passes:
        record = writer.begin(name)

        def on_event(event: dict[str, Any], name: str = name) -> None:
            if event["event"] == "facts":
                _take_facts(writer.manifest, event)
                writer.write_manifest()
            elif event["event"] == "progress":
                on_progress(Progress(name, event["done"], event["total"], event["what"]))

        try:
            result = start_pass(name, spec, writer.folder / name, timeout_s, on_event)
        except KeyboardInterrupt:
            record.reason = "The capture was interrupted while this pass ran."
            writer.record(record)
            raise
        if result.facts is None and result.final is not None and result.final["event"] == "error":
            kind = UsageError if result.final["exit_code"] == UsageError.exit_code else PhasescopeError
            raise kind(result.final["reason"])
        _drop_partials(writer.folder / name)
        with write_then_rename(writer.folder / name / LOG_NAME) as stream:
            stream.write(result.log.encode())
        record = writer.record(_record(name, result))
        if name == CALIBRATION and record.status == "measured":
            writer.manifest.machine.calibration = msgspec.convert(record.detail, Calibration)
        elif record.status == "measured":
            # The word that was asked for gives way to the class that was seen.
            writer.manifest.workload.cache = record.detail.get("cache_class", spec.cache)
        else:
            problems.append(f"pass {name} is {record.status}: {record.reason}")
    writer.write_manifest()
    return problems


def _take_facts(manifest: Manifest, facts: dict[str, Any]) -> None:
    calibration = manifest.machine.calibration
    manifest.machine = msgspec.convert(facts["machine"], Machine)
    manifest.machine.calibration = calibration
    manifest.software = facts["software"]
    manifest.architecture = msgspec.convert(facts["architecture"], Architecture)
    for name in ("device", "dtype", "attention", "prompt_tokens"):
        setattr(manifest.workload, name, facts[name])


def _record(name: str, result: ChildResult) -> PassRecord:
    record = PassRecord(
        name=name,
        env_checked=list(PROFILING_VARIABLES),
        pid=result.pid,
        argv=["python", "-m", "capture.worker", name],
    )
    final = result.final or {}
    if final.get("clock"):
        record.clock = msgspec.convert(final["clock"], Clock)
    record.detail = final.get("detail") or {}
    record.detail["profiling_variables_set"] = [each for each in PROFILING_VARIABLES if each in os.environ]
    if result.died is not None:
        record.status, record.reason = "failed", result.died
    elif final.get("event") == "done":
        record.status, record.reason = final["status"], final["reason"]
    elif final.get("event") == "refused":
        record.status, record.reason = "refused", final["reason"]
    else:
        record.status, record.reason = "failed", final.get("reason")
    if record.status == "measured" and any(mark in result.log for mark in FAULT_MARKS):
        record.status = "failed"
        record.reason = f"The device reported a fault while it ran; see {name}/{LOG_NAME} in the bundle."
    return record


def _drop_partials(folder: Path) -> None:
    for path in folder.glob(".*.partial"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
