"""A Perfetto protobuf trace of another tool, brought to the same form as a Chrome one.

Trace processor reads it and counts what it lost; those losses are excluded events here. Chrome rows (`slice`) and
GPU render stages (`gpu_slice`, how PyTorch 2.15 writes kernels) both become slices.
"""

from typing import Any, BinaryIO

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyze.categories import kind_of
from analyze.engines import Engine
from analyze.errors import PhasescopeError
from analyze.event_columns import TextColumn
from analyze.faults import Faults
from analyze.normalised_trace import NormalisedTrace, Slices
from analyze.sql_text import sql_text
from analyze.unpacked import unpacked

_PIECE = 8 << 20
_KINDS = ["operator", "python", "annotation", "kernel", "memcpy", "memset", "other"]


def read_perfetto_trace(stream: BinaryIO, name: str, engine: Engine) -> NormalisedTrace:
    """Read a Perfetto trace from a stream of uncompressed bytes through `engine`; `name` stands in messages.

    Raises PhasescopeError where trace processor cannot read it.
    """
    framing = _Framing()
    content = unpacked(stream)
    while piece := content.read(_PIECE):
        framing.feed(piece)
        engine.parse(piece)
    engine.finish()
    rows = engine.query(sql_text("perfetto/slices.sql"))
    counters = engine.query(sql_text("perfetto/counters.sql"))
    flows = engine.query(sql_text("perfetto/flows.sql"))
    faults = Faults()
    lost = 0
    for stat in engine.stats():
        faults.exclude(stat.name, stat.value, "counted as lost by the trace processor")
        lost += stat.value
    if framing.missing_bytes:
        # Trace processor passes over a packet that is cut off.
        where = f"the file ends at byte {framing.read_bytes}, {framing.missing_bytes} bytes before its last packet does"
        faults.exclude("cut_off", 1, where)
        lost += 1
    if content.damage:
        faults.mend("damaged_compression", 1, content.damage)
    saved = rows.num_rows + counters.num_rows + flows.num_rows
    if framing.missing_bytes:
        faults.mend("truncated", 1, f"{where}; {saved} events before it are whole")
    raw = saved + lost
    if raw == 0:
        raise PhasescopeError(f"{name}: a Perfetto trace with no slices and no counters; record it again")
    starts = [column.cast(pa.int64()) for column in (rows["ts"], counters["ts"]) if len(column)]
    origin = min(pc.min(column).as_py() for column in starts) if starts else 0
    threads, of_row = _threads(rows)
    args = _arguments(engine, rows)
    whole = _is_slice(rows)
    tables = {
        "threads": threads,
        "spans": _spans(rows, args, whole, origin),
        "counters": _counters(counters, origin),
        "flows": _flows(rows, flows, threads, of_row, origin),
    }
    chosen = pa.array(np.flatnonzero(whole))
    taken = rows.take(chosen)
    categories = taken["category"].to_pylist()
    on_gpu = taken["on_gpu"].to_pylist() if taken.num_rows else []
    kind = [
        _KINDS.index(_kind(category, bool(gpu), label))
        for category, gpu, label in zip(categories, on_gpu, taken["name"].to_pylist(), strict=True)
    ]
    slices = Slices(
        start_ns=_ints(taken["ts"]) - origin,
        dur_ns=_ints(taken["dur"]),
        thread=of_row[whole],
        kind=np.array(kind, np.int8),
        kinds=_KINDS,
        name=taken["name"],
        category=taken["category"],
        args=_text_column(args).filtered(whole),
    )
    notes = []
    if first := len({row["name"] for row in counters.to_pylist() if row["shifted"]}):
        notes.append(
            (
                "first_counter_sample",
                first,
                "the first sample of each GPU counter has no value: trace processor keeps none",
            )
        )
    return NormalisedTrace(
        name=name, rank=None, world_size=None, base_unix_ns=None, origin_ns=origin, raw_events=raw,
        slices=slices, tables=tables, faults=faults, notes=notes,
    )  # fmt: skip


