"""Events as columns that grow by pieces, so that the events and the text they came from can be let go."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analyze.event_decoding import Event
from analyze.timestamps import nanoseconds

# Arguments are most of a trace. More of them than this wait on disk until they are inserted.
SPILL_BYTES = 512 << 20


class Tracks(dict[tuple[Any, Any], int]):
    """A small number for each pair of process and thread; 7 and "7" are one, whatever type the trace gave them."""

    def __init__(self) -> None:
        super().__init__()
        self.keys_as_text: dict[tuple[str, str], int] = {}

    def __missing__(self, key: tuple[Any, Any]) -> int:
        text = (id_text(key[0]), id_text(key[1]))
        code = self[key] = self.keys_as_text.setdefault(text, len(self.keys_as_text))
        return code

    def names(self) -> list[str]:
        """`process/thread` of each track, by its number."""
        return [f"{pid}/{tid}" for pid, tid in self.keys_as_text]


class TextColumn:
    """A column of text in pieces; what exceeds `spill_bytes` lies compressed in a temporary file."""

    def __init__(self, spill_bytes: int = SPILL_BYTES) -> None:
        self._pieces: list[pa.Array | int] = []
        self._lengths: list[int] = []
        self._spill_bytes = spill_bytes
        self._held = 0
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchFileWriter | None = None
        self._reader: pa.RecordBatchFileReader | None = None
        self._spilled = 0

    def append(self, piece: pa.Array) -> None:
        """Add a piece at the end."""
        self._lengths.append(len(piece))
        self._held += piece.nbytes
        if self._held <= self._spill_bytes:
            self._pieces.append(piece)
            return
        if self._writer is None:
            self._file = tempfile.TemporaryFile(prefix="phasescope-")  # noqa: SIM115 - lives as long as the column
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_file(self._file, pa.schema([("text", pa.string())]), options=options)
        self._writer.write_batch(pa.record_batch([piece], names=["text"]))
        self._pieces.append(self._spilled)
        self._spilled += 1

    def __len__(self) -> int:
        return sum(self._lengths)

    @property
    def in_memory(self) -> bool:
        """Whether no piece lies on disk."""
        return self._file is None

    def pieces(self) -> Iterator[pa.Array]:
        """The pieces in order, those on disk one at a time."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._file is not None and self._reader is None:
            self._reader = pa.ipc.open_file(self._file)
        for piece in self._pieces:
            if isinstance(piece, int):
                assert self._reader is not None
                yield self._reader.get_batch(piece).column(0)
            else:
                yield piece

    def filtered(self, keep: npt.NDArray[np.bool_]) -> FilteredText:
        """The rows that `keep` chooses; a spilled column stays on disk."""
        return FilteredText(self, keep)

    def at(self, rows: npt.NDArray[np.int64]) -> list[str | None]:
        """The values of some rows, given in rising order."""
        values: list[str | None] = []
        first = taken = 0
        for piece in self.pieces() if len(rows) else ():
            end = first + len(piece)
            stop = int(np.searchsorted(rows, end))
            if stop > taken:
                values += piece.take(pa.array(rows[taken:stop] - first)).to_pylist()
                taken = stop
            first = end
        return values


class FilteredText:
    """Chosen rows of a TextColumn, piece by piece."""

    def __init__(self, column: TextColumn, keep: npt.NDArray[np.bool_]) -> None:
        self.column = column
        self._keep = keep
        self._all = bool(keep.all())

    def __len__(self) -> int:
        return len(self._keep) if self._all else int(np.count_nonzero(self._keep))

    @property
    def in_memory(self) -> bool:
        """Whether none of it lies on disk."""
        return self.column.in_memory

    def pieces(self) -> Iterator[pa.Array]:
        """The chosen rows of each piece."""
        first = 0
        for piece in self.column.pieces():
            end = first + len(piece)
            yield piece if self._all else piece.filter(pa.array(self._keep[first:end]))
            first = end

    def whole(self) -> pa.ChunkedArray:
        """All of it in memory."""
        return pa.chunked_array(list(self.pieces()), pa.string())


class EventColumns:
    """Columns of events of one kind. Times in ns; a fault as `timestamps.nanoseconds` gives it, 0 where good."""

    def __init__(self, tracks: Tracks) -> None:
        self._tracks = tracks
        self._ts: list[npt.NDArray[np.int64]] = []
        self._fault: list[npt.NDArray[np.int8]] = []
        self._track: list[npt.NDArray[np.int32]] = []
        self._name: list[pa.Array] = []
        self._category: list[pa.Array] = []
        self._extra: dict[str, list[Any]] = {}
        self.args = TextColumn()
        self.rows = 0

    def add(self, events: list[Event], *, args: bool = True) -> None:
        """Take the events' times, tracks, names, categories and arguments."""
        tracks = self._tracks
        ts, fault = nanoseconds([e.ts for e in events])
        self._ts.append(ts)
        self._fault.append(fault)
        self._track.append(np.fromiter([tracks[(e.pid, e.tid)] for e in events], np.int32, len(events)))
        self._name.append(pa.array([e.name for e in events], pa.string()).dictionary_encode())
        self._category.append(pa.array([e.cat for e in events], pa.string()).dictionary_encode())
        if args:
            self.args.append(raw_text([e.args for e in events]))
        self.rows += len(events)

    def add_extra(self, column: str, values: Any) -> None:
        """A piece of another column, an array of numpy or Arrow."""
        self._extra.setdefault(column, []).append(values)

    @property
    def ts(self) -> npt.NDArray[np.int64]:
        return joined(self._ts, np.int64)

    @property
    def fault(self) -> npt.NDArray[np.int8]:
        return joined(self._fault, np.int8)

    @property
    def track(self) -> npt.NDArray[np.int32]:
        return joined(self._track, np.int32)

    @property
    def name(self) -> pa.ChunkedArray:
        return _dictionaries(self._name)

    @property
    def category(self) -> pa.ChunkedArray:
        return _dictionaries(self._category)

    def extra(self, column: str, kind: Any) -> Any:
        """A further column: numpy where `kind` is a dtype, Arrow where it is an Arrow type."""
        pieces = self._extra.get(column, [])
        return pa.chunked_array(pieces, kind) if isinstance(kind, pa.DataType) else joined(pieces, kind)


def joined(pieces: list[npt.NDArray[Any]], dtype: Any) -> npt.NDArray[Any]:
    """Pieces as one array, also when there are none."""
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype)


def _dictionaries(pieces: list[pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array(pieces or [pa.array([], pa.string()).dictionary_encode()]).unify_dictionaries()


def id_text(value: Any) -> str:
    """A process or thread id as text, the same for 7, 7.0 and "7" (and 1 for true, which no dictionary tells apart)."""
    if value is None:
        return ""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    return str(value)


def track_of(event: Event) -> str:
    """The event's `process/thread`, as `Tracks.names` writes it."""
    return f"{id_text(event.pid)}/{id_text(event.tid)}"


def raw_text(raws: list[msgspec.Raw]) -> pa.Array:
    """Raw JSON values as an Arrow string column, without an object a row; absent is null."""
    lengths = np.fromiter(map(len, raws), np.int32, len(raws))
    offsets = np.zeros(len(raws) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    column = pa.StringArray.from_buffers(len(raws), pa.py_buffer(offsets), pa.py_buffer(b"".join(raws)))
    if lengths.min(initial=1) == 0:
        column = pc.if_else(pa.array(lengths > 0), column, pa.scalar(None, pa.string()))
    return column
