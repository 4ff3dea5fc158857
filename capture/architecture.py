"""Facts of a model from its configuration, and from its parameters their number and bytes."""

from __future__ import annotations

from typing import Any

from capture.bundle import Architecture, KvLayer

# Causal models whose configuration has no count of KV heads and whose cache keeps every head (in transformers 5.24,
# seen by measuring: tests/unit/capture/test_architecture.py).
ALL_HEADS_CACHED = frozenset({"gpt2", "gpt_neox", "gptj", "opt", "codegen"})
# Models whose cache holds the compressed latent of MLA and one rotary key a token (transformers 5.24; before that
# the expanded keys and values).
LATENT_CACHED = frozenset({"deepseek_v2", "deepseek_v3"})
LATENT_SINCE = (5, 24)
# Models whose code, not their configuration, gives some layers other sizes.
IRREGULAR_MODELS = frozenset({"mimo_v2_flash"})
# Fields that say that layers differ in a way that the plain fields do not tell.
IRREGULAR_FIELDS = (
    "global_head_dim",
    "num_global_key_value_heads",
    "attention_k_eq_v",
    "index_topk",
    "n_recurrent_loops",
    "multi_query",
)


def architecture_facts(model: Any, cache: str = "dynamic", capacity: int | None = None) -> Architecture:
    """Facts of `model`; cache and capacity (tokens) as they will be used, since they decide what a layer keeps."""
    config = text_config(model.config)
    storages = {}
    parameters = 0
    for parameter in model.parameters():
        storage = parameter.untyped_storage()
        if storage.data_ptr() not in storages:
            parameters += parameter.numel()
            storages[storage.data_ptr()] = storage.nbytes()
    return Architecture(
        model_type=_read(config, "model_type"),
        layers=_number(config, "num_hidden_layers"),
        hidden_size=_number(config, "hidden_size"),
        heads=_number(config, "num_attention_heads"),
        kv_heads=_kv_heads(config),
        head_dim=_head_dim(config),
        intermediate_size=_number(config, "intermediate_size"),
        vocab_size=_number(config, "vocab_size"),
        parameters=parameters,
        weight_bytes=sum(storages.values()),
        tied_embeddings=_read(config, "tie_word_embeddings"),
        kv_element_bytes=model.dtype.itemsize,
        kv_layers=kv_layers(config, cache, capacity),
    )


def text_config(config: Any) -> Any:
    """The part of a configuration that describes the decoder."""
    return config.get_text_config(decoder=True)


def _read(config: Any, name: str) -> Any:
    """A field of a configuration; None where it has none, or where it differs from layer to layer."""
    try:
        return getattr(config, name, None)
    except RuntimeError:  # transformers' AmbiguousGlobalPerLayerAttributeError
        return None


