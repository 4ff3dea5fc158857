"""Writing a Perfetto trace: tracks, slices and counter values, packet by packet.

Slices of one track may overlap in part, which Perfetto's do not: each track gets as many lanes of its own name as it
takes for them to nest, and the UI draws lanes of one name as one track.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BuiltinClock,
    DebugAnnotation,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from analyze.lanes import assign_lanes

_SEQUENCE = 1
_ARGS = 1  # the one interned name of an annotation


class TimelineWriter:
    """Writes into a binary stream. Times are ns, from 0; processes and tracks stand in the order in which they come."""

    def __init__(self, stream: BinaryIO) -> None:
        self._builder = StreamingTraceProtoBuilder(stream)
        self._uuid = 0
        self._interned: dict[tuple[str, str], int] = {}
        self._ranks: dict[int, int] = {}
        first = self._packet()
        first.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        first.timestamp = 0
        first.interned_data.debug_annotation_names.add(iid=_ARGS, name="args")
        self._builder.write_packet(first)
        self.slices_written = 0
        self.values_written = 0

    def wall_clock(self, unix_ns: int) -> None:
        """Say what time it was at 0."""
        packet = self._packet()
        packet.timestamp = 0
        for clock, value in ((BuiltinClock.BUILTIN_CLOCK_BOOTTIME, 0), (BuiltinClock.BUILTIN_CLOCK_REALTIME, unix_ns)):
            packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=value)
        self._builder.write_packet(packet)

    def process(self, name: str) -> int:
        """A group of tracks; answers what tracks name as their parent."""
        descriptor = self._descriptor(name, None)
        descriptor.process.pid = descriptor.uuid
        descriptor.process.process_name = name
        descriptor.child_ordering = TrackDescriptor.EXPLICIT
        return self._write_descriptor(descriptor)

    def slices(self, parent: int, rows: pa.Table, shift_ns: int = 0) -> None:
        """Rows (track, name, category, start_ns, dur_ns, args, flows) as slices; `shift_ns` comes onto start_ns.

        `args` is JSON; slices that share a number in `flows` are joined by an arrow.
        """
        if not rows.num_rows:
            return
        tracks = rows["track"].combine_chunks().dictionary_encode()
        group = tracks.indices.to_numpy().astype(np.int32)
        starts = rows["start_ns"].to_numpy() + shift_ns
        durations = rows["dur_ns"].to_numpy()
        order, lanes, _ = assign_lanes(group, starts, durations)
        names = rows["name"].to_pylist()
        categories = rows["category"].to_pylist()
        args, flows = rows["args"].to_pylist(), rows["flows"].to_pylist()
        labels = tracks.dictionary.to_pylist()
        places = {label: self._rank(parent) for label in labels}  # in the order in which the rows name them
        # A lane's rows stand together and in order once sorted by lane, which keeps the order inside it.
        by_lane = order[np.argsort(lanes, kind="stable")]
        lane_of = np.sort(lanes, kind="stable")
        uuid, last_lane = 0, -1
        open_until: list[int] = []
        for row, lane in zip(by_lane.tolist(), lane_of.tolist(), strict=True):
            start = int(starts[row])
            if lane != last_lane:
                self._close(uuid, open_until, None)
                label, last_lane = labels[group[row]], lane
                uuid = self._track(label, parent, places[label])
            self._close(uuid, open_until, start)
            self._begin(uuid, start, names[row], categories[row], args[row], flows[row])
            open_until.append(start + int(durations[row]))
        self._close(uuid, open_until, None)
        self.slices_written += rows.num_rows

    def counters(self, parent: int, rows: pa.Table, shift_ns: int) -> None:
        """Rows (track, unit, t_ns, value), by track and unit, as counter tracks."""
        last: tuple[str, str | None] | None = None
        uuid = 0
        columns = (rows[name].to_pylist() for name in ("track", "unit", "t_ns", "value"))
        for label, unit, t_ns, value in zip(*columns, strict=True):
            if (label, unit) != last:
                last = (label, unit)
                descriptor = self._descriptor(label, parent)
                descriptor.sibling_order_rank = self._rank(parent)
                descriptor.counter.unit_name = unit or ""
                uuid = self._write_descriptor(descriptor)
            packet = self._packet()
            packet.timestamp = t_ns + shift_ns
            packet.track_event.type = TrackEvent.TYPE_COUNTER
            packet.track_event.track_uuid = uuid
            packet.track_event.double_counter_value = value
            self._builder.write_packet(packet)
        self.values_written += rows.num_rows

    def _begin(
        self, uuid: int, t_ns: int, name: str, category: str, args: str | None, flows: Iterable[int] | None
    ) -> None:
        packet = self._packet()
        packet.timestamp = t_ns
        event = packet.track_event
        event.type = TrackEvent.TYPE_SLICE_BEGIN
        event.track_uuid = uuid
        event.name_iid = self._intern(packet, "event_names", name)
        event.category_iids.append(self._intern(packet, "event_categories", category))
        if args:
            event.debug_annotations.append(DebugAnnotation(name_iid=_ARGS, legacy_json_value=args))
        if flows:
            event.flow_ids.extend(number + 1 for number in flows)  # 0 is no id
        self._builder.write_packet(packet)

    def _close(self, uuid: int, open_until: list[int], now_ns: int | None) -> None:
        while open_until and (now_ns is None or open_until[-1] <= now_ns):
            packet = self._packet()
            packet.timestamp = open_until.pop()
            packet.track_event.type = TrackEvent.TYPE_SLICE_END
            packet.track_event.track_uuid = uuid
            self._builder.write_packet(packet)

    def _intern(self, packet: Any, table: str, text: str) -> int:
        number = self._interned.get((table, text))
        if number is None:
            number = self._interned[(table, text)] = len(self._interned) + 1
            getattr(packet.interned_data, table).add(iid=number, name=text)
        return number

    def _packet(self) -> Any:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return packet

    def _descriptor(self, name: str, parent: int | None) -> Any:
        self._uuid += 1
        descriptor = TrackDescriptor(uuid=self._uuid, name=name)
        if parent is not None:
            descriptor.parent_uuid = parent
        return descriptor

    def _track(self, name: str, parent: int, rank: int) -> int:
        descriptor = self._descriptor(name, parent)
        descriptor.sibling_order_rank = rank
        return self._write_descriptor(descriptor)

    def _rank(self, parent: int) -> int:
        self._ranks[parent] = self._ranks.get(parent, 0) + 1
        return self._ranks[parent]

    def _write_descriptor(self, descriptor: Any) -> int:
        packet = self._packet()
        packet.track_descriptor.CopyFrom(descriptor)
        self._builder.write_packet(packet)
        return int(descriptor.uuid)
