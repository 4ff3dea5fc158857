"""The prompt as token ids."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def random_prompt(vocab_size: int, batch_size: int, prompt_tokens: int, seed: int) -> torch.Tensor:
    """Token ids [batch_size, prompt_tokens] drawn evenly from the vocabulary, the same on every machine."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, vocab_size, (batch_size, prompt_tokens), generator=generator)


def text_prompt(tokenizer: Any, text: str, batch_size: int) -> torch.Tensor:
    """Token ids [batch_size, tokens of the text], the same text in every sequence."""
    ids = tokenizer(text, return_tensors="pt").input_ids
    return ids.repeat(batch_size, 1)


def token_digest(ids: torch.Tensor) -> str:
    """sha256 of token ids, to tell whether two passes read and wrote the same tokens."""
    return hashlib.sha256(ids.cpu().contiguous().numpy().astype("<i8").tobytes()).hexdigest()
