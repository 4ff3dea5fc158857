"""Compiled WebAssembly modules in the user's cache folder, checked before they are trusted."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.errors import PhasescopeError
from capture.bundle import write_then_rename

if TYPE_CHECKING:
    import wasmtime

_MAGIC = b"phasescope wasm module 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """PHASESCOPE_CACHE, else phasescope's folder among the user's caches of this platform."""
    if own := os.environ.get("PHASESCOPE_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "phasescope"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "phasescope"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "phasescope"
    return Path.home() / ".cache" / "phasescope"


def cached_path(wasm: bytes, name: str) -> Path:
    """Where the compiled form of `wasm` lies for this wasmtime and this kind of machine."""
    target = f"{importlib.metadata.version('wasmtime')} {sys.platform} {platform.machine()}"
    key = hashlib.sha256(hashlib.sha256(wasm).digest() + target.encode()).hexdigest()
    return cache_folder() / f"{name}-{key[:32]}.cwasm"


def load_module(engine: wasmtime.Engine, wasm_path: Path) -> wasmtime.Module:
    """The module of `wasm_path`, from the cache if an intact copy is there, else compiled and stored.

    A cache that cannot be read or written costs the compilation (some seconds), never the program.
    """
    import wasmtime

    wasm = wasm_path.read_bytes()
    cached = cached_path(wasm, wasm_path.stem)
    payload = _read_intact(cached)
    if payload is not None:
        # wasmtime refuses a module that was compiled for another CPU than this one.
        with contextlib.suppress(wasmtime.WasmtimeError):
            return wasmtime.Module.deserialize(engine, payload)
    module = wasmtime.Module(engine, wasm)
    with contextlib.suppress(PhasescopeError):
        _write(cached, bytes(module.serialize()))
    return module


def is_cached(wasm_path: Path) -> bool:
    """Whether an intact compiled copy is there, so that the next start compiles nothing."""
    return _read_intact(cached_path(wasm_path.read_bytes(), wasm_path.stem)) is not None


def _read_intact(path: Path) -> bytes | None:
    """The compiled module, or None where there is none or its checksum disagrees.

    Deserialising runs native code from the file, so damaged bytes must never reach wasmtime.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    payload = content[start:]
    intact = content[:start] == _MAGIC + hashlib.sha256(payload).digest()
    return payload if intact else None


def _write(path: Path, payload: bytes) -> None:
    with write_then_rename(path) as file:
        file.write(_MAGIC + hashlib.sha256(payload).digest())
        file.write(payload)
