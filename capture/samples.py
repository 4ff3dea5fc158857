"""Resource samples at phase edges."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from capture.clock import now_ns
from capture.devices import Device


@dataclass
class Sample:
    """One look at the resources. Bytes; None where this machine does not tell; t_ns is of `capture.clock.now_ns`.

    phase: before_prefill, after_prefill or after_decode. process_cpu_percent: CPU time since the sample before, as
    per cent of one core.
    """

    repeat: int
    phase: str
    step: int
    t_ns: int
    kv_cache_bytes: int
    tensor_bytes: int | None
    driver_bytes: int | None
    recommended_max_bytes: int | None
    peak_bytes: int | None
    resident_bytes: int | None
    footprint_bytes: int | None
    process_cpu_percent: float | None


class Sampler:
    """Takes samples of this process and one device."""

    def __init__(self, device: Device) -> None:
        import psutil

        from capture.kv_cache import kv_cache_bytes

        self._device = device
        self._process = psutil.Process()
        self._kv_cache_bytes = kv_cache_bytes
        self._last: tuple[int, int] | None = None

    def take(self, phase: str, step: int, cache: Any, repeat: int = 0) -> Sample:
        """A sample now; `cache` is the KV cache of the generation, or None before there is one."""
        t_ns, cpu_ns = now_ns(), time.process_time_ns()
        percent = None
        if self._last is not None and t_ns > self._last[0]:
            percent = 100.0 * (cpu_ns - self._last[1]) / (t_ns - self._last[0])
        self._last = (t_ns, cpu_ns)
        memory = self._device.memory()
        return Sample(
            repeat=repeat,
            phase=phase,
            step=step,
            t_ns=t_ns,
            kv_cache_bytes=self._kv_cache_bytes(cache),
            tensor_bytes=memory.tensor_bytes,
            driver_bytes=memory.driver_bytes,
            recommended_max_bytes=memory.recommended_max_bytes,
            peak_bytes=memory.peak_bytes,
            resident_bytes=self._process.memory_info().rss,
            footprint_bytes=footprint_bytes(),
            process_cpu_percent=percent,
        )


class _RusageInfoV0(ctypes.Structure):
    """rusage_info_v0 of <sys/resource.h> on macOS."""

    _fields_ = (
        ("ri_uuid", ctypes.c_uint8 * 16),
        ("ri_user_time", ctypes.c_uint64),
        ("ri_system_time", ctypes.c_uint64),
        ("ri_pkg_idle_wkups", ctypes.c_uint64),
        ("ri_interrupt_wkups", ctypes.c_uint64),
        ("ri_pageins", ctypes.c_uint64),
        ("ri_wired_size", ctypes.c_uint64),
        ("ri_resident_size", ctypes.c_uint64),
        ("ri_phys_footprint", ctypes.c_uint64),
        ("ri_proc_start_abstime", ctypes.c_uint64),
        ("ri_proc_exit_abstime", ctypes.c_uint64),
    )


def footprint_bytes() -> int | None:
    """Physical footprint of this process, the memory that macOS charges to it; None elsewhere."""
    if sys.platform != "darwin":
        return None
    info = _RusageInfoV0()
    try:
        library = ctypes.CDLL("/usr/lib/libproc.dylib")
        failed = library.proc_pid_rusage(os.getpid(), 0, ctypes.byref(info))
    except (OSError, AttributeError):
        return None
    return None if failed else int(info.ri_phys_footprint)
