"""Makes Perfetto protobuf traces such as PyTorch 2.15 writes: CPU events, GPU render stages, GPU counters."""

import gzip
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import GpuCounterDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

_THREAD = 11
_SEQUENCE = 5


class PyTorchTrace:
    """A trace of one process with one thread and one GPU. Times in ns."""

    def __init__(self) -> None:
        self.builder = TraceProtoBuilder()
        packet = self.builder.add_packet()
        packet.track_descriptor.uuid = _THREAD - 1
        packet.track_descriptor.process.pid = 100
        packet.track_descriptor.process.process_name = "server"
        packet = self.builder.add_packet()
        packet.track_descriptor.uuid = _THREAD
        packet.track_descriptor.parent_uuid = _THREAD - 1
        packet.track_descriptor.thread.pid = 100
        packet.track_descriptor.thread.tid = 101
        packet.track_descriptor.thread.thread_name = "python"
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = 1
        packet.timestamp = 0
        packet.interned_data.gpu_specifications.add(iid=1, name="7")
        self.events = 0
        self.stages = 1

    def slice(self, name: str, category: str, start: int, end: int, **args: object) -> None:
        """A host slice; arguments become debug annotations."""
        for at, kind in ((start, TrackEvent.TYPE_SLICE_BEGIN), (end, TrackEvent.TYPE_SLICE_END)):
            packet = self.builder.add_packet()
            packet.timestamp = at
            packet.trusted_packet_sequence_id = _SEQUENCE
            packet.track_event.type = kind
            packet.track_event.track_uuid = _THREAD
            if kind == TrackEvent.TYPE_SLICE_BEGIN:
                packet.track_event.name = name
                packet.track_event.categories.append(category)
                for key, value in args.items():
                    note = packet.track_event.debug_annotations.add(name=key)
                    if isinstance(value, int):
                        note.int_value = value
                    else:
                        note.string_value = str(value)
        self.events += 1

    def kernel(self, name: str, start: int, dur: int, stream: int, correlation: int) -> None:
        """A GPU render stage on a hardware queue, its extra data as text."""
        packet = self.builder.add_packet()
        packet.timestamp = start
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = 2
        self.stages += 1
        packet.interned_data.gpu_specifications.add(iid=self.stages, name=name)
        stage = packet.gpu_render_stage_event
        stage.event_id = self.events
        stage.duration = dur
        stage.gpu_id = 0
        stage.hw_queue_iid = 1
        stage.stage_iid = self.stages
        stage.extra_data.add(name="correlation", value=str(correlation))
        stage.extra_data.add(name="stream", value=str(stream))
        self.events += 1

    def counters(self, name: str, samples: list[tuple[int, float]]) -> None:
        """Samples of one GPU counter."""
        packet = self.builder.add_packet()
        packet.timestamp = samples[0][0]
        descriptor: GpuCounterDescriptor = packet.gpu_counter_event.counter_descriptor
        descriptor.specs.add(counter_id=1, name=name)
        packet.gpu_counter_event.gpu_id = 0
        for at, value in samples:
            packet = self.builder.add_packet()
            packet.timestamp = at
            packet.gpu_counter_event.gpu_id = 0
            packet.gpu_counter_event.counters.add(counter_id=1, double_value=value)
            self.events += 1

    def write(self, path: Path) -> Path:
        """Write it as PyTorch does: gzip-compressed."""
        path.write_bytes(gzip.compress(self.builder.serialize()))
        return path
