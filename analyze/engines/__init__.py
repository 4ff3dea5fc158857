"""Perfetto's trace processor behind one interface, as a native process or in this one as WebAssembly."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Literal

from analyze.engines.base import Engine, Stat
from analyze.errors import PhasescopeError

__all__ = ["Engine", "Stat", "open_engine", "warm_up"]


def open_engine(
    kind: Literal["auto", "native", "wasm"] = "auto",
    trace_processor: str | None = None,
    *,
    memory64: bool = False,
    source: str = "the trace",
) -> Engine:
    """An engine ready for one trace.

    `auto` takes the native trace processor if one is found, else wasm. `trace_processor` is the path of
    a native one, which `auto` and `native` then use. `memory64` lets wasm use 16 GiB instead of 4.
    `source` names the trace in error messages. Raises PhasescopeError when there is no such engine.
    """
    from analyze.engines.native import NativeEngine
    from analyze.engines.shell import find_shell
    from analyze.engines.wasm import WasmEngine

    if kind not in ("auto", "native", "wasm"):
        raise PhasescopeError(f"There is no trace engine {kind}; take auto, native or wasm.")
    if kind != "wasm":
        shell = find_shell(trace_processor)
        if shell is not None:
            return NativeEngine(shell.path, source=source)
        if kind == "native":
            raise PhasescopeError(
                "No native trace processor was found; name one with --trace-processor or "
                "PHASESCOPE_TRACE_PROCESSOR, fetch it with phasescope doctor --fetch, or use --engine wasm."
            )
    return WasmEngine(memory64=memory64, source=source)


def warm_up(kind: str = "auto", trace_processor: str | None = None) -> None:
    """Fetch wasm's compiled module in the background, if `open_engine` would take wasm; faults show there."""
    from analyze.engines.shell import find_shell
    from analyze.engines.wasm import compiled

    if kind == "native" or (kind == "auto" and find_shell(trace_processor) is not None):
        return

    def fetch() -> None:
        with suppress(Exception):
            compiled(memory64=False)

    threading.Thread(target=fetch, name="trace-processor-module", daemon=True).start()
