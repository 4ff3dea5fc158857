"""The manifest: everything a bundle says about itself."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec

from capture.errors import PhasescopeError

SCHEMA_VERSION = 1
MANIFEST_NAME = "manifest.json"
_NOT_ATTEMPTED = "The capture ended before this pass began."

Status = Literal["measured", "unsupported", "empty", "refused", "failed", "not_attempted"]
LayerKind = Literal["full", "sliding", "static", "latent", "linear", "shared", "none", "unknown"]


@dataclass
class Calibration:
    """Peaks measured on this machine (capture/calibrate.py): bytes read plus written, and operations, a second."""

    copy_bytes_per_s: float
    matmul_flops_per_s: float
    dtype: str
    copy_bytes: int | None = None
    matmul_size: int | None = None


@dataclass
class Machine:
    """The captured machine, with no name of host or user. memory_bytes is all of its main memory."""

    os: str | None = None
    processor: str | None = None
    device_name: str | None = None
    cores: int | None = None
    gpu_cores: int | None = None
    memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    calibration: Calibration | None = None


@dataclass
class Model:
    """name as the user gave it (a path is cut to its last part); source: hub, folder, gguf or random."""

    name: str
    weights: Literal["real", "random"]
    source: Literal["hub", "folder", "gguf", "random", "object"]


@dataclass
class Workload:
    """What was asked of the model. new_tokens are 1 from prefill and new_tokens - 1 from decode steps."""

    device: str
    dtype: str
    attention: str
    cache: str
    logits: Literal["all", "last"]
    batch_size: int
    prompt_tokens: int
    new_tokens: int
    warmup: int
    repeat: int
    seed: int


@dataclass
class KvLayer:
    """What one layer keeps for the tokens it has seen, from the model's configuration.

    With b sequences, n cached tokens, element size e: `full` and `latent` hold
    b*kv_heads*(key_dim+value_dim)*e*n bytes; `sliding` the same with min(n, window); `static` with capacity,
    from the start; `shared` and `none` nothing of their own; `linear` a state that does not grow with n, of
    b*kv_heads*(key_dim+value_dim) elements where these are given. `unknown` (with the reason) means that the
    configuration does not tell: then nobody may guess.
    """

    kind: LayerKind
    kv_heads: int | None = None
    key_dim: int | None = None
    value_dim: int | None = None
    window: int | None = None
    capacity: int | None = None
    reason: str | None = None


@dataclass
class Architecture:
    """Facts of the model from its configuration; None where it does not tell."""

    model_type: str | None = None
    layers: int | None = None
    hidden_size: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    parameters: int | None = None
    weight_bytes: int | None = None
    tied_embeddings: bool | None = None
    kv_element_bytes: int | None = None
    kv_layers: list[KvLayer] = field(default_factory=list)


@dataclass
class ClockReading:
    """One instant on three clocks; monotonic_ns is mach_absolute_time on macOS, CLOCK_MONOTONIC on Linux."""

    unix_ns: int
    monotonic_ns: int
    raw_ns: int


@dataclass
class Clock:
    """Readings at both ends of a pass; start.monotonic_ns is the zero of its start_ns and t_ns columns."""

    start: ClockReading
    end: ClockReading | None = None


@dataclass
class PassRecord:
    """One execution of the workload for one kind of evidence. files: path inside the bundle to its sha256."""

    name: str
    status: Status = "not_attempted"
    reason: str | None = _NOT_ATTEMPTED
    env_checked: list[str] = field(default_factory=list)
    pid: int | None = None
    argv: list[str] = field(default_factory=list)
    clock: Clock | None = None
    files: dict[str, str] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass
class Manifest:
    """Everything a bundle says about itself."""

    run_id: str
    label: str | None
    captured_unix_ns: int
    phasescope_version: str
    model: Model
    workload: Workload
    machine: Machine = field(default_factory=Machine)
    software: dict[str, str] = field(default_factory=dict)
    architecture: Architecture | None = None
    passes: list[PassRecord] = field(default_factory=list)
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def new_run_id() -> str:
    """A name for a run that sorts by time and meets no other."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(4)}"


def decode_manifest(path: Path, data: bytes) -> Manifest:
    """The manifest of the bundle at `path`; raises PhasescopeError where it is none, newer, or names files outside."""
    try:
        version = json.loads(data)["schema_version"]
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise PhasescopeError(
                f"{path} is a bundle of schema version {version}, and this phasescope reads up to "
                f"{SCHEMA_VERSION}; update phasescope."
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (ValueError, KeyError, TypeError) as error:
        raise PhasescopeError(f"{path} has a manifest.json that is no bundle manifest ({error}).") from error
    for name in (name for each in manifest.passes for name in each.files):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
            raise PhasescopeError(f"{path} names a file outside itself ({name}); it is not safe to read.")
    return manifest