def _number(config: Any, name: str) -> int | None:
    value = _read(config, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _kv_heads(config: Any) -> int | None:
    if _read(config, "model_type") in ALL_HEADS_CACHED:
        return _number(config, "num_attention_heads")
    return _number(config, "num_key_value_heads")


def _head_dim(config: Any) -> int | None:
    own = _number(config, "head_dim")
    hidden, heads = _number(config, "hidden_size"), _number(config, "num_attention_heads")
    if own is not None or _differs(config, "head_dim") or hidden is None or heads is None or hidden % heads:
        return own
    return hidden // heads


def _differs(config: Any, name: str) -> bool:
    """Whether the field differs from layer to layer, so that the whole model has no one value of it."""
    try:
        getattr(config, name, None)
    except RuntimeError:
        return True
    return False


def _transformers_version() -> tuple[int, ...]:
    import transformers

    return tuple(int(part) for part in transformers.__version__.split(".")[:2] if part.isdigit())


def kv_layers(config: Any, cache: str = "dynamic", capacity: int | None = None) -> list[KvLayer]:
    """What each layer keeps, from the configuration alone; `unknown` with the reason where it does not tell."""
    layers = _number(config, "num_hidden_layers")
    if layers is None:
        return [KvLayer("unknown", reason="The configuration has no number of layers.")]
    reason = _whole_model_reason(config, cache)
    types = _layer_types(config, layers)
    if reason is None and len(types) != layers:
        reason = f"The configuration names {len(types)} layer types for {layers} layers."
    if reason is not None:
        return [KvLayer("unknown", reason=reason) for _ in range(layers)]
    modes = _read(config, "kv_sharing_modes") or [None] * layers
    # Since transformers 5 a configuration can differ from layer to layer.
    own = _read(config, "per_layer_config") or [config] * layers
    plain = [
        KvLayer("shared") if mode == "reuse" else _layer(each, kind)
        for each, kind, mode in zip(own, types, modes, strict=True)
    ]
    return [_static(layer, capacity) for layer in plain] if cache == "static" else plain


def _whole_model_reason(config: Any, cache: str) -> str | None:
    if cache not in ("dynamic", "static"):
        return f"The bytes of a {cache} cache depend on how its quantiser packs them."
    if _read(config, "is_encoder_decoder"):
        return "An encoder and decoder keep caches of two kinds."
    if _read(config, "model_type") in IRREGULAR_MODELS:
        return "The code of this model gives some layers sizes that its configuration does not tell."
    for name in IRREGULAR_FIELDS:
        if _read(config, name):
            return f"The configuration has {name}, which makes layers differ in a way not known here."
    if _read(config, "num_kv_shared_layers") and _read(config, "kv_sharing_modes") is None:
        return "The configuration shares KV caches between layers without saying which."
    return None


def _layer_types(config: Any, layers: int) -> list[str]:
    types = _read(config, "layer_types")
    if types is not None:
        return list(types)
    if _read(config, "sliding_window") is not None:
        return ["sliding_attention"] * layers
    if _read(config, "attention_chunk_size") is not None:
        return ["chunked_attention"] * layers
    return ["full_attention"] * layers


def _layer(config: Any, kind: str) -> KvLayer:
    if kind in ("moe", "mlp"):
        return KvLayer("none")
    if kind in ("linear_attention", "conv", "mamba"):
        return KvLayer("linear", reason=f"The configuration does not tell how large the {kind} state is.")
    if kind not in ("full_attention", "sliding_attention", "chunked_attention"):
        return KvLayer("unknown", reason=f"Layers of type {kind} are not known here.")
    if _read(config, "kv_lora_rank") is not None:
        return _latent(config)
    kv_heads, head_dim = _kv_heads(config), _head_dim(config)
    if kv_heads is None or head_dim is None:
        return KvLayer("unknown", reason="The configuration tells no number or size of KV heads.")
    value_dim = _number(config, "v_head_dim") or head_dim
    if kind == "full_attention":
        return KvLayer("full", kv_heads, head_dim, value_dim)
    window = _number(config, "sliding_window" if kind == "sliding_attention" else "attention_chunk_size")
    if window is None:
        return KvLayer("unknown", reason=f"The configuration tells no window for {kind}.")
    return KvLayer("sliding", kv_heads, head_dim, value_dim, window=window)


def _latent(config: Any) -> KvLayer:
    rank, rotary = _number(config, "kv_lora_rank"), _number(config, "qk_rope_head_dim")
    if _read(config, "model_type") not in LATENT_CACHED or _transformers_version() < LATENT_SINCE:
        return KvLayer("unknown", reason="Whether this cache keeps the latent or what it expands to is not known.")
    if rank is None or rotary is None:
        return KvLayer("unknown", reason="The configuration tells no size of the latent.")
    return KvLayer("latent", 1, rank, rotary)


def _static(layer: KvLayer, capacity: int | None) -> KvLayer:
    if layer.kind not in ("full", "sliding", "latent"):
        return layer
    if capacity is None:
        return KvLayer("unknown", reason="The capacity of the static cache is not known.")
    room = capacity if layer.window is None else min(capacity, layer.window)
    return KvLayer("static", layer.kv_heads, layer.key_dim, layer.value_dim, layer.window, room)
