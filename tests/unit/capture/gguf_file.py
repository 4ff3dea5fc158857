"""A tiny Llama-shaped .gguf file with known weights."""

from pathlib import Path

import gguf
import numpy as np


def write_tiny_gguf(path: Path, layers: int = 2) -> dict[str, np.ndarray]:
    """Write the file; returns its tensors by their GGUF names."""
    draw = np.random.default_rng(5)
    hidden, heads, kv_heads, feed, vocab = 64, 4, 2, 96, 128
    shapes = {"token_embd.weight": (vocab, hidden), "output_norm.weight": (hidden,), "output.weight": (vocab, hidden)}
    for layer in range(layers):
        name = f"blk.{layer}."
        shapes |= {
            name + "attn_q.weight": (hidden, hidden),
            name + "attn_k.weight": (hidden // heads * kv_heads, hidden),
            name + "attn_v.weight": (hidden // heads * kv_heads, hidden),
            name + "attn_output.weight": (hidden, hidden),
            name + "ffn_gate.weight": (feed, hidden),
            name + "ffn_up.weight": (feed, hidden),
            name + "ffn_down.weight": (hidden, feed),
            name + "attn_norm.weight": (hidden,),
            name + "ffn_norm.weight": (hidden,),
        }
    tensors = {name: (draw.standard_normal(shape) * 0.2).astype("float32") for name, shape in shapes.items()}
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(hidden // heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(vocab)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors
