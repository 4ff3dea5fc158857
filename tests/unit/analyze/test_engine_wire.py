"""The wire decoder against protobuf's own encoder."""

import numpy as np
import pytest
from google.protobuf.internal import encoder
from hypothesis import given
from hypothesis import strategies as st

from analyze.engines.wire import fields, unpack_varints


def pack(values: list[int]) -> bytes:
    return b"".join(encoder._VarintBytes(value % 2**64) for value in values)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_varints_come_back_as_they_were_packed(values: list[int]) -> None:
    assert unpack_varints(pack(values)).tolist() == values


@pytest.mark.parametrize("bits", range(64))
def test_varints_of_every_length(bits: int) -> None:
    edge = [2**bits - 1, -(2**bits), 0]
    assert unpack_varints(pack(edge)).tolist() == edge


def test_no_varints() -> None:
    assert unpack_varints(b"").tolist() == []
    assert unpack_varints(b"").dtype == np.int64


@pytest.mark.parametrize("packed", [b"\x80", b"\x01\xff", b"\x80" * 10 + b"\x01"])
def test_damaged_varints_are_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="varint"):
        unpack_varints(packed)


def test_fields_of_each_wire_type() -> None:
    message = b"\x08\x96\x01" + b"\x12\x03abc" + b"\x19" + bytes(8) + b"\x25" + bytes(4) + b"\xda\x0c\x00"
    found = [(n, v if isinstance(v, int) else bytes(v)) for n, v in fields(memoryview(message))]
    assert found == [(1, 150), (2, b"abc"), (3, bytes(8)), (4, bytes(4)), (203, b"")]


@pytest.mark.parametrize("message", [b"\x12\x05abc", b"\x08", b"\x08\x80", b"\x0b", b"\x19\x00"])
def test_damaged_messages_are_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"cut off|wire type"):
        list(fields(memoryview(message)))
