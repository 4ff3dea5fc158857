"""Chrome JSON as a stream: the events in pieces of bounded size, and the document's other keys.

Only a piece that fails is mended. Memory is bounded by the piece, not by the file.
"""

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from analyze.errors import PhasescopeError
from analyze.event_decoding import Event, EventDecoder, last_cut
from analyze.event_mending import LARGEST_EVENT, SMALL_PIECE, EventMender
from analyze.faults import Faults
from analyze.json_repair import repair
from analyze.stream_window import PIECE_BYTES, WHITE, StreamWindow


class EventStream:
    """Iterates over lists of events; afterwards `metadata`, `faults` and `raw_events` are complete."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self.faults = Faults()
        self.metadata: dict[str, str] = {}
        self._window = StreamWindow(stream, self.faults)
        self._decoder = EventDecoder(self.faults)
        self._mender = EventMender(self._window, self._decoder)
        self._found_events = False

    @property
    def raw_events(self) -> int:
        """Events that stand in the file, those included that are left out."""
        return self._decoder.raw_events

    def __iter__(self) -> Iterator[list[Event]]:
        window = self._window
        window.more()
        if window.window(3) == b"\xef\xbb\xbf":
            window.drop(3)
        first = window.skip_white()
        if first == b"[":
            self._found_events = True
            window.drop(1)
            yield from self._array()
        elif first == b"{":
            window.drop(1)
            yield from self._object()
        else:
            raise PhasescopeError(
                f"{self.name}: not a trace: JSON that begins with {bytes(first)!r}; "
                "expected a Chrome trace object or array"
            )
        if not self.faults.truncated and (rest := window.skip_white()):
            where = (
                f"{bytes(rest)!r} and what follows it at byte {window.offset}, behind the end of the trace, is not read"
            )
            self.faults.mend("trailing_data", 1, where)
        if not self._found_events:
            keys = ", ".join(list(self.metadata)[:5]) or "none"
            raise PhasescopeError(
                f"{self.name}: no traceEvents in this JSON (its keys: {keys}); export a Chrome trace and load that"
            )
        if self.faults.truncated:
            where = self.faults.first["truncated"]
            saved = self.raw_events - self.faults.excluded.total()
            self.faults.first["truncated"] = f"{where}; {saved} events before it are whole"

    # The document around the events.

    def _object(self) -> Iterator[list[Event]]:
        window = self._window
        while True:
            byte = window.skip_white()
            if byte == b",":
                window.drop(1)
                continue
            if byte == b"}":
                window.drop(1)
                return
            key = window.take_string() if byte == b'"' else None
            if key is None or window.skip_white() != b":":
                break
            window.drop(1)
            byte = window.skip_white()
            if key == "traceEvents" and byte == b"[":
                self._found_events = True
                window.drop(1)
                yield from self._array()
                continue
            value = window.take_value()
            if value is None:
                break
            try:
                msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                value, counts = repair(value)
                for reason, count in counts.items():
                    self.faults.mend(reason, count, f"in the key {key} of the document")
            self.metadata[key] = value.decode(errors="replace")
        self.faults.cut_short(f"the document breaks off at byte {window.offset}")

    # The events.

    def _array(self) -> Iterator[list[Event]]:
        window = self._window
        size = PIECE_BYTES
        while True:
            byte = window.skip_white()
            if byte == b",":
                window.drop(1)
                self._mender.separated = True
                continue
            if byte == b"]":
                window.drop(1)
                return
            if byte == b"":
                self.faults.cut_short(f"the file ends at byte {window.offset} without closing its array of events")
                return
            while len(window) < size and window.more():
                pass
            events, used, ended, broken = self._piece(size)
            if used:
                window.drop(used)
                size = min(size * 2, PIECE_BYTES)
            elif not broken and not window.ended and size < LARGEST_EVENT:
                size *= 2  # one event is larger than the piece
                continue
            else:
                events = self._mender.take()
                size = SMALL_PIECE
            if events:
                yield events
            if ended:
                return

    def _piece(self, size: int) -> tuple[list[Event], int, bool, bool]:
        """Decode whole events from the front.

        Returns the events, the bytes they took, whether the array ended behind them, and, where nothing could be
        decoded, whether the first event is known to be broken (else it may only be longer than the piece).
        """
        window, decoder = self._window, self._decoder
        data, at = window.window(size), window.offset
        end = len(data)
        whole = window.ended and end == len(window)
        cut = end if whole else last_cut(data, end)
        broken, tries = False, 0
        while cut > 0:
            events, bad = decoder.piece(data[:cut], at)
            if events is not None:
                return events, cut, False, False
            broken = bad is not None
            tries += 1
            if bad is None:
                # Cut inside an event, most likely; else somewhere before: look there in strides.
                cut = last_cut(data, cut - 1 if tries < 8 else cut // 2)
                continue
            bad = min(bad, cut)
            # msgspec stops just behind the bracket that closed the array: what stands before it is whole.
            close = data.rfind(b"]", 0, bad + 1)
            if close >= 0 and not data[close + 1 : bad].strip(WHITE + b",}"):
                body = data[:close].rstrip(WHITE)
                trailing = body.endswith(b",")
                events, _bad = decoder.piece(body[:-1] if trailing else body, at)
                if events is not None:
                    if trailing:
                        self._mender.mended("trailing_comma", 1, at + len(body) - 1)
                    return events, close + 1, True, False
            cut = last_cut(data, bad)
        return [], 0, False, broken
