"""Pairing of signpost events: a Begin and the End that belongs to it become one interval."""

from collections.abc import Callable
from typing import Any

PRIVATE = "<private>"
REDACTED = "redacted"

Add = Callable[[str, int, dict[str, list[Any]]], None]


def hide_private(messages: list[Any]) -> tuple[list[Any], list[bool]]:
    """Messages with those that the system withheld as `redacted`, and which ones they are."""
    withheld = [message is not None and PRIVATE in message for message in messages]
    return [REDACTED if hidden else message for message, hidden in zip(messages, withheld, strict=True)], withheld


class Pairing:
    """Pairs by (process, subsystem, name, identifier), and by thread where the signpost's scope is the thread.

    Intervals of one key nest, so an End closes the last Begin. `begin_only` and `end_only` count what was left
    alone, `ambiguous` the Begins that found one of their key still open.
    """

    def __init__(self, source_table: str) -> None:
        self._source_table = source_table
        self._open: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        self.begin_only = 0
        self.end_only = 0
        self.ambiguous = 0
        self.unknown_kinds: dict[str, int] = {}

    def take(self, columns: dict[str, list[Any]], rows: int, add: Add) -> None:
        """Take events in the order of the table and add what is complete."""
        names = list(columns)
        done: list[dict[str, Any]] = []
        for values in zip(*columns.values(), strict=True):
            event = dict(zip(names, values, strict=True))
            kind = event.pop("event")
            scope = event.pop("scope", None)
            key = (
                event.get("process"),
                event.get("subsystem"),
                event["name"],
                event.get("identifier"),
                event.get("thread") if scope == "Thread" else None,
            )
            if kind == "Begin":
                waiting = self._open.setdefault(key, [])
                self.ambiguous += bool(waiting)
                waiting.append(event)
            elif kind == "End":
                done.append(self._end(key, event))
            else:
                if kind != "Event":
                    self.unknown_kinds[kind] = self.unknown_kinds.get(kind, 0) + 1
                done.append(event | {"status": "event"})
        self._emit(done, add)

    def finish(self, add: Add) -> None:
        """Add the Begins whose End never came."""
        left = [event | {"status": "begin_only"} for waiting in self._open.values() for event in waiting]
        self.begin_only += len(left)
        self._open.clear()
        self._emit(left, add)

    def _end(self, key: tuple[Any, ...], event: dict[str, Any]) -> dict[str, Any]:
        end_ns = event["start_ns"]
        waiting = self._open.get(key)
        if not waiting or waiting[-1]["start_ns"] > end_ns:
            self.end_only += 1
            return event | {"status": "end_only", "start_ns": None, "end_ns": end_ns}
        begin = waiting.pop()
        if not waiting:
            del self._open[key]
        return begin | {"status": "interval", "end_ns": end_ns, "dur_ns": end_ns - begin["start_ns"]}

    def _emit(self, events: list[dict[str, Any]], add: Add) -> None:
        names = {name for event in events for name in event}
        columns: dict[str, list[Any]] = {name: [event.get(name) for event in events] for name in names}
        columns["message"], columns["redacted"] = hide_private([event.get("message") for event in events])
        columns["source_table"] = [self._source_table] * len(events)
        add("signposts", len(events), columns)
