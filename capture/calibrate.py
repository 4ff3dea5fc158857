"""What this machine reaches: a copy for its memory bandwidth, a matrix product for its arithmetic.

Both are what PyTorch reaches in the run's dtype, not what the maker promises. The best of several batches counts, since
a roofline asks for the least time that is possible; other work on the machine can only make a batch slower.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from capture.bundle import Calibration
from capture.clock import now_ns
from capture.devices import Device
from capture.errors import PhasescopeError

# Far larger than the last-level caches of most chips.
COPY_BYTES = 512 * 2**20
BATCHES = 7
BATCH_NS = 100_000_000
MATMUL_NS = 20_000_000  # a product long enough that its launch does not count
MATMUL_SIZES = (512, 1024, 2048, 4096, 8192)


def calibrate(
    device: Device,
    dtype: torch.dtype,
    *,
    copy_bytes: int = COPY_BYTES,
    batch_ns: int = BATCH_NS,
    sizes: tuple[int, ...] = MATMUL_SIZES,
    report: Callable[[str], None] = lambda what: None,
) -> Calibration:
    """Measure copy bandwidth (read plus written bytes a second) and matrix rate (2 n^3 operations a product).

    Needs 2 * copy_bytes of the device's memory, freed again. Raises PhasescopeError where they cannot be had.
    """
    report("copying")
    elements = copy_bytes // dtype.itemsize
    copied = _copy_ns(device, dtype, elements, batch_ns)
    device.free_memory()
    report("multiplying")
    size, product = _matmul(device, dtype, batch_ns, sizes)
    return Calibration(
        copy_bytes_per_s=2 * elements * dtype.itemsize * 1e9 / copied,
        matmul_flops_per_s=2 * size**3 * 1e9 / product,
        dtype=str(dtype).removeprefix("torch."),
        copy_bytes=elements * dtype.itemsize,
        matmul_size=size,
    )


def _copy_ns(device: Device, dtype: torch.dtype, elements: int, batch_ns: int) -> float:
    try:
        source = torch.ones(elements, dtype=dtype, device=device.kind)
        target = torch.empty_like(source)
    except RuntimeError as error:
        raise PhasescopeError(
            f"Calibrating needs {2 * elements * dtype.itemsize / 2**20:.0f} MiB on device {device.kind}, which it does "
            "not have; leave out --calibrate."
        ) from error
    return best_ns(lambda: target.copy_(source), device, batch_ns)


def _matmul(device: Device, dtype: torch.dtype, batch_ns: int, sizes: tuple[int, ...]) -> tuple[int, float]:
    """The size that was taken, the first that takes MATMUL_NS, and nanoseconds a product."""
    for size in sizes:
        left = torch.randn(size, size, dtype=torch.float32).to(device.kind, dtype)
        right, out = left.t().contiguous(), torch.empty_like(left)
        once = best_ns(lambda a=left, b=right, c=out: torch.mm(a, b, out=c), device, 0, batches=2)  # type: ignore[misc]
        if once >= MATMUL_NS or size == sizes[-1]:
            break
    return size, best_ns(lambda: torch.mm(left, right, out=out), device, batch_ns)


def best_ns(work: Callable[[], object], device: Device, batch_ns: int, *, batches: int = BATCHES) -> float:
    """Nanoseconds a call, of the fastest batch; a batch repeats the call for at least `batch_ns` (once at least)."""
    work()
    device.synchronize()
    calls, best = 1, float("inf")
    for _ in range(batches):
        start = now_ns()
        for _ in range(calls):
            work()
        device.synchronize()
        took = max(now_ns() - start, 1)
        best = min(best, took / calls)
        calls = max(1, round(batch_ns / best))
    return best
