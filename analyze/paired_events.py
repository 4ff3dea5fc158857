"""Begin and end events joined: those of a thread by nesting, asynchronous ones by what both ends share."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np

from analyze.event_columns import Tracks, id_text
from analyze.event_decoding import Event
from analyze.faults import Faults
from analyze.json_values import json_object
from analyze.timestamps import FAULT_REASONS, nanoseconds


@dataclass
class Pairs:
    """Pairs as complete events with their durations, and what began and never ended with its time."""

    events: list[Event] = field(default_factory=list)
    dur_ns: list[int] = field(default_factory=list)
    unfinished: list[tuple[Event, int]] = field(default_factory=list)


def thread_pairs(marks: list[Event], threads: Tracks, faults: Faults) -> Pairs:
    """Pair begin and end events of the same thread, the innermost first."""
    if not marks:
        return Pairs()
    times, fault = nanoseconds([e.ts for e in marks])
    for code, reason in FAULT_REASONS.items():
        bad = int((fault == code).sum())
        if bad:
            faults.exclude(reason, bad, "begin and end events")
    good = [i for i in np.argsort(times, kind="stable").tolist() if fault[i] == 0]
    begins, dur, ends, stacks = [], [], [], defaultdict(list)  # type: ignore[var-annotated]
    for i in good:
        stack = stacks[threads[(marks[i].pid, marks[i].tid)]]
        if marks[i].ph == "B":
            stack.append(i)
        elif stack:
            begins.append(stack.pop())
            ends.append(i)
            dur.append(int(times[i] - times[begins[-1]]))
        else:
            faults.exclude("end_without_begin", 1, f"such as {marks[i].name!r}")
    events = [_joined(marks[b], marks[e]) for b, e in zip(begins, ends, strict=True)]
    return Pairs(events, dur, [(marks[i], int(times[i])) for stack in stacks.values() for i in stack])


def async_pairs(timed: list[tuple[Event, int]], faults: Faults) -> Iterator[tuple[Event, int, int | None]]:
    """Pair asynchronous events, given with their times: events, begin and duration (None where it never ended)."""
    open_: dict[tuple[str, str, str], list[tuple[Event, int]]] = defaultdict(list)
    for event, at in sorted(timed, key=lambda pair: pair[1]):
        key = (event.cat, _async_id(event), event.name)
        if event.ph in "bS":
            open_[key].append((event, at))
        elif open_[key]:
            begin, start = open_[key].pop()
            yield _joined(begin, event), start, at - start
        else:
            faults.exclude("end_without_begin", 1, f"such as {event.name!r}")
    for stack in open_.values():
        for event, at in stack:
            yield event, at, None


def _async_id(event: Event) -> str:
    """What the two ends of an async event share; an id of `id2.local` holds inside its process only."""
    scoped = json_object(event.id2)
    if "local" in scoped:
        return f"{id_text(event.pid)}/{scoped['local']}"
    raw = bytes(event.id) or bytes(event.id2)
    return raw.decode(errors="replace").strip('"')


def _joined(begin: Event, end: Event) -> Event:
    """The begin event with the arguments of both; the end's win, as in Chrome's viewer."""
    if len(end.args) == 0 or bytes(end.args) == b"{}":
        return begin
    args = msgspec.json.encode({**json_object(begin.args), **json_object(end.args)})
    return Event(
        ph="X", name=begin.name, cat=begin.cat, pid=begin.pid, tid=begin.tid, ts=begin.ts, args=msgspec.Raw(args)
    )
