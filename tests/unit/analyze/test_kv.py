"""Computed KV bytes: the study's numbers, each kind of layer, and what cannot be told."""

from __future__ import annotations

import pytest

from analyze.kv import expected_bytes
from capture.bundle import Architecture, KvLayer

FULL = KvLayer("full", kv_heads=2, key_dim=128, value_dim=128)


def qwen(element_bytes: int = 2) -> Architecture:
    return Architecture(kv_element_bytes=element_bytes, kv_layers=[FULL] * 28)


@pytest.mark.parametrize(
    ("cached", "batch", "element_bytes", "expected"),
    [
        (512, 1, 2, 14_680_064),
        (513, 1, 2, 14_680_064 + 28_672),
        (543, 1, 2, 15_568_896),
        (512, 2, 2, 29_360_128),
        (512, 1, 4, 29_360_128),
    ],
)
def test_the_studys_geometry(cached: int, batch: int, element_bytes: int, expected: int) -> None:
    assert expected_bytes(qwen(element_bytes), batch, 512, cached).computed_bytes == expected


def test_the_formula_is_said() -> None:
    assert expected_bytes(qwen(), 1, 512, 512).reason == (
        "2 (K and V) × 28 layers × 2 heads × 128 × 2 bytes × 512 tokens × batch 1"
    )


def test_growth_stops_at_the_window() -> None:
    layers = Architecture(
        kv_element_bytes=2, kv_layers=[KvLayer("sliding", kv_heads=1, key_dim=4, value_dim=4, window=8)]
    )
    held = [expected_bytes(layers, 1, 6, cached).computed_bytes for cached in range(6, 12)]
    assert held == [96, 112, 128, 128, 128, 128]


def test_a_prompt_longer_than_the_window_is_whole_until_the_first_step() -> None:
    layers = Architecture(
        kv_element_bytes=2, kv_layers=[KvLayer("sliding", kv_heads=1, key_dim=4, value_dim=4, window=8)]
    )
    held = [expected_bytes(layers, 1, 12, cached) for cached in (12, 13, 14)]
    assert [row.computed_bytes for row in held] == [192, 128, 128]
    assert "cut after the prompt" in held[0].reason


@pytest.mark.parametrize("prompt", [5, 8, 12])
def test_sliding_layers_hold_what_transformers_holds(prompt: int) -> None:
    torch = pytest.importorskip("torch")
    cache_utils = pytest.importorskip("transformers.cache_utils")
    if not hasattr(cache_utils, "DynamicSlidingWindowLayer"):
        pytest.skip("this transformers has no DynamicSlidingWindowLayer")
    layer = cache_utils.DynamicSlidingWindowLayer(sliding_window=8)
    architecture = Architecture(
        kv_element_bytes=4, kv_layers=[KvLayer("sliding", kv_heads=2, key_dim=4, value_dim=4, window=8)]
    )
    for step in range(6):
        new = torch.zeros(3, 2, prompt if step == 0 else 1, 4)
        layer.update(new, new)
        held = layer.keys.untyped_storage().nbytes() + layer.values.untyped_storage().nbytes()
        assert held == expected_bytes(architecture, 3, prompt, prompt + step).computed_bytes


def test_kinds_add_up() -> None:
    architecture = Architecture(
        kv_element_bytes=2,
        kv_layers=[
            KvLayer("full", kv_heads=2, key_dim=8, value_dim=4),
            KvLayer("static", kv_heads=2, key_dim=8, value_dim=8, capacity=64),
            KvLayer("latent", kv_heads=1, key_dim=16, value_dim=0),
            KvLayer("linear", kv_heads=2, key_dim=3, value_dim=5),
            KvLayer("shared"),
            KvLayer("none"),
        ],
    )
    expected = expected_bytes(architecture, 3, 10, 10)
    full, static, latent, linear = 2 * 12 * 2 * 10 * 3, 2 * 16 * 2 * 64 * 3, 16 * 2 * 10 * 3, 2 * 8 * 2 * 3
    assert expected.computed_bytes == full + static + latent + linear
    assert "1 layers × 2 heads × (8 K + 4 V) × 2 bytes × 10 tokens × batch 3" in expected.reason


@pytest.mark.parametrize(
    "architecture",
    [
        None,
        Architecture(kv_element_bytes=2),
        Architecture(kv_layers=[FULL]),
        Architecture(kv_element_bytes=2, kv_layers=[FULL, KvLayer("unknown", reason="it does not say")]),
        Architecture(kv_element_bytes=2, kv_layers=[KvLayer("static", kv_heads=1, key_dim=1, value_dim=1)]),
        Architecture(kv_element_bytes=2, kv_layers=[KvLayer("sliding", kv_heads=1, key_dim=1, value_dim=1)]),
        Architecture(kv_element_bytes=2, kv_layers=[KvLayer("linear")]),
    ],
)
def test_what_the_configuration_does_not_tell_is_no_guess(architecture: Architecture | None) -> None:
    expected = expected_bytes(architecture, 1, 4, 4)
    assert expected.computed_bytes is None
    assert expected.reason


def test_the_reason_of_an_unknown_layer_is_passed_on() -> None:
    architecture = Architecture(kv_element_bytes=2, kv_layers=[FULL, KvLayer("unknown", reason="quantised cache")])
    assert expected_bytes(architecture, 1, 4, 4).reason == "1 of 2 layers are unknown: quantised cache"
