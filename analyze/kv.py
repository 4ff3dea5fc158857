"""Bytes that a KV cache must hold, from the architecture: what `kv_check` compares measured bytes with."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, dataclass

from capture.bundle import Architecture, KvLayer


@dataclass(frozen=True)
class ExpectedBytes:
    """computed_bytes over all layers and the batch, with the formula as text; None with the reason instead."""

    computed_bytes: int | None
    reason: str


def expected_bytes(
    architecture: Architecture | None, batch_size: int, prompt_tokens: int, cached_tokens: int
) -> ExpectedBytes:
    """Bytes in the cache when each of `batch_size` sequences has `cached_tokens` tokens in it.

    Formula per layer: kv_heads x (key_dim + value_dim) x bytes an element x tokens x batch, where tokens are
    all cached ones (full, latent), the capacity (static), or for a sliding window min(cached, window): so
    transformers 5.24 does it, `DynamicSlidingWindowLayer.update`: it concatenates the window - 1 tokens kept with
    the new one and keeps a view of the last window - 1, whose storage is the whole. After a prefill longer than
    the window that storage is the whole prompt, until the first decode step. A linear layer holds a state of fixed
    size; shared and none hold nothing. One layer of which the configuration does not tell makes the sum unknown.
    """
    if architecture is None or not architecture.kv_layers:
        return ExpectedBytes(None, "The bundle tells nothing of the model's cache layers.")
    element_bytes = architecture.kv_element_bytes
    if element_bytes is None:
        return ExpectedBytes(None, "The bundle does not tell the bytes of a cache element.")
    groups = Counter(astuple(layer) for layer in architecture.kv_layers)
    total, terms = 0, []
    for fields, layers in groups.items():
        layer = KvLayer(*fields)
        if layer.kind in ("shared", "none"):
            terms.append(f"0 ({layers} layers of kind {layer.kind})")
            continue
        tokens, tokens_text = _tokens(layer, prompt_tokens, cached_tokens)
        if layer.kv_heads is None or layer.key_dim is None or layer.value_dim is None or tokens is None:
            why = layer.reason or "the configuration does not give its sizes"
            return ExpectedBytes(None, f"{layers} of {len(architecture.kv_layers)} layers are {layer.kind}: {why}")
        total += layers * layer.kv_heads * (layer.key_dim + layer.value_dim) * element_bytes * tokens * batch_size
        if layer.key_dim == layer.value_dim:
            sizes = f"2 (K and V) × {layers} layers × {layer.kv_heads} heads × {layer.key_dim}"
        else:
            sizes = f"{layers} layers × {layer.kv_heads} heads × ({layer.key_dim} K + {layer.value_dim} V)"
        terms.append(f"{sizes} × {element_bytes} bytes{tokens_text} × batch {batch_size}")
    return ExpectedBytes(total, " + ".join(terms))


def _tokens(layer: KvLayer, prompt_tokens: int, cached_tokens: int) -> tuple[int | None, str]:
    """Tokens that a layer holds, None where that cannot be told, and how to say it in the formula."""
    match layer.kind:
        case "full" | "latent":
            return cached_tokens, f" × {cached_tokens} tokens"
        case "sliding" if layer.window is not None and cached_tokens <= prompt_tokens:
            if cached_tokens > layer.window:
                return cached_tokens, f" × {cached_tokens} tokens (window {layer.window}, cut after the prompt)"
            return cached_tokens, f" × {cached_tokens} tokens"
        case "sliding" if layer.window is not None:
            held = min(cached_tokens, layer.window)
            return held, f" × {held} tokens (window {layer.window})"
        case "static" if layer.capacity is not None:
            return layer.capacity, f" × {layer.capacity} tokens (capacity)"
        case "linear":
            return 1, " (a state of fixed size)"
    return None, ""
