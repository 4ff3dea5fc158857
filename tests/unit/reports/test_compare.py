"""`phasescope compare` as a person and a program see it: text, JSON, page, exit codes."""

import json
import re

import duckdb
import pytest
from click.testing import CliRunner

from analyze.errors import GateRefused, PhasescopeError, UsageError
from reports.backends import backends
from reports.commands.compare import command
from reports.compare import compare
from reports.comparison import tables
from reports.comparison.page import _axis
from tests.unit.reports.builder import NASTY, Synthetic
from tests.unit.reports.comparing import store

FOREIGN = {"source_kind": "chrome_json", "clean": False, "samples": False, "device": None, "weights": None}
RUNS = (
    Synthetic(run_id="base", repeats=6, seed=1),
    Synthetic(run_id="slow", repeats=6, decode_ms=60.0, prefill_ms=400.0, seed=2),
    Synthetic(run_id="again", repeats=6, seed=3),
    Synthetic(run_id="few", repeats=2, seed=4),
    Synthetic(run_id="gpu", repeats=6, device="cuda", kernels=True, dtype="bfloat16", seed=5),
    Synthetic(run_id="nasty", repeats=5, nasty=True, model=NASTY[0], device="cuda", kernels=True, seed=6),
    Synthetic(run_id="killed", clean=False, traced=False, samples=False),
    Synthetic(run_id="trace1", kernels=True, **FOREIGN),
    Synthetic(run_id="trace2", kernels=True, prefill_ms=300.0, **FOREIGN),
)


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    return store(tmp_path_factory.mktemp("store") / "s.duckdb", *RUNS, tokens={"gpu": "c" * 64})


def run(at, *arguments):
    return CliRunner().invoke(command, ["--store", str(at), *arguments])


def test_text_says_what_differs_before_any_number(at):
    text = compare("base", "slow", store=at).text()
    assert text.index("What differs") < text.index("Clean latencies")
    assert "nothing that is recorded" in text
    assert "= tokens: same (sha256 bbbbbbbbbbbb on both sides)" in text
    assert "comparability: high" in text
    assert re.search(r"decode_p50\s+4\d\.\d\sms\s+\d\d\.\d\sms\s+×\s1\.2\d", text)
    assert "Against A, B's decode step is slower: " in text
    assert "95 % interval over 6 against 6 repeats" in text


def test_the_same_thing_twice_is_the_same(at):
    found = compare("base", "again", store=at).comparison
    assert {c.metric.name: c.judgement.verdict for c in found.latencies}["decode_p50"] in ("same", "not established")
    assert all(change.judgement.beyond is not True for change in found.latencies)


def test_too_few_repeats_give_no_verdict(at):
    found = compare("base", "few", store=at)
    text, why = found.text(), "6 against 2 independent measurements; a verdict needs at least 5 a side"
    assert f"Whether B is faster than A is not established: {why}" in " ".join(text.split())
    assert " ".join(text.split()).count(why) == 1  # not in every row again
    assert re.search(r"decode_p50 .* not established\n", text)
    rows = [row[-1].text for row in tables.latencies(found.comparison).rows]
    assert rows == ["○ not established"] * len(rows)


def test_json_holds_every_number_unrounded(at):
    result = compare("base", "slow", store=at, fail_on=["decode_p50 > 5%"])
    document = json.loads(result.json())
    assert document["schema_version"] == 1
    decode = next(m for m in document["latencies"] if m["metric"] == "decode_p50")
    change = next(c for c in result.comparison.latencies if c.metric.name == "decode_p50")
    assert decode["interval"]["ratio"] == change.interval.value
    assert (decode["a"], decode["b"]) == (change.a, change.b)
    assert decode["verdict"] == "slower"
    assert document["gate"]["outcome"] == "refused"
    assert document["claims_changed"] is None
    assert len(document["steps"]) == 16


def test_other_tokens_are_compared_but_none_is_called_faster(at):
    result = compare("base", "gpu", store=at)
    assert "not the same tokens" in result.text()
    assert "more than one thing was changed" in result.text()
    assert not {"faster", "slower"} & {c.judgement.verdict for c in result.comparison.latencies}


def test_a_busy_machine_explains_itself_and_names_no_operator(at, tmp_path):
    path = store(tmp_path / "s.duckdb", *(Synthetic(run_id=name, repeats=5, layers=4) for name in ("calm", "busy")))
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE phases SET cpu_ns = dur_ns // 3 WHERE run_id = 'busy' AND pass = 'clean'")
    text = compare("calm", "busy", store=path).text()
    assert "the machine was busy with other work while B was measured: in prefill its process had only 33 %" in text
    assert "The largest changes" not in text
    assert "The largest changes" in compare("base", "slow", store=at).text()


def test_foreign_traces_are_compared_as_traces(at):
    result = compare("trace1", "trace2", store=at)
    text = result.text()
    assert "Neither side may be called faster: there are no clean latencies on both sides" in text
    assert "Clean latencies" not in text
    assert "explains, is no latency" in text
    with pytest.raises(GateRefused, match="no data for decode_p50 in A and B"):
        compare("trace1", "trace2", store=at, fail_on=["decode_p50 > 5%"]).raise_if_refused()


