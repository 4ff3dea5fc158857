"""Bytes of a KV cache, measured from the storages that its tensors rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def kv_cache_bytes(cache: Any) -> int:
    """Bytes of the unique storages reachable in `cache`, whatever its class; 0 for None.

    Walks attributes, mappings and sequences, so that dynamic, static, sliding-window, quantised, hybrid and
    linear-state caches count alike. A storage counts once and whole, however many views share it: this is memory
    held, which can exceed the tokens that a view shows. Integers without a dimension are positions that a cache
    keeps for itself, no keys or values, and stay out.
    """
    storages: dict[tuple[str, int], int] = {}
    for tensor in _tensors(cache, set()):
        if tensor.dim() == 0 and not tensor.is_floating_point():
            continue
        storage = tensor.untyped_storage()
        if storage.nbytes():
            storages[str(tensor.device), storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def _tensors(thing: Any, seen: set[int]) -> Iterator[torch.Tensor]:
    if thing is None or isinstance(thing, str | bytes | int | float | bool | type | torch.dtype | torch.device):
        return
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, torch.Tensor):
        # A tensor subclass (as quantisers make) holds its data in inner tensors and has no storage of its own.
        if hasattr(thing, "__tensor_flatten__"):
            for name in thing.__tensor_flatten__()[0]:
                yield from _tensors(getattr(thing, name), seen)
        else:
            yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from _tensors(value, seen)
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield from _tensors(value, seen)
    elif not isinstance(thing, torch.nn.Module) and not callable(thing):
        for value in getattr(thing, "__dict__", {}).values():
            yield from _tensors(value, seen)
        slots = getattr(type(thing), "__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            yield from _tensors(getattr(thing, slot, None), seen)
