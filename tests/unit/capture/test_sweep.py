"""The sweep's grid, resume, failures and estimate. Captures are replaced by one that writes an empty real bundle."""

import inspect
import json
from pathlib import Path

import pytest

from capture import sweep as sweep_module
from capture.bundle import BundleWriter, Manifest, Model, PassRecord, Workload
from capture.commands.sweep import command
from capture.errors import PhasescopeError, UsageError
from capture.grid import Grid, Point
from capture.run import CaptureResult, capture
from capture.sweep import sweep
from capture.sweep_folder import PointResult, is_complete, locked

MODEL = "random:llama-tiny"
GRID = Grid(prompt_tokens=(8, 16), new_tokens=(4,), batch_size=(1, 2), dtype=("float32",))


class Captures:
    """Stands in for `capture`: notes each call and writes a bundle whose passes are measured."""

    def __init__(self) -> None:
        self.calls: list[dict] = []
        self.fail: dict[str, Exception] = {}
        self.unmeasured: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        return [Path(call["out"]).name for call in self.calls]

    def __call__(self, model: str, out: Path, **options: object) -> CaptureResult:
        self.calls.append({"model": model, "out": out, **options})
        name = Path(out).name
        if name in self.fail:
            raise self.fail[name]
        words = ("dtype", "attention", "cache", "batch_size", "prompt_tokens", "new_tokens")
        workload = Workload(device="cpu", logits="all", warmup=0, repeat=1, seed=0, **{w: options[w] for w in words})
        manifest = Manifest(name, None, 1, "0", Model("llama-tiny", "random", "random"), workload)
        writer = BundleWriter.create(Path(out), manifest, force=bool(options["force"]))
        problems = []
        for pass_ in ("clean", "profiled"):
            (writer.folder / pass_).mkdir()
            (writer.folder / pass_ / "timings.jsonl").write_text("")
            record = PassRecord(pass_, "measured", None)
            if pass_ == "profiled" and name in self.unmeasured:
                record = PassRecord(pass_, self.unmeasured[name], "no such thing here")
                problems.append(f"pass profiled is {record.status}: {record.reason}")
            writer.record(record)
        return CaptureResult(Path(out), writer.manifest, problems)


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> Captures:
    made = Captures()
    monkeypatch.setattr(sweep_module, "capture", made)
    return made


def test_points_are_the_product_with_lengths_innermost():
    names = [point.name for point in GRID.points()]
    assert names == [
        "p8-n4-b1-float32-auto-dynamic",
        "p16-n4-b1-float32-auto-dynamic",
        "p8-n4-b2-float32-auto-dynamic",
        "p16-n4-b2-float32-auto-dynamic",
    ]


