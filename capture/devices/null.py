"""The device that lacks everything: nothing to wait for, nothing to count."""

from __future__ import annotations

from capture.devices.common import Device, DeviceMemory


class NullDevice(Device):
    """Stands in where there is no accelerator, so that nobody needs an `if`.

    Its counters are explicit zeros, which reports call "not available".
    """

    kind = "cpu"

    def name(self) -> str | None:
        return None

    def synchronize(self) -> None:
        return

    def memory(self) -> DeviceMemory:
        return DeviceMemory(tensor_bytes=0, driver_bytes=0)
