"""Tiny models with random weights, made in a moment, for tests of the engine and its measurements."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

SHAPE: dict[str, Any] = {
    "vocab_size": 199,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": None,
}


def tiny_model(model_type: str = "llama", dtype: torch.dtype = torch.float32, **changes: Any) -> Any:
    torch.manual_seed(7)
    config = AutoConfig.for_model(model_type, **(SHAPE | changes))
    return AutoModelForCausalLM.from_config(config, dtype=dtype).eval()


def tokens(batch_size: int, prompt_tokens: int, vocab_size: int = 199) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(1, vocab_size, (batch_size, prompt_tokens), generator=generator)
