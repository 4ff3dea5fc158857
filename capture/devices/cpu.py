"""The CPU: work is done when the call returns, and PyTorch keeps no counters of its memory."""

from __future__ import annotations

from capture.devices.null import NullDevice
from capture.machine import processor_name


class CpuDevice(NullDevice):
    kind = "cpu"

    def name(self) -> str | None:
        return processor_name()
