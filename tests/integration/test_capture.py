"""The whole capture with tiny models: real processes, real profiler, real kills."""

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from capture.bundle import is_bundle, open_bundle
from capture.commands.capture import command
from capture.errors import PhasescopeError, UsageError
from capture.run import capture

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"prompt_tokens": 9, "new_tokens": 4, "warmup": 1, "repeat": 2, "device": "cpu"}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def trace_of(bundle):
    with bundle.open("profiled/trace.json.gz") as stream:
        return json.loads(gzip.decompress(stream.read()))


def test_both_passes_by_the_command(tmp_path: Path):
    arguments = "random:sliding-tiny --prompt-tokens 28 --new-tokens 8 --batch-size 2 --warmup 1 --repeat 2"
    done = CliRunner().invoke(
        command, [*arguments.split(), "--with-stack", "--label", "mine", "--out", str(tmp_path / "b"), "--zip"]
    )
    assert done.exit_code == 0, done.output
    assert done.stdout == f"Wrote {tmp_path}/b.zip\n"
    # Plain lines where there is no terminal, and nothing of what the profiler and the loaders print.
    assert "clean: 1/3 warm-up\nclean: 2/3 measured\nclean: 3/3 measured\n" in done.stderr
    assert "USDT" not in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]

    bundle = open_bundle(tmp_path / "b.zip")
    assert bundle.missing() == []
    manifest = bundle.manifest
    assert (manifest.label, manifest.model.name, manifest.model.weights) == ("mine", "sliding-tiny", "random")
    assert (manifest.workload.device, manifest.workload.dtype) == ("cpu", "float32")
    assert (manifest.workload.attention, manifest.workload.cache) == ("sdpa", "DynamicCache")
    assert manifest.workload.prompt_tokens == 28
    assert manifest.architecture.kv_layers[0].window == 32
    clean, profiled = manifest.passes
    assert (clean.name, profiled.name) == ("clean", "profiled")
    assert clean.pid != profiled.pid
    assert "MTL_CAPTURE_ENABLED" in clean.env_checked
    assert clean.detail["profiling_variables_set"] == []
    assert clean.detail["generated_sha256"] == profiled.detail["generated_sha256"]
    assert clean.detail["prompt_sha256"] == profiled.detail["prompt_sha256"]
    assert clean.clock.end.monotonic_ns <= profiled.clock.start.monotonic_ns

    steps = [("prefill", 0, 56, 28)] + [("decode", step, 2, 28 + step) for step in range(1, 8)]
    rows = bundle.read_jsonl("clean/timings.jsonl")
    assert [(row["phase"], row["step"], row["tokens"], row["cached_tokens"]) for row in rows] == steps * 2
    assert [row["repeat"] for row in rows] == [0] * 8 + [1] * 8
    length_ns = clean.clock.end.monotonic_ns - clean.clock.start.monotonic_ns
    assert all(0 < row["start_ns"] < row["start_ns"] + row["dur_ns"] <= length_ns for row in rows)
    assert all(row["cpu_ns"] > 0 for row in rows)

    samples = bundle.read_jsonl("profiled/samples.jsonl")
    token_bytes = 2 * 2 * 2 * (16 + 16) * 4  # batch, layers, KV heads, key and value, float32
    assert [row["kv_cache_bytes"] for row in samples] == [0] + [min(count, 32) * token_bytes for count in range(28, 36)]
    assert all(row["tensor_bytes"] == 0 and row["driver_bytes"] == 0 for row in samples)
    assert all(row["resident_bytes"] > 1e7 for row in samples)

    trace = trace_of(bundle)
    names = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]
    assert sorted(names) == ["inference.decode_step"] * 7 + ["inference.prefill"]
    assert any(event.get("cat") == "python_function" for event in trace["traceEvents"])
    # The trace's clock and the timers' agree: each range holds the phase that was timed inside it.
    base_ns = trace["baseTimeNanoseconds"]
    start = profiled.clock.start
    ranges = sorted(
        (base_ns + event["ts"] * 1000 - start.unix_ns, event["dur"] * 1000)
        for event in trace["traceEvents"]
        if event.get("cat") == "user_annotation"
    )
    rows = bundle.read_jsonl("profiled/timings.jsonl")
    for number, ((start_ns, dur_ns), row) in enumerate(zip(ranges, rows, strict=True)):
        assert start_ns - 2e6 < row["start_ns"]
        assert row["start_ns"] + row["dur_ns"] < start_ns + dur_ns + 2e6
        assert number == 0 or start_ns > rows[number - 1]["start_ns"] + rows[number - 1]["dur_ns"] - 2e6


