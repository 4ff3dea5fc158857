import json
import sys
from pathlib import Path

import pytest
from torch.profiler import ProfilerActivity, profile

from capture.devices import device_of
from capture.models import resolve_model
from capture.passes import clean, run_pass
from capture.passes.common import PassContext
from capture.spec import CaptureSpec
from tests.unit.capture.tiny import tiny_model, tokens


@pytest.fixture
def context(tmp_path: Path) -> PassContext:
    spec = CaptureSpec(resolve_model("random:llama-tiny"), new_tokens=3, warmup=2, repeat=2)
    reports: list[tuple[int, int, str]] = []
    made = PassContext(spec, tiny_model(), device_of("cpu"), tokens(1, 5), tmp_path, lambda *args: reports.append(args))
    made.reports = reports  # type: ignore[attr-defined]
    return made


def test_only_repeats_are_written_after_the_warm_ups(context: PassContext):
    shapes = []
    context.model.model.embed_tokens.register_forward_hook(
        lambda module, inputs, output: shapes.append(tuple(inputs[0].shape))
    )
    outcome = clean.run(context)
    assert outcome.status == "measured"
    # Warm-ups run the very same lengths as what is measured.
    assert shapes == [(1, 5), (1, 1), (1, 1)] * 4
    rows = [json.loads(line) for line in (context.folder / "timings.jsonl").read_text().splitlines()]
    assert [(row["repeat"], row["step"]) for row in rows] == [(r, s) for r in (0, 1) for s in (0, 1, 2)]
    assert context.reports == [(0, 4, "warm-up"), (1, 4, "warm-up"), (2, 4, "measured"), (3, 4, "measured")]


def test_refuses_while_a_profiler_is_on(context: PassContext):
    with profile(activities=[ProfilerActivity.CPU]):
        outcome = clean.run(context)
    assert outcome.status == "refused"
    assert "PyTorch's profiler is at work" in outcome.reason
    assert list(context.folder.iterdir()) == []


def test_refuses_under_a_python_profile_function(context: PassContext):
    before = sys.getprofile()
    sys.setprofile(lambda *args: None)
    try:
        outcome = clean.run(context)
    finally:
        sys.setprofile(before)
    assert outcome.status == "refused"
    assert "sys.setprofile is at work" in outcome.reason


def test_a_profiler_switched_on_in_between_spoils_the_pass(context: PassContext):
    profiler = profile(activities=[ProfilerActivity.CPU])
    calls = iter(range(100))

    def hook(module, inputs):
        if next(calls) == 9:
            profiler.start()

    context.model.register_forward_pre_hook(hook)
    try:
        outcome = clean.run(context)
    finally:
        profiler.stop()
    assert (outcome.status, outcome.reason) == (
        "refused",
        "PyTorch's profiler was switched on while the pass ran.",
    )
    assert list(context.folder.iterdir()) == []


def test_there_is_no_other_pass(context: PassContext):
    with pytest.raises(ValueError, match="there is no pass os"):
        run_pass("os", context)
