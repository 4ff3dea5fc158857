"""Gates: what they read, what they refuse, what they leave open."""

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from analyze.compare import compare_sides
from analyze.compare.metrics import METRICS
from analyze.errors import GateRefused, UsageError
from analyze.gate import Policy, evaluate, load_policy, parse_condition, share, side_problems
from tests.unit.analyze.comparing import facts, part, side
from tests.unit.analyze.test_compare import clean


def gate(a, b, *conditions, **policy):
    rules = Policy(fail_on=conditions, **policy)
    return evaluate(compare_sides(a, b, rules.options()), rules)


def outcomes(found):
    return [(finding.condition, finding.outcome) for finding in found.findings]


A = side(clean("a"))


@pytest.mark.parametrize(
    ("text", "metric", "op", "limit", "relative"),
    [
        ("decode_p50 > 5%", "decode_p50", ">", 0.05, True),
        ("tokens_per_second<-3.5%", "tokens_per_second", "<", -0.035, True),
        ("prefill_p50 >= 250ms", "prefill_p50", ">=", 250e6, False),
        ("peak_memory > 2 GiB", "peak_memory", ">", 2 * 2**30, False),
        ("kernels_per_token > 400", "kernels_per_token", ">", 400, False),
        ("verify_p95 > 1%", "verify_p95", ">", 0.01, True),
    ],
)
def test_conditions(text, metric, op, limit, relative):
    found = parse_condition(text)
    assert (found.metric.name, found.op, found.relative) == (metric, op, relative)
    assert found.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("decode_p50", "not a condition"),
        ("decode_p50 = 5%", "not a condition"),
        ("speed > 5%", "speed: no such metric; there are prefill_p50"),
        ("decode_p50 > 5 MiB", "MiB does not fit decode_p50; use % or ns, us, µs, ms, s"),
        ("decode_p50 > 5 parsec", "parsec does not fit decode_p50"),
        ("decode_p50 > 5", "decode_p50 needs a unit; use % or ns, us, µs, ms, s"),
    ],
)
def test_conditions_that_are_not_understood(text, sentence):
    with pytest.raises(UsageError, match=sentence):
        parse_condition(text)


def test_a_regression_outside_noise_is_refused_with_its_number():
    found = gate(A, side(clean("b", 1.2)), "decode_p50 > 5%")
    assert outcomes(found) == [("decode_p50 > 5%", "refused")]
    assert found.findings[0].reason.startswith("decode_p50 +20.0 % (95 % interval +")
    with pytest.raises(GateRefused, match=r"the gate says no: decode_p50 > 5%: decode_p50 \+20.0 %"):
        found.raise_if_refused()
    assert GateRefused.exit_code == 3


def test_an_improvement_passes_and_a_small_regression_too():
    assert gate(A, side(clean("b", 0.8)), "decode_p50 > 5%").outcome == "passed"
    assert gate(A, side(clean("b", 1.01)), "decode_p50 > 5%").outcome == "passed"
    gate(A, side(clean("b", 0.8)), "decode_p50 > 5%").raise_if_refused()


def test_noise_leaves_it_open_and_a_policy_may_refuse_that():
    wild = [[10.0], [14.0], [9.0], [13.0], [10.5]]
    b = side(facts("b", prefill_ms=[100] * 5, decode_ms=wild))
    a = side(facts("a", prefill_ms=[100] * 5, decode_ms=[[9.0], [12.0], [10.0], [11.0], [13.0]]))
    found = gate(a, b, "decode_p50 > 5%")
    assert found.outcome == "not established"
    assert "noise hides whether it is so" in found.findings[0].reason
    found.raise_if_refused()
    with pytest.raises(GateRefused):
        gate(a, b, "decode_p50 > 5%", not_established="fail").raise_if_refused()


def test_too_few_repeats_leave_it_open():
    few = facts("b", prefill_ms=[500] * 3, decode_ms=[[90.0]] * 3)
    found = gate(A, side(few), "decode_p50 > 5%")
    assert outcomes(found) == [("decode_p50 > 5%", "not established")]
    assert "independent measurements; a verdict needs at least 5 a side" in found.findings[0].reason


def test_an_empty_capture_never_passes():
    empty = facts("b", prefill_ms=[], decode_ms=[], tokens=None)
    for found in (
        gate(A, side(empty), "decode_p50 > 5%"),
        gate(side(empty), A, "decode_p50 > 5%"),
        gate(A, side(empty)),
    ):
        assert found.outcome == "refused"
        with pytest.raises(GateRefused, match="holds no timing"):
            found.raise_if_refused()
    assert ("decode_p50 > 5%", "refused") in outcomes(gate(A, side(empty), "decode_p50 > 5%"))


@pytest.mark.parametrize("status", ["failed", "refused", "empty", "not_attempted"])
def test_a_pass_that_did_not_come_to_its_end_refuses(status):
    b = clean("b", 0.5)
    b.rows["passes"].append({"pass": "profiled", "status": status, "reason": "killed"})
    found = gate(A, side(b), "decode_p50 > 5%")
    assert found.refused[0].reason == f"pass profiled is {status} (killed)"


def test_a_pass_that_the_machine_cannot_do_refuses_nothing():
    b = clean("b")
    b.rows["passes"].append({"pass": "metal", "status": "unsupported", "reason": "only on macOS"})
    assert gate(A, side(b), "decode_p50 > 5%").outcome == "passed"


