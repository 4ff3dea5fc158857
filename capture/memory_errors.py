"""Recognising that memory ran out, which each backend says in its own way."""

from __future__ import annotations

PHRASES = ("out of memory", "can't allocate memory", "not enough memory", "cannot allocate memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that memory ran out: of Python, of torch's CPU allocator, of CUDA or of MPS."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError | OSError) and any(phrase in str(error).lower() for phrase in PHRASES)
