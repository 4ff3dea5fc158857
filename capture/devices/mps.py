"""Apple's GPU through PyTorch's MPS backend.

torch.mps answers with three kinds of error where something is not there, depending on call, build and machine:
RuntimeError, AttributeError and NotImplementedError. A counter that fails so is None, never a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from capture.devices.common import Device, DeviceMemory

ABSENT = (RuntimeError, AttributeError, NotImplementedError)
T = TypeVar("T")


def _ask(question: Callable[[], T]) -> T | None:
    try:
        return question()
    except ABSENT:
        return None


class MpsDevice(Device):
    kind = "mps"

    def __init__(self, torch_module: Any = None) -> None:
        if torch_module is None:
            import torch as torch_module
        self._torch = torch_module
        self._peak_works = _ask(lambda: self._torch.accelerator.max_memory_allocated()) is not None

    @staticmethod
    def available(torch_module: Any) -> bool:
        """Whether there is an MPS device: built in, and usable on this machine."""
        return bool(_ask(lambda: torch_module.backends.mps.is_available()))

    def name(self) -> str | None:
        return _ask(lambda: str(self._torch.backends.mps.get_name()))

    def gpu_cores(self) -> int | None:
        return _ask(lambda: int(self._torch.backends.mps.get_core_count()))

    def synchronize(self) -> None:
        self._torch.mps.synchronize()

    def memory(self) -> DeviceMemory:
        mps = self._torch.mps
        return DeviceMemory(
            tensor_bytes=_ask(lambda: int(mps.current_allocated_memory())),
            driver_bytes=_ask(lambda: int(mps.driver_allocated_memory())),
            recommended_max_bytes=_ask(lambda: int(mps.recommended_max_memory())),
            # torch.mps has no peak; its allocator keeps one that torch.accelerator may or may not reach.
            peak_bytes=_ask(lambda: int(self._torch.accelerator.max_memory_allocated())) if self._peak_works else None,
        )

    def reset_peak(self) -> None:
        if self._peak_works:
            _ask(lambda: self._torch.accelerator.reset_peak_memory_stats())

    def free_memory(self) -> None:
        _ask(lambda: self._torch.mps.empty_cache())
