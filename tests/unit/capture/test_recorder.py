import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from capture.devices import DeviceMemory, NullDevice
from capture.recorder import Recorder

ROOT = Path(__file__).resolve().parents[3]


class Loud(NullDevice):
    def __init__(self):
        self.log = []

    def synchronize(self):
        self.log.append("synchronize")

    def memory(self):
        self.log.append("memory")
        return DeviceMemory(11, 22, 33, 44)


def test_steps_count_by_themselves_and_begin_anew_at_prefill():
    recorder = Recorder("cpu")
    for repeat in range(2):
        recorder.repeat = repeat
        for name in ("prefill", "decode", "decode"):
            with recorder.phase(name):
                pass
    assert [(each.repeat, each.phase, each.step) for each in recorder.timings] == [
        (0, "prefill", 0),
        (0, "decode", 1),
        (0, "decode", 2),
        (1, "prefill", 0),
        (1, "decode", 1),
        (1, "decode", 2),
    ]


def test_the_device_is_waited_for_at_both_ends_and_samples_stay_outside():
    device = Loud()
    recorder = Recorder(device, samples=True)
    with recorder.phase("prefill") as phase:
        device.log.append("body")
        phase.cache = torch.zeros(6)
    assert device.log == ["memory", "synchronize", "body", "synchronize", "memory"]
    before, after = recorder.samples
    assert (before.phase, before.kv_cache_bytes, before.process_cpu_percent) == ("before_prefill", 0, None)
    assert (after.phase, after.step, after.kv_cache_bytes) == ("after_prefill", 0, 24)
    assert (after.tensor_bytes, after.driver_bytes) == (11, 22)
    assert (after.recommended_max_bytes, after.peak_bytes) == (33, 44)
    assert after.process_cpu_percent is not None
    timing = recorder.timings[0]
    assert before.t_ns <= timing.start_ns
    assert timing.start_ns + timing.dur_ns <= after.t_ns


def test_a_phase_that_fails_leaves_no_timing_and_its_own_error():
    device = Loud()
    recorder = Recorder(device, samples=True)
    with pytest.raises(ZeroDivisionError), recorder.phase("decode"):
        raise ZeroDivisionError
    assert recorder.timings == []
    assert recorder.samples == []
    assert device.log == ["synchronize", "synchronize"]


def test_cpu_time_of_a_busy_and_of_a_sleeping_phase():
    import time

    recorder = Recorder("cpu")
    with recorder.phase("busy"):
        end = time.process_time() + 0.03
        while time.process_time() < end:
            pass
    with recorder.phase("asleep"):
        time.sleep(0.05)
    busy, asleep = recorder.timings
    assert busy.cpu_ns >= 30e6
    assert asleep.cpu_ns < asleep.dur_ns / 2


def test_ranges_reach_the_profilers_trace():
    recorder = Recorder("cpu", ranges=True)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for name in ("prefill", "decode", "decode", "sampling"):
            with recorder.phase(name):
                torch.ones(2).add(1)
    names = [event.name for event in profiler.events() if event.is_user_annotation]
    assert sorted(names) == ["inference.decode_step"] * 2 + ["inference.prefill", "sampling"]


def test_without_ranges_no_profiler_module_is_imported_by_the_recorder():
    code = (
        "import sys, torch; before = set(sys.modules)\n"
        "from capture.recorder import Recorder\n"
        "Recorder('cpu').phase('prefill').__enter__().__exit__(None, None, None)\n"
        "sys.exit(any('profiler' in name for name in set(sys.modules) - before))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_the_documented_example_runs(capsys):
    text = (ROOT / "docs/recorder.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(example, names)
    printed = capsys.readouterr().out.split()
    recorder = names["recorder"]
    assert [(each.phase, each.step) for each in recorder.timings] == [
        ("prefill", 0),
        ("decode", 1),
        ("decode", 2),
        ("decode", 3),
    ]
    token_bytes = 2 * 2 * 4 * 16 * 4  # layers, keys and values, heads, head size, float32
    assert [each.kv_cache_bytes for each in recorder.samples] == [0] + [
        count * token_bytes for count in (16, 17, 18, 19)
    ]
    assert printed[0] == "prefill"
    assert str(19 * token_bytes) in printed
