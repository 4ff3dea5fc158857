"""Which table of Instruments becomes which table of the store, column by column, by mnemonic."""

from dataclasses import dataclass, field
from typing import Any

from analyze.instruments import columns as read
from analyze.instruments.columns import Bad, Reader
from analyze.instruments.xml_rows import Batch


@dataclass(frozen=True)
class TableMap:
    """Where the rows of a table go. A field is its reader and the mnemonics it may have, best first."""

    target: str
    fields: dict[str, tuple[Reader, str, *tuple[str, ...]]]
    required: tuple[str, ...] = ("start_ns",)
    constants: dict[str, Any] = field(default_factory=dict)
    durations: tuple[str, ...] = ()
    """Columns in which null means 0 ns."""

    def missing(self, batch: Batch) -> list[str]:
        """Columns without which the table means nothing and which this export lacks."""
        return [self.fields[name][1] for name in self.required if batch.schema.position(*self.fields[name][1:]) is None]

    def columns(self, batch: Batch, bad: Bad) -> dict[str, list[Any]]:
        """The batch as store columns; rows that cannot be taken are named in `bad`."""
        out: dict[str, list[Any]] = {}
        for name, (reader, *mnemonics) in self.fields.items():
            place = batch.schema.position(*mnemonics)
            if place is not None:
                out[name] = reader([row[place] for row in batch.rows], bad)
        for name in self.required:
            for index, value in enumerate(out[name]):
                if value is None:
                    bad.setdefault(index, f"its {self.fields[name][1]} is missing")
        return out


_SPAN: dict[str, tuple[Reader, str, *tuple[str, ...]]] = {
    "start_ns": (read.times, "start"),
    "dur_ns": (read.durations, "duration"),
}
_PROCESS: dict[str, tuple[Reader, str, *tuple[str, ...]]] = {
    "pid": (read.pids, "process", "thread"),
    "process": (read.labels, "process", "thread"),
}

GPU_INTERVALS = "metal-gpu-intervals"
COUNTER_INTERVALS = "metal-gpu-counter-intervals"
COUNTER_INFO = "gpu-counter-info"
COUNTER_VALUE = "gpu-counter-value"
SIGNPOSTS = "os-signpost"
SIGNPOST_INTERVALS = ("os-signpost-interval", "OSSignpostIntervals")
TIME_INFO = "time-info"
_DRIVER = ("metal-driver-intervals", "metal-driver-event-intervals", "metal-driver-event-per-thread-intervals")

