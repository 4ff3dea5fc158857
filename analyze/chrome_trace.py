"""A Chrome JSON trace, normalised: every event accounted for, times exact, threads distinct.

Slices (complete events and begin/end pairs) come out as columns ready for nesting; everything else as the rows of
the store's tables. raw events = loaded + excluded, checked here.
"""

from collections import Counter, defaultdict
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyze.categories import kind_of, span_kind
from analyze.errors import PhasescopeError
from analyze.event_columns import EventColumns, Tracks, id_text, raw_text, track_of
from analyze.event_decoding import Event
from analyze.event_stream import EventStream
from analyze.faults import Faults
from analyze.json_values import json_object, json_value, rank_number, raw_as_text, whole_number
from analyze.normalised_trace import NormalisedTrace, Slices
from analyze.paired_events import async_pairs, thread_pairs
from analyze.point_events import counter_rows, flow_rows, instant_rows, timed
from analyze.timestamps import FARTHEST_NS, FAULT_REASONS, nanoseconds

_OTHER_PHASES = frozenset("iInNODvVRc()PTp")
_FLOW_PHASES = frozenset("stf")
_ORDERED = ("BE", "bSeF")
_KNOWN_PHASES = frozenset("XBEMCbestfS") | frozenset("F") | _OTHER_PHASES


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
        distributed = json_object(events.metadata.get("distributedInfo"))
        return NormalisedTrace(
            name=self.name,
            rank=rank_number(distributed.get("rank")),
            world_size=rank_number(distributed.get("world_size")),
            base_unix_ns=whole_number(json_value(events.metadata.get("baseTimeNanoseconds"))),
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
                self.others[phases] += [e for e in events if e.ph and e.ph in phases]

    def _add_slices(self, events: list[Event], dur_ns: list[int] | None = None) -> None:
        self.slices.add(events)
        if dur_ns is None:
            dur, fault = nanoseconds([e.dur for e in events])
        else:
            dur, fault = np.array(dur_ns, np.int64), np.zeros(len(events), np.int8)
        self.slices.add_extra("dur", dur)
        self.slices.add_extra("dur_fault", fault)

    def _add_pairs(self) -> tuple[int, list[tuple[Event, int]]]:
        """Turn begin/end pairs into slices; returns how many, and what began and never ended."""
        pairs = thread_pairs(self.others["BE"], self.threads, self.faults)
        if pairs.events:
            self._add_slices(pairs.events, pairs.dur_ns)
        return len(pairs.events), pairs.unfinished

    # Names of processes and threads.

    def _labels(self) -> None:
        self.process_names: dict[str, str] = {}
        self.thread_names: dict[tuple[str, str], str] = {}
        for event in self.others["M"]:
            label = json_object(event.args).get("name")
            if not isinstance(label, str):
                continue
            if event.name == "process_name":
                self.process_names[id_text(event.pid)] = label
            elif event.name == "thread_name":
                self.thread_names[(id_text(event.pid), id_text(event.tid))] = label

    # From columns to rows.

    def _rows(self) -> tuple[Slices, dict[str, pa.Table], int]:
        paired, unfinished = self._add_pairs()
        columns = self.slices
        start, fault = columns.ts, columns.fault
        dur, dur_fault = columns.extra("dur", np.int64), columns.extra("dur_fault", np.int8)
        thread, name, category = columns.track, columns.name, columns.category
        # A begin/end pair stands in the columns once and is two raw events.
        weight = np.ones(len(start), np.int64)
        weight[len(start) - paired :] = 2

        keep = fault == 0
        for code, reason in FAULT_REASONS.items():
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
            spans.add_event("unfinished", event, at - origin, None)
            self.loaded += 1
        for event, at, length in async_pairs(timed(self.others["bSeF"], origin, self.faults), self.faults):
            spans.add_event("unfinished" if length is None else "async", event, at, length)
            self.loaded += 1 if length is None else 2
        points = {
            "counters": counter_rows(self.others["C"], origin, self.faults),
            "instants": instant_rows(self.instants, self.tracks, origin, self.faults),
            "flows": flow_rows(self.flows, self.tracks, origin, self.faults),
        }
        tables = {"spans": spans.table(), **{table: rows for table, (rows, _) in points.items()}}
        self.loaded += sum(loaded for _, loaded in points.values()) + len(self.others["M"])
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

    def _metadata(self, document: dict[str, str]) -> pa.Table:
        key: list[str] = list(document)
        value: list[str | None] = list(document.values())
        for event in self.others["M"]:
            key.append(f"{event.name} {track_of(event)}")
            value.append(raw_as_text(event.args))
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


class _SpanRows:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str | None, str, int, int | None, str | None]] = []

    def add(
        self, kind: str, name: str, category: str | None, track: str, start: int, dur: int | None, args: str | None
    ) -> None:
        self.rows.append((kind, name, category or None, track, start, dur, args))

    def add_event(self, kind: str, event: Event, start: int, dur: int | None) -> None:
        self.add(kind, event.name, event.cat, track_of(event), start, dur, raw_as_text(event.args))

    def table(self) -> pa.Table:
        columns: list[Any] = list(zip(*self.rows, strict=True)) or [[]] * 7
        types = [pa.string()] * 4 + [pa.int64()] * 2 + [pa.string()]
        names = ["kind", "name", "category", "track", "start_ns", "dur_ns", "args"]
        return pa.table(
            {n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)}
        ).append_column("span_id", pa.array(range(len(self.rows)), pa.int64()))  # fmt: skip


def _merged(first: Faults, second: Faults) -> Faults:
    return Faults(
        Counter(first.repaired) + second.repaired,
        Counter(first.excluded) + second.excluded,
        {**second.first, **first.first},
    )
