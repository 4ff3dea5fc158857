"""Compiled WebAssembly modules, kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.errors import PhasescopeError
from analyze.user_cache import cache_folder, read_intact, write_intact

if TYPE_CHECKING:
    import wasmtime


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
    payload = read_intact(cached)
    if payload is not None:
        # wasmtime refuses a module that was compiled for another CPU than this one.
        with contextlib.suppress(wasmtime.WasmtimeError):
            return wasmtime.Module.deserialize(engine, payload)
    module = wasmtime.Module(engine, wasm)
    with contextlib.suppress(PhasescopeError):
        write_intact(cached, bytes(module.serialize()))
    return module


def is_cached(wasm_path: Path) -> bool:
    """Whether an intact compiled copy is there, so that the next start compiles nothing."""
    return read_intact(cached_path(wasm_path.read_bytes(), wasm_path.stem)) is not None