MAPS: dict[str, TableMap] = {
    GPU_INTERVALS: TableMap(
        "metal_gpu_intervals",
        _SPAN
        | _PROCESS
        | {
            "channel": (read.texts, "channel-name"),
            "state": (read.texts, "state"),
            "start_latency_ns": (read.durations, "start-latency"),
            "event_depth": (read.int32, "event-depth"),
            "frame_number": (read.frames, "frame-number"),
            "cmdbuffer_id": (read.uint64, "cmdbuffer-id"),
            "encoder_id": (read.uint64, "encoder-id"),
            "gpu_submission_id": (read.uint64, "gpu-submission-id"),
            "channel_subtitle": (read.texts, "channel-subtitle"),
            "iosurface_accesses": (read.texts, "iosurface-accesses"),
            "name": (read.texts, "event-label"),
            "device": (read.texts, "gpu"),
            "bytes": (read.int64, "bytes"),
        },
        required=("start_ns",),
        durations=("dur_ns",),
    ),
    "metal-gpu-state-intervals": TableMap(
        "metal_gpu_states",
        _SPAN
        | {
            "state": (read.texts, "state"),
            "label": (read.texts, "label"),
            "channels": (read.int64, "num-events"),
            "device": (read.texts, "gpu"),
        },
        required=("start_ns", "state"),
        durations=("dur_ns",),
    ),
    "metal-application-encoders-list": TableMap(
        "metal_encoders",
        _SPAN
        | _PROCESS
        | {
            "tid": (read.tids, "thread"),
            "thread": (read.texts, "thread"),
            "device": (read.texts, "gpu"),
            "frame_number": (read.frames, "frame-number"),
            "cmdbuffer_label": (read.texts, "cmdbuffer-label"),
            "encoder_label": (read.texts, "encoder-label"),
            "event_type": (read.texts, "event-type"),
            "cmdbuffer_id": (read.uint64, "cmdbuffer-id"),
            "encoder_id": (read.uint64, "encoder-id"),
        },
        durations=("dur_ns",),
    ),
    "metal-application-command-buffer-submissions": TableMap(
        "metal_command_buffers",
        _SPAN
        | _PROCESS
        | {
            "thread": (read.texts, "thread"),
            "label": (read.texts, "event-label"),
            "encoders": (read.int64, "num-encoders"),
            "encoder_time_ns": (read.durations, "encoder-time"),
            "cmdbuffer_id": (read.uint64, "cmdbuffer-id"),
        },
        constants={"event": "submitted"},
    ),
    "metal-command-buffer-completed": TableMap(
        "metal_command_buffers",
        {
            "start_ns": (read.times, "timestamp"),
            "cmdbuffer_id": (read.uint64, "cmdbuffer-id"),
            "commit_id": (read.int64, "commit-id"),
        },
        constants={"event": "completed"},
    ),
    COUNTER_INTERVALS: TableMap(
        "metal_counter_intervals",
        _SPAN
        | {
            "counter_id": (read.int64, "counter-id"),
            "name": (read.texts, "name"),
            "value": (read.floats, "value"),
            "percent_value": (read.floats, "percent-value"),
            "is_percentage": (read.booleans, "is-percentage"),
            "label": (read.texts, "label"),
            "group_index": (read.int64, "group-index"),
            "device": (read.texts, "gpu"),
        },
        durations=("dur_ns",),
    ),
    COUNTER_INFO: TableMap(
        "metal_counter_info",
        {
            "counter_id": (read.int64, "counter-id"),
            "name": (read.texts, "name"),
            "description": (read.texts, "description"),
            "unit": (read.texts, "type"),
            "max_value": (read.floats, "max-value"),
            "accelerator_id": (read.uint64, "accelerator-id"),
            "group_index": (read.int64, "group-index"),
            "sample_interval_ns": (read.int64, "sample-interval"),
        },
        required=("counter_id",),
    ),
    COUNTER_VALUE: TableMap(
        "counters",
        {
            "t_ns": (read.times, "timestamp"),
            "counter_id": (read.int64, "counter-id"),
            "value": (read.floats, "value"),
        },
        required=("t_ns", "counter_id"),
    ),
    "metal-shader-profiler-intervals": TableMap(
        "metal_shader_intervals",
        _SPAN
        | _PROCESS
        | {
            "name": (read.texts, "name"),
            "label": (read.texts, "label"),
            "pipeline": (read.texts, "pso-label"),
            "shader_type": (read.texts, "shader-type"),
            "percent_of_kick": (read.floats, "percent-of-kick"),
            "total_kick_percent": (read.floats, "total-kick-percent"),
            "channel": (read.texts, "channel-name"),
            "event_depth": (read.int32, "event-depth"),
            "device": (read.texts, "gpu"),
        },
        durations=("dur_ns",),
    ),
    "metal-current-allocated-size": TableMap(
        "metal_allocated_size",
        _SPAN
        | _PROCESS
        | {
            "allocated_bytes": (read.int64, "current-allocated-size"),
            "label": (read.texts, "label"),
            "track": (read.texts, "track-name"),
        },
    ),
    "device-thermal-state-intervals": TableMap(
        "device_states",
        _SPAN
        | {
            "state": (read.texts, "thermal-state"),
            "induced": (read.booleans, "is-induced"),
            "narrative": (read.texts, "narrative"),
        },
        constants={"kind": "thermal"},
    ),
    "gpu-performance-state-intervals": TableMap(
        "device_states",
        _SPAN
        | {
            "state": (read.texts, "gpu-performance-state"),
            "induced": (read.booleans, "is-induced"),
            "narrative": (read.texts, "narrative"),
        },
        constants={"kind": "gpu_performance"},
    ),
    TIME_INFO: TableMap(
        "time_info",
        {
            "update_ns": (read.int64, "update-time"),
            "mabs_epoch": (read.uint64, "mabs-epoch"),
            "mct_epoch": (read.uint64, "mct-epoch"),
            "numerator": (read.part("numerator"), "timebase-info"),
            "denominator": (read.part("denominator"), "timebase-info"),
            "trace_start": (read.int64, "trace-start-time"),
        },
        required=("mabs_epoch", "numerator", "denominator"),
    ),
    SIGNPOSTS: TableMap(
        "signposts",
        {
            "start_ns": (read.times, "time"),
            "event": (read.texts, "event-type"),
            "name": (read.texts, "name"),
            "subsystem": (read.texts, "subsystem"),
            "category": (read.texts, "category"),
            "identifier": (read.texts, "identifier"),
            "scope": (read.texts, "scope"),
            "pid": (read.pids, "process", "thread"),
            "process": (read.labels, "process", "thread"),
            "thread": (read.texts, "thread"),
            "message": (read.texts, "message"),
        },
        required=("start_ns", "event", "name"),
    ),
}
for _name in _DRIVER:
    MAPS[_name] = TableMap(
        "metal_driver_intervals",
        _SPAN
        | _PROCESS
        | {
            "driver": (read.texts, "gpu-driver-name"),
            "event_type": (read.texts, "event-type"),
            "event_depth": (read.int32, "event-depth"),
            "label": (read.texts, "event-label"),
            "thread": (read.texts, "thread"),
            "device": (read.texts, "gpu"),
            "object_id": (read.uint64, "object-id", "resource-id"),
        },
        constants={"source_table": _name},
        durations=("dur_ns",),
    )
for _name in SIGNPOST_INTERVALS:
    MAPS[_name] = TableMap(
        "signposts",
        _SPAN
        | {
            "name": (read.texts, "name"),
            "subsystem": (read.texts, "subsystem"),
            "category": (read.texts, "category"),
            "identifier": (read.texts, "identifier"),
            "pid": (read.pids, "process", "start-thread"),
            "process": (read.labels, "process", "start-thread"),
            "thread": (read.texts, "start-thread"),
            "message": (read.texts, "start-message"),
        },
        constants={"source_table": _name, "status": "interval"},
        required=("start_ns",),
    )
