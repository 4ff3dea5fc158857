"""What the engine, the timers and the samples ask of a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceMemory:
    """Memory that a device counts for this process, in bytes; None where it does not tell.

    tensor_bytes: in live tensors. driver_bytes: held by the driver, pools included. recommended_max_bytes: the
    working set that Metal recommends, or all memory of a CUDA device. peak_bytes: most tensor bytes since the last
    `reset_peak`.
    """

    tensor_bytes: int | None
    driver_bytes: int | None
    recommended_max_bytes: int | None = None
    peak_bytes: int | None = None


class Device(ABC):
    """A device as the capture sees it. `kind` is the word that PyTorch uses for it."""

    kind: str

    @abstractmethod
    def name(self) -> str | None:
        """Name of the chip or GPU; None where it cannot be had."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device has done all work that was handed to it."""

    @abstractmethod
    def memory(self) -> DeviceMemory:
        """Memory counters, now."""

    def reset_peak(self) -> None:
        """Begin a new peak, where the device counts one."""
        return

    def gpu_cores(self) -> int | None:
        """Number of GPU cores, where the device tells."""
        return None

    def total_memory_bytes(self) -> int | None:
        """Memory of the device's own; None where it shares the machine's."""
        return None

    def free_memory(self) -> None:
        """Give back what the device's allocator holds in reserve."""
        return
