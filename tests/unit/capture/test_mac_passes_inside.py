"""The Mac passes as they run inside their process, with fakes of torch.mps, Metal's capture and zeus."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from capture.bundle import GateRefused
from capture.devices.cpu import CpuDevice
from capture.models import resolve_model
from capture.passes import energy, gputrace, memory, metal, opstats, signposts
from capture.passes.common import PassContext
from capture.spec import CaptureSpec
from tests.unit.capture.tiny import tiny_model, tokens


@pytest.fixture
def context(tmp_path: Path) -> PassContext:
    folder = tmp_path / "b" / "pass"
    folder.mkdir(parents=True)
    spec = CaptureSpec(model=resolve_model("random:sliding-tiny"), prompt_tokens=7, new_tokens=4, warmup=1)
    return PassContext(spec, tiny_model(), CpuDevice(), tokens(1, 7), folder, lambda done, total, what: None)


def lines(context: PassContext, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (context.folder / name).read_text().splitlines()]


def raising(error: Exception) -> Callable[..., Any]:
    def call(*args: object, **kwargs: object) -> Any:
        raise error

    return call


# metal


def test_the_probe_hands_over_as_many_dispatches_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []

    class Counting(CpuDevice):
        def synchronize(self) -> None:
            waits.append(1)

    monkeypatch.setattr(metal, "PROBE_PAUSE_S", 0)
    probe = metal.dispatch_probe(Counting(), zero_ns=0)
    assert probe["dispatches"] == metal.PROBE_DISPATCHES == len(waits) - 1
    assert probe["start_ns"] > 0
    assert probe["dur_ns"] > 0


def test_metal_refuses_a_process_with_profiling_variables(
    context: PassContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTL_CAPTURE_ENABLED", "1")
    outcome = metal.run(context)
    assert outcome.status == "refused"
    assert "MTL_CAPTURE_ENABLED is set" in (outcome.reason or "")


def test_metal_probe_comes_before_the_workload(context: PassContext) -> None:
    outcome = metal.run(context)
    assert outcome.status == "measured"
    timings = lines(context, "timings.jsonl")
    probe = outcome.detail["probe"]
    assert probe["start_ns"] + probe["dur_ns"] < timings[0]["start_ns"]
    assert len(timings) == 4


# memory


def test_memory_samples_every_edge(context: PassContext) -> None:
    outcome = memory.run(context)
    assert outcome.status == "measured"
    samples = lines(context, "samples.jsonl")
    assert [(row["phase"], row["step"]) for row in samples] == [
        ("before_prefill", 0),
        ("after_prefill", 0),
        ("after_decode", 1),
        ("after_decode", 2),
        ("after_decode", 3),
    ]
    assert samples[1]["kv_cache_bytes"] == 2 * 3 * 2 * 16 * 4 * 7  # k and v, layers, heads, dim, bytes, tokens


def test_memory_that_is_not_told_is_empty(context: PassContext, monkeypatch: pytest.MonkeyPatch) -> None:
    from capture.devices import DeviceMemory

    monkeypatch.setattr(CpuDevice, "memory", lambda self: DeviceMemory(None, None))
    assert memory.run(context).status == "empty"


# signposts


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Cannot execute start() without MPS backend."),
        AttributeError("module 'torch._C' has no attribute '_mps_profilerStartTrace'"),
        NotImplementedError("no"),
    ],
)
def test_signposts_that_do_not_start(context: PassContext, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(torch.mps.profiler, "start", raising(error))
    outcome = signposts.run(context)
    assert outcome.status == "unsupported"
    assert str(error) in (outcome.reason or "")


def test_signposts_stop_also_when_the_workload_fails(context: PassContext, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(torch.mps.profiler, "start", lambda **options: calls.append(options))
    monkeypatch.setattr(torch.mps.profiler, "stop", lambda: calls.append("stop"))
    assert signposts.run(context).status == "measured"
    assert calls == [{"mode": "interval", "wait_until_completed": False}, "stop"]
    context.spec.warmup = 0
    monkeypatch.setattr(PassContext, "generate", raising(GateRefused("x")))
    with pytest.raises(GateRefused):
        signposts.run(context)
    assert calls[-1] == "stop"


# opstats


def test_opstats_without_its_variable_or_device(context: PassContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(opstats.VARIABLE, raising=False)
    assert opstats.run(context).status == "refused"
    monkeypatch.setenv(opstats.VARIABLE, "112")
    outcome = opstats.run(context)
    assert (outcome.status, outcome.reason) == ("unsupported", "PyTorch keeps these tables for mps only, not for cpu.")


# gputrace


def metal_capture(bytes_written: int | None) -> Callable[[str], contextlib.AbstractContextManager[None]]:
    """As torch's: 0000-<name>.gputrace in the working folder; the name may have no slash."""

    @contextlib.contextmanager
    def capture(name: str) -> Iterator[None]:
        assert "/" not in name
        yield
        if bytes_written is not None:
            folder = Path(f"0000-{name}.gputrace")
            folder.mkdir()
            (folder / "data").write_bytes(b"x" * bytes_written)

    return capture


