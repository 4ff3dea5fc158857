"""A fair pair: whose turn it is, whose settings, which passes."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from analyze.statistics import MIN_UNITS
from capture import against
from capture.against import baseline_options, capture_against
from capture.bundle import BundleWriter, Manifest, Model, Workload
from capture.commands.capture import command
from capture.errors import PhasescopeError, UsageError


def workload(**changes) -> Workload:
    values = {
        "device": "cpu", "dtype": "float32", "attention": "sdpa", "cache": "DynamicCache", "logits": "last",
        "batch_size": 2, "prompt_tokens": 16, "new_tokens": 4, "warmup": 1, "repeat": 7, "seed": 3,
    }  # fmt: skip
    return Workload(**{**values, **changes})


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    model = Model("sliding-tiny (layers=2)", "random", "random")
    BundleWriter.create(tmp_path / "old", Manifest("r", "old", 1, "0", model, workload()))
    return tmp_path / "old"


@pytest.fixture
def calls(monkeypatch) -> list[tuple[Path, dict]]:
    made: list[tuple[Path, dict]] = []

    def capture(model, out, **options):
        made.append((out, {**options, "model": model}))
        return SimpleNamespace(problems=["pass profiled is failed: x"] if "profiled" in options["passes"] else [])

    monkeypatch.setattr(against, "capture", capture)
    return made


def test_sides_take_turns_and_profile_last(baseline, calls, tmp_path):
    out = tmp_path / "pair"
    result = capture_against("random:sliding-tiny", baseline, out, turns=2, label="new", attention="eager", repeat=9)
    assert [path.relative_to(out).as_posix() for path, _ in calls] == [
        "baseline/01", "candidate/02", "candidate/03", "baseline/04",
        "baseline/05", "candidate/06", "candidate/07", "baseline/08",
    ]  # fmt: skip
    assert [options["passes"] for _, options in calls] == [["clean"]] * 6 + [["clean", "profiled"]] * 2
    first, second = calls[0][1], calls[1][1]
    assert (first["attention"], second["attention"]) == ("sdpa", "eager")
    assert (first["repeat"], second["repeat"]) == (7, 9)
    assert (first["label"], second["label"]) == ("old", "new")
    for name, value in {"layers": 2, "cache": "dynamic", "logits": "last", "seed": 3, "prompt_tokens": 16}.items():
        assert first[name] == second[name] == value
    assert result.problems == [
        "candidate, run 7: pass profiled is failed: x",
        "baseline, run 8: pass profiled is failed: x",
    ]


def test_how_to_look_is_the_same_on_both_sides(baseline, calls, tmp_path):
    capture_against("random:sliding-tiny", baseline, tmp_path / "pair", turns=1, with_stack=True, prompt="hello")
    assert all(options["with_stack"] and options["prompt"] == "hello" for _, options in calls)


def test_the_command_changes_only_what_it_names(baseline, calls, tmp_path):
    arguments = ["random:sliding-tiny", "--against", str(baseline), "--turns", "1", "--dtype", "bfloat16"]
    done = CliRunner().invoke(command, [*arguments, "--passes", "clean", "--out", str(tmp_path / "pair")])
    assert done.exit_code == 0, done.output
    assert [options["dtype"] for _, options in calls] == ["float32", "bfloat16", "bfloat16", "float32"]
    assert {options["prompt_tokens"] for _, options in calls} == {16}
    zipped = CliRunner().invoke(command, [*arguments, "--zip", "--out", str(tmp_path / "other")])
    assert isinstance(zipped.exception, UsageError)


def test_sides_of_one_label_are_told_apart(baseline, calls, tmp_path):
    capture_against("random:sliding-tiny", baseline, tmp_path / "pair", turns=1, label="old")
    assert [options["label"] for _, options in calls[:2]] == ["old (baseline)", "old"]


def test_a_baseline_of_another_model_is_refused(baseline, calls, tmp_path):
    with pytest.raises(UsageError, match="a capture of sliding-tiny, not of smollm2-135m"):
        capture_against("random:smollm2-135m", baseline, tmp_path / "pair")
    with pytest.raises(UsageError, match="at least 1"):
        capture_against("random:sliding-tiny", baseline, tmp_path / "pair", turns=0)
    assert calls == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"prompt_tokens": 32, "dtype": "bfloat16"}, "other work than the baseline (--prompt-tokens 32, baseline: 16)"),
        ({"seed": 4}, "(--seed 4, baseline: 3)"),
        ({"batch_size": 1, "layers": 3}, "(--batch-size 1, baseline: 2; --layers 3, baseline: 2)"),
        ({"passes": ["profiled"]}, "name clean in --passes"),
    ],
)
def test_a_pair_that_nobody_could_judge_is_refused(baseline, calls, tmp_path, options, named):
    with pytest.raises(UsageError) as refused:
        capture_against("random:sliding-tiny", baseline, tmp_path / "pair", **options)
    assert named in str(refused.value)
    assert calls == []
    assert not (tmp_path / "pair").exists()


def test_the_same_work_named_again_is_no_other_work(baseline, calls, tmp_path):
    capture_against("random:sliding-tiny", baseline, tmp_path / "pair", prompt_tokens=16, layers=2, repeat=9)
    assert len(calls) == 12


def test_too_few_turns_are_warned_of_before_they_are_taken(baseline, calls, tmp_path):
    assert against.LEAST_RUNS == MIN_UNITS
    arguments = ["random:sliding-tiny", "--against", str(baseline), "--passes", "clean"]
    few = CliRunner().invoke(command, [*arguments, "--turns", "2", "--out", str(tmp_path / "few")])
    assert few.exit_code == 0
    assert few.stderr.startswith("warning: --turns 2 makes 4 runs a side, and `phasescope compare` gives no verdict")
    assert "--turns 3 is enough" in few.stderr
    enough = CliRunner().invoke(command, [*arguments, "--out", str(tmp_path / "enough")])
    assert "warning" not in enough.stderr


def test_nothing_of_another_kind_is_replaced(baseline, calls, tmp_path):
    out = tmp_path / "pair"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(PhasescopeError, match="Will not overwrite"):
        capture_against("random:sliding-tiny", baseline, out)
    with pytest.raises(PhasescopeError, match="not a pair of captures"):
        capture_against("random:sliding-tiny", baseline, out, force=True)
    assert (out / "thesis.txt").read_text() == "mine"


def test_caches_by_the_class_that_was_seen():
    assert baseline_options("random:sliding-tiny", "sliding-tiny", workload(cache="StaticCache"))["cache"] == "static"
    with pytest.raises(UsageError, match="does not tell which backend"):
        baseline_options("random:sliding-tiny", "sliding-tiny", workload(cache="QuantizedCache"))
