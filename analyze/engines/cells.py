"""A query result of trace processor, decoded by column into an Arrow table."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from analyze.engines.wire import fields, unpack_varints
from analyze.errors import PhasescopeError

# Field numbers of perfetto.protos.QueryResult and its CellsBatch, and CellsBatch.CellType
# (protos/perfetto/trace_processor/trace_processor.proto).
_COLUMN_NAMES, _ERROR, _BATCH = 1, 2, 3
_CELLS, _VARINTS, _FLOATS, _BLOBS, _STRINGS = 1, 2, 3, 4, 5
_NULL, _INTEGER, _FLOAT, _STRING, _BLOB = 1, 2, 3, 4, 5
_KIND_NAMES = {_INTEGER: "integers", _FLOAT: "floats", _STRING: "strings", _BLOB: "blobs"}


def decode(result: bytes) -> pa.Table:
    """The table of a serialised QueryResult (or of several, concatenated: batches add up).

    Columns are int64, float64, string or binary, with nulls; a column that holds integers and floats is
    float64; one without any value has Arrow's null type. Raises PhasescopeError with trace processor's
    message when the query failed, and when a column mixes types that have no common one.
    """
    try:
        return _decode(result)
    except ValueError as error:
        raise PhasescopeError(
            f"Perfetto's trace processor answered in a form that is not understood ({error}); "
            "use --engine wasm, or the native version that package perfetto pins (phasescope doctor --fetch)."
        ) from error


def _decode(result: bytes) -> pa.Table:
    names: list[str] = []
    error: str | None = None
    packed: dict[int, list[memoryview]] = {_CELLS: [], _VARINTS: [], _FLOATS: [], _BLOBS: [], _STRINGS: []}
    for number, value in fields(memoryview(result)):
        if isinstance(value, int):
            continue
        if number == _COLUMN_NAMES:
            names.append(bytes(value).decode("utf-8", "replace"))
        elif number == _ERROR:
            error = bytes(value).decode("utf-8", "replace")
        elif number == _BATCH:
            for inner, content in fields(value):
                if inner in packed and not isinstance(content, int):
                    packed[inner].append(content)
    if error:
        raise PhasescopeError(f"Perfetto's trace processor refused the query: {one_line(error)}")
    return _table(names, packed)


def one_line(message: str) -> str:
    """Trace processor's message in one line: without the SQL excerpt, but with the place it names."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return "no message"
    place = re.search(r"line (\d+) col (\d+)\s*$", message, re.MULTILINE)
    return f"{lines[-1]} (line {place[1]}, column {place[2]})" if place else lines[-1]


def _table(names: list[str], packed: dict[int, list[memoryview]]) -> pa.Table:
    kinds = np.frombuffer(b"".join(packed[_CELLS]), dtype=np.uint8)
    width = len(names)
    if not width or len(kinds) % width:
        if len(kinds):
            raise ValueError(f"{len(kinds)} cells do not fill rows of {width} columns")
        return pa.table({})
    values = {
        _INTEGER: unpack_varints(b"".join(packed[_VARINTS])),
        _FLOAT: np.frombuffer(b"".join(packed[_FLOATS]), dtype="<f8"),
        _STRING: _strings(b"".join(packed[_STRINGS])),
        _BLOB: pa.array([bytes(blob) for blob in packed[_BLOBS]], type=pa.binary()),
    }
    # A cell's value is the n-th of its kind, counted over the whole result row by row.
    position = np.empty(len(kinds), dtype=np.int64)
    for kind, store in values.items():
        cells = np.flatnonzero(kinds == kind)
        if len(cells) != len(store):
            raise ValueError(f"{len(cells)} cells of type {kind}, but {len(store)} values")
        position[cells] = np.arange(len(cells))
    rows_kinds, rows_position = kinds.reshape(-1, width), position.reshape(-1, width)
    columns = [_column(name, rows_kinds[:, index], rows_position[:, index], values) for index, name in enumerate(names)]
    return pa.Table.from_arrays(columns, names=names)


def _column(name: str, kinds: np.ndarray, position: np.ndarray, values: dict) -> pa.Array:
    present = sorted(set(np.flatnonzero(np.bincount(kinds, minlength=6)).tolist()) - {_NULL})
    if not present:
        return pa.nulls(len(kinds))
    if present == [_INTEGER, _FLOAT]:
        mixed = np.zeros(len(kinds))
        for kind in present:
            mine = kinds == kind
            mixed[mine] = values[kind][position[mine]]
        return pa.array(mixed, mask=kinds == _NULL)
    if len(present) > 1:
        found = " and ".join(_KIND_NAMES.get(kind, f"cells of unknown type {kind}") for kind in present)
        raise PhasescopeError(f"Column {name} of the query mixes {found}; CAST it to one type.")
    kind = present[0]
    missing = kinds == _NULL
    if kind in (_INTEGER, _FLOAT):
        filled = values[kind][position] if not missing.any() else _scatter(values[kind], position, missing)
        return pa.array(filled, mask=missing)
    return values[kind].take(pa.array(position, mask=missing))


def _scatter(values: np.ndarray, position: np.ndarray, missing: np.ndarray) -> np.ndarray:
    filled = np.zeros(len(position), dtype=values.dtype)
    filled[~missing] = values[position[~missing]]
    return filled


def _strings(joined: bytes) -> pa.Array:
    """Arrow strings from cells that each end with a NUL byte; bad UTF-8 becomes U+FFFD."""
    raw = np.frombuffer(joined, dtype=np.uint8)
    ends = np.flatnonzero(raw == 0)
    if len(raw) and (not len(ends) or ends[-1] != len(raw) - 1):
        raise ValueError("the last string cell has no end")
    offsets = np.zeros(len(ends) + 1, dtype=np.int64)
    offsets[1:] = ends - np.arange(len(ends))  # where each string ends once the NULs are gone
    text = raw[raw != 0]
    kind, offset_type = (pa.string(), np.int32) if len(text) < 2**31 else (pa.large_string(), np.int64)
    buffers = [None, pa.py_buffer(offsets.astype(offset_type)), pa.py_buffer(text)]
    strings = pa.Array.from_buffers(kind, len(ends), buffers)
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        cells: Iterable[bytes] = joined.split(b"\0")[:-1]
        return pa.array([cell.decode("utf-8", "replace") for cell in cells], type=kind)
    return strings
