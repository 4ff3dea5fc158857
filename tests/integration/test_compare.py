"""Comparing what was really recorded: the same model on two vendors' GPUs, and captures of this machine."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from analyze.errors import GateRefused
from analyze.gate import Policy, evaluate
from analyze.load import load
from capture.against import capture_against
from capture.bundle import BundleWriter, Manifest, Model, Workload
from reports.compare import compare
from tests.shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def gpus(tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "gpus.html"
    folder = SHARED / "traces" / "kineto"
    result = compare(folder / "h100-qwen1.5-0.5b.json.gz", folder / "mi300-qwen1.5-0.5b.json.gz", out=out)
    return result, out.read_text(encoding="utf-8")


@needs_shared
def test_two_gpus_on_the_same_workload(gpus):
    """Against TRUTH: device time by operator sums to what the launches of the step own; no vendor's name is needed."""
    result, page = gpus
    found = result.comparison
    assert found.workload.verdict == "same"
    assert "all 168 matrix products with weights have the same shapes" in found.workload.reason
    assert found.latencies == ()
    assert found.comparability.level == "low"
    assert "30 % of A's and 31 % of B's device time has no launch in the trace" in " ".join(found.comparability.reasons)
    assert ("machine", "device") in {(d.kind, d.what) for d in found.differences}
    device = {(c.phase, c.name): c for c in found.device_operators}
    products = device["unknown", "aten::mm"]
    assert (products.calls_a, products.calls_b) == (96, 96)
    assert (products.ns_a, products.ns_b) == (6_588_415, 8_663_617)
    truth = [json.loads(line) for line in (SHARED / "traces/kineto/truth.jsonl").read_text().splitlines()]
    union = {each["file"]: each["device_union_ns"] for each in truth}
    busy = next(v for v in found.values if v.name.startswith("busy in the whole pass"))
    assert busy.a == union["h100-qwen1.5-0.5b.json.gz"]
    assert busy.b == union["mi300-qwen1.5-0.5b.json.gz"]
    text = result.text()
    assert "Neither side may be called faster" in text
    assert "DeviceSynchronize" in {c.name for c in found.operators if c.state == "both"}
    assert "moca" not in page  # names of hosts and users are in the traces' metadata
    assert "moca" not in text


@needs_shared
def test_a_gate_on_latencies_refuses_traces(gpus):
    gate = evaluate(gpus[0].comparison, Policy(fail_on=("decode_p50 > 5%",)))
    with pytest.raises(GateRefused, match="no data for decode_p50 in A and B"):
        gate.raise_if_refused()


@dataclass(frozen=True)
class Pair:
    """A pair that was captured in turns, and a store with the last run of each side, which has both passes."""

    folder: Path
    store: Path
    said: list[tuple[int, str]]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    size = {"prompt_tokens": 12, "new_tokens": 4, "warmup": 1, "repeat": 5, "batch_size": 1, "logits": "all", "seed": 0}
    settings = Workload(device="cpu", dtype="float32", attention="eager", cache="DynamicCache", **size)
    model = Model("qwen2.5-1.5b-kv", "random", "random")
    BundleWriter.create(folder / "old", Manifest("old", "eager", 1, "0", model, settings))
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        result = capture_against(
            "random:qwen2.5-1.5b-kv", folder / "old", folder / "pair", turns=1, label="sdpa", attention="sdpa",
            on_progress=lambda progress: said.append((progress.number, progress.side)),
        )  # fmt: skip
    assert result.problems == []
    store = folder / "s.duckdb"
    assert load([folder / "pair/baseline/04", folder / "pair/candidate/03"], store).failed == []
    return Pair(folder / "pair", store, list(dict.fromkeys(said)))


def test_eager_against_sdpa(pair):
    conditions = ["kv_bytes_per_token > 0%", "operators_per_token > 0%"]
    result = compare("eager", "sdpa", store=pair.store, fail_on=conditions)
    found = result.comparison
    assert [(d.kind, d.what, d.a, d.b) for d in found.differences] == [("configuration", "attention", "eager", "sdpa")]
    assert (found.workload.verdict, found.tokens.verdict) == ("same", "same")
    assert (found.unit.name, found.unit.a, found.unit.b) == ("repeat", 5, 5)
    assert all(change.interval.low is not None for change in found.latencies)
    states = {(c.phase, c.name): c.state for c in found.operators}
    assert states["decode", "aten::bmm"] == "vanished"
    assert states["decode", "aten::_scaled_dot_product_flash_attention_for_cpu"] == "appeared"
    counts = {c.metric.name: c for c in found.counts}
    assert counts["kv_bytes_per_token"].judgement.verdict == "same"
    assert counts["kv_bytes_per_token"].a == 28 * 2 * 2 * 128 * 4  # layers, K and V, heads, head size, float32
    assert counts["operators_per_token"].judgement.verdict == "lower"
    assert result.gate.outcome == "passed"


def test_the_command_exits_3_and_says_why(pair):
    arguments = ["sdpa", "eager", "--store", pair.store, "--fail-on", "operators_per_token > 5%", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "phasescope", "compare", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("phasescope: the gate says no: operators_per_token > 5%")
    assert json.loads(done.stdout)["gate"]["outcome"] == "refused"


def test_a_pair_takes_turns_and_its_runs_are_the_measurements(pair):
    assert pair.said == [(1, "baseline"), (2, "candidate"), (3, "candidate"), (4, "baseline")]
    found = compare(pair.folder / "baseline", pair.folder / "candidate").comparison
    assert (found.unit.name, found.unit.a, found.unit.b) == ("run", 2, 2)
    assert (found.workload.verdict, found.tokens.verdict) == ("same", "same")
    assert {change.judgement.verdict for change in found.latencies} == {"not established"}
    assert found.a.first.traced_pass == "profiled"
