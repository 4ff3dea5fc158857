"""Events where the array of a trace is broken: mended a small piece at a time, and else one by one.

Only an event that cannot be mended is left out, with the byte at which it stands.
"""

import re
from collections import Counter

from analyze.event_decoding import Event, EventDecoder, is_object, is_sound, last_cut
from analyze.json_repair import repair, repair_quotes
from analyze.stream_window import NOT_WHITE, WHITE, StreamWindow

SMALL_PIECE = 64 << 10
LARGEST_EVENT = 64 << 20
_LARGEST_REPAIR = 1 << 20
_FAR = 4 << 10
# Where the next event begins after one that is broken: an object whose first key is one of an event's.
_NEXT_EVENT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args|bp|s|tts)")')
_EVENT_START = re.compile(rb'\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args|bp|s|tts)"\s*:')
_LAST_EVENT = re.compile(rb'\}\s*,?\s*\](?=\s*(?:,\s*"[\w .-]+"\s*:|\}|$))')


class EventMender:
    """Takes broken events from the front of the window. `separated`: whether a comma, or nothing yet, was before it."""

    def __init__(self, window: StreamWindow, decoder: EventDecoder) -> None:
        self.separated = True
        self._window = window
        self._decoder = decoder
        self._faults = decoder.faults
        self._ends: tuple[int, int, list[int]] = (0, -1, [])

    def take(self) -> list[Event]:
        """Take about a small piece and return its events."""
        events = self._piece()
        return self._one_by_one() if events is None else events

    def mended(self, reason: str, count: int, at: int) -> None:
        """Count what was mended in the event at byte `at`."""
        self._faults.mend(reason, count, f"first in the event at byte {at}")

    def _piece(self) -> list[Event] | None:
        """Mend a small piece as a whole: where faults are many, one by one would take too long."""
        window = self._window
        data = window.window(SMALL_PIECE)
        cut = last_cut(data, len(data))
        if not cut:
            return None
        mended, counts = repair(data[:cut])
        if not counts:
            return None
        events, _bad = self._decoder.piece(mended, window.offset)
        if events is None:
            return None
        for reason, count in counts.items():
            self.mended(reason, count, window.offset)
        window.drop(cut)
        return events

    def _one_by_one(self) -> list[Event]:
        """The events of about a small piece, each by itself, where decoding and mending all at once has failed.

        The time is that of the piece, however many of its events are broken.
        """
        window = self._window
        end = window.offset + SMALL_PIECE
        events: list[Event] = []
        while window.offset < end and not self._faults.truncated:
            byte = window.skip_white()
            if byte == b",":
                window.drop(1)
                self.separated = True
                continue
            if byte in (b"]", b""):
                break
            if not self.separated and byte == b"{":
                self.mended("missing_comma", 1, window.offset)
            elif not self.separated:
                found, used = self._broken_value(0)
                events += found
                window.drop(used)
                continue
            found, used = self._whole_value() or self._broken_event()
            self.separated = False
            events += found
            window.drop(used)
        return events

    def _whole_value(self) -> tuple[list[Event], int] | None:
        """The value at the front where it is sound JSON, with the bytes it takes; None where it is not."""
        size = self._window.value_bytes(_LARGEST_REPAIR)
        raw = self._window.window(size)
        return (self._decoder.value(raw, self._window.offset), size) if size and is_sound(raw) else None

    def _broken_event(self) -> tuple[list[Event], int]:
        """Mend the event at the front, or leave it out. Returns its events and the bytes it takes."""
        window = self._window
        start = window.offset
        whole = window.value_bytes(_LARGEST_REPAIR)
        if window.window(1) != b"{":
            return self._broken_value(whole)
        while True:
            ends = self._likely_ends()
            if ends or whole or len(window) > LARGEST_EVENT or not window.more():
                break
        if whole:
            # Where brackets and quotes give an end, a far one is none: to try it for each broken event takes too long.
            ends = [end for end in ends if end <= max(4 * whole, _FAR)] + [whole] * (whole not in ends)
        for end in sorted(ends):
            events = self._mended_event(window.window(end), start)
            if events is not None:
                return events, end
        if ends:
            self._leave_out("malformed", start)
            return [], min(ends)
        return self._broken_rest(start)

    def _likely_ends(self) -> list[int]:
        """Where the event at the front may end: before the next events, or at the end of the array.

        They are found once for all broken events before the first of them, since they may lie far ahead.
        """
        window = self._window
        start, read_to = window.offset, window.offset + len(window)
        searched_from, searched_to, ends = self._ends
        if searched_to != read_to or not searched_from <= start < (ends[0] if ends else read_to):
            found = zip(range(4), _NEXT_EVENT.finditer(window.data, window.at), strict=False)
            ends = [start + match.start() + 1 - window.at for _, match in found]
            if len(ends) < 4 and (close := _LAST_EVENT.search(window.data, window.at)):
                ends = sorted([*ends, start + close.start() + 1 - window.at])
            self._ends = start, read_to, ends
        return [end - start for end in ends]

    def _broken_value(self, whole: int) -> tuple[list[Event], int]:
        """Leave out what begins as no object: one value where it ends as one, else all up to the next event."""
        window = self._window
        start = window.offset
        if whole and (after := NOT_WHITE.search(window.data, window.at + whole)) and after.group() in b",]":
            self._leave_out("not_an_event", start)
            return [], whole
        while not (found := _EVENT_START.search(window.data, window.at)):
            if len(window) > LARGEST_EVENT or not window.more():
                return self._broken_rest(start)
        self._leave_out("malformed", start)
        return [], found.start() - window.at

    def _broken_rest(self, start: int) -> tuple[list[Event], int]:
        """Leave out all that is read, in which no further event begins."""
        window = self._window
        rest = window.window(len(window))
        if not window.ended:
            self._leave_out("malformed", start)
            return [], len(rest)
        last = rest.rstrip(WHITE + b",")
        events = self._mended_event(last, start) if last.endswith(b"}") else None
        if events is not None:
            return events, len(rest)
        self._leave_out("cut_off", start)
        self._faults.cut_short(f"the file ends inside an event that begins at byte {start}")
        return [], len(rest)

    def _mended_event(self, text: bytes, start: int) -> list[Event] | None:
        """The event that `text` gives when mended (none where it is no event, and counted); None if beyond mending."""
        mended, counts = repair(text)
        events = self._decoded(mended, counts, start)
        if events is None and len(text) <= SMALL_PIECE:
            quoted, changed = repair_quotes(text)
            if changed:
                mended, counts = repair(quoted)
                counts["unescaped_quote"] += changed
                events = self._decoded(mended, counts, start)
        return events

    def _decoded(self, text: bytes, counts: Counter[str], start: int) -> list[Event] | None:
        if not is_object(text):
            return None
        for reason, count in counts.items():
            self.mended(reason, count, start)
        return self._decoder.value(text, start)

    def _leave_out(self, reason: str, at: int) -> None:
        self._decoder.leave_out(reason, f"first in the event at byte {at}")
