"""A Chrome JSON trace, normalised: every event accounted for, times exact, threads distinct.

Slices (complete events and begin/end pairs) come out as columns ready for nesting; everything else as the rows of
the store's tables. raw events = loaded + excluded, checked here.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analyze.categories import kind_of, span_kind
from analyze.errors import PhasescopeError
from analyze.event_columns import EventColumns, FilteredText, Tracks, id_text, raw_text
from analyze.event_decoding import Event
from analyze.event_stream import EventStream
from analyze.faults import Faults
from analyze.timestamps import MISSING, OUT_OF_RANGE, UNREADABLE, nanoseconds

# Farther than this from the other events a time is no time: 52 days. Also what a double holds exactly.
FARTHEST_NS = 2**52
_OTHER_PHASES = frozenset("iInNODvVRc()PTp")
_FLOW_PHASES = frozenset("stf")
_ORDERED = ("BE", "bSeF")
_KNOWN_PHASES = frozenset("XBEMCbestfS") | frozenset("F") | _OTHER_PHASES
_FAULT_NAMES = {int(MISSING): "no_timestamp", int(OUT_OF_RANGE): "timestamp_out_of_range"}


@dataclass
class Slices:
    """Columns of the slices; row number is the slice's number. Times in ns from the trace's first event."""

    start_ns: npt.NDArray[np.int64]
    dur_ns: npt.NDArray[np.int64]
    thread: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    kinds: list[str]
    name: pa.ChunkedArray
    category: pa.ChunkedArray
    args: FilteredText

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass
class NormalisedTrace:
    """One trace. `tables` holds rows for the store's tables of the same names, without run, pass and rank."""

    name: str
    rank: int | None
    world_size: int | None
    base_unix_ns: int | None
    origin_ns: int
    raw_events: int
    slices: Slices
    tables: dict[str, pa.Table]
    faults: Faults
    notes: list[tuple[str, int, str]] = field(default_factory=list)

    @property
    def excluded_events(self) -> int:
        """Raw events that are not loaded."""
        return self.faults.excluded.total()

    def let_go(self) -> None:
        """Free the rows, once they are in the store; clock, counts and notes stay."""
        del self.slices, self.tables


def read_chrome_trace(stream: BinaryIO, name: str) -> NormalisedTrace:
    """Read a Chrome JSON trace from a stream of uncompressed bytes; `name` stands in messages.

    Raises PhasescopeError where the file is no trace. Broken pieces are mended or excluded, and counted.
    """
    events = EventStream(stream, name)
    return _Normaliser(name).run(events)


