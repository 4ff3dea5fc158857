"""The bundles in sample_traces/ are whole, small, and what their note says."""

import gzip
import json
from pathlib import Path

import pytest

from capture.bundle import open_bundle

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
EXPECTED = {
    "smollm2-135m-cpu.zip": ("SmolLM2-135M-Instruct.Q4_1.gguf", "real", "float32", 128, 16, 5),
    "qwen2.5-1.5b-random-cpu.zip": ("qwen2.5-1.5b", "random", "bfloat16", 512, 32, 3),
}


def test_every_sample_has_a_note_and_an_expectation():
    assert {path.name for path in SAMPLES.glob("*.zip")} == set(EXPECTED)
    note = (SAMPLES / "README.md").read_text()
    assert all(f"## {name}" in note for name in EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample(name: str):
    model, weights, dtype, prompt_tokens, new_tokens, repeats = EXPECTED[name]
    assert (SAMPLES / name).stat().st_size < 5_000_000
    with open_bundle(SAMPLES / name) as bundle:
        assert bundle.missing() == []
        manifest = bundle.manifest
        assert (manifest.model.name, manifest.model.weights, manifest.workload.dtype) == (model, weights, dtype)
        assert (manifest.workload.prompt_tokens, manifest.workload.new_tokens) == (prompt_tokens, new_tokens)
        assert len(bundle.read_jsonl("clean/timings.jsonl")) == repeats * new_tokens
        samples = bundle.read_jsonl("profiled/samples.jsonl")
        with bundle.open("profiled/trace.json.gz") as stream:
            trace = json.loads(gzip.decompress(stream.read()))
    layers = manifest.architecture.kv_layers
    token_bytes = sum(layer.kv_heads * (layer.key_dim + layer.value_dim) for layer in layers)
    token_bytes *= manifest.architecture.kv_element_bytes
    assert [sample["kv_cache_bytes"] for sample in samples[1:]] == [
        (prompt_tokens + step) * token_bytes for step in range(new_tokens)
    ]
    ranges = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]
    assert sorted(ranges) == ["inference.decode_step"] * (new_tokens - 1) + ["inference.prefill"]
    assert trace["host_name"] == ""
