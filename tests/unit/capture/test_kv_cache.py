"""Measured KV bytes against the architecture's formula; the numbers of Qwen2.5-1.5B are those of the study."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from transformers import cache_utils

from capture.architecture import kv_layers
from capture.caches import cache_factory
from capture.engine import Engine
from capture.kv_cache import kv_cache_bytes
from capture.models import load_model, resolve_model
from capture.recorder import Recorder
from tests.unit.capture.tiny import tiny_model, tokens


def kv_bytes_by_step(model, batch_size, prompt_tokens, new_tokens, cache="dynamic"):
    recorder = Recorder("cpu", samples=True)
    engine = Engine(model, recorder, cache_factory=cache_factory(cache, model.config))
    engine.generate(tokens(batch_size, prompt_tokens), new_tokens)
    return [sample.kv_cache_bytes for sample in recorder.samples]


@pytest.mark.parametrize(("dtype", "batch_size"), [("bfloat16", 1), ("bfloat16", 2), ("float32", 1)])
def test_qwen_kv_geometry(dtype, batch_size):
    model = load_model(
        resolve_model("random:qwen2.5-1.5b-kv"), device_kind="cpu", dtype=dtype, attention="auto", seed=0
    )
    times = batch_size * (2 if dtype == "float32" else 1)
    before, *measured = kv_bytes_by_step(model, batch_size, 512, 32)
    assert before == 0
    assert measured[0] == 14_680_064 * times
    steps = {after - earlier for earlier, after in itertools.pairwise(measured)}
    assert steps == {28_672 * times}
    assert len(measured) == 32
    assert measured[31] == 15_568_896 * times


def test_the_exact_architecture_has_the_same_kv_layers_as_its_tiny_twin():
    from transformers import AutoConfig

    from capture.models import _random_config

    def layers(name):
        raw = dict(_random_config(resolve_model(f"random:{name}")))
        return kv_layers(AutoConfig.for_model(raw.pop("model_type"), **raw))

    assert layers("qwen2.5-1.5b") == layers("qwen2.5-1.5b-kv")
    assert len(layers("qwen2.5-1.5b")) == 28


def test_a_sliding_window_stops_growing_at_the_window():
    model = tiny_model("mistral", sliding_window=10)
    token_bytes = 3 * 2 * 2 * 16 * 4  # layers, keys and values, KV heads, head size, float32
    measured = kv_bytes_by_step(model, 1, 6, 12)[1:]
    assert measured == [min(count, 10) * token_bytes for count in range(6, 18)]


def test_a_prompt_longer_than_the_window_is_held_whole_until_the_next_step():
    # transformers 5.24 keeps a view of the last window - 1 tokens; the storage under it is the prompt's.
    token_bytes = 3 * 2 * 2 * 16 * 4
    measured = kv_bytes_by_step(tiny_model("mistral", sliding_window=10), 1, 30, 3)[1:]
    assert measured == [30 * token_bytes, 10 * token_bytes, 10 * token_bytes]


def test_a_static_cache_has_its_full_size_from_the_start():
    measured = kv_bytes_by_step(tiny_model(), 2, 6, 4, cache="static")
    assert measured == [0] + [2 * 10 * 3 * 2 * 2 * 16 * 4] * 4


def test_a_quantised_cache_counts_its_packed_data_and_scales():
    token_bytes = 3 * 2 * 2 * 16  # one byte an element
    scales = 3 * 2 * 4  # float32 for the keys and the values of each layer
    measured = kv_bytes_by_step(tiny_model(), 1, 6, 3, cache="fp8")[1:]
    assert measured == [count * token_bytes + scales for count in (6, 7, 8)]


def test_linear_and_dummy_layers():
    linear = cache_utils.LinearAttentionLayer()
    linear.update_conv_state(torch.ones(1, 5, 4))
    linear.update_recurrent_state(torch.ones(1, 2, 3, 3, dtype=torch.float64))
    cache = cache_utils.Cache(layers=[linear, cache_utils.DummyLayer()])
    assert kv_cache_bytes(cache) == 5 * 4 * 4 + 2 * 3 * 3 * 8


def test_a_storage_counts_once_and_whole_however_many_views_share_it():
    base = torch.zeros(100)
    cache = SimpleNamespace(keys=base[:10], values=[base[50:], {"again": base}])
    assert kv_cache_bytes(cache) == 400
    cache.more = torch.zeros(1, dtype=torch.float16)
    assert kv_cache_bytes(cache) == 402


def test_positions_are_no_keys_or_values_and_loops_end():
    cache = SimpleNamespace(length=torch.tensor(7), scale=torch.tensor(0.5))
    cache.itself = cache
    assert kv_cache_bytes(cache) == 4


def test_slots_tuples_and_nothing():
    class Slotted:
        __slots__ = ("keys",)

    slotted = Slotted()
    slotted.keys = (torch.zeros(3), None)
    assert kv_cache_bytes(slotted) == 12
    assert kv_cache_bytes(None) == 0
    assert kv_cache_bytes(torch.zeros(0)) == 0