def test_a_slash_in_an_attention_name_stays_out_of_the_file_name():
    assert Point(1, 1, 1, "auto", "kernels/flash", "dynamic").name == "p1-n1-b1-auto-kernels_flash-dynamic"


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (Grid(prompt_tokens=()), "--prompt-tokens has no value"),
        (Grid(batch_size=(2, 2)), "--batch-size names a value twice: 2, 2"),
        (Grid(attention=("a/b", "a_b")), "look the same"),
        (Grid(prompt_tokens=(8, 0)), "--prompt-tokens must be at least 1, not 0"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_is_captured(tmp_path, captures, grid, words):
    with pytest.raises(UsageError, match=words):
        sweep(MODEL, tmp_path / "out", grid=grid)
    assert captures.calls == []
    assert not (tmp_path / "out").exists()


def test_every_point_is_captured_and_described(tmp_path, captures):
    result = sweep(MODEL, tmp_path / "out", grid=GRID, label="lengths", repeat=2)
    assert [each.outcome for each in result.points] == ["complete"] * 4
    assert result.problems == []
    assert captures.calls[1]["prompt_tokens"] == 16
    assert captures.calls[1]["repeat"] == 2
    assert captures.calls[1]["label"] == "lengths p16-n4-b1-float32-auto-dynamic"
    described = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert described["model"] == {"name": "llama-tiny", "weights": "random", "source": "random"}
    assert described["axes"]["prompt_tokens"] == [8, 16]
    assert described["options"] == {"repeat": 2}
    assert [(p["bundle"], p["outcome"]) for p in described["points"]] == [
        (each.point.name, "complete") for each in result.points
    ]


def test_a_failed_point_is_named_and_does_not_stop_the_others(tmp_path, captures):
    captures.fail["p8-n4-b2-float32-auto-dynamic"] = PhasescopeError("The device has no room for it.")
    result = sweep(MODEL, tmp_path / "out", grid=GRID)
    assert [each.outcome for each in result.points] == ["complete", "complete", "failed", "complete"]
    assert result.problems == ["p8-n4-b2-float32-auto-dynamic: The device has no room for it."]
    described = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert described["points"][2]["reason"] == "The device has no room for it."


def test_resume_repeats_only_what_is_not_complete(tmp_path, captures):
    out = tmp_path / "out"
    captures.fail["p8-n4-b2-float32-auto-dynamic"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        sweep(MODEL, out, grid=GRID)
    captures.calls.clear()
    captures.fail.clear()
    (out / ".p8-n4-b2-float32-auto-dynamic.77.partial").mkdir()
    result = sweep(MODEL, out, grid=GRID)
    assert captures.names == ["p8-n4-b2-float32-auto-dynamic", "p16-n4-b2-float32-auto-dynamic"]
    assert [each.resumed for each in result.points] == [True, True, False, False]
    assert not list(out.glob("*.partial"))
    assert not list(out.glob(".*.partial"))


def test_a_bundle_that_lost_or_changed_a_file_is_captured_anew(tmp_path, captures):
    out = tmp_path / "out"
    sweep(MODEL, out, grid=GRID)
    captures.calls.clear()
    (out / "p8-n4-b1-float32-auto-dynamic/clean/timings.jsonl").unlink()
    (out / "p16-n4-b1-float32-auto-dynamic/clean/timings.jsonl").write_text("changed")
    (out / "p8-n4-b2-float32-auto-dynamic/manifest.json").write_text("{")
    result = sweep(MODEL, out, grid=GRID)
    assert captures.names == [each.point.name for each in result.points[:3]]
    assert [each.outcome for each in result.points] == ["complete", "complete", "failed", "complete"]
    assert "it is not a bundle" in str(result.points[2].reason)


def test_a_pass_that_this_machine_cannot_do_is_not_tried_again(tmp_path, captures):
    grid = Grid(prompt_tokens=(8,), new_tokens=(2,))
    captures.unmeasured[grid.points()[0].name] = "unsupported"
    first = sweep(MODEL, tmp_path / "out", grid=grid)
    assert first.problems == [f"{grid.points()[0].name}: pass profiled is unsupported: no such thing here"]
    sweep(MODEL, tmp_path / "out", grid=grid)
    assert len(captures.calls) == 1


def test_a_failed_pass_is_tried_again(tmp_path, captures):
    grid = Grid(prompt_tokens=(8,), new_tokens=(2,))
    captures.unmeasured[grid.points()[0].name] = "failed"
    sweep(MODEL, tmp_path / "out", grid=grid)
    captures.unmeasured.clear()
    assert sweep(MODEL, tmp_path / "out", grid=grid).problems == []
    assert len(captures.calls) == 2


def test_the_grid_may_grow_and_keeps_the_points_it_had(tmp_path, captures):
    out = tmp_path / "out"
    sweep(MODEL, out, grid=GRID)
    captures.calls.clear()
    sweep(MODEL, out, grid=Grid(prompt_tokens=(16, 32), new_tokens=(4,), dtype=("float32",)))
    assert captures.names == ["p32-n4-b1-float32-auto-dynamic"]
    names = [each["name"] for each in json.loads((out / "sweep.json").read_text())["points"]]
    assert len(names) == len(set(names)) == 5


def test_other_options_are_refused_unless_forced(tmp_path, captures):
    out = tmp_path / "out"
    sweep(MODEL, out, grid=GRID, repeat=2)
    with pytest.raises(PhasescopeError, match="another repeat; give another --out, or --force"):
        sweep(MODEL, out, grid=GRID, repeat=3)
    with pytest.raises(PhasescopeError, match="another model"):
        sweep("random:sliding-tiny", out, grid=GRID, repeat=2)
    sweep(MODEL, out, grid=GRID, repeat=2, timeout_s=5.0)
    captures.calls.clear()
    sweep(MODEL, out, grid=GRID, repeat=3, force=True)
    assert len(captures.calls) == 4


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path, captures):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(PhasescopeError, match=r"it holds letter\.txt and no sweep"):
        sweep(MODEL, tmp_path, grid=GRID)
    assert captures.calls == []


def test_two_sweeps_into_one_folder_are_refused(tmp_path, captures):
    with locked(tmp_path), pytest.raises(PhasescopeError, match="Another sweep is writing"):
        sweep(MODEL, tmp_path, grid=GRID)


def test_a_bundle_of_another_workload_under_the_name_is_not_complete(tmp_path, captures):
    sweep(MODEL, tmp_path, grid=GRID)
    first, second = (GRID.points()[i] for i in (0, 1))
    assert is_complete(PointResult(first, tmp_path / first.name), ("clean",))
    assert not is_complete(PointResult(first, tmp_path / second.name), ("clean",))
    assert not is_complete(PointResult(first, tmp_path / first.name), ("clean", "memory"))


def test_the_estimate_spans_equal_and_proportional_cost(tmp_path, captures, monkeypatch):
    now = iter(range(0, 1000, 10))
    monkeypatch.setattr(sweep_module.time, "monotonic", lambda: float(next(now)))
    seen = []
    grid = Grid(prompt_tokens=(8, 20, 44), new_tokens=(4,))
    sweep(MODEL, tmp_path, grid=grid, on_progress=seen.append)
    # 10 s for 12 tokens; 24 and 48 tokens are left: 2 points at 10 s, or 72 tokens at 10/12 s.
    assert seen[0].remaining_s == (20.0, pytest.approx(60.0))
    # 20 s for 36 tokens; 48 are left.
    assert seen[1].remaining_s == (10.0, pytest.approx(48 * 20 / 36))
    assert seen[2].remaining_s == (0.0, 0.0)


def test_every_option_of_the_command_is_one_of_sweep_or_capture():
    takes = {*inspect.signature(capture).parameters, *inspect.signature(sweep).parameters, *Grid().axes()}
    options = {parameter.name for parameter in command.params}
    assert options - takes == set()
    # and but for what the grid replaces, of capture's none is missing
    missing = set(inspect.signature(capture).parameters) - options - {"prompt", "on_progress"}
    assert missing == set()


def test_no_folder_of_this_machine_is_written(tmp_path, captures):
    grid = Grid(prompt_tokens=(8,), new_tokens=(2,))
    sweep(MODEL, tmp_path / "out", grid=grid, counters_template="/somewhere/mine.tracetemplate")
    assert captures.calls[0]["counters_template"] == "/somewhere/mine.tracetemplate"
    assert "somewhere" not in (tmp_path / "out" / "sweep.json").read_text()


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path, captures):
    (tmp_path / "file").write_text("")
    with pytest.raises(PhasescopeError, match="Could not write into"):
        sweep(MODEL, tmp_path / "file" / "out", grid=GRID)
