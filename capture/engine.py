"""The engine: greedy generation as one prefill and N-1 decode calls, each under a recorder.

N new tokens are 1 prefill, which gives the first, and N-1 decode calls, which give one each.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch

from capture.errors import PhasescopeError
from capture.recorder import Recorder

# `cache=` came with transformers 5.24; before it `past_key_values=`, and `cache_params=` for state-space models.
CACHE_ARGUMENTS = ("cache", "past_key_values", "cache_params")

CacheFactory = Callable[[int, int], Any]


@dataclass
class PrefillResult:
    """next_token [batch, 1], the KV cache after the prompt, and the synchronised wall time in milliseconds."""

    next_token: torch.Tensor
    cache: Any
    elapsed_ms: float


@dataclass
class StepResult:
    """next_token [batch, 1], the KV cache after the step, and the synchronised wall time in milliseconds."""

    next_token: torch.Tensor
    cache: Any
    elapsed_ms: float


@dataclass
class DecodeResult:
    """generated_ids [batch, new_tokens]; step_times_ms, one for each decode call; the prefill's time; the cache."""

    generated_ids: torch.Tensor
    step_times_ms: list[float]
    prefill_ms: float
    cache: Any


class Engine:
    """Runs a causal language model of transformers, greedily, phase by phase.

    recorder: gets every phase; without one the engine makes its own for the model's device. logits: "all" computes
    them for every prompt position, "last" only for the one that is needed (where the model can). cache_factory:
    called with (batch_size, tokens in the end) for the cache of a generation; None leaves it to the model.
    """

    def __init__(
        self,
        model: Any,
        recorder: Recorder | None = None,
        *,
        logits: Literal["all", "last"] = "all",
        cache_factory: CacheFactory | None = None,
    ) -> None:
        self.model = model
        self.recorder = recorder if recorder is not None else Recorder(model.device)
        parameters = inspect.signature(model.forward).parameters
        argument = next((name for name in CACHE_ARGUMENTS if name in parameters), None)
        if argument is None:
            raise PhasescopeError(
                f"{type(model).__name__} takes no KV cache ({', '.join(CACHE_ARGUMENTS)}); capture a causal "
                "language model."
            )
        self.cache_argument: str = argument
        self._extra: dict[str, Any] = {"use_cache": True}
        if logits == "last":
            if "logits_to_keep" not in parameters:
                raise PhasescopeError(f"{type(model).__name__} cannot keep the last logits only; use --logits all.")
            self._extra["logits_to_keep"] = 1
        self._cache_factory = cache_factory

    def _forward(self, token_ids: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        output = self.model(input_ids=token_ids, **{self.cache_argument: cache}, **self._extra)
        return output.logits[:, -1:].argmax(dim=-1), getattr(output, self.cache_argument)

    @torch.inference_mode()
    def run_prefill(self, input_ids: torch.Tensor, cache: Any = None) -> PrefillResult:
        """Read the prompt: input_ids [batch, prompt_tokens], into `cache` or one that the model makes."""
        batch_size, prompt_tokens = input_ids.shape
        with self.recorder.phase(
            "prefill", tokens=batch_size * prompt_tokens, cached_tokens=prompt_tokens, cache=cache
        ) as phase:
            next_token, phase.cache = self._forward(input_ids, cache)
        return PrefillResult(next_token, phase.cache, phase.elapsed_ns / 1e6)

    @torch.inference_mode()
    def run_decode_step(self, token: torch.Tensor, cache: Any, cached_tokens: int | None = None) -> StepResult:
        """One cached decode call for token [batch, 1]; cached_tokens is how many the cache will hold after it."""
        with self.recorder.phase("decode", tokens=token.shape[0], cached_tokens=cached_tokens, cache=cache) as phase:
            next_token, phase.cache = self._forward(token, cache)
        return StepResult(next_token, phase.cache, phase.elapsed_ns / 1e6)

    @torch.inference_mode()
    def generate(self, input_ids: torch.Tensor, max_new_tokens: int) -> DecodeResult:
        """Generate exactly max_new_tokens for input_ids [batch, prompt_tokens]; no end token stops it.

        Raises ValueError unless max_new_tokens is above 0.
        """
        if max_new_tokens <= 0:
            raise ValueError(f"max_new_tokens must be above 0, not {max_new_tokens}")
        batch_size, prompt_tokens = input_ids.shape
        cache = self._cache_factory(batch_size, prompt_tokens + max_new_tokens) if self._cache_factory else None
        prefill = self.run_prefill(input_ids, cache)
        token, cache = prefill.next_token, prefill.cache
        generated = [token]
        step_times_ms = []
        for step in range(1, max_new_tokens):
            result = self.run_decode_step(token, cache, prompt_tokens + step)
            token, cache = result.next_token, result.cache
            generated.append(token)
            step_times_ms.append(result.elapsed_ms)
        return DecodeResult(torch.cat(generated, dim=1), step_times_ms, prefill.elapsed_ms, cache)
