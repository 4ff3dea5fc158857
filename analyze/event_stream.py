"""Chrome JSON as a stream: the events in pieces of bounded size, and the document's other keys.

Strict typed decoding by msgspec first; only a piece that fails is mended, and only an event that cannot be
mended is left out, with the byte at which it stands. Memory is bounded by the piece, not by the file.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec

from analyze.errors import PhasescopeError
from analyze.json_repair import repair, repair_quotes
from analyze.unpacked import unpacked

PIECE_BYTES = 2 << 20
_SMALL_PIECE = 64 << 10
_LARGEST_EVENT = 64 << 20
_LARGEST_REPAIR = 1 << 20
_FAR = 4 << 10
_EMPTY = msgspec.Raw(b"")
_WHITE = b" \t\r\n"
# A quote alone is a string whose end is not read yet. Possessive: a way back for each byte of a string would take 80
# times its memory.
_STRUCTURE = re.compile(rb'"(?:[^"\\]++|\\[\s\S])*+"|[\[\]{}"]')
_NOT_WHITE = re.compile(rb"[^ \t\r\n]")
_STRING = re.compile(rb'"(?:[^"\\]++|\\[\s\S])*+"')
_SCALAR = re.compile(rb"[^\s,\]}]+")
# Where the next event begins after one that is broken: an object whose first key is one of an event's.
_NEXT_EVENT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args|bp|s|tts)")')
_EVENT_START = re.compile(rb'\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args|bp|s|tts)"\s*:')
_LAST_EVENT = re.compile(rb'\}\s*,?\s*\](?=\s*(?:,\s*"[\w .-]+"\s*:|\}|$))')
_BYTE = re.compile(r"\(byte (\d+)\)")


class Event(msgspec.Struct, gc=False):
    """One trace event. Times and arguments stay raw: they are parsed exactly, in bulk, later."""

    ph: str
    name: str = ""
    cat: str = ""
    pid: int | str | float | bool | None = None
    tid: int | str | float | bool | None = None
    ts: msgspec.Raw = _EMPTY
    dur: msgspec.Raw = _EMPTY
    id: msgspec.Raw = _EMPTY
    id2: msgspec.Raw = _EMPTY
    args: msgspec.Raw = _EMPTY


_EVENTS = msgspec.json.Decoder(list[Event])
_EVENT = msgspec.json.Decoder(Event)
_LOOSE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAW = msgspec.json.Decoder(msgspec.Raw)
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass
class Faults:
    """What was mended and what was left out, with the place of the first of each kind."""

    repaired: Counter[str] = field(default_factory=Counter)
    excluded: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def mend(self, reason: str, events: int, where: str) -> None:
        """Count `events` mended for `reason`."""
        self.repaired[reason] += events
        self.first.setdefault(reason, where)

    def exclude(self, reason: str, events: int, where: str) -> None:
        """Count `events` left out for `reason`."""
        self.excluded[reason] += events
        self.first.setdefault(reason, where)


class _Buffer:
    """A window on the stream that knows its place in the (decompressed) file."""

    def __init__(self, stream: BinaryIO, faults: Faults) -> None:
        self.stream = unpacked(stream)
        self.faults = faults
        self.data = b""
        self.at = 0
        self.ended = False
        self._before = 0

    def __len__(self) -> int:
        return len(self.data) - self.at

    @property
    def offset(self) -> int:
        """Byte of the file at which the window begins."""
        return self._before + self.at

    def more(self, size: int = PIECE_BYTES) -> bool:
        """Read on; False at the end of the file."""
        parts = []
        while size > 0 and not self.ended:
            part = self.stream.read1(size)
            self.ended = not part
            parts.append(part)
            size -= len(part)
        if self.ended and self.stream.damage and not self.faults.repaired["damaged_compression"]:
            self.faults.mend("damaged_compression", 1, self.stream.damage)
        block = b"".join(parts)
        if not block:
            return False
        self.data = self.data[self.at :] + block
        self._before += self.at
        self.at = 0
        return True

    def window(self, size: int) -> bytes:
        """The next `size` bytes, fewer where fewer are read."""
        return self.data if self.at == 0 and len(self.data) <= size else self.data[self.at : self.at + size]

    def drop(self, count: int) -> None:
        self.at += count

    def skip_white(self) -> bytes:
        """Drop white space; returns the next byte without dropping it, b"" at the end."""
        while True:
            match = _NOT_WHITE.search(self.data, self.at)
            self.at = match.start() if match else len(self.data)
            if match or not self.more():
                return self.data[self.at : self.at + 1]


class EventStream:
    """Iterates over lists of events; afterwards `metadata`, `faults` and `raw_events` are complete."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self.faults = Faults()
        self.metadata: dict[str, str] = {}
        self.raw_events = 0
        self._buffer = _Buffer(stream, self.faults)
        self._found_events = False
        self._cut_off = False
        self._separated = True
        self._ends: tuple[int, int, list[int]] = (0, -1, [])

    def __iter__(self) -> Iterator[list[Event]]:
        buffer = self._buffer
        buffer.more()
        if buffer.window(3) == b"\xef\xbb\xbf":
            buffer.drop(3)
        first = buffer.skip_white()
        if first == b"[":
            self._found_events = True
            buffer.drop(1)
            yield from self._array()
        elif first == b"{":
            buffer.drop(1)
            yield from self._object()
        else:
            raise PhasescopeError(
                f"{self.name}: not a trace: JSON that begins with {bytes(first)!r}; "
                "expected a Chrome trace object or array"
            )
        if not self._cut_off and (rest := buffer.skip_white()):
            where = (
                f"{bytes(rest)!r} and what follows it at byte {buffer.offset}, behind the end of the trace, is not read"
            )
            self.faults.mend("trailing_data", 1, where)
        if not self._found_events:
            keys = ", ".join(list(self.metadata)[:5]) or "none"
            raise PhasescopeError(
                f"{self.name}: no traceEvents in this JSON (its keys: {keys}); export a Chrome trace and load that"
            )
        if self.faults.repaired["truncated"]:
            where = self.faults.first["truncated"]
            saved = self.raw_events - self.faults.excluded.total()
            self.faults.first["truncated"] = f"{where}; {saved} events before it are whole"

    # The document around the events.

    def _object(self) -> Iterator[list[Event]]:
        buffer = self._buffer
        while True:
            byte = buffer.skip_white()
            if byte == b",":
                buffer.drop(1)
                continue
            if byte == b"}":
                buffer.drop(1)
                return
            key = self._key() if byte == b'"' else None
            if key is None or buffer.skip_white() != b":":
                self._broken_document()
                return
            buffer.drop(1)
            byte = buffer.skip_white()
            if key == "traceEvents" and byte == b"[":
                self._found_events = True
                buffer.drop(1)
                yield from self._array()
                continue
            value = self._value()
            if value is None:
                self._broken_document()
                return
            try:
                msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                value, counts = repair(value)
                for reason, count in counts.items():
                    self.faults.mend(reason, count, f"in the key {key} of the document")
            self.metadata[key] = value.decode(errors="replace")

    def _broken_document(self) -> None:
        if self._cut_off:
            return
        self._cut_off = True
        where = f"the document breaks off at byte {self._buffer.offset}"
        self.faults.mend("truncated", 1, where)

    def _key(self) -> str | None:
        while True:
            match = _STRING.match(self._buffer.data, self._buffer.at)
            if match:
                self._buffer.at = match.end()
                return match.group()[1:-1].decode(errors="replace")
            if not self._buffer.more():
                return None

    def _value(self) -> bytes | None:
        """The next value of the document, raw; None where the file ends inside it."""
        buffer = self._buffer
        depth, read = 0, 0
        while True:
            if depth == 0 and buffer.window(1) not in (b"{", b"[", b'"', b""):
                match = _SCALAR.match(buffer.data, buffer.at)
                if match and match.end() < len(buffer.data):
                    buffer.at = match.end()
                    return match.group()
            else:
                for match in _STRUCTURE.finditer(buffer.data, buffer.at + read):
                    if match.group() == b'"':
                        break
                    byte = match.group()[:1]
                    read = match.end() - buffer.at
                    depth += (byte in b"{[") - (byte in b"}]")
                    if depth == 0:
                        value = buffer.window(read)
                        buffer.drop(read)
                        return value
            if not buffer.more():
                return None

    # The events.

    def _array(self) -> Iterator[list[Event]]:
        buffer = self._buffer
        size = PIECE_BYTES
        while True:
            byte = buffer.skip_white()
            if byte == b",":
                buffer.drop(1)
                self._separated = True
                continue
            if byte == b"]":
                buffer.drop(1)
                return
            if byte == b"":
                if not self._cut_off:
                    where = f"the file ends at byte {buffer.offset} without closing its array of events"
                    self.faults.mend("truncated", 1, where)
                    self._cut_off = True
                return
            while len(buffer) < size and buffer.more():
                pass
            events, used, ended, broken = self._piece(size)
            if used == 0:
                if not broken and not buffer.ended and size < _LARGEST_EVENT:
                    size *= 2  # one event is larger than the piece
                    continue
                events, used = self._mended_piece() or (self._one_by_one(), 0)
                size = _SMALL_PIECE
            else:
                size = min(size * 2, PIECE_BYTES)
            buffer.drop(used)
            if events:
                yield events
            if ended:
                return

    def _piece(self, size: int) -> tuple[list[Event], int, bool, bool]:
        """Decode whole events from the front.

        Returns the events, the bytes they took, whether the array ended behind them, and, where nothing could be
        decoded, whether the first event is known to be broken (else it may only be longer than the piece).
        """
        data = self._buffer.window(size)
        end = len(data)
        whole = self._buffer.ended and end == len(self._buffer)
        cut = end if whole else _last_cut(data, end)
        broken, tries = False, 0
        while cut > 0:
            events, bad = self._decode(data[:cut])
            if events is not None:
                return events, cut, False, False
            broken = bad is not None
            tries += 1
            if bad is None:
                # Cut inside an event, most likely; else somewhere before: look there in strides.
                cut = _last_cut(data, cut - 1 if tries < 8 else cut // 2)
                continue
            at = min(bad, cut)
            # msgspec stops just behind the bracket that closed the array: what stands before it is whole.
            close = data.rfind(b"]", 0, at + 1)
            if close >= 0 and not data[close + 1 : at].strip(_WHITE + b",}"):
                body = data[:close].rstrip(_WHITE)
                trailing = body.endswith(b",")
                events, _bad = self._decode(body[:-1] if trailing else body)
                if events is not None:
                    if trailing:
                        self._mend("trailing_comma", 1, self._buffer.offset + len(body) - 1)
                    return events, close + 1, True, False
            cut = _last_cut(data, at)
        return [], 0, False, broken

    def _decode(self, piece: bytes) -> tuple[list[Event] | None, int | None]:
        """Events of a piece, or None and the byte where strict decoding broke (None where it does not tell)."""
        piece = piece.rstrip(_WHITE)
        if not piece:
            return [], None
        try:
            str(piece, "utf-8")
        except UnicodeDecodeError as error:
            return None, error.start
        try:
            events = _EVENTS.decode(b"[" + piece + b"]")
        except msgspec.ValidationError:
            return self._loose(piece)
        except msgspec.DecodeError as error:
            return None, _place(error)
        except RecursionError:
            return None, 0
        self.raw_events += len(events)
        return events, None

    def _loose(self, piece: bytes) -> tuple[list[Event] | None, int | None]:
        """Events of a piece of sound JSON in which some value has an unexpected type."""
        try:
            raws = _RAWS.decode(b"[" + piece + b"]")
        except msgspec.DecodeError as error:  # sound up to the wrong type, broken behind it
            return None, _place(error)
        except RecursionError:
            return None, 0
        events = []
        for raw in raws:
            event = self._loose_event(bytes(raw))
            if event is not None:
                events.append(event)
        return events, None

    def _loose_event(self, raw: bytes) -> Event | None:
        """One event of sound JSON, its values brought to the types of Event; None (and counted) if it is none."""
        self.raw_events += 1
        where = f"first in the piece that begins at byte {self._buffer.offset}"
        try:
            return _EVENT.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            pass
        try:
            fields = _LOOSE.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            self.faults.exclude("not_an_event", 1, where)
            return None
        ph = _text(fields.get("ph"))
        if not ph:
            self.faults.exclude("no_ph", 1, where)
            return None
        self.faults.mend("unexpected_type", 1, where)
        return Event(
            ph=ph, name=_text(fields.get("name")), cat=_text(fields.get("cat")), pid=_text(fields.get("pid")),
            tid=_text(fields.get("tid")), ts=fields.get("ts", _EMPTY), dur=fields.get("dur", _EMPTY),
            id=fields.get("id", _EMPTY), id2=fields.get("id2", _EMPTY), args=fields.get("args", _EMPTY),
        )  # fmt: skip

    def _mended_piece(self) -> tuple[list[Event], int] | None:
        """Mend a small piece as a whole: where faults are many, one by one would take too long."""
        data = self._buffer.window(_SMALL_PIECE)
        cut = _last_cut(data, len(data))
        if not cut:
            return None
        mended, counts = repair(data[:cut])
        if not counts:
            return None
        events, _bad = self._decode(mended)
        if events is None:
            return None
        for reason, count in counts.items():
            self._mend(reason, count, self._buffer.offset)
        return events, cut

    def _one_by_one(self) -> list[Event]:
        """The events of about a small piece, each by itself, where decoding and mending all at once has failed.

        Drops what it takes. The time is that of the piece, however many of its events are broken.
        """
        buffer = self._buffer
        end = buffer.offset + _SMALL_PIECE
        events: list[Event] = []
        while buffer.offset < end and not self._cut_off:
            byte = buffer.skip_white()
            if byte == b",":
                buffer.drop(1)
                self._separated = True
                continue
            if byte in (b"]", b""):
                break
            if not self._separated and byte == b"{":
                self._mend("missing_comma", 1, buffer.offset)
            elif not self._separated:
                found, used = self._broken_value(0)
                events += found
                buffer.drop(used)
                continue
            found, used = self._whole_value() or self._broken_event()
            self._separated = False
            events += found
            buffer.drop(used)
        return events

    def _whole_value(self) -> tuple[list[Event], int] | None:
        """The value at the front where it is sound JSON, with the bytes it takes; None where it is not."""
        buffer = self._buffer
        size = _structural_end(buffer.data, buffer.at, _LARGEST_REPAIR)
        if not size:
            return None
        raw = buffer.window(size)
        try:
            str(raw, "utf-8")
            _RAW.decode(raw)
        except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
            return None
        event = self._loose_event(raw)
        return ([] if event is None else [event]), size

    def _broken_event(self) -> tuple[list[Event], int]:
        """Mend the event at the front, or leave it out. Returns its events and the bytes it takes."""
        buffer = self._buffer
        start = buffer.offset
        whole = _structural_end(buffer.data, buffer.at, _LARGEST_REPAIR)
        if buffer.data[buffer.at : buffer.at + 1] != b"{":
            return self._broken_value(whole)
        while True:
            ends = self._likely_ends()
            if ends or whole or len(buffer) > _LARGEST_EVENT or not buffer.more():
                break
        if whole:
            # Where brackets and quotes give an end, a far one is none: to try it for each broken event takes too long.
            ends = [end for end in ends if end <= max(4 * whole, _FAR)] + [whole] * (whole not in ends)
        for end in sorted(ends):
            events = self._mended_event(buffer.window(end), start)
            if events is not None:
                return events, end
        if ends:
            self._exclude("malformed", start)
            return [], min(ends)
        return self._broken_rest(start)

    def _likely_ends(self) -> list[int]:
        """Where the event at the front may end: before the next events, or at the end of the array.

        They are found once for all broken events before the first of them, since they may lie far ahead.
        """
        buffer = self._buffer
        start, read_to = buffer.offset, buffer.offset + len(buffer)
        searched_from, searched_to, ends = self._ends
        if searched_to != read_to or not searched_from <= start < (ends[0] if ends else read_to):
            found = zip(range(4), _NEXT_EVENT.finditer(buffer.data, buffer.at), strict=False)
            ends = [start + match.start() + 1 - buffer.at for _, match in found]
            if len(ends) < 4 and (close := _LAST_EVENT.search(buffer.data, buffer.at)):
                ends = sorted([*ends, start + close.start() + 1 - buffer.at])
            self._ends = start, read_to, ends
        return [end - start for end in ends]

    def _broken_value(self, whole: int) -> tuple[list[Event], int]:
        """Leave out what begins as no object: one value where it ends as one, else all up to the next event."""
        buffer = self._buffer
        start = buffer.offset
        if whole and (after := _NOT_WHITE.search(buffer.data, buffer.at + whole)) and after.group() in b",]":
            self._exclude("not_an_event", start)
            return [], whole
        while not (found := _EVENT_START.search(buffer.data, buffer.at)):
            if len(buffer) > _LARGEST_EVENT or not buffer.more():
                return self._broken_rest(start)
        self._exclude("malformed", start)
        return [], found.start() - buffer.at

    def _broken_rest(self, start: int) -> tuple[list[Event], int]:
        """Leave out all that is read, in which no further event begins."""
        buffer = self._buffer
        rest = buffer.window(len(buffer))
        if not buffer.ended:
            self._exclude("malformed", start)
            return [], len(rest)
        last = rest.rstrip(_WHITE + b",")
        events = self._mended_event(last, start) if last.endswith(b"}") else None
        if events is not None:
            return events, len(rest)
        self._exclude("cut_off", start)
        self.faults.mend("truncated", 1, f"the file ends inside an event that begins at byte {start}")
        self._cut_off = True
        return [], len(rest)

    def _mended_event(self, text: bytes, start: int) -> list[Event] | None:
        """The event that `text` gives when mended (none where it is no event, and counted); None if beyond mending."""
        mended, counts = repair(text)
        events = self._mended(mended, counts, start)
        if events is None and len(text) <= _SMALL_PIECE:
            quoted, changed = repair_quotes(text)
            if changed:
                mended, counts = repair(quoted)
                counts["unescaped_quote"] += changed
                events = self._mended(mended, counts, start)
        return events

    def _mended(self, text: bytes, counts: Counter[str], start: int) -> list[Event] | None:
        try:
            _LOOSE.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        for reason, count in counts.items():
            self._mend(reason, count, start)
        event = self._loose_event(text)
        return [] if event is None else [event]

    def _mend(self, reason: str, count: int, at: int) -> None:
        self.faults.mend(reason, count, f"first in the event at byte {at}")

    def _exclude(self, reason: str, at: int) -> None:
        self.raw_events += 1
        self.faults.exclude(reason, 1, f"first in the event at byte {at}")


def _structural_end(data: bytes, at: int, most: int) -> int:
    """Bytes of the value at `at`, by brackets and quotes alone; 0 where it does not end within `most` of them."""
    stop = min(len(data), at + most)
    if data[at : at + 1] not in (b"{", b"[", b'"'):
        match = _SCALAR.match(data, at, stop)
        return match.end() - at if match and match.end() < stop else 0
    depth = 0
    for match in _STRUCTURE.finditer(data, at, stop):
        if match.group() == b'"':
            return 0
        byte = match.group()[:1]
        depth += (byte in b"{[") - (byte in b"}]")
        if depth <= 0:
            return match.end() - at
    return 0


def _place(error: msgspec.DecodeError) -> int | None:
    """The byte of the piece (which msgspec saw behind a bracket) where it broke, None where it does not tell."""
    place = _BYTE.search(str(error))
    return int(place.group(1)) - 1 if place else None


def _last_cut(data: bytes, end: int) -> int:
    """The last place before `end` where `}` is followed by `,` and `{`: just behind the `}`; 0 if none."""
    comma = end
    while True:
        comma = data.rfind(b",", 0, comma)
        if comma <= 0:
            return 0
        before = comma - 1
        while before > 0 and data[before] in _WHITE:
            before -= 1
        if data[before] != 0x7D:
            continue
        after = comma + 1
        while after < len(data) and data[after] in _WHITE:
            after += 1
        if after < len(data) and data[after] == 0x7B:
            return before + 1


def _text(raw: msgspec.Raw | None) -> str:
    """A raw value as text: strings without quotes, null as nothing, others as they are written."""
    if raw is None:
        return ""
    text = bytes(raw).decode(errors="replace")
    if text.startswith('"'):
        try:
            return str(msgspec.json.decode(text))
        except msgspec.DecodeError:
            return text.strip('"')
    return "" if text == "null" else text
