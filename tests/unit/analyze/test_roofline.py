"""The roofline against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.analyze.answers import QWEN, SMOLLM2, Answers, decoder

H200 = {"device": "cuda", "device_name": "NVIDIA H200", "dtype": "float16"}


def step(store: Answers, phase: str, number: int, tokens: int, cached: int, dur: int = 10**9) -> None:
    store.phase(phase, number, 0, dur, tokens=tokens, cached_tokens=cached, **{"pass": "clean", "source": "timer"})


def only(store: Answers) -> dict[str, Any]:
    (row,) = store.dicts("FROM roofline")
    return row


def test_qwen_prefill_of_512_tokens_by_hand() -> None:
    store = Answers()
    store.run(architecture=QWEN, **H200)
    step(store, "prefill", 0, 512, 512, 50_000_000)
    row = only(store)
    # a layer: query and output 1536 x 1536 each, key and value 1536 x 256 each, gate, up and down 1536 x 8960 each
    matrices = 28 * (2 * 1536 * 1536 + 2 * 1536 * 256 + 3 * 1536 * 8960)
    assert matrices == 1_310_195_712
    assert row["linear_flops"] == 2 * 1_310_195_712 * 512 == 1_341_640_409_088
    # 512 x 513 / 2 pairs that see each other, 12 heads, 128 for the score and 128 for the value
    assert row["attention_flops"] == 28 * 2 * 12 * 256 * 131_328 == 22_592_618_496
    assert row["logits_flops"] == 2 * 151_936 * 1536 * 512 == 238_974_664_704
    assert row["flops"] == 1_603_207_692_288
    assert row["weights_bytes"] == 3_087_428_608  # the table is tied: it is read as the matrix of the logits
    # 28 672 bytes a token: 28 layers x 2 (K and V) x 2 heads x 128 x 2 bytes
    assert row["kv_read_bytes"] == row["kv_written_bytes"] == 28_672 * 512 == 14_680_064
    assert row["logits_bytes"] == 512 * 151_936 * 2 == 155_582_464
    assert row["bytes"] == 3_272_371_200
    assert row["intensity"] == pytest.approx(489.9223, rel=1e-6)  # FLOP a byte
    # H200: 4.8 TB/s and 989 TFLOP/s, both published
    assert row["memory_ns"] == pytest.approx(681_744.0)
    assert row["compute_ns"] == pytest.approx(1_621_039.1, rel=1e-6)
    assert (row["bound"], row["bound_ns"]) == ("compute", row["compute_ns"])
    assert row["remainder_ns"] == pytest.approx(50_000_000 - 1_621_039.1)
    assert (row["peak_bytes_provenance"], row["peak_flops_provenance"]) == ("published", "published")
    assert row["ridge_intensity"] == pytest.approx(989e12 / 4.8e12)
    assert row["reason"] is None


def test_qwen_decode_at_513_tokens_by_hand() -> None:
    store = Answers()
    store.run(architecture=QWEN, **H200)
    step(store, "decode", 1, 1, 513, 20_000_000)
    row = only(store)
    assert row["linear_flops"] == 2_620_391_424
    assert row["attention_flops"] == 28 * 2 * 12 * 256 * 513 == 88_252_416
    assert row["logits_flops"] == 466_747_392
    assert (row["kv_read_bytes"], row["kv_written_bytes"], row["logits_bytes"]) == (14_708_736, 28_672, 303_872)
    assert row["bound"] == "memory"
    assert row["weights_ns"] == pytest.approx(643_214.3, rel=1e-6)
    assert row["kv_ns"] == pytest.approx(14_737_408 / 4_800)
    # weights, KV, logits and the flat remainder are the whole measured step
    assert row["weights_ns"] + row["kv_ns"] + row["logits_ns"] + row["remainder_ns"] == pytest.approx(20_000_000)
    assert row["bound_tokens_per_s"] == pytest.approx(1e9 / row["bound_ns"])
    assert row["measured_tokens_per_s"] == pytest.approx(50)


def test_smollm2_in_float32() -> None:
    store = Answers()
    store.run(
        architecture=SMOLLM2,
        machine={"calibration": {"copy_bytes_per_s": 2e10, "matmul_flops_per_s": 1e11, "dtype": "float32"}},
    )
    step(store, "decode", 1, 1, 129, 40_000_000)
    row = only(store)
    assert row["linear_flops"] == 2 * 30 * (2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536) == 212_336_640
    assert row["logits_flops"] == 2 * 49_152 * 576 == 56_623_104
    assert row["attention_flops"] == 30 * 2 * 9 * 128 * 129 == 8_916_480
    assert row["weights_bytes"] == 538_060_032
    assert row["kv_read_bytes"] == 46_080 * 129
    assert row["peak_bytes_provenance"] == row["peak_flops_provenance"] == "measured"
    assert row["memory_ns"] == pytest.approx((538_060_032 + 46_080 * 130 + 49_152 * 4) / 20)
    assert row["bound"] == "memory"


def test_logits_of_the_last_position_and_a_batch() -> None:
    store = Answers()
    store.run(architecture=SMOLLM2, logits="last", batch_size=4)
    step(store, "prefill", 0, 4 * 100, 100)
    row = only(store)
    assert row["logits_flops"] == 2 * 49_152 * 576 * 4
    assert row["logits_bytes"] == 4 * 49_152 * 4
    assert row["linear_flops"] == 212_336_640 * 400
    assert row["attention_flops"] == 30 * 2 * 9 * 128 * 4 * 5050
    assert row["kv_read_bytes"] == 46_080 * 400
    assert row["tokens_per_sequence"] == 100


def test_a_window_bounds_what_a_token_sees() -> None:
    store = Answers()
    sizes: dict[str, Any] = {
        "layers": 1,
        "hidden": 8,
        "heads": 2,
        "kv_heads": 1,
        "head_dim": 4,
        "intermediate": 16,
        "vocabulary": 10,
    }
    matrices = 2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 16
    model = decoder(**sizes, parameters=80 + matrices, element_bytes=4, kind="sliding", window=3)
    store.run(architecture=model)
    step(store, "prefill", 0, 5, 5)
    row = only(store)
    assert row["attention_flops"] == 2 * 2 * 8 * (1 + 2 + 3 + 3 + 3)
    assert row["kv_read_bytes"] == 1 * 8 * 4 * 3
    assert row["kv_written_bytes"] == 1 * 8 * 4 * 5


def test_an_untied_table_is_only_looked_up() -> None:
    store = Answers()
    sizes: dict[str, Any] = {
        "layers": 2,
        "hidden": 8,
        "heads": 2,
        "kv_heads": 2,
        "head_dim": 4,
        "intermediate": 16,
        "vocabulary": 100,
    }
    matrices = 2 * (4 * 8 * 8 + 2 * 8 * 16)  # a plain MLP of two matrices
    store.run(architecture=decoder(**sizes, parameters=1600 + matrices, element_bytes=4, tied=False))
    step(store, "decode", 1, 1, 9)
    row = only(store)
    assert row["linear_flops"] == 2 * matrices
    assert row["weights_bytes"] == 4 * (800 + matrices)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"parameters": 2 * 134_515_008}, "do not make up"),  # experts: more parameters than such layers have
        ({"intermediate_size": None}, "does not give all sizes"),
        ({"kv_layers": [{"kind": "linear"}] * 30}, "attention layers are not known"),
        ({"kv_layers": SMOLLM2["kv_layers"][:29]}, "attention layers are not known"),
    ],
)
def test_a_model_of_another_shape_has_no_roofline(change: dict[str, Any], reason: str) -> None:
    store = Answers()
    store.run(architecture=SMOLLM2 | change)
    step(store, "decode", 1, 1, 129)
    row = only(store)
    assert reason in row["reason"]
    assert [row[name] for name in ("flops", "bytes", "bound_ns", "bound", "weights_bytes")] == [None] * 5


def test_an_unknown_machine_has_no_bound() -> None:
    store = Answers()
    store.run(architecture=SMOLLM2, device="cuda", device_name="Some GPU")
    step(store, "decode", 1, 1, 129)
    row = only(store)
    assert row["flops"] == 277_876_224
    assert [row[name] for name in ("memory_ns", "compute_ns", "bound_ns", "bound", "remainder_ns")] == [None] * 5
    assert "capture --calibrate" in row["reason"]


def test_a_missing_time_is_missing() -> None:
    store = Answers()
    store.run(architecture=QWEN, **H200)
    store.phase("decode", 1, 0, 5, tokens=1, cached_tokens=513, **{"pass": "profiled"})
    row = only(store)
    assert row["bound_ns"] is not None
    assert (row["measured_ns"], row["remainder_ns"], row["measured_tokens_per_s"]) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "cores", "gigabytes"),
    [
        ("Apple M3 Max", 30, 300.0), ("Apple M3 Max", 40, 400.0), ("Apple M3 Max", None, None), ("Apple M1", 8, 68.25),
        ("Apple M4 Pro", 20, 273.0), ("NVIDIA H100 80GB HBM3", None, 3350.0), ("NVIDIA H100 PCIe", None, None),
        ("NVIDIA A100-SXM4-40GB", None, 1555.0),
    ],
)  # fmt: skip
def test_the_core_count_selects_the_variant(name: str, cores: int | None, gigabytes: float | None) -> None:
    store = Answers()
    store.run(device="mps" if name.startswith("Apple") else "cuda", device_name=name, machine={"gpu_cores": cores})
    values = [row[0] for row in store.rows("SELECT value FROM run_peaks WHERE quantity = 'memory_bandwidth' AND used")]
    assert values == ([] if gigabytes is None else [pytest.approx(gigabytes * 1e9)])


def test_a_calibration_goes_before_what_is_published() -> None:
    store = Answers()
    calibration = {"copy_bytes_per_s": 3e12, "matmul_flops_per_s": 5e14, "dtype": "float16"}
    store.run(machine={"calibration": calibration}, **H200)
    rows = store.dicts("SELECT quantity, value, provenance FROM run_peaks WHERE used ORDER BY quantity")
    assert [tuple(row.values()) for row in rows] == [
        ("matmul_rate", 5e14, "measured"),
        ("memory_bandwidth", 3e12, "measured"),
    ]
    assert store.rows("SELECT count(*) FROM run_peaks") == [(4,)]  # the published ones stay beside


def test_a_gpus_peaks_are_not_those_of_a_run_on_its_cpu() -> None:
    store = Answers()
    store.run(device="cpu", device_name="Apple M1", machine={"gpu_cores": 8})
    assert store.rows("FROM run_peaks") == []


def test_the_trace_is_checked_against_the_architecture() -> None:
    store = Answers()
    store.run(architecture=SMOLLM2)
    step(store, "decode", 1, 1, 129)
    store.phase("decode", 1, 0, 100, tokens=1, cached_tokens=129, **{"pass": "profiled"})
    profiled = {"pass": "profiled", "phase": "decode", "step": 1, "repeat": 0, "role": "operator"}
    for out, count in ((576, 60), (192, 60), (1536, 60)):
        for _ in range(count):
            store.op("aten::mm", 0, 1, shapes=f"[[1, 576], [576, {out}]]", **profiled)
    for _ in range(30):
        store.op("aten::mm", 0, 1, shapes="[[1, 1536], [1536, 576]]", **profiled)
    store.op("aten::mm", 0, 1, shapes="[[1, 576], [576, 49152]]", **profiled)
    row = only(store)
    assert (row["trace_flops"], row["trace_flops_ratio"], row["trace_flops_provenance"]) == (
        268_959_744,
        1.0,
        "derived",
    )
    # the profiler's own count goes before the shapes, and a product without either leaves the sum open
    store.con.execute("UPDATE ops SET args = '{\"flops\": 10}'")
    assert (only(store)["trace_flops"], only(store)["trace_flops_provenance"]) == (2110, "measured")
    store.op("aten::mm", 0, 1, **profiled)
    assert only(store)["trace_flops"] is None


def test_terms_show_the_models_numbers() -> None:
    store = Answers()
    store.run(architecture=QWEN, **H200)
    step(store, "decode", 1, 1, 513)
    terms = {row["term"]: row for row in store.dicts("FROM roofline_terms")}
    assert "28 layers × (1536 × 128 × (2 × 12 + 2 × 2) + 3 × 1536 × 8960)" in terms["linear"]["formula"]
    assert terms["KV read"]["value"] == 14_708_736
    assert terms["peak bandwidth"]["provenance"] == "published"
    assert "NVIDIA" in terms["peak bandwidth"]["formula"]
    assert {row["provenance"] for row in terms.values()} == {"derived", "published"}
