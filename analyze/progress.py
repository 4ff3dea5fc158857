"""What a long load says: how long it will take before it starts, and how far it has read."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

# Bytes of raw trace a second, on one core of 2024 and with little else to do: `python -m tests.benchmarks growth`.
_RATE = 40e6
# Below this a load is over before anybody reads of it.
_WORTH_BYTES = 64 << 20
_EVERY_S = 2.0


def announcement(names: str, raw_bytes: int) -> str:
    """The line before a load: with its size and an estimate where it will take a while."""
    if raw_bytes < _WORTH_BYTES:
        return f"loading {names}"
    return f"loading {names} ({raw_bytes / 2**20:.0f} MiB unpacked, about {max(raw_bytes / _RATE, 1):.0f} s)"


class WatchedStream:
    """A stream of `total` bytes, more or less, that says every two seconds how much of it was read."""

    def __init__(self, stream: Any, name: str, total_bytes: int, say: Callable[[str], None]) -> None:
        self._stream, self._name, self._total, self._say = stream, name, total_bytes, say
        self._read = 0
        self._last = time.monotonic()

    def read(self, size: int = -1) -> bytes:
        """As the stream's own."""
        return self._count(self._stream.read(size))

    def read1(self, size: int = -1) -> bytes:
        """What can be had at once, as the stream's own where it has one."""
        return self._count(getattr(self._stream, "read1", self._stream.read)(size))

    def _count(self, block: bytes) -> bytes:
        self._read += len(block)
        now = time.monotonic()
        if now - self._last >= _EVERY_S and block:
            self._last = now
            share = min(99, 100 * self._read // max(self._total, 1))
            self._say(f"{self._name}: {self._read / 2**20:.0f} of about {self._total / 2**20:.0f} MiB read ({share} %)")
        return block

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    def __enter__(self) -> WatchedStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
