"""The passes that need a Mac, against a stand-in for xctrace with the real one's ways of failing.

What this shows: the whole path from `capture` to the bundle and the store, and a status with a reason for every
failure. What it cannot show: that a real xctrace does as it is imitated (docs/not-verified.md).
"""

import gzip
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from analyze.instruments.clock import PassClock
from analyze.instruments.load import read_instruments
from capture import launched
from capture.bundle import Bundle, PassRecord, open_bundle
from capture.child import ChildResult
from capture.launchers import start_pass
from capture.models import resolve_model
from capture.run import capture
from capture.spec import CaptureSpec
from tests.integration import fake_xctrace
from tests.unit.analyze.instruments_xml import opener, store

# The whole path once, with a real worker


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    folder = tmp_path_factory.mktemp("mac")
    fake_xctrace.install(folder / "bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder / "bin"), prepend=":")
        for name, value in {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_TOKEN": "hf_secret"}.items():
            patch.setenv(name, value)
        patch.setenv("MTL_CAPTURE_ENABLED", "1")  # must not reach the recorded process
        small: dict[str, Any] = {"prompt_tokens": 9, "new_tokens": 3, "warmup": 2, "repeat": 1, "device": "cpu"}
        result = capture("random:sliding-tiny", folder / "b", passes=["metal"], **small)
    assert result.problems == []
    with open_bundle(folder / "b") as opened:
        yield opened


@pytest.fixture
def record(bundle: Bundle) -> PassRecord:
    (only,) = bundle.passes
    return only


def unpacked(bundle: Bundle, name: str) -> bytes:
    with bundle.open(name) as stream:
        return gzip.decompress(stream.read())


def test_a_metal_pass_from_capture_to_bundle(bundle: Bundle, record: PassRecord) -> None:
    assert (record.status, record.reason) == ("measured", None)
    assert sorted(record.files) == [
        "metal/metal-gpu-intervals.xml.gz",
        "metal/metal-gpu-state-intervals.xml.gz",
        "metal/time-info.xml.gz",
        "metal/timings.jsonl",
        "metal/toc.redacted.xml",
        "metal/worker.log",
    ]
    table = {"exit_code": 0, "attempts": 1, "whole": True, "rows": 3, "own_rows": 2}
    assert record.detail["exports"]["metal-gpu-intervals"] == table
    assert record.detail["exports"]["metal-driver-intervals"] == {"note": "not in this recording"}
    assert record.detail["counters_in_toc"] == ["Counter Set: (null)"]
    assert record.detail["probe"]["dispatches"] == 64
    assert record.detail["probe"]["dur_ns"] > 0
    assert record.detail["warmup"] == 1  # more would only swell the recording
    assert record.detail["profiling_variables_set"] == ["MTL_CAPTURE_ENABLED"]
    assert record.clock is not None
    assert record.clock.end is not None
    assert record.clock.end.monotonic_ns > record.clock.start.monotonic_ns
    timings = bundle.read_jsonl("metal/timings.jsonl")
    assert [(row["phase"], row["step"]) for row in timings] == [("prefill", 0), ("decode", 1), ("decode", 2)]
    # The pid is that of the recorded process, which is neither ours nor xctrace's.
    assert f'pid="{record.pid}"'.encode() in bundle.open("metal/toc.redacted.xml").read()


def test_nothing_private_is_in_the_bundle(bundle: Bundle) -> None:
    rows = unpacked(bundle, "metal/metal-gpu-intervals.xml.gz")
    everything = bundle.manifest_bytes + rows + bundle.open("metal/toc.redacted.xml").read()
    for private in (b"jane", b"Jane", b"hf_secret", b"Secret Browser", b"00008103", b"launched_worker metal", b"Users"):
        assert private not in everything, private
    assert b'fmt="other (7)"' in rows
    assert b"python3.11" in rows


def test_the_bundle_loads(bundle: Bundle, record: PassRecord) -> None:
    assert record.clock is not None
    sources = [
        (name, opener(unpacked(bundle, name)) if name.endswith(".gz") else partial(bundle.open, name))
        for name in record.files
        if ".xml" in name
    ]
    clock = PassClock(record.clock.start.unix_ns, record.clock.start.monotonic_ns)
    data = read_instruments(sources, pass_clock=clock)
    assert (data.target_pid, data.target_rows, data.raw_rows, data.loaded_rows) == (record.pid, 2, 4, 4)
    assert (data.clock.method, data.clock.start_uptime_ns) == ("time_info", 1000)
    verdict = store(data).execute("SELECT verdict, own_rows, other_rows FROM metal_share").fetchall()
    assert verdict == [("captured", 2, 1)]


# Every way to fail, with a worker that is there at once


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch) -> CaptureSpec:
    monkeypatch.setattr(launched, "WORKER", "tests.integration.fake_worker")
    return CaptureSpec(model=resolve_model("random:sliding-tiny"), warmup=3)


def start(
    spec: CaptureSpec,
    folder: Path,
    patch: pytest.MonkeyPatch,
    name: str = "metal",
    timeout_s: float = 60,
    **how: Any,
) -> ChildResult:
    if how.get("install", True):
        fake_xctrace.install(folder / "bin", **how)
        patch.setenv("PATH", str(folder / "bin"), prepend=":")
    return start_pass(name, spec, folder / name, timeout_s, lambda event: None)


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ({"install": False}, "unsupported", "xcrun is not on this machine"),
        ({"stub": True}, "unsupported", "requires Xcode, but active developer directory"),
        ({"version_exit": 69}, "unsupported", "sudo xcodebuild -license accept"),
        ({"no_trace": True, "record_exit": 2}, "failed", "xctrace wrote no recording (exit code 2"),
        ({"toc_cut": True, "toc_exit": 133}, "failed", "xctrace cannot list its recording (exit code 133"),
        ({"own_rows": 0}, "empty", "none is of the recorded process"),
        ({"own_rows": 0}, "empty", "which does not mean that nothing ran"),
        ({"offers": ["time-info"]}, "failed", "metal-gpu-intervals: not in this recording"),
        ({"cut": ["metal-gpu-intervals"]}, "failed", "the XML is not whole"),
        ({"cut": ["metal-gpu-intervals"], "exit": {"metal-gpu-intervals": 133}}, "failed", "exit code 133"),
    ],
)
def test_every_failure_has_a_status_and_a_reason(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], status: str, reason: str
) -> None:
    final = start(spec, tmp_path, monkeypatch, **how).final
    assert final is not None
    assert final["status"] == status
    assert reason in final["reason"]
    assert "\n" not in final["reason"]
    assert not (tmp_path / "metal" / "metal-gpu-intervals.xml.gz").exists() or status == "empty"


