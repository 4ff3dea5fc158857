"""Events out of bytes: strict typed decoding by msgspec first, value by value where a type is unexpected."""

import re

import msgspec

from analyze.faults import Faults
from analyze.stream_window import WHITE

_EMPTY = msgspec.Raw(b"")
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


class EventDecoder:
    """Decodes events and counts them: `raw_events` are those that came out and those that were left out."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.raw_events = 0

    def piece(self, piece: bytes, at: int) -> tuple[list[Event] | None, int | None]:
        """Events of a piece that stands at byte `at` of the file, with commas between them.

        Where decoding broke: None, and the byte of the piece at which it did (None where it does not tell).
        """
        piece = piece.rstrip(WHITE)
        if not piece:
            return [], None
        try:
            str(piece, "utf-8")
        except UnicodeDecodeError as error:
            return None, error.start
        try:
            events = _EVENTS.decode(b"[" + piece + b"]")
        except msgspec.ValidationError:
            return self._loose_piece(piece, at)
        except msgspec.DecodeError as error:
            return None, _place(error)
        except RecursionError:
            return None, 0
        self.raw_events += len(events)
        return events, None

    def _loose_piece(self, piece: bytes, at: int) -> tuple[list[Event] | None, int | None]:
        """Events of a piece of sound JSON in which some value has an unexpected type."""
        try:
            raws = _RAWS.decode(b"[" + piece + b"]")
        except msgspec.DecodeError as error:  # sound up to the wrong type, broken behind it
            return None, _place(error)
        except RecursionError:
            return None, 0
        return [event for raw in raws for event in self.value(bytes(raw), at)], None

    def value(self, raw: bytes, at: int) -> list[Event]:
        """The one event that a value of sound JSON is, its values brought to the types of Event; none if it is none."""
        self.raw_events += 1
        where = f"first in the piece that begins at byte {at}"
        try:
            return [_EVENT.decode(raw)]
        except (msgspec.DecodeError, RecursionError):
            pass
        try:
            fields = _LOOSE.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            self.faults.exclude("not_an_event", 1, where)
            return []
        ph = _text(fields.get("ph"))
        if not ph:
            self.faults.exclude("no_ph", 1, where)
            return []
        self.faults.mend("unexpected_type", 1, where)
        event = Event(
            ph=ph, name=_text(fields.get("name")), cat=_text(fields.get("cat")), pid=_text(fields.get("pid")),
            tid=_text(fields.get("tid")), ts=fields.get("ts", _EMPTY), dur=fields.get("dur", _EMPTY),
            id=fields.get("id", _EMPTY), id2=fields.get("id2", _EMPTY), args=fields.get("args", _EMPTY),
        )  # fmt: skip
        return [event]

    def leave_out(self, reason: str, where: str) -> None:
        """Count one event that cannot be decoded."""
        self.raw_events += 1
        self.faults.exclude(reason, 1, where)


def is_sound(raw: bytes) -> bool:
    """Whether this is one value of sound JSON in UTF-8."""
    try:
        str(raw, "utf-8")
        _RAW.decode(raw)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return False
    return True


def is_object(raw: bytes) -> bool:
    """Whether this is one object of sound JSON."""
    try:
        _LOOSE.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def last_cut(data: bytes, end: int) -> int:
    """The last place before `end` where `}` is followed by `,` and `{`: just behind the `}`; 0 if none."""
    comma = end
    while True:
        comma = data.rfind(b",", 0, comma)
        if comma <= 0:
            return 0
        before = comma - 1
        while before > 0 and data[before] in WHITE:
            before -= 1
        if data[before] != 0x7D:
            continue
        after = comma + 1
        while after < len(data) and data[after] in WHITE:
            after += 1
        if after < len(data) and data[after] == 0x7B:
            return before + 1


def _place(error: msgspec.DecodeError) -> int | None:
    """The byte of the piece (which msgspec saw behind a bracket) where it broke, None where it does not tell."""
    place = _BYTE.search(str(error))
    return int(place.group(1)) - 1 if place else None


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
