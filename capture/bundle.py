"""The bundle: what a capture writes and the analyzer reads. Version 1, a folder or a zip of it.

    manifest.json           who, what, when, and a record for each pass with the sha256 of its files
    <pass>/<file>           the evidence of one pass

Files appear by write-then-rename and the manifest is rewritten after every pass, so that a capture killed at
any moment leaves a bundle that names what is complete and what is missing. Nothing of torch is imported here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, cast

import msgspec

from capture.errors import GateRefused, PhasescopeError, UsageError

__all__ = [
    "MANIFEST_NAME",
    "SCHEMA_VERSION",
    "Architecture",
    "Bundle",
    "BundleWriter",
    "Calibration",
    "Clock",
    "ClockReading",
    "GateRefused",
    "KvLayer",
    "Machine",
    "Manifest",
    "Model",
    "PassRecord",
    "PhasescopeError",
    "UsageError",
    "Workload",
    "is_bundle",
    "new_run_id",
    "open_bundle",
    "write_then_rename",
    "zip_bundle",
]

SCHEMA_VERSION = 1
MANIFEST_NAME = "manifest.json"
NOT_ATTEMPTED = "The capture ended before this pass began."
NOT_COMPLETE = "The capture ended before this pass was complete."

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
    reason: str | None = NOT_ATTEMPTED
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


def _no_space(path: Path, error: OSError) -> PhasescopeError:
    return PhasescopeError(
        f"Could not write {path} ({error.strerror or error}); make room or choose another place with --out."
    )


@contextlib.contextmanager
def write_then_rename(path: Path) -> Iterator[BinaryIO]:
    """Open `path` for writing so that it appears whole or not at all; its folder is made where it is missing.

    Raises PhasescopeError when the disk is full or the place is not writable.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as stream:
            yield stream
        os.replace(partial, path)
    except OSError as error:
        raise _no_space(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _sha256(stream: BinaryIO) -> str:
    return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()


class BundleWriter:
    """Writes a bundle's manifest; the passes write their own files with `write_then_rename`."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = Path(folder)
        self.manifest = manifest

    @classmethod
    def create(cls, folder: Path, manifest: Manifest, *, force: bool = False) -> BundleWriter:
        """Make the bundle's folder, with the manifest in it from its first moment.

        Raises PhasescopeError where something is there, unless force is set and it is a bundle or empty.
        """
        folder = Path(folder)
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            if not force:
                raise PhasescopeError(
                    f"Will not overwrite {folder}; give another --out, or --force if it may be replaced."
                )
            if not is_bundle(folder):
                raise PhasescopeError(f"Will not replace {folder}: it is not a bundle; give another --out.")
        partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
        try:
            partial.mkdir(parents=True)
            (partial / MANIFEST_NAME).write_bytes(manifest.to_json())
            if folder.is_dir():
                shutil.rmtree(folder)
            elif folder.exists():
                folder.unlink()
            partial.rename(folder)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise _no_space(folder, error) from error
        return cls(folder, manifest)

    def write_manifest(self) -> None:
        with write_then_rename(self.folder / MANIFEST_NAME) as stream:
            stream.write(self.manifest.to_json())

    def begin(self, name: str) -> PassRecord:
        """Note that the pass has begun; until `record` is called it counts as failed."""
        return self.record(PassRecord(name=name, status="failed", reason=NOT_COMPLETE))

    def record(self, record: PassRecord) -> PassRecord:
        """Put the pass's record into the manifest, with the sha256 of every whole file in its folder."""
        pass_folder = self.folder / record.name
        record.files = {}
        for path in sorted(pass_folder.rglob("*")) if pass_folder.is_dir() else []:
            relative = path.relative_to(self.folder)
            if path.is_file() and not any(part.endswith(".partial") for part in relative.parts):
                with path.open("rb") as stream:
                    record.files[relative.as_posix()] = _sha256(stream)
        names = [each.name for each in self.manifest.passes]
        if record.name in names:
            self.manifest.passes[names.index(record.name)] = record
        else:
            self.manifest.passes.append(record)
        self.write_manifest()
        return record


def zip_bundle(folder: Path, out: Path, *, force: bool = False) -> Path:
    """Write the bundle in `folder` as one zip: the manifest first, then only files that it names."""
    if out.exists() and not force:
        raise PhasescopeError(f"Will not overwrite {out}; give another --out, or --force if it may be replaced.")
    with (
        open_bundle(folder) as bundle,
        write_then_rename(out) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        archive.writestr(zipfile.ZipInfo(MANIFEST_NAME), bundle.manifest_bytes, zipfile.ZIP_DEFLATED)
        for name in bundle.files:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
            with bundle.open(name) as source, archive.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, 1 << 20)
    return out


class Bundle:
    """A bundle opened for reading; a context manager. `sha256` is the same for a folder and for its zip."""

    def __init__(self, path: Path, root: Path | zipfile.ZipFile, prefix: str, manifest_bytes: bytes) -> None:
        self.path = path
        self.manifest_bytes = manifest_bytes
        self.sha256 = hashlib.sha256(manifest_bytes).hexdigest()
        self.manifest = _decode_manifest(path, manifest_bytes)
        self._root = root
        self._prefix = prefix
        self._verified: set[str] = set()

    @property
    def passes(self) -> list[PassRecord]:
        return self.manifest.passes

    @property
    def files(self) -> dict[str, str]:
        """Every file that the manifest names, with its sha256."""
        return {name: digest for each in self.passes for name, digest in each.files.items()}

    def measured(self, name: str) -> PassRecord | None:
        """The record of the pass if it was measured, else None."""
        return next((each for each in self.passes if each.name == name and each.status == "measured"), None)

    def missing(self) -> list[str]:
        """One sentence for each pass that has no complete measurement."""
        return [
            f"pass {each.name} is {each.status}: {each.reason}" for each in self.passes if each.status != "measured"
        ]

    def open(self, name: str) -> BinaryIO:
        """Open a file of the bundle after checking its sha256.

        Raises PhasescopeError for a name that the manifest does not know, a file that is not there, and one
        whose bytes are not those that were captured.
        """
        digest = self.files.get(name)
        if digest is None:
            raise PhasescopeError(f"{self.path} has no file {name}; its manifest names {len(self.files)} files.")
        if name not in self._verified:
            with self._open(name) as stream:
                if _sha256(stream) != digest:
                    raise PhasescopeError(
                        f"{name} in {self.path} is not the file that was captured (its sha256 differs from "
                        "the manifest's); copy the bundle again or capture it anew."
                    )
            self._verified.add(name)
        return self._open(name)

    def _open(self, name: str) -> BinaryIO:
        try:
            if isinstance(self._root, zipfile.ZipFile):
                return cast(BinaryIO, self._root.open(self._prefix + name))
            return (self._root / name).open("rb")
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise PhasescopeError(
                f"{self.path} lacks {name}, which its manifest names; copy the bundle again."
            ) from error

    def read_jsonl(self, name: str) -> list[dict[str, Any]]:
        """The objects of a file of JSON lines."""
        rows = []
        with self.open(name) as stream:
            for number, line in enumerate(stream.read().splitlines(), 1):
                try:
                    rows.append(json.loads(line))
                except ValueError as error:
                    raise PhasescopeError(
                        f"{name} in {self.path} is not JSON at line {number}; capture the run anew."
                    ) from error
        return rows

    def close(self) -> None:
        if isinstance(self._root, zipfile.ZipFile):
            self._root.close()

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _decode_manifest(path: Path, data: bytes) -> Manifest:
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


def _manifest_in_zip(archive: zipfile.ZipFile) -> str | None:
    """Name of the manifest in the zip: at its top, or in its only folder (as the Finder packs a folder)."""
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    found = [name for name in names if name == MANIFEST_NAME or name.endswith("/" + MANIFEST_NAME)]
    return min((name for name in found if name.count("/") <= 1), key=len, default=None)


def is_bundle(path: str | Path) -> bool:
    """Whether `path` is a folder or zip with a manifest.json of ours in it; reads no more than that."""
    path = Path(path)
    try:
        if path.is_dir():
            return b'"schema_version"' in (path / MANIFEST_NAME).read_bytes()
        with zipfile.ZipFile(path) as archive:
            name = _manifest_in_zip(archive)
            return name is not None and b'"schema_version"' in archive.read(name)
    except (OSError, zipfile.BadZipFile):
        return False


def open_bundle(path: str | Path) -> Bundle:
    """Open the bundle at `path`, a folder or a zip.

    Raises PhasescopeError where it is no bundle, of a newer schema, or names files outside itself. Each
    file's sha256 is checked when it is opened.
    """
    path = Path(path)
    if path.is_dir():
        try:
            data = (path / MANIFEST_NAME).read_bytes()
        except OSError as error:
            raise PhasescopeError(f"{path} is not a bundle: it has no readable {MANIFEST_NAME}.") from error
        return Bundle(path, path, "", data)
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise PhasescopeError(f"{path} does not exist.") from error
    except (OSError, zipfile.BadZipFile) as error:
        raise PhasescopeError(f"{path} is not a bundle: neither a folder nor a readable zip.") from error
    try:
        name = _manifest_in_zip(archive)
        if name is None:
            raise PhasescopeError(f"{path} is not a bundle: it has no {MANIFEST_NAME}.")
        return Bundle(path, archive, name.removesuffix(MANIFEST_NAME), archive.read(name))
    except zipfile.BadZipFile as error:
        archive.close()
        raise PhasescopeError(f"{path} is a damaged zip; copy the bundle again.") from error
    except PhasescopeError:
        archive.close()
        raise
