"""CUDA devices, and AMD GPUs under PyTorch's HIP build, which answers to the same calls."""

from __future__ import annotations

from typing import Any

from capture.devices.common import Device, DeviceMemory


class CudaDevice(Device):
    kind = "cuda"

    def __init__(self, torch_module: Any = None) -> None:
        if torch_module is None:
            import torch as torch_module
        self._cuda = torch_module.cuda

    @staticmethod
    def available(torch_module: Any) -> bool:
        return bool(torch_module.cuda.is_available())

    def name(self) -> str | None:
        return self._cuda.get_device_name()

    def synchronize(self) -> None:
        self._cuda.synchronize()

    def memory(self) -> DeviceMemory:
        free_bytes, total_bytes = self._cuda.mem_get_info()
        del free_bytes  # counts every process of the device, so it is no figure of ours
        return DeviceMemory(
            tensor_bytes=self._cuda.memory_allocated(),
            driver_bytes=self._cuda.memory_reserved(),
            recommended_max_bytes=total_bytes,
            peak_bytes=self._cuda.max_memory_allocated(),
        )

    def reset_peak(self) -> None:
        self._cuda.reset_peak_memory_stats()

    def total_memory_bytes(self) -> int | None:
        return self._cuda.mem_get_info()[1]

    def free_memory(self) -> None:
        self._cuda.empty_cache()