def test_exit_codes_of_a_gate(at, tmp_path):
    worse = run(at, "base", "slow", "--fail-on", "decode_p50 > 5%")
    assert isinstance(worse.exception, GateRefused)
    assert "decode_p50 > 5%: decode_p50 +2" in str(worse.exception)
    assert "Gate: refused" in worse.output  # the comparison is printed all the same
    assert run(at, "base", "slow", "--fail-on", "prefill_p50 > 5%").exit_code == 0
    few = run(at, "base", "few", "--fail-on", "decode_p50 > 5%")
    assert few.exit_code == 0
    assert "Gate: not established" in few.output
    killed = run(at, "base", "killed", "--fail-on", "decode_p50 > 5%")
    assert isinstance(killed.exception, GateRefused)
    assert "pass clean is failed (the worker was ended by signal 9)" in str(killed.exception)
    policy = tmp_path / "gate.toml"
    policy.write_text('[gate]\nfail_on = ["decode_p95 > 5%"]\n')
    assert isinstance(run(at, "base", "slow", "--policy", str(policy)).exception, GateRefused)
    assert run(at, "base", "base", "--policy", str(policy)).exit_code == 0


def test_a_wrong_call_writes_nothing(at, tmp_path):
    out = tmp_path / "c.html"
    for arguments in (
        ("base", "slow", "--fail-on", "speed > 5%"),
        ("base", "slow", "--threshold", "much"),
        ("base",),
        ("base", "slow", "few"),
    ):
        assert isinstance(run(at, *arguments, "--out", str(out)).exception, UsageError)
    assert isinstance(run(at, "base", "nothing", "--out", str(out)).exception, PhasescopeError)
    assert not out.exists()
    out.write_text("mine")
    assert isinstance(run(at, "base", "slow", "--out", str(out)).exception, PhasescopeError)
    assert out.read_text() == "mine"
    assert run(at, "base", "slow", "--out", str(out), "--force").exit_code == 0
    assert out.read_text().startswith("<!doctype html>")


def test_json_on_stdout_stays_json_when_a_page_is_written(at, tmp_path):
    result = run(at, "base", "slow", "--format", "json", "--out", str(tmp_path / "c.html"))
    assert json.loads(result.stdout)["a"]["run_ids"] == ["base"]
    assert "Wrote" in result.stderr


def test_sides_by_label_list_prefix_and_store(tmp_path):
    runs = [
        Synthetic(run_id=f"{name}-{i}", repeats=2, traced=False, seed=i) for name in ("old", "new") for i in range(5)
    ]
    path = store(tmp_path / "s.duckdb", *runs, labels={run.run_id: run.run_id[:3] for run in runs})
    by_label = compare("old", "new", store=path).comparison
    assert (by_label.unit.name, by_label.unit.a, by_label.unit.b) == ("run", 5, 5)
    listed = compare("old-1,old-3", "new-2", store=path).comparison
    assert [run.run_id for run in listed.a.runs] == ["old-1", "old-3"]
    with pytest.raises(PhasescopeError, match="several runs begin like that"):
        compare("ol", "new", store=path)
    with pytest.raises(PhasescopeError, match="x: no such run in the store"):
        compare("old-1,x", "new", store=path)
    one = store(tmp_path / "one.duckdb", Synthetic(run_id="alone", repeats=5))
    assert compare(one, one).comparison.a.first.run_id == "alone"
    with pytest.raises(PhasescopeError, match="a store with 10 runs, so it names no one side"):
        compare(path, one)


def test_the_page_says_it_all_and_lets_nothing_in(at, tmp_path):
    out = tmp_path / "c.html"
    compare("base", "nasty", store=at, out=out, fail_on=["decode_p50 > 5%"])
    page = out.read_text()
    assert "onerror=alert(1)>" not in page
    assert "/home/somebody" not in page
    assert "&lt;/script&gt;" in page
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', re.sub(r"(?s)<script.*?</script>", "", page)) == []
    for section in (
        "answer",
        "differs",
        "glance",
        "latencies",
        "claims",
        "budget",
        "steps",
        "memory",
        "host",
        "operators",
    ):
        assert f'<section id="{section}"' in page
    assert "WHERE run_id = &#39;nasty&#39;" in page


def test_backends_side_by_side(at, tmp_path):
    out = backends(["base", "gpu", "trace1"], tmp_path / "b.html", store=at)
    page = out.read_text()
    for text in (
        "Memory topology",
        "Programming path",
        "Copies",
        "What the profiler can see",
        "one: the device is the host",
    ):
        assert text in page
    assert "not known to be the same workload" in page
    assert "cudaLaunchKernel (" in page
    with pytest.raises(UsageError, match="at least two"):
        backends(["base"], tmp_path / "c.html", store=at)
    assert isinstance(run(at, "base", "gpu", "--backends").exception, UsageError)
    assert run(at, "base", "gpu", "--backends", "--out", str(tmp_path / "d.html")).exit_code == 0


def test_the_axis_of_the_steps_gives_each_side_its_own_tokens(at, tmp_path):
    one = compare("base", "slow", store=at).comparison
    assert _axis(one) == "decode step (129 to 143 cached tokens)"
    other = tmp_path / "s.duckdb"
    store(other, Synthetic(run_id="short", prompt_tokens=128), Synthetic(run_id="long", prompt_tokens=256))
    two = compare("short", "long", store=other).comparison
    assert _axis(two) == "decode step (cached tokens: A 129 to 143, B 257 to 271)"