class _Normaliser:
    def __init__(self, name: str) -> None:
        self.name = name
        # Threads are the tracks of slices; other events may lie on tracks of their own.
        self.threads, self.tracks = Tracks(), Tracks()
        self.slices = EventColumns(self.threads)
        self.instants = EventColumns(self.tracks)
        self.flows = EventColumns(self.tracks)
        self.others: dict[str, list[Event]] = defaultdict(list)
        self.faults = Faults()
        self.loaded = 0

    def run(self, events: EventStream) -> NormalisedTrace:
        for piece in events:
            self._take(piece)
        self.faults = _merged(events.faults, self.faults)
        self._labels()
        slices, tables, origin = self._rows()
        tables["trace_metadata"] = self._metadata(events.metadata)
        if events.raw_events != self.loaded + self.faults.excluded.total():
            raise PhasescopeError(
                f"{self.name}: {events.raw_events} events were read, but {self.loaded} loaded and "
                f"{self.faults.excluded.total()} excluded; nothing was loaded, please report this trace"
            )
        distributed = _json_object(events.metadata.get("distributedInfo"))
        return NormalisedTrace(
            name=self.name,
            rank=_rank(distributed.get("rank")),
            world_size=_rank(distributed.get("world_size")),
            base_unix_ns=_whole(_json_value(events.metadata.get("baseTimeNanoseconds"))),
            origin_ns=origin,
            raw_events=events.raw_events,
            slices=slices,
            tables=tables,
            faults=self.faults,
        )

    # Taking pieces of events apart.

    def _take(self, events: list[Event]) -> None:
        groups = {"X": [e for e in events if e.ph == "X"]}
        if len(groups["X"]) != len(events):
            for event in events:
                if (ph := event.ph) != "X":
                    group = groups.get(ph)
                    if group is None:
                        group = groups.setdefault(ph, [])
                    group.append(event)
        for ph in [ph for ph in groups if ph not in _KNOWN_PHASES]:
            unknown = groups.pop(ph)
            if ph[:1] not in _KNOWN_PHASES:
                self.faults.exclude("unknown_ph", len(unknown), f"such as ph {ph[:20]!r}")
                continue
            # Trace processor, too, goes by the first letter.
            self.faults.mend("long_ph", len(unknown), f"such as ph {ph[:20]!r}, read as {ph[0]!r}")
            for event in unknown:
                event.ph = ph[0]
            groups.setdefault(ph[0], []).extend(unknown)
        for ph, group in groups.items():
            if not group:
                continue
            if ph == "X":
                self._add_slices(group)
            elif ph in _OTHER_PHASES:
                self.instants.add(group)
            elif ph in _FLOW_PHASES:
                self.flows.add(group, args=False)
                self.flows.add_extra("ph", pa.array([ph] * len(group), pa.string()))
                self.flows.add_extra("id", raw_text([e.id if len(e.id) else e.id2 for e in group]))
            elif ph in "MC":
                self.others[ph] += group
        # Where one ends as the next begins only the order in the file tells them apart.
        for phases in _ORDERED:
            if any(ph in groups for ph in phases):
                self.others[phases] += [e for e in events if e.ph in phases]

    def _add_slices(self, events: list[Event], dur_ns: list[int] | None = None) -> None:
        self.slices.add(events)
        if dur_ns is None:
            dur, fault = nanoseconds([e.dur for e in events])
        else:
            dur, fault = np.array(dur_ns, np.int64), np.zeros(len(events), np.int8)
        self.slices.add_extra("dur", dur)
        self.slices.add_extra("dur_fault", fault)

    # Names of processes and threads.

    def _labels(self) -> None:
        self.process_names: dict[str, str] = {}
        self.thread_names: dict[tuple[str, str], str] = {}
        for event in self.others["M"]:
            label = _json_object(event.args).get("name")
            if not isinstance(label, str):
                continue
            if event.name == "process_name":
                self.process_names[id_text(event.pid)] = label
            elif event.name == "thread_name":
                self.thread_names[(id_text(event.pid), id_text(event.tid))] = label

    # From columns to rows.

    def _rows(self) -> tuple[Slices, dict[str, pa.Table], int]:
        unfinished = self._pairs()
        columns = self.slices
        start, fault = columns.ts, columns.fault
        dur, dur_fault = columns.extra("dur", np.int64), columns.extra("dur_fault", np.int8)
        thread, name, category = columns.track, columns.name, columns.category
        # A begin/end pair stands in the columns once and is two raw events.
        weight = np.ones(len(start), np.int64)
        weight[len(start) - self.pair_rows :] = 2

        keep = fault == 0
        for code, reason in ((1, "no_timestamp"), (2, "unreadable_timestamp"), (3, "timestamp_out_of_range")):
            self._exclude(reason, weight[fault == code], "slices")
        times = start[keep]
        if len(times):
            # Kernels that were never timed stand at zero (pytorch/kineto#109).
            zero = keep & (start == 0) & (dur == 0) & (int(times.max()) > FARTHEST_NS)
            self._exclude("zero_timestamp", weight[zero], "slices at time 0 with duration 0 among epoch times")
            keep &= ~zero
            times = np.sort(start[keep])
            middle = int(times[len(times) // 2]) if len(times) else 0
            far = keep & (np.abs(start - middle) >= FARTHEST_NS)
            self._exclude("far_from_the_rest", weight[far], "slices more than 52 days from the others")
            keep &= ~far
        negative = keep & (dur < 0)
        self._exclude("negative_duration", weight[negative], "slices")
        keep &= ~negative
        for code, reason in ((2, "unreadable_duration"), (3, "duration_out_of_range")):
            bad = keep & (dur_fault == code)
            self._exclude(reason, weight[bad], "slices")
            keep &= ~bad
        too_long = keep & (dur >= FARTHEST_NS)
        self._exclude("duration_out_of_range", weight[too_long], "slices longer than 52 days")
        keep &= ~too_long
        endless = keep & (dur_fault == 1)

        origin = self._origin(start, keep)
        start = start - origin
        kind, kinds = self._kinds(category, thread)
        is_span = np.isin(kind, [i for i, k in enumerate(kinds) if k == "span"])
        slice_rows = keep & ~endless & ~is_span
        span_rows = keep & (endless | is_span)
        self.loaded += int(weight[keep].sum())

        spans = _SpanRows()
        chosen = np.flatnonzero(span_rows)
        tracks = self.threads.names()
        for i, args in zip(chosen.tolist(), columns.args.at(chosen), strict=True):
            cat = category[i].as_py()
            spans.add(
                "unfinished" if endless[i] else span_kind(cat), name[i].as_py(), cat, tracks[thread[i]],
                int(start[i]), None if endless[i] else int(dur[i]), args,
            )  # fmt: skip
        for event, at in unfinished:
            spans.add(
                "unfinished", event.name, event.cat, self._event_track(event), at - origin, None, _text(event.args)
            )
            self.loaded += 1
        self._async(spans, origin)
        tables = {
            "spans": spans.table(),
            "counters": self._counters(origin),
            "instants": self._instants(origin),
            "flows": self._flows(origin),
        }
        self.loaded += len(self.others["M"])
        mask = pa.array(slice_rows)
        slices = Slices(
            start[slice_rows], dur[slice_rows], thread[slice_rows], kind[slice_rows], kinds,
            name.filter(mask), category.filter(mask), columns.args.filtered(slice_rows),
        )  # fmt: skip
        tables["threads"] = self._thread_table()
        return slices, tables, origin

    def _exclude(self, reason: str, weights: npt.NDArray[np.int64], what: str) -> None:
        if len(weights):
            self.faults.exclude(reason, int(weights.sum()), what)

    def _origin(self, start: npt.NDArray[np.int64], keep: npt.NDArray[np.bool_]) -> int:
        if keep.any():
            return int(start[keep].min())
        events = [e for ph, group in self.others.items() if ph != "M" for e in group]
        known = [nanoseconds([e.ts for e in events]), *((c.ts, c.fault) for c in (self.instants, self.flows))]
        return min((int(times[fault == 0].min()) for times, fault in known if (fault == 0).any()), default=0)

    def _pairs(self) -> list[tuple[Event, int]]:
        """Turn begin/end pairs into slices; returns what began and never ended."""
        marks = self.others["BE"]
        self.pair_rows = 0
        if not marks:
            return []
        times, fault = nanoseconds([e.ts for e in marks])
        for code in (1, 2, 3):
            bad = int((fault == code).sum())
            if bad:
                self.faults.exclude(_FAULT_NAMES.get(code, "unreadable_timestamp"), bad, "begin and end events")
        good = [i for i in np.argsort(times, kind="stable").tolist() if fault[i] == 0]
        begins, dur, ends, stacks = [], [], [], defaultdict(list)  # type: ignore[var-annotated]
        for i in good:
            stack = stacks[self.threads[(marks[i].pid, marks[i].tid)]]
            if marks[i].ph == "B":
                stack.append(i)
            elif stack:
                begins.append(stack.pop())
                ends.append(i)
                dur.append(int(times[i] - times[begins[-1]]))
            else:
                self.faults.exclude("end_without_begin", 1, f"such as {marks[i].name!r}")
        events = [_joined_event(marks[b], marks[e]) for b, e in zip(begins, ends, strict=True)]
        if events:
            self._add_slices(events, dur)
            self.pair_rows = len(events)
        return [(marks[i], int(times[i])) for stack in stacks.values() for i in stack]

    def _kinds(
        self, category: pa.ChunkedArray, thread: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int8], list[str]]:
        kinds = ["operator", "python", "annotation", "kernel", "memcpy", "memset", "other", "span"]
        names = category.chunk(0).dictionary.to_pylist()  # the pieces share one dictionary
        codes = np.concatenate([piece.indices.to_numpy() for piece in category.iterchunks()])
        table = np.array([kinds.index(kind_of(c)) for c in names] or [0], np.int8)
        kind = table[codes] if len(codes) else np.zeros(0, np.int8)
        if "" in names and self.process_names:
            process = [self.process_names.get(pid, "") for pid, _ in self.threads.keys_as_text]
            by_thread = np.array([kinds.index(kind_of("", p)) for p in process], np.int8)
            bare = codes == names.index("")
            kind = np.where(bare, by_thread[thread], kind).astype(np.int8)
        return kind, kinds

    # The other kinds of events.

    def _timed(self, phases: str, origin: int) -> list[tuple[Event, int]]:
        events = self.others[phases]
        times, fault = nanoseconds([e.ts for e in events])
        timed = []
        for event, time, code in zip(events, times.tolist(), fault.tolist(), strict=True):
            if code:
                self.faults.exclude(_FAULT_NAMES.get(code, "unreadable_timestamp"), 1, f"such as {event.name!r}")
            elif abs(time - origin) >= FARTHEST_NS:
                self.faults.exclude("far_from_the_rest", 1, f"such as {event.name!r}")
            else:
                timed.append((event, time - origin))
        return timed

    def _async(self, spans: "_SpanRows", origin: int) -> None:
        open_: dict[tuple[str, str, str], list[tuple[Event, int]]] = defaultdict(list)
        for event, at in sorted(self._timed("bSeF", origin), key=lambda pair: pair[1]):
            key = (event.cat, _async_id(event), event.name)
            if event.ph in "bS":
                open_[key].append((event, at))
            elif open_[key]:
                begin, start = open_[key].pop()
                args = _joined_event(begin, event).args
                spans.add("async", begin.name, begin.cat, self._event_track(begin), start, at - start, _text(args))
                self.loaded += 2
            else:
                self.faults.exclude("end_without_begin", 1, f"such as {event.name!r}")
        for stack in open_.values():
            for event, at in stack:
                spans.add("unfinished", event.name, event.cat, self._event_track(event), at, None, _text(event.args))
                self.loaded += 1

    def _counters(self, origin: int) -> pa.Table:
        track, t_ns, value, unit = [], [], [], []
        gaps = 0
        for event, at in self._timed("C", origin):
            series = _json_object(event.args)
            if not series:
                self.faults.exclude("counter_without_value", 1, f"such as {event.name!r}")
                continue
            self.loaded += 1
            for key, raw in series.items():
                number = _number(raw)
                gaps += number is None
                track.append("/".join(part for part in (id_text(event.pid), event.name, key) if part))
                t_ns.append(at)
                value.append(number)
                unit.append(event.name[event.name.rfind("(") + 1 : -1] if event.name.endswith(")") else None)
        if gaps:
            self.faults.mend("counter_gap", gaps, "counter values that are no numbers are missing, not 0")
        return pa.table(
            {
                "track": pa.array(track, pa.string()),
                "t_ns": pa.array(t_ns, pa.int64()),
                "value": pa.array(value, pa.float64()),
                "unit": pa.array(unit, pa.string()),
            }
        )

    def _instants(self, origin: int) -> pa.Table:
        columns = self.instants
        common, keep = self._common_columns(columns, origin)
        return pa.table({**common, "args": columns.args.filtered(keep).whole()})

    def _flows(self, origin: int) -> pa.Table:
        common, keep = self._common_columns(self.flows, origin)
        flow_id = pc.utf8_trim(self.flows.extra("id", pa.string()), '"')
        own = {"flow_id": _without_empty(flow_id), "ph": self.flows.extra("ph", pa.string())}
        return pa.table({**common, **{name: column.filter(pa.array(keep)) for name, column in own.items()}})

    def _common_columns(self, columns: EventColumns, origin: int) -> tuple[dict[str, Any], npt.NDArray[np.bool_]]:
        """Name, category, track and time of the events whose time is good, and which those are."""
        times, fault, name = columns.ts, columns.fault, columns.name
        far = (fault == 0) & (np.abs(times - origin) >= FARTHEST_NS)
        for reason, bad in (
            ("no_timestamp", fault == MISSING),
            ("unreadable_timestamp", fault == UNREADABLE),
            ("timestamp_out_of_range", fault == OUT_OF_RANGE),
            ("far_from_the_rest", far),
        ):
            if bad.any():
                self.faults.exclude(reason, int(bad.sum()), f"such as {name[int(bad.argmax())].as_py()!r}")
        keep = (fault == 0) & ~far
        self.loaded += int(keep.sum())
        mask = pa.array(keep)
        tracks = pa.DictionaryArray.from_arrays(
            pa.array(columns.track[keep]), pa.array(self.tracks.names(), pa.string())
        )
        return {
            "name": name.filter(mask),
            "category": _without_empty(columns.category.filter(mask)),
            "track": tracks,
            "t_ns": pa.array(times[keep] - origin),
        }, keep

    def _metadata(self, document: dict[str, str]) -> pa.Table:
        key: list[str] = list(document)
        value: list[str | None] = list(document.values())
        for event in self.others["M"]:
            key.append(f"{event.name} {self._event_track(event)}")
            value.append(_text(event.args))
        return pa.table({"key": pa.array(key, pa.string()), "value": pa.array(value, pa.string())})

    def _thread_table(self) -> pa.Table:
        keys = list(self.threads.keys_as_text)
        return pa.table(
            {
                "thread_id": pa.array(range(len(keys)), pa.int32()),
                "pid": pa.array([pid for pid, _ in keys], pa.string()),
                "tid": pa.array([tid for _, tid in keys], pa.string()),
                "process_name": pa.array([self.process_names.get(pid) for pid, _ in keys], pa.string()),
                "thread_name": pa.array([self.thread_names.get(key) for key in keys], pa.string()),
            }
        )

    def _event_track(self, event: Event) -> str:
        return f"{id_text(event.pid)}/{id_text(event.tid)}"


class _SpanRows:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str | None, str, int, int | None, str | None]] = []

    def add(
        self, kind: str, name: str, category: str | None, track: str, start: int, dur: int | None, args: str | None
    ) -> None:
        self.rows.append((kind, name, category or None, track, start, dur, args))

    def table(self) -> pa.Table:
        columns: list[Any] = list(zip(*self.rows, strict=True)) or [[]] * 7
        types = [pa.string()] * 4 + [pa.int64()] * 2 + [pa.string()]
        names = ["kind", "name", "category", "track", "start_ns", "dur_ns", "args"]
        return pa.table(
            {n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)}
        ).append_column("span_id", pa.array(range(len(self.rows)), pa.int64()))  # fmt: skip


