import pytest
import torch
from transformers import AutoConfig

from capture.architecture import architecture_facts, kv_layers
from capture.bundle import KvLayer
from capture.engine import Engine
from capture.kv_cache import kv_cache_bytes
from tests.unit.capture.tiny import SHAPE, tiny_model, tokens


def computed_bytes(layers: list[KvLayer], batch_size: int, cached_tokens: int, element_bytes: int) -> int:
    """The formula of KvLayer's documentation, written out once more for the tests."""
    total = 0
    for layer in layers:
        assert layer.kind in ("full", "sliding", "static", "latent", "shared", "none"), layer
        if layer.kind in ("shared", "none"):
            continue
        count = cached_tokens
        if layer.kind == "sliding":
            count = min(cached_tokens, layer.window)
        if layer.kind == "static":
            count = layer.capacity
        total += batch_size * layer.kv_heads * (layer.key_dim + layer.value_dim) * element_bytes * count
    return total


LATENT = {
    "kv_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 12,
    "q_lora_rank": None,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 3,
    "num_key_value_heads": 4,
}
GPT2 = {"n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 256}
FAMILIES = [
    ("llama", {}, "full"),
    ("qwen2", {}, "full"),
    ("qwen3", {"head_dim": 24}, "full"),
    ("mistral", {"sliding_window": 9}, "sliding"),
    ("gemma2", {"head_dim": 16, "sliding_window": 9}, "sliding"),
    ("gemma3_text", {"head_dim": 16, "sliding_window": 9}, "sliding"),
    ("phi3", {}, "full"),
    ("olmo2", {}, "full"),
    ("starcoder2", {"sliding_window": None}, "full"),
    ("granite", {}, "full"),
    ("gpt_neox", {"num_key_value_heads": None}, "full"),
    ("gpt2", GPT2, "full"),
    ("opt", {"ffn_dim": 96, "word_embed_proj_dim": 64}, "full"),
    ("gemma4_text", {"vocab_size_per_layer_input": 199, "hidden_size_per_layer_input": 16}, "sliding"),
    ("deepseek_v3", LATENT, "latent"),
    ("deepseek_v2", LATENT, "latent"),
]


@pytest.mark.parametrize(("model_type", "changes", "kind"), FAMILIES, ids=[each[0] for each in FAMILIES])
def test_computed_from_the_configuration_is_what_is_measured(model_type, changes, kind):
    model = tiny_model(model_type, **changes)
    result = Engine(model).generate(tokens(2, 6), 6)
    facts = architecture_facts(model)
    assert kind in {layer.kind for layer in facts.kv_layers}
    assert kv_cache_bytes(result.cache) == computed_bytes(facts.kv_layers, 2, 11, facts.kv_element_bytes)


def test_facts_of_a_tied_model():
    model = tiny_model("llama", dtype=torch.bfloat16, tie_word_embeddings=True)
    facts = architecture_facts(model)
    assert (facts.model_type, facts.layers, facts.hidden_size, facts.heads) == ("llama", 3, 64, 4)
    assert (facts.kv_heads, facts.head_dim, facts.intermediate_size, facts.vocab_size) == (2, 16, 96, 199)
    attention = 64 * 64 * 2 + 64 * 32 * 2
    parameters = 199 * 64 + 3 * (attention + 3 * 64 * 96 + 2 * 64) + 64
    assert facts.parameters == parameters
    assert facts.weight_bytes == 2 * parameters
    assert facts.kv_element_bytes == 2
    assert facts.tied_embeddings is True


def config(model_type="llama", **changes):
    return AutoConfig.for_model(model_type, **(SHAPE | changes))


def test_static_layers_hold_their_capacity_or_window():
    full = kv_layers(config(), "static", 40)
    assert full == [KvLayer("static", 2, 16, 16, None, 40)] * 3
    sliding = kv_layers(config("mistral", sliding_window=16), "static", 40)
    assert sliding == [KvLayer("static", 2, 16, 16, 16, 16)] * 3
    assert kv_layers(config(), "static")[0].kind == "unknown"


@pytest.mark.parametrize(
    ("changes", "cache", "reason"),
    [
        ({}, "fp8", "quantiser"),
        ({"num_key_value_heads": 2, "kv_lora_rank": 8}, "dynamic", "latent"),
        ({"layer_types": ["full_attention"] * 2}, "dynamic", "2 layer types for 3 layers"),
        ({"layer_types": ["full_attention", "hybrid", "full_attention"]}, "dynamic", "hybrid"),
        ({"index_topk": 4}, "dynamic", "index_topk"),
        ({"num_kv_shared_layers": 1}, "dynamic", "without saying which"),
        ({"num_key_value_heads": None, "model_type": "somebodys"}, "dynamic", "number or size of KV heads"),
    ],
)
def test_what_the_configuration_does_not_tell_is_unknown_with_a_reason(changes, cache, reason):
    plain = config()
    for name, value in changes.items():
        if name == "model_type":
            plain.__class__ = type("Foreign", (type(plain),), {"model_type": value})
        object.__setattr__(plain, name, value)
    unknown = [layer for layer in kv_layers(plain, cache) if layer.kind == "unknown"]
    assert unknown
    assert all(layer.kv_heads is None and reason in layer.reason for layer in unknown)


def test_layers_without_attention_and_with_linear_state():
    mixed = config()
    object.__setattr__(mixed, "layer_types", ["full_attention", "moe", "linear_attention"])
    layers = kv_layers(mixed)
    assert [layer.kind for layer in layers] == ["full", "none", "linear"]
    assert layers[2].kv_heads is None
    assert "linear_attention state" in layers[2].reason
