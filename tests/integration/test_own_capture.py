"""From a capture to the store: the study's numbers, phases under Python stacks, a killed bundle, a metal folder."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import phasescope
from analyze.query import open_store

pytest.importorskip("torch", reason="capture needs torch, which is not installed here")

KV_MODEL = "random:qwen2.5-1.5b-kv"


def captured(tmp_path: Path, model: str, **options: Any) -> duckdb.DuckDBPyConnection:
    """Capture `model` and load the bundle; both must be whole."""
    settings: dict[str, Any] = {
        "device": "cpu", "dtype": "bfloat16", "warmup": 0, "repeat": 1, "record_shapes": False, "profile_memory": False,
        "prompt_tokens": 512, "new_tokens": 32,
    }  # fmt: skip
    result = phasescope.capture(model, tmp_path / "bundle", **{**settings, **options})
    assert result.problems == []
    loaded = phasescope.load([result.path], tmp_path / "s.duckdb")
    assert loaded.failed == []
    run = loaded.loaded[0]
    assert run.raw_events == run.loaded_events + run.excluded_events
    assert run.excluded_events == 0
    return open_store(tmp_path / "s.duckdb")


@pytest.mark.parametrize(
    ("options", "times"),
    [({}, 1), ({"batch_size": 2}, 2), ({"dtype": "float32"}, 2)],
    ids=["bfloat16", "batch 2", "float32"],
)
def test_the_numbers_of_the_study(tmp_path: Path, options: dict[str, Any], times: int) -> None:
    """14.0 MiB after prefill, exactly 28 KiB more a token, 14.84765625 MiB after 31 decode steps."""
    con = captured(tmp_path, KV_MODEL, **options)
    rows = con.execute(
        "SELECT phase, step, cached_tokens, measured_bytes, computed_bytes, verdict FROM kv_check ORDER BY step"
    ).fetchall()
    assert len(rows) == 32
    for step, (phase, got_step, cached, measured, computed, verdict) in enumerate(rows):
        assert (phase, got_step, cached) == ("decode" if step else "prefill", step, 512 + step)
        assert measured == computed == times * (14_680_064 + 28_672 * step)
        assert verdict == "equal"
    assert rows[31][3] == times * 15_568_896
    counts = con.execute(
        'SELECT "pass", phase, count(*) FROM phases WHERE "repeat" = 0 GROUP BY ALL ORDER BY ALL'
    ).fetchall()
    assert counts == [
        ("clean", "decode", 31),
        ("clean", "prefill", 1),
        ("profiled", "decode", 31),
        ("profiled", "prefill", 1),
    ]
    assert con.execute("SELECT weights, device, batch_size FROM runs").fetchall() == [
        ("random", "cpu", options.get("batch_size", 1))
    ]
    con.close()


def test_a_sliding_window_stops_growing(tmp_path: Path) -> None:
    config = {
        "model_type": "mistral", "architectures": ["MistralForCausalLM"], "num_hidden_layers": 2, "hidden_size": 32,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64, "vocab_size": 128,
        "sliding_window": 8, "max_position_embeddings": 64,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    con = captured(tmp_path, f"random:{tmp_path / 'config.json'}", prompt_tokens=4, new_tokens=10)
    rows = con.execute("SELECT cached_tokens, measured_bytes, computed_bytes FROM kv_check ORDER BY step").fetchall()
    token = 2 * 2 * 2 * 8 * 2  # layers, K and V, heads, head size, bytes an element
    assert rows == [(n, token * min(n, 8), token * min(n, 8)) for n in range(4, 14)]
    con.close()


def test_python_stacks_keep_every_phase_range(tmp_path: Path) -> None:
    """With stacks each range partly overlaps the frame that entered it: others drop it there."""
    con = captured(
        tmp_path, KV_MODEL, prompt_tokens=8, new_tokens=6, with_stack=True, layers=2, passes=("clean", "profiled")
    )  # fmt: skip
    phases = con.execute("SELECT phase, step FROM phases WHERE \"pass\" = 'profiled' ORDER BY start_ns").fetchall()
    assert phases == [("prefill", 0), *(("decode", step) for step in range(1, 6))]
    python, inside = con.execute(
        "SELECT count(*), count(phase) FROM ops WHERE layer = 'python' AND \"pass\" = 'profiled'"
    ).fetchall()[0]
    assert python > 1000
    assert inside > 500
    marks = con.execute("SELECT name, count(*) FROM ops WHERE name LIKE 'inference.%' GROUP BY 1 ORDER BY 1").fetchall()
    assert marks == [("inference.decode_step", 5), ("inference.prefill", 1)]
    con.close()


def test_self_times_and_breakdown_add_up(tmp_path: Path) -> None:
    con = captured(tmp_path, KV_MODEL, prompt_tokens=8, new_tokens=4, layers=2)
    rows = con.execute(
        "SELECT wall_ns, operator_ns, between_operators_ns, operators, device_busy_ns, sync_ns FROM phase_breakdown "
        "WHERE \"pass\" = 'profiled'"
    ).fetchall()
    assert len(rows) == 4
    for wall, operator, between, operators, busy, sync in rows:
        assert operator + between == wall
        assert 0 < operator < wall
        assert operators > 20
        assert busy is None, "no device rows: nothing is said of a device"
        assert sync == 0
    con.close()


def test_a_bundle_without_its_profiled_pass_loads_what_is_there(tmp_path: Path) -> None:
    bundle = phasescope.capture(
        KV_MODEL, tmp_path / "bundle", device="cpu", dtype="bfloat16", warmup=0, repeat=2, prompt_tokens=8,
        new_tokens=4, layers=2,
    ).path  # fmt: skip
    manifest = json.loads((bundle / "manifest.json").read_text())
    for record in manifest["passes"]:
        if record["name"] == "profiled":  # as the manifest stands when the capture is killed before that pass
            record.update(status="not_attempted", reason="the capture ended before this pass", files={})
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    shutil.rmtree(bundle / "profiled")
    result = phasescope.load([bundle], tmp_path / "s.duckdb")
    assert result.failed == []
    con = open_store(tmp_path / "s.duckdb")
    assert con.execute('SELECT "pass", status FROM passes ORDER BY 1').fetchall() == [
        ("clean", "measured"), ("profiled", "not_attempted"),
    ]  # fmt: skip
    assert con.execute("SELECT phase, repeats FROM step_latency ORDER BY step").fetchall() == [
        ("prefill", 2), ("decode", 2), ("decode", 2), ("decode", 2),
    ]  # fmt: skip
    notes = con.execute("SELECT detail FROM quality WHERE reason = 'pass_not_measured'").fetchall()
    assert notes == [("pass profiled: not_attempted: the capture ended before this pass",)]
    assert con.execute("SELECT raw_events FROM runs").fetchall() == [(0,)]
    con.close()


def test_a_changed_or_newer_bundle_is_refused_whole(tmp_path: Path) -> None:
    bundle = phasescope.capture(
        KV_MODEL, tmp_path / "bundle", device="cpu", dtype="bfloat16", warmup=0, repeat=1, prompt_tokens=8,
        new_tokens=3, layers=1,
    ).path  # fmt: skip
    whole = (bundle / "manifest.json").read_text()
    manifest = json.loads(whole)
    manifest["schema_version"] = 99
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    result = phasescope.load([bundle], tmp_path / "s.duckdb")
    assert "schema version 99" in str(result.failed[0])
    (bundle / "manifest.json").write_text(whole)
    with (bundle / "clean" / "timings.jsonl").open("a") as stream:
        stream.write("{}\n")
    result = phasescope.load([bundle], tmp_path / "s.duckdb")
    assert "clean/timings.jsonl" in str(result.failed[0])
    assert not (tmp_path / "s.duckdb").exists()