def test_too_much_left_out_refuses():
    assert side_problems(side(clean("b", raw_events=1000, excluded_events=10))) == []
    assert side_problems(side(clean("b", raw_events=1000, excluded_events=11))) == [
        "11 of 1000 events were left out at loading, over 1.00%"
    ]


def test_other_tokens_and_another_workload_refuse_unless_the_policy_lets_them():
    other = side(clean("b", 0.5, tokens="other"))
    assert outcomes(gate(A, other, "decode_p50 > 5%"))[0] == ("same tokens", "refused")
    assert gate(A, other, "decode_p50 > 5%", same_tokens=False).outcome == "passed"
    longer = side(clean("b", 0.5, new_tokens=9))
    assert outcomes(gate(A, longer, "decode_p50 > 5%"))[0] == ("same workload", "refused")
    assert gate(A, longer, "decode_p50 > 5%", same_workload=False).outcome == "passed"


def test_unknown_tokens_and_a_busy_machine_leave_latencies_open():
    unknown = gate(A, side(clean("b", 2, tokens=None)), "decode_p50 > 5%")
    assert outcomes(unknown) == [("decode_p50 > 5%", "not established")]
    busy = gate(side(clean("a", device="cpu")), side(clean("b", 2, device="cpu", cpu_percent=30)), "decode_p50 > 5%")
    assert busy.outcome == "not established"
    assert "busy with other work" in busy.findings[0].reason


def test_counts_are_judged_exactly():
    def run(name, kernels):
        return side(clean(name, rows={"parts": [part("decode", 3, tokens=3, kernels_sum=kernels)]}))

    assert gate(run("a", 300), run("b", 300), "kernels_per_token > 0%").outcome == "passed"
    more = gate(
        run("a", 300), run("b", 303), "kernels_per_token > 0%", "kernels_per_token > 101", "kernels_per_token >= 101"
    )
    assert [outcome for _, outcome in outcomes(more)] == ["refused", "passed", "refused"]
    assert more.findings[0].reason == "kernels_per_token +1.0 % exactly"
    assert gate(run("a", 0), run("b", 0), "kernels_per_token > 0%").outcome == "passed"
    assert gate(run("a", 0), run("b", 3), "kernels_per_token > 0%").outcome == "refused"


def test_a_limit_on_the_value_of_b_itself():
    b = side(clean("b"))
    assert gate(A, b, "decode_p50 > 20 ms").outcome == "passed"
    assert gate(A, b, "decode_p50 > 9 ms").outcome == "refused"
    assert gate(A, b, "decode_p50 > 10.1 ms").outcome == "not established"


def test_a_policy_may_ask_for_comparability():
    b = side(clean("b", os="another"))
    assert gate(A, b, "decode_p50 > 5%").outcome == "passed"
    found = gate(A, b, "decode_p50 > 5%", comparability="high")
    assert found.refused[0].reason == "it is medium: other machine: system"


def test_a_policy_file(tmp_path):
    path = tmp_path / "gate.toml"
    path.write_text(
        '[gate]\nfail_on = ["decode_p50 > 5%"]\nthreshold = "3%"\nmin_repeats = 8\nnot_established = "fail"\n'
        'same_tokens = false\ncomparability = "medium"\nmax_excluded = 0.02\nconfidence = 0.99\n'
    )
    found = load_policy(path)
    assert found == Policy(("decode_p50 > 5%",), 0.03, 0.99, 8, "fail", False, True, "medium", 0.02)
    assert found.options().min_units == 8


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a policy has one table"),
        ("[gates]\n", "a policy has one table"),
        ("[gate]\nfailon = []\n", "failon is no setting of a policy; there are fail_on"),
        ('[gate]\nfail_on = "decode_p50 > 5%"\n', "fail_on is a list"),
        ('[gate]\nfail_on = ["speed > 5%"]\n', "speed: no such metric"),
        ("[gate]\nmin_repeats = 2\n", "min_repeats is a whole number of at least 5"),
        ("[gate]\nthreshold = -1\n", "threshold is '-1'; it must lie between"),
        ("[gate]\nconfidence = 95\n", "confidence is a number"),
        ('[gate]\nnot_established = "warn"\n', "not_established is one of pass, fail"),
        ("[gate]\nsame_tokens = 1\n", "same_tokens is true or false"),
        ("[gate\n", "is no TOML"),
    ],
)
def test_policy_files_that_are_not_understood_name_the_file(tmp_path, text, sentence):
    path = tmp_path / "gate.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=sentence) as error:
        load_policy(path)
    assert str(error.value).startswith(str(path))


def test_a_policy_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"cannot be read \(No such file"):
        load_policy(tmp_path / "none.toml")


def test_metrics_and_settings_are_documented(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "gating.md").read_text()
    counted = {"operators_per_step", "launches_per_step", "kernels_per_step"}  # documented as `_per_step`
    assert [name for name in METRICS if f"`{name}`" not in text and name not in counted] == []
    assert [field.name for field in fields(Policy) if f"\n{field.name} = " not in text] == []
    policy = re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1]
    default = replace(Policy(), fail_on=tuple(tomllib.loads(policy)["gate"]["fail_on"]))
    path = tmp_path / "gate.toml"
    path.write_text(policy)
    assert load_policy(path) == default


def test_shares():
    assert share("5%", "x") == 0.05
    assert share(0.05, "x") == 0.05
    with pytest.raises(UsageError, match="x is 'much'; write a share"):
        share("much", "x")
