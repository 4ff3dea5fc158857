"""What Perfetto's WebAssembly build imports from its host: clocks, memory growth, and little else.

The build is made by Emscripten for a browser worker. It needs clocks, `fd_write` for its log,
`emscripten_resize_heap` and the environment; every file-system call may answer "not supported".
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable
from typing import Any

import wasmtime

_PAGE_BYTES = 65536
_ENOSYS = 52  # "not supported" in the WASI numbering, which Emscripten's musl shares
_LOG_BYTES_KEPT = 4096


class Aborted(Exception):
    """The module called abort() or failed an assertion."""


class WasmHost:
    """The imports of one instance, and access to its memory once `attach` was called."""

    def __init__(self, store: wasmtime.Store) -> None:
        self.store = store
        self._memory: wasmtime.Memory | None = None
        self._log = b""

    def attach(self, memory: wasmtime.Memory) -> None:
        self._memory = memory

    @property
    def memory(self) -> wasmtime.Memory:
        assert self._memory is not None, "attach() comes first"
        return self._memory

    def log_tail(self) -> str:
        """The end of what the module wrote to its standard output and error."""
        return self._log.decode("utf-8", "replace").strip()

    def clear_log(self) -> None:
        self._log = b""

    def imports(self, module: wasmtime.Module) -> list[wasmtime.Func]:
        """One function for each import of `module`, in order."""
        own: dict[str, Callable[..., Any]] = {
            "emscripten_get_now": lambda: time.perf_counter_ns() / 1e6,
            "emscripten_date_now": lambda: time.time_ns() / 1e6,
            "clock_time_get": self._clock_time_get,
            "environ_sizes_get": self._environ_sizes_get,
            "environ_get": lambda _environ, _buffer: 0,
            "fd_write": self._fd_write,
            "emscripten_err": lambda text: self._keep(self._text(text)),
            "emscripten_resize_heap": self._resize_heap,
            "emscripten_get_heap_max": lambda: self._heap_max_bytes(),
            "_tzset_js": self._tzset,
            "_timegm_js": lambda _time: -1,
            "_abort_js": self._abort,
            "__assert_fail": self._assert_fail,
        }
        found = []
        for item in module.imports:
            kind = item.type
            assert isinstance(kind, wasmtime.FuncType), f"import {item.name} is no function"
            function = own.get(item.name or "") or _not_supported(item.module, bool(kind.results))
            narrow = [str(result) == "i32" for result in kind.results] == [True]
            found.append(wasmtime.Func(self.store, kind, _signed(function) if narrow else function))
        return found

    def read(self, address: int, size: int) -> bytes:
        """`size` bytes of the instance's memory; addresses come as signed numbers from wasmtime."""
        start = self._offset(address, size)
        return ctypes.string_at(self._base() + start, size)

    def write(self, address: int, content: bytes) -> None:
        start = self._offset(address, len(content))
        ctypes.memmove(self._base() + start, content, len(content))

    def _base(self) -> int:
        return ctypes.addressof(self.memory.data_ptr(self.store).contents)

    def _offset(self, address: int, size: int) -> int:
        start = address & (2**64 - 1 if self._is_64 else 2**32 - 1)
        if start + size > self.memory.data_len(self.store):
            raise Aborted("an address outside the module's memory")
        return start

    @property
    def _is_64(self) -> bool:
        return self.memory.type(self.store).is_64

    def _text(self, address: int) -> bytes:
        start = self._offset(address, 0)
        size = min(_LOG_BYTES_KEPT, self.memory.data_len(self.store) - start)
        return self.read(start, size).split(b"\0")[0]

    def _keep(self, text: bytes) -> None:
        self._log = (self._log + text)[-_LOG_BYTES_KEPT:]

    def _clock_time_get(self, clock: int, _precision: int, result: int) -> int:
        now_ns = time.time_ns() if clock == 0 else time.perf_counter_ns()
        self.write(result, struct.pack("<q", now_ns))
        return 0

    def _environ_sizes_get(self, count: int, size: int) -> int:
        word = bytes(8 if self._is_64 else 4)
        self.write(count, word)
        self.write(size, word)
        return 0

    def _fd_write(self, _fd: int, vectors: int, count: int, written: int) -> int:
        layout = struct.Struct("<QQ" if self._is_64 else "<II")
        total = 0
        for address, size in layout.iter_unpack(self.read(vectors, layout.size * count)):
            self._keep(self.read(address, size))
            total += size
        self.write(written, struct.pack("<Q" if self._is_64 else "<I", total))
        return 0

    def _tzset(self, timezone: int, daylight: int, standard_name: int, daylight_name: int) -> None:
        """UTC: offset 0, no daylight saving, as trace times have no zone."""
        self.write(timezone, bytes(8 if self._is_64 else 4))
        self.write(daylight, bytes(4))
        self.write(standard_name, b"UTC\0")
        self.write(daylight_name, b"UTC\0")

    def _heap_max_bytes(self) -> int:
        limit = self.memory.type(self.store).limits.max or 0
        # A size of exactly 4 GiB does not fit the 32-bit result; Emscripten stays a page below too.
        return (limit if self._is_64 else min(limit, 65535)) * _PAGE_BYTES

    def _resize_heap(self, requested_bytes: int) -> int:
        """Grow to at least `requested_bytes`; 0 tells malloc that there is no more memory."""
        wanted = requested_bytes & (2**64 - 1 if self._is_64 else 2**32 - 1)
        if wanted > self._heap_max_bytes():
            return 0
        present = self.memory.data_len(self.store)
        # Ask for a fifth more than needed, so that growth costs few calls; then for just enough.
        for goal in (min(max(wanted, present * 6 // 5), self._heap_max_bytes()), wanted):
            pages = -(-(goal - present) // _PAGE_BYTES)
            try:
                self.memory.grow(self.store, max(pages, 0))
            except wasmtime.WasmtimeError:
                continue
            return 1
        return 0

    def _abort(self) -> None:
        raise Aborted("abort()")

    def _assert_fail(self, condition: int, file: int, line: int, _function: int) -> None:
        where = f"{self._text(file).decode(errors='replace')}:{line}"
        raise Aborted(f"assertion {self._text(condition).decode(errors='replace')} failed at {where}")


def _not_supported(room: str, has_result: bool) -> Callable[..., Any]:
    """WASI calls answer the error number, system calls its negative; others answer nothing."""
    if not has_result:
        return lambda *_: None
    answer = _ENOSYS if room.startswith("wasi") else -_ENOSYS
    return lambda *_: answer


def _signed(function: Callable[..., int]) -> Callable[..., int]:
    """wasmtime takes an i32 as a signed number."""
    return lambda *args: (function(*args) + 2**31) % 2**32 - 2**31