def test_a_folder_with_real_weights_and_a_text_prompt(tmp_path: Path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from tests.unit.capture.tiny import tiny_model

    tiny_model().save_pretrained(tmp_path / "model")
    words = {word: number for number, word in enumerate(["[UNK]", "where", "does", "the", "time", "go"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(tmp_path / "model")
    result = capture(
        str(tmp_path / "model"), tmp_path / "b", prompt="where does the time go", new_tokens=2, passes=["clean"],
        warmup=0, repeat=1, cache="static", logits="last",
    )  # fmt: skip
    assert result.problems == []
    manifest = open_bundle(result.path).manifest
    assert (manifest.model.name, manifest.model.weights, manifest.model.source) == ("model", "real", "folder")
    assert (manifest.workload.prompt_tokens, manifest.workload.logits) == (5, "last")
    assert manifest.workload.cache == "StaticCache"
    assert manifest.architecture.kv_layers[0].capacity == 7
    assert str(tmp_path) not in (tmp_path / "b/manifest.json").read_text()


def test_a_profiling_variable_refuses_the_clean_pass_only(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("KINETO_CONFIG", "/tmp/none")
    done = CliRunner().invoke(
        command, ["random:llama-tiny", "--prompt-tokens", "4", "--new-tokens", "2", "--warmup", "0", "--repeat",
                  "1", "--out", str(tmp_path / "b")]
    )  # fmt: skip
    assert isinstance(done.exception, PhasescopeError)
    assert "pass clean is refused: KINETO_CONFIG is set, and a clean pass runs with no profiling" in str(done.exception)
    assert done.exception.exit_code == 1
    bundle = open_bundle(tmp_path / "b")
    assert [each.status for each in bundle.passes] == ["refused", "measured"]
    assert bundle.passes[1].detail["profiling_variables_set"] == ["KINETO_CONFIG"]


@pytest.mark.parametrize(
    ("model", "changes", "kind", "words"),
    [
        ("random:no-such", {}, PhasescopeError, "neither a config.json nor a known architecture"),
        ("random:llama-tiny", {"new_tokens": 0}, UsageError, "--new-tokens must be at least 1"),
        ("random:llama-tiny", {"cache": "paged"}, UsageError, "There is no cache paged"),
        ("random:llama-tiny", {"logits": "some"}, UsageError, "--logits takes all or last"),
    ],
)
def test_wrong_calls_leave_nothing_and_start_no_process(tmp_path, monkeypatch, model, changes, kind, words):
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **kwargs: pytest.fail("started a process"))
    with pytest.raises(kind, match=words):
        capture(model, tmp_path / "b", **(SMALL | changes))
    assert list(tmp_path.iterdir()) == []


def test_force_keeps_the_old_bundle_until_there_is_a_new_one(tmp_path: Path):
    changes = SMALL | {"passes": ["clean"], "warmup": 0, "repeat": 1, "force": True}
    capture("random:llama-tiny", tmp_path / "b", label="first", **changes)
    with pytest.raises(PhasescopeError, match="Could not load"):
        capture("random:llama-tiny", tmp_path / "b", attention="no-such", **changes)
    assert open_bundle(tmp_path / "b").manifest.label == "first"
    capture("random:llama-tiny", tmp_path / "b", label="second", **changes)
    assert open_bundle(tmp_path / "b").manifest.label == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize(
    ("model", "changes", "words"),
    [
        ("random:llama-tiny", {"device": "cuda"}, "has no cuda device that PyTorch can use; it has"),
        ("nobody/no-such-model", {}, "Could not load the model nobody/no-such-model: "),
        ("random:{tmp}/huge.json", {}, "Memory ran out with huge .* smaller model"),
    ],
)
def test_errors_before_anything_ran_leave_nothing(tmp_path: Path, model: str, changes, words: str):
    import torch

    if changes.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    shape = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1, "vocab_size": 1 << 50}
    (tmp_path / "huge.json").write_text(json.dumps({"model_type": "llama", **shape}))
    with pytest.raises(PhasescopeError, match=words) as caught:
        capture(model.format(tmp=tmp_path), tmp_path / "b", **(SMALL | changes))
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["huge.json"]


def test_an_existing_bundle_is_kept(tmp_path: Path):
    (tmp_path / "b.zip").write_bytes(b"mine")
    for out in ("b.zip", "b"):
        with pytest.raises(PhasescopeError, match=r"Will not overwrite .*b\.zip"):
            capture("random:llama-tiny", tmp_path / out, zip=True, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]


def test_a_pass_that_takes_too_long_is_ended(tmp_path: Path):
    result = capture("random:llama-tiny", tmp_path / "b", timeout_s=0.5, passes=["clean"], **SMALL)
    assert result.problems == [
        "pass clean is failed: It took longer than 0.5 s and was ended; give more with --timeout."
    ]
    assert open_bundle(tmp_path / "b").passes[0].status == "failed"


def test_a_disk_that_fills_during_the_profiled_pass(tmp_path: Path):
    """A limit on file size stands in for the disk: the trace does not fit, everything before it does."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))\n"
        "from capture.run import capture\n"
        f"r = capture('random:llama-tiny', {str(tmp_path / 'b')!r}, **{SMALL!r})\n"
        "print(r.problems)"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 60_000
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the disk may be full" in done.stdout
    bundle = open_bundle(tmp_path / "b")
    assert [each.status for each in bundle.passes] == ["measured", "empty"]
    assert len(bundle.read_jsonl("clean/timings.jsonl")) == 8
    assert "profiled/trace.json.gz" not in bundle.files
    assert list((tmp_path / "b").rglob("*.partial*")) == []


def wait_for(condition, timeout_s: float = 60):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def start_capture(out: Path, **changes) -> subprocess.Popen:
    options = SMALL | {"prompt_tokens": 200, "new_tokens": 400, "repeat": 1} | changes
    code = f"from capture.run import capture; capture('random:llama-tiny', {str(out)!r}, **{options!r})"
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)


def statuses(out: Path) -> list[str]:
    return [each.status for each in open_bundle(out).passes]


@pytest.mark.parametrize("moment", ["begun", "model loaded", "profiled pass begun"])
def test_killing_the_capture_leaves_a_bundle_that_says_what_is_complete(tmp_path: Path, moment: str):
    out = tmp_path / "b"
    parent = start_capture(out)
    try:
        wait_for(lambda: is_bundle(out))
        if moment == "model loaded":
            wait_for(lambda: open_bundle(out).manifest.architecture)
        elif moment == "profiled pass begun":
            wait_for(lambda: statuses(out) == ["measured", "failed"])
            time.sleep(0.5)
        (child,) = wait_for(lambda: psutil.Process(parent.pid).children())
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    # Nobody is left to measure, write and heat the machine.
    assert psutil.wait_procs([child], timeout=20)[1] == []
    bundle = open_bundle(out)
    incomplete = "failed: The capture ended before this pass was complete."
    if moment == "profiled pass begun":
        assert bundle.missing() == [f"pass profiled is {incomplete}"]
        assert len(bundle.read_jsonl("clean/timings.jsonl")) == 400
    else:
        assert bundle.missing() == [
            f"pass clean is {incomplete}",
            "pass profiled is not_attempted: The capture ended before this pass began.",
        ]
        assert bundle.files == {}


def test_killing_a_passs_process_fails_that_pass_and_no_other(tmp_path: Path):
    out = tmp_path / "b"
    parent = start_capture(out, new_tokens=120)
    try:
        wait_for(lambda: statuses(out)[0] == "failed" if is_bundle(out) else False)
        (child,) = wait_for(lambda: psutil.Process(parent.pid).children())
        child.kill()
        assert parent.wait(timeout=90) == 0
    finally:
        parent.kill()
    bundle = open_bundle(out)
    assert [each.status for each in bundle.passes] == ["failed", "measured"]
    assert "was killed (signal 9)" in bundle.passes[0].reason
    assert bundle.manifest.architecture.layers == 2
