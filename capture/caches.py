"""The KV caches that a capture can ask for by name."""

from __future__ import annotations

from typing import Any

from capture.engine import CacheFactory
from capture.errors import PhasescopeError, UsageError
from capture.spec import CACHES


def cache_factory(word: str, config: Any) -> CacheFactory | None:
    """A factory for the cache that `word` names; None for dynamic, which every model makes for itself.

    static has room for the prompt and all new tokens from the start; fp8, quanto and hqq are transformers'
    quantised caches (the last two need a package of that name).
    """
    if word not in CACHES:
        raise UsageError(f"There is no cache {word}; --cache takes {', '.join(CACHES)}.")
    if word == "dynamic":
        return None
    from transformers import cache_utils

    def make(batch_size: int, tokens: int) -> Any:
        try:
            if word == "static":
                return cache_utils.StaticCache(config=config, max_cache_len=tokens)
            return cache_utils.QuantizedCache(word, config)
        except (ImportError, ValueError, TypeError, KeyError) as error:
            first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise PhasescopeError(f"This model cannot use the {word} cache: {first_line}") from error

    return make