class _Framing:
    """Follows the lengths of packets through the stream, to tell whether the last one is whole."""

    def __init__(self) -> None:
        self.read_bytes = 0
        self._next_packet = 0
        self._header = b""

    @property
    def missing_bytes(self) -> int:
        """Bytes that the last packet lacks; 0 when the stream ends with a whole one."""
        return max(self._next_packet - self.read_bytes, len(self._header) and 1)

    def feed(self, piece: bytes) -> None:
        """The next bytes of the stream."""
        start, end = self.read_bytes, self.read_bytes + len(piece)
        self.read_bytes = end
        data, base = self._header + piece, start - len(self._header)
        self._header = b""
        at = self._next_packet
        while at < end:
            # The tag is one byte (field 1); then the length, seven bits a byte.
            length, shift, place = 0, 0, at - base + 1
            while place < len(data):
                byte = data[place]
                place += 1
                length |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            else:
                self._header = data[at - base :]
                break
            at = base + place + length
        self._next_packet = at


def _text_column(text: pa.ChunkedArray) -> TextColumn:
    column = TextColumn()
    for piece in text.iterchunks():
        column.append(piece)
    return column


def _kind(category: str, on_gpu: bool, label: str) -> str:
    kind = kind_of(category)
    if not on_gpu:
        return "operator" if kind == "span" else kind
    if kind in ("kernel", "memcpy", "memset"):
        return kind
    for word in ("memcpy", "memset"):
        if label.lower().startswith(word):
            return word
    return "kernel"


def _is_slice(rows: pa.Table) -> np.ndarray:
    """Slices with a duration, on a thread or a GPU, that are work; the others are spans."""
    if rows.num_rows == 0:
        return np.zeros(0, bool)
    finished = _ints(rows["dur"]) >= 0
    on_gpu = np.array([bool(v) for v in rows["on_gpu"].to_pylist()])
    threaded = np.array([v is not None for v in rows["tid"].to_pylist()])
    work = np.array([kind_of(c) != "span" for c in rows["category"].to_pylist()])
    return finished & (on_gpu | threaded) & work


def _place(row: dict[str, Any]) -> tuple[str, str]:
    """Process and thread of a row as text; a GPU and its queue stand for them on the device."""
    if row["on_gpu"]:
        queue = row["hw_queue_id"] if row["hw_queue_id"] is not None else row["track_name"]
        return str(row["gpu"]), str(queue)
    pid = "" if row["pid"] is None else str(row["pid"])
    return pid, str(row["tid"]) if row["tid"] is not None else str(row["track_name"] or row["track_id"])