@pytest.fixture
def capturing(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv(gputrace.VARIABLE, "1")
    monkeypatch.setattr(torch.mps.profiler, "is_metal_capture_enabled", lambda: True)
    monkeypatch.setattr(torch.mps.profiler, "metal_capture", metal_capture(1234))
    return monkeypatch


def test_gputrace_goes_beside_the_bundle(context: PassContext, capturing: pytest.MonkeyPatch, tmp_path: Path) -> None:
    context.spec.new_tokens = 50
    here = Path.cwd()
    outcome = gputrace.run(context)
    assert outcome.status == "measured"
    assert outcome.detail == {"tokens": 8, "file": "0000-b-phasescope.gputrace", "bytes": 1234, "beside_bundle": True}
    assert (tmp_path / "0000-b-phasescope.gputrace").is_dir()
    assert list(context.folder.iterdir()) == []
    assert Path.cwd() == here


def test_gputrace_guards_its_size(context: PassContext, capturing: pytest.MonkeyPatch) -> None:
    capturing.setattr(gputrace.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    outcome = gputrace.run(context)
    assert outcome.status == "refused"
    assert "GB are free" in (outcome.reason or "")


def test_gputrace_without_a_capture(context: PassContext, capturing: pytest.MonkeyPatch) -> None:
    capturing.setattr(torch.mps.profiler, "metal_capture", metal_capture(None))
    assert gputrace.run(context).status == "empty"
    capturing.setattr(torch.mps.profiler, "metal_capture", raising(RuntimeError("capture already running")))
    outcome = gputrace.run(context)
    assert (outcome.status, outcome.reason) == (
        "failed",
        "torch.mps.profiler.metal_capture failed: capture already running",
    )
    capturing.setattr(torch.mps.profiler, "is_metal_capture_enabled", raising(AttributeError("no")))
    assert gputrace.run(context).status == "unsupported"
    capturing.delenv(gputrace.VARIABLE)
    assert gputrace.run(context).status == "refused"


# energy


class FakeMonitor:
    """zeus-apple-silicon's interface, with a chip that lacks a counter (gpu_sram on M5)."""

    def __init__(self, **energies: dict[str, float | None]) -> None:
        self.energies = energies
        self.open: list[str] = []

    def begin_window(self, name: str) -> None:
        self.open.append(name)

    def end_window(self, name: str) -> SimpleNamespace:
        assert self.open.pop() == name
        return SimpleNamespace(**(dict.fromkeys(energy.FIELDS) | self.energies.get(name, {})))


def test_energy_windows(context: PassContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = FakeMonitor(
        idle={"gpu_mj": 5, "ane_mj": 0},
        prefill={"gpu_mj": 900, "ane_mj": 0, "dram_mj": 10},
        generation={"gpu_mj": 4000, "ane_mj": 0, "dram_mj": 1},
    )
    monkeypatch.setattr(energy, "open_monitor", lambda: monitor)
    monkeypatch.setattr(energy, "WINDOW_S", 0.05)
    outcome = energy.run(context)
    assert outcome.status == "measured"
    content = json.loads((context.folder / "energy.json").read_text())
    idle, prefill, generation = content["windows"]
    assert [window["name"] for window in content["windows"]] == ["idle", "prefill", "generation"]
    assert all(window["dur_ns"] >= 50_000_000 and window["runs"] >= 1 for window in content["windows"])
    assert prefill["energy_mj"]["ane_mj"] == 0.0  # measured zero: the Neural Engine did nothing
    assert idle["energy_mj"]["gpu_sram_mj"] is None  # not a counter of this chip
    expected = 4000 / generation["runs"] - 900 / prefill["runs"]
    derived = content["decode_derived"]
    assert derived["gpu_mj"] == (pytest.approx(expected) if expected >= 0 else None)
    assert derived["cpu_total_mj"] is None


def test_decode_energy_is_not_below_zero_and_not_invented() -> None:
    def window(runs: int, gpu: float | None) -> energy.Window:
        return energy.Window("w", runs, 1, dict.fromkeys(energy.FIELDS) | {"gpu_mj": gpu})

    assert energy.decode_energy(window(10, 100.0), window(2, 60.0))["gpu_mj"] == 20.0
    assert energy.decode_energy(window(10, 100.0), window(2, 10.0))["gpu_mj"] is None
    assert energy.decode_energy(window(10, None), window(2, 10.0))["gpu_mj"] is None


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ImportError("no"), "unsupported", "zeus-apple-silicon is not installed"),
        (RuntimeError("IOReport denied"), "unsupported", "energy counters do not open: IOReport denied"),
    ],
)
def test_energy_that_cannot_be_had(
    context: PassContext, monkeypatch: pytest.MonkeyPatch, error: Exception, status: str, reason: str
) -> None:
    monkeypatch.setattr(energy, "open_monitor", raising(error))
    outcome = energy.run(context)
    assert outcome.status == status
    assert reason in (outcome.reason or "")


def test_energy_that_is_all_none_is_empty(context: PassContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "open_monitor", FakeMonitor)
    monkeypatch.setattr(energy, "WINDOW_S", 0.01)
    assert energy.run(context).status == "empty"