def test_without_counters_the_reason_has_the_words_of_the_recording(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final = start(spec, tmp_path, monkeypatch, "counters").final
    assert final is not None
    assert final["status"] == "empty"
    assert final["reason"] == (
        "This Mac or Xcode recorded no metal-gpu-counter-intervals, gpu-counter-value, metal-shader-profiler-intervals"
        " (its table of contents says Counter Set: (null)); try --counters-template with a template saved in"
        " Instruments."
    )


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"record_exit": 54}, {"exit_code": 0, "attempts": 1}),
        (
            {"exit": {"metal-gpu-intervals": 133}},
            {"exit_code": 133, "attempts": 1, "note": "whole, although xctrace ended with exit code 133"},
        ),
        ({"cut_once": ["metal-gpu-intervals"]}, {"exit_code": 0, "attempts": 2}),
    ],
)
def test_whole_evidence_counts_whatever_the_exit_code(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], expected: dict[str, Any]
) -> None:
    final = start(spec, tmp_path, monkeypatch, **how).final
    assert final is not None
    assert final["status"] == "measured"
    assert final["detail"]["exports"]["metal-gpu-intervals"] == expected | {"whole": True, "rows": 3, "own_rows": 2}
    assert final["detail"]["xctrace"]["record_exit_code"] == how.get("record_exit", 0)