def _async_id(event: Event) -> str:
    """What the two ends of an async event share; an id of `id2.local` holds inside its process only."""
    scoped = _json_object(event.id2)
    if "local" in scoped:
        return f"{id_text(event.pid)}/{scoped['local']}"
    raw = bytes(event.id) or bytes(event.id2)
    return raw.decode(errors="replace").strip('"')


def _text(raw: msgspec.Raw) -> str | None:
    return bytes(raw).decode(errors="replace") if len(raw) else None


def _without_empty(column: pa.ChunkedArray) -> pa.Array:
    """A dictionary column as text, with null for the empty text."""
    text = column.cast(pa.string())
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _joined_event(begin: Event, end: Event) -> Event:
    """The begin event with the arguments of both; the end's win, as in Chrome's viewer."""
    if len(end.args) == 0 or bytes(end.args) == b"{}":
        return begin
    args = msgspec.json.encode({**_json_object(begin.args), **_json_object(end.args)})
    return Event(
        ph="X", name=begin.name, cat=begin.cat, pid=begin.pid, tid=begin.tid, ts=begin.ts, args=msgspec.Raw(args)
    )


def _json_value(raw: msgspec.Raw | str | None) -> Any:
    if raw is None or len(raw) == 0:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _json_object(raw: msgspec.Raw | str | None) -> dict[str, Any]:
    value = _json_value(raw)
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _rank(value: Any) -> int | None:
    """A rank, or their number; None where it cannot be one."""
    rank = _whole(value)
    return rank if rank is not None and 0 <= rank < 2**31 else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def _merged(first: Faults, second: Faults) -> Faults:
    return Faults(
        Counter(first.repaired) + second.repaired,
        Counter(first.excluded) + second.excluded,
        {**second.first, **first.first},
    )