def _threads(rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
    columns = ["on_gpu", "gpu", "hw_queue_id", "track_name", "track_id", "pid", "tid", "process_name", "thread_name"]
    numbers: dict[tuple[str, str], int] = {}
    names: list[tuple[str, str]] = []
    of_row = np.zeros(rows.num_rows, np.int32)
    by_track: dict[int, int] = {}
    listed: list[dict[str, Any]] = rows.select(columns).to_pylist()
    for i, row in enumerate(listed):
        number = None if row["on_gpu"] else by_track.get(row["track_id"])
        if number is None:
            place = _place(row)
            if place not in numbers:
                numbers[place] = len(numbers)
                names.append((row["process_name"], row["thread_name"]))
            number = by_track[row["track_id"]] = numbers[place]
        of_row[i] = number
    table = pa.table(
        {
            "thread_id": pa.array(list(numbers.values()), pa.int32()),
            "pid": pa.array([pid for pid, _ in numbers], pa.string()),
            "tid": pa.array([tid for _, tid in numbers], pa.string()),
            "process_name": pa.array([p or None for p, _ in names], pa.string()),
            "thread_name": pa.array([t or None for _, t in names], pa.string()),
        }
    )
    return table, of_row


def _arguments(engine: Engine, rows: pa.Table) -> pa.ChunkedArray:
    """The arguments of each slice as one JSON object, keys without trace processor's `debug.` before them."""
    listed = engine.query(sql_text("perfetto/args.sql"))
    if listed.num_rows == 0:
        return pa.chunked_array([pa.nulls(rows.num_rows, pa.string())])
    con = duckdb.connect()
    try:
        con.register("listed", listed)
        con.register("slices", rows.select(["id", "arg_set_id"]))
        return con.sql(
            "WITH sets AS (SELECT arg_set_id, json_group_object(regexp_replace(key, '^debug\\.', ''), value)::VARCHAR "
            "AS args FROM listed GROUP BY arg_set_id) "
            "SELECT sets.args FROM slices LEFT JOIN sets USING (arg_set_id) ORDER BY slices.id"
        ).to_arrow_table()["args"]
    finally:
        con.close()


def _spans(rows: pa.Table, args: pa.ChunkedArray, whole: np.ndarray, origin: int) -> pa.Table:
    chosen = pa.array(np.flatnonzero(~whole))
    taken = rows.take(chosen)
    dur = taken["dur"].to_pylist()
    listed = taken.select(["on_gpu", "gpu", "hw_queue_id", "track_name", "track_id", "pid", "tid"]).to_pylist()
    categories = taken["category"].to_pylist()
    kinds = [
        "unfinished" if d < 0 else "device_annotation" if c == "gpu_user_annotation" else "async"
        for d, c in zip(dur, categories, strict=True)
    ]
    return pa.table(
        {
            "span_id": pa.array(range(len(dur)), pa.int64()),
            "kind": pa.array(kinds, pa.string()),
            "name": taken["name"].cast(pa.string()),
            "category": pa.array([c or None for c in categories], pa.string()),
            "track": pa.array(["/".join(_place(row)) for row in listed], pa.string()),
            "start_ns": pa.array(_ints(taken["ts"]) - origin),
            "dur_ns": pa.array([d if d >= 0 else None for d in dur], pa.int64()),
            "args": args.take(chosen).cast(pa.string()),
        }
    )


def _counters(rows: pa.Table, origin: int) -> pa.Table:
    listed = rows.select(["gpu", "name", "unit"]).to_pylist()
    names = [f"GPU {row['gpu']} Counters/{row['name']}" if row["gpu"] is not None else row["name"] for row in listed]
    value = rows["value"].cast(pa.float64()) if rows.num_rows else pa.array([], pa.float64())
    return pa.table(
        {
            "track": pa.array(names, pa.string()),
            "t_ns": pa.array(_ints(rows["ts"]) - origin),
            "value": value,
            "unit": pa.array([row["unit"] for row in listed], pa.string()),
        }
    )


def _flows(rows: pa.Table, flows: pa.Table, threads: pa.Table, of_row: np.ndarray, origin: int) -> pa.Table:
    place = [f"{pid}/{tid}" for pid, tid in zip(threads["pid"].to_pylist(), threads["tid"].to_pylist(), strict=True)]
    at = {slice_id: i for i, slice_id in enumerate(rows["id"].to_pylist())}
    ts = _ints(rows["ts"]) - origin
    listed: list[tuple[str, str, str, int]] = []
    for flow in flows.to_pylist():
        for ph, end in (("s", flow["slice_out"]), ("f", flow["slice_in"])):
            row = at.get(end)
            if row is not None:
                listed.append((str(flow["id"]), ph, place[of_row[row]], int(ts[row])))
    columns: list[Any] = list(zip(*listed, strict=True)) or [[]] * 4
    types = (pa.string(), pa.string(), pa.string(), pa.int64())
    names = ("flow_id", "ph", "track", "t_ns")
    return pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)})


def _ints(column: pa.ChunkedArray) -> np.ndarray:
    return column.cast(pa.int64()).to_numpy() if len(column) else np.zeros(0, np.int64)
