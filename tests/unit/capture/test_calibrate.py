from pathlib import Path
from typing import Any

import pytest
import torch

from capture import calibrate as module
from capture import run
from capture.bundle import Calibration, open_bundle
from capture.calibrate import best_ns, calibrate
from capture.child import ChildResult
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


def test_the_manifest_keeps_it_through_later_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    found = {
        "copy_bytes_per_s": 2e10,
        "matmul_flops_per_s": 1e11,
        "dtype": "float32",
        "copy_bytes": 8,
        "matmul_size": 4,
    }
    facts = {
        "event": "facts", "machine": {"device_name": "made up"}, "software": {}, "architecture": {}, "device": "cpu",
        "dtype": "float32", "attention": "sdpa", "prompt_tokens": 4,
    }  # fmt: skip
    asked: list[str] = []

    def pretend(name: str, spec: Any, folder: Path, timeout_s: float, on_event: Any) -> ChildResult:
        asked.append(name)
        on_event(facts)
        detail = found if name == "calibration" else {"cache_class": "DynamicCache"}
        return ChildResult(1, {"event": "done", "status": "measured", "reason": None, "detail": dict(detail)}, facts)

    monkeypatch.setattr(run, "start_pass", pretend)
    result = run.capture("random:llama-tiny", tmp_path / "b", prompt_tokens=4, new_tokens=2, calibrate=True)
    assert asked == ["clean", "profiled", "calibration"]
    with open_bundle(tmp_path / "b") as bundle:
        calibration = bundle.manifest.machine.calibration
        assert calibration is not None
        assert (calibration.copy_bytes_per_s, calibration.matmul_flops_per_s, calibration.dtype) == (
            2e10,
            1e11,
            "float32",
        )
    assert result.manifest.workload.cache == "DynamicCache"
    run._take_facts(result.manifest, facts)  # the next pass tells of the machine again
    assert result.manifest.machine.calibration == calibration
