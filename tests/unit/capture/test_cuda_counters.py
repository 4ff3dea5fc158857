"""The counters pass on CUDA, by contract: a stand-in for PyTorch 2.15's profiler with its ways to fail."""

import importlib.util
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from capture.clock import read_clocks  # noqa: E402
from capture.passes import counters, cuda_counters, profiled  # noqa: E402
from capture.passes.common import PassOutcome, start_clock  # noqa: E402


@dataclass(frozen=True)
class CuspyConfig:
    enable_cuda_sync_events: bool = False


@dataclass
class PerformanceMetricsConfig:
    metric_names: list[str]
    sampling_interval_ms: float | None = None
    lookback_window_ms: float | None = None


@dataclass
class ProfilerActivityConfig:
    activity_types: list[str] | None = None
    profiler_configs: list[Any] = field(default_factory=list)


COUNTER = {"ph": "C", "name": "HBM BW (%)", "pid": "GPU 0 Counters", "ts": 1, "args": {"": 61.5}}


@pytest.fixture
def torch_2_15(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that PyTorch 2.15 adds, and cupti-python beside it."""
    for name in ("CuspyConfig", "PerformanceMetricsConfig", "ProfilerActivityConfig"):
        monkeypatch.setattr(torch.profiler, name, globals()[name], raising=False)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: object() if name == "cupti" else find(name, *rest)
    )


def context(tmp_path: Path, kind: str = "cuda") -> Any:
    return SimpleNamespace(folder=tmp_path, device=SimpleNamespace(kind=kind))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Stands for the profiler: keeps the activities, writes the events that the test puts into it."""
    state: dict[str, Any] = {"events": [COUNTER]}

    def profile_generation(context: Any, activities: list[Any], *, inspect: Any) -> PassOutcome:
        state["activities"] = activities
        clock = start_clock()
        clock.end = read_clocks()
        if state["events"] is None:  # "observer unavailable": no file at all
            return PassOutcome("empty", clock, "PyTorch's profiler exported no trace", {})
        raw = tmp_path / "raw.json"
        raw.write_text(json.dumps({"traceEvents": state["events"]}))
        (tmp_path / profiled.TRACE_NAME).write_bytes(b"packed")
        return PassOutcome("measured", clock, detail={"inspected": inspect(raw)})

    monkeypatch.setattr(cuda_counters, "profile_generation", profile_generation)
    return state


def test_today_s_torch_says_what_it_lacks(tmp_path: Path) -> None:
    if hasattr(torch.profiler, "PerformanceMetricsConfig"):
        pytest.skip("this PyTorch samples counters")
    outcome = counters.run(context(tmp_path))
    assert outcome.status == "unsupported"
    assert outcome.reason == f"PyTorch {torch.__version__} does not sample hardware counters; 2.15 and later do."


@pytest.mark.usefixtures("torch_2_15")
def test_without_cupti_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None)
    outcome = counters.run(context(tmp_path))
    assert outcome.status == "unsupported"
    assert "cupti-python" in str(outcome.reason)


@pytest.mark.usefixtures("torch_2_15")
def test_what_the_profiler_is_asked_for(tmp_path: Path, seen: dict[str, Any]) -> None:
    outcome = counters.run(context(tmp_path))
    assert outcome.status == "measured"
    cpu, cuda = seen["activities"]
    assert cpu == torch.profiler.ProfilerActivity.CPU, "Cuspy needs the CPU's activity"
    (config,) = cuda.values()
    assert list(cuda) == [torch.profiler.ProfilerActivity.CUDA]
    cuspy, metrics = config.profiler_configs
    assert isinstance(cuspy, CuspyConfig)
    assert metrics.metric_names == list(cuda_counters.METRICS)
    assert metrics.sampling_interval_ms == 1.0
    assert outcome.detail == {"metrics": list(cuda_counters.METRICS), "sampling_interval_ms": 1.0}
    assert (tmp_path / profiled.TRACE_NAME).exists()


@pytest.mark.usefixtures("torch_2_15")
def test_a_trace_without_counters_is_empty_not_measured(tmp_path: Path, seen: dict[str, Any]) -> None:
    seen["events"] = [{"ph": "X", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 1}]
    outcome = counters.run(context(tmp_path))
    assert outcome.status == "empty"
    assert "without a counter sample" in str(outcome.reason)
    assert not (tmp_path / profiled.TRACE_NAME).exists()


@pytest.mark.usefixtures("torch_2_15")
def test_a_skipped_export_is_empty(tmp_path: Path, seen: dict[str, Any]) -> None:
    seen["events"] = None
    assert counters.run(context(tmp_path)).status == "empty"


def test_other_devices_have_none(tmp_path: Path) -> None:
    outcome = counters.run(context(tmp_path, "cpu"))
    assert (outcome.status, outcome.reason) == (
        "unsupported", "Hardware counters are read on mps and cuda; device cpu has none.",
    )  # fmt: skip


@pytest.mark.skipif(torch.cuda.is_available(), reason="the profiler of this machine has a CUDA activity of its own")
def test_the_shared_profiling_asks_about_the_exported_trace(tmp_path: Path) -> None:
    """The real profiler on this machine: what `inspect` says of the export is in the detail."""
    from capture.recorder import Recorder

    class Context:
        spec = SimpleNamespace(warmup=0, record_shapes=False, profile_memory=False, with_stack=False, dims_only=False)
        folder = tmp_path
        device = SimpleNamespace(kind="cpu", reset_peak=lambda: None)
        prompt_ids = torch.ones(1, 2, dtype=torch.long)

        def warm_up(self, total: int) -> None: ...

        def report(self, *said: object) -> None: ...

        def generate(self, recorder: Recorder) -> Any:
            torch.ones(2).add(1)
            return SimpleNamespace(generated_ids=torch.ones(1, 1, dtype=torch.long), cache=None)

    outcome = profiled.profile_generation(
        Context(), [torch.profiler.ProfilerActivity.CPU], inspect=cuda_counters._holds_counters  # type: ignore[arg-type]
    )  # fmt: skip
    assert outcome.status == "measured"
    assert outcome.detail["inspected"] is False
    assert (tmp_path / profiled.TRACE_NAME).stat().st_size > 0