def test_a_table_that_is_cut_is_left_out_and_the_others_stay(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final = start(spec, tmp_path, monkeypatch, cut=["metal-gpu-state-intervals"]).final
    assert final is not None
    assert final["status"] == "measured"
    assert "left out" in final["detail"]["exports"]["metal-gpu-state-intervals"]["note"]
    assert not (tmp_path / "metal" / "metal-gpu-state-intervals.xml.gz").exists()
    assert (tmp_path / "metal" / "metal-gpu-intervals.xml.gz").exists()


def test_a_recorder_that_refuses_at_once(spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = start(spec, tmp_path, monkeypatch, refuses=57)
    assert result.final is None
    assert "exit code 57" in (result.died or "")
    assert "Selected counter profile is not supported on target device" in result.log


@pytest.mark.parametrize(("prompt", "said"), [("hang", "It took longer than 3 s"), ("die", "exit code 0 and no word")])
def test_a_worker_that_hangs_or_dies(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: str, said: str
) -> None:
    spec.prompt = prompt
    result = start(spec, tmp_path, monkeypatch, timeout_s=3)
    assert result.final is None
    assert said in (result.died or "")


def test_a_recorder_that_never_ends(spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = start(spec, tmp_path, monkeypatch, timeout_s=3, hangs=True)
    assert "It took longer than 3 s and was ended" in (result.died or "")


def test_the_workers_own_reason_wins(spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec.prompt = "refuse"
    final = start(spec, tmp_path, monkeypatch).final
    assert final is not None
    assert (final["status"], final["reason"]) == ("refused", "asked to")


def test_counters_are_empty_where_the_mac_has_none(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = ["time-info", "metal-gpu-intervals", "metal-gpu-counter-intervals"]
    final = start(spec, tmp_path, monkeypatch, "counters", offers=offers).final
    assert final is not None
    assert final["status"] == "empty"
    assert "recorded no metal-gpu-counter-intervals" in final["reason"]
    cut = start(spec, tmp_path, monkeypatch, "counters", offers=offers, cut=["metal-gpu-counter-intervals"]).final
    assert cut is not None
    assert cut["status"] == "failed"
    assert "the XML is not whole" in cut["reason"]


def test_counters_that_the_chip_refuses(spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = start(spec, tmp_path, monkeypatch, "counters", refuses=57)
    assert result.final is not None
    assert result.final["status"] == "unsupported"
    assert "Selected counter profile is not supported on target device" in result.final["reason"]
    assert "Selected counter profile" in result.log


OPERATIONS = """
------------------------------ MPS Operations Profiling: 1 graphs, 0 kernels ------------------------------
  ID  | #Runs | Mean KRNL(ms) | Mean GPU(ms) | Total GPU(ms) | Operation Name
-----------------------------------------------------------------------------------------------------------
  G1     30        0.020           0.400          12.000       mm:MPS:Half[1,8]
"""


def test_opstats_come_from_what_the_process_printed(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More than a log keeps stands behind the tables.
    monkeypatch.setenv(
        "PHASESCOPE_FAKE_PRINTS", OPERATIONS + "\nThere are no copies logged for profiling\n" + "x\n" * 50_000
    )
    monkeypatch.setenv("MTL_CAPTURE_ENABLED", "1")
    final = start(spec, tmp_path, monkeypatch, "opstats", install=False).final
    assert final is not None
    assert final["status"] == "measured"
    assert final["detail"]["tables"] == {"operations": 1, "fallbacks": None, "copies": 0}
    assert "PYTORCH_MPS_LOG_PROFILE_INFO" in final["detail"]["seen"]
    assert "MTL_CAPTURE_ENABLED" not in final["detail"]["seen"]
    assert b'"total_gpu_ms": 12.0' in (tmp_path / "opstats" / "opstats.json").read_bytes()


@pytest.mark.parametrize(
    ("printed", "status"), [("", "failed"), ("There are no MPS operations logged for profiling", "empty")]
)
def test_opstats_without_tables(
    spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, status: str
) -> None:
    monkeypatch.setenv("PHASESCOPE_FAKE_PRINTS", printed)
    final = start(spec, tmp_path, monkeypatch, "opstats", install=False).final
    assert final is not None
    assert final["status"] == status


def test_gputrace_alone_gets_metal_capture(spec: CaptureSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    final = start(spec, tmp_path, monkeypatch, "gputrace", install=False).final
    assert final is not None
    assert "MTL_CAPTURE_ENABLED" in final["detail"]["seen"]
    assert "PYTORCH_MPS_LOG_PROFILE_INFO" not in final["detail"]["seen"]
    assert final["detail"]["warmup"] == 0
