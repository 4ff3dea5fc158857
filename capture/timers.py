"""Synchronised wall time: what a person waits for, the device's work included."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from capture.clock import now_ns
from capture.devices import device_of


@dataclass
class Timing:
    """Begin and duration in nanoseconds; dur_ns is set when the timed body has ended, also by an error."""

    start_ns: int = 0
    dur_ns: int = 0


def synchronize_device(device: Any) -> None:
    """Wait for all work on `device`: a Device of ours, a torch.device, or a word such as "cuda:0"."""
    device_of(device).synchronize()


@contextlib.contextmanager
def timed(device: Any) -> Iterator[Timing]:
    """Time the body on `device`, synchronised before and after, also when the body raises.

    An error of the body goes on; one of the last synchronisation is shown only when the body had none.
    """
    adapter = device_of(device)
    timing = Timing()
    adapter.synchronize()
    timing.start_ns = now_ns()
    try:
        yield timing
    except BaseException:
        with contextlib.suppress(Exception):
            adapter.synchronize()
        timing.dur_ns = now_ns() - timing.start_ns
        raise
    adapter.synchronize()
    timing.dur_ns = now_ns() - timing.start_ns
