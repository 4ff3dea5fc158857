from typing import Any

import pytest
import torch

from capture import calibrate as module
from capture.bundle import Calibration
from capture.calibrate import best_ns, calibrate
from capture.devices import device_of
from capture.errors import PhasescopeError


def test_a_small_calibration_is_of_the_order_of_a_plain_measurement():
    device = device_of("cpu")
    found = calibrate(device, torch.float32, copy_bytes=8 * 2**20, batch_ns=2_000_000, sizes=(128, 256))
    assert isinstance(found, Calibration)
    assert (found.dtype, found.copy_bytes, found.matmul_size) == ("float32", 8 * 2**20, 256)
    left = torch.randn(256, 256)
    plain = 2 * 256**3 * 1e9 / best_ns(lambda: torch.mm(left, left), device, 2_000_000)
    assert plain / 20 < found.matmul_flops_per_s < plain * 20  # the machine is shared, so no closer than that
    assert found.copy_bytes_per_s > 1e8


def test_best_of_batches_and_calls(monkeypatch: pytest.MonkeyPatch):
    clock = iter([0, 1000, 1000, 1400, 1400, 5400])  # one call takes 1000, then four 400, then ten 4000
    calls: list[int] = []
    monkeypatch.setattr(module, "now_ns", lambda: next(clock))
    best = best_ns(lambda: calls.append(1), device_of("cpu"), 4000, batches=3)
    assert best == 100
    assert len(calls) == 1 + 1 + 4 + 40


def test_bytes_and_operations_are_counted_as_the_docstring_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "best_ns", lambda work, device, batch_ns, batches=7: 1000.0)
    found = calibrate(device_of("cpu"), torch.bfloat16, copy_bytes=4096, sizes=(64,))
    assert found.copy_bytes_per_s == 2 * 4096 * 1e9 / 1000
    assert found.matmul_flops_per_s == 2 * 64**3 * 1e9 / 1000
    assert found.dtype == "bfloat16"


def test_no_room_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    def full(*args: Any, **options: Any) -> torch.Tensor:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(torch, "ones", full)
    with pytest.raises(PhasescopeError, match=r"needs 1024 MiB on device cpu.*leave out --calibrate"):
        calibrate(device_of("cpu"), torch.float32)
