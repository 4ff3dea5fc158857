import pytest
import torch

from capture.memory_errors import is_out_of_memory


def test_torchs_cpu_allocator():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"), True),
        (RuntimeError("shape mismatch"), False),
        (KeyError("out of memory"), False),
    ],
)
def test_kinds(error, answer):
    assert is_out_of_memory(error) is answer
