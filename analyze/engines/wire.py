"""Protobuf's wire format, as far as query results need it: fields of a message, packed varints.

The generated classes turn every packed cell into a Python object; here packed fields stay bytes, so
that numpy decodes a whole column at once. Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5

# Keeps the lowest n bytes of a little-endian 64-bit word, for n = 0 … 8.
_LOW_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Field number and value of each field of a serialised message, in order.

    Varints come as int, all others as the bytes of their value. Raises ValueError on a truncated or
    malformed message.
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == LENGTH_DELIMITED:
            length, at = _varint(message, at)
        elif kind == FIXED64:
            length = 8
        elif kind == FIXED32:
            length = 4
        else:
            raise ValueError(f"wire type {kind} in a trace processor reply")
        if at + length > end:
            raise ValueError("a trace processor reply is cut off")
        yield number, message[at : at + length]
        at += length


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a trace processor reply is cut off")


def unpack_varints(packed: bytes) -> np.ndarray:
    """int64 values of a packed varint field (two's complement, as protobuf's int64).

    Gathers eight bytes from each start, masks what belongs to the next value and squeezes the 7-bit
    groups together; only values of nine or ten bytes (2**56 and up, and negatives) need more.
    """
    raw = np.frombuffer(packed + bytes(8), dtype=np.uint8)
    ends = np.flatnonzero(raw[: len(packed)] < 0x80)
    if len(packed) and (not len(ends) or ends[-1] != len(packed) - 1):
        raise ValueError("a packed varint field is cut off")
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts + 1
    if len(lengths) and lengths.max() > 10:
        raise ValueError("a varint of more than ten bytes")
    words = np.ndarray(shape=(len(packed),), dtype="<u8", buffer=raw, strides=(1,))
    value = words[starts] & _LOW_BYTES[np.minimum(lengths, 8)]
    for low, high, shift in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    ):
        value = (value & np.uint64(low)) | ((value & np.uint64(high)) >> np.uint64(shift))
    for length in (9, 10):
        long = np.flatnonzero(lengths >= length)
        byte = raw[starts[long] + length - 1].astype(np.uint64) & np.uint64(0x7F)
        value[long] |= byte << np.uint64(7 * (length - 1))
    return value.view(np.int64)
