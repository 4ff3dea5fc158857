"""Instruments exports as columns for the store: every row of every table is loaded, or excluded with a reason."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import pyarrow as pa

from analyze.errors import PhasescopeError
from analyze.instruments import tables
from analyze.instruments.clock import ClockJoin, PassClock, TimeInfo, join_clock
from analyze.instruments.columns import Bad
from analyze.instruments.gpu_rows import add_counter_intervals, add_counter_values, add_gpu_intervals
from analyze.instruments.other_tables import spans_or_instants
from analyze.instruments.quality import Quality
from analyze.instruments.signposts import Pairing, hide_private
from analyze.instruments.store_tables import Collector, Sink, store_schema
from analyze.instruments.tables import MAPS, TableMap
from analyze.instruments.toc import TocRun, read_toc
from analyze.instruments.xml_rows import Batch, Fault, read_rows
from analyze.unpacked import Unpacked, unpacked

Source = tuple[str, Callable[[], BinaryIO]]
HEAD_BYTES = 65_536


@dataclass
class InstrumentsData:
    """What was read. raw_rows = loaded_rows + the counts of `excluded`, always.

    `tables`: store table → its rows without run_id (empty when a sink took them). `excluded`, `repaired` and
    `notes`: (reason, rows concerned, sentence). `failures`: (source, sentence) of those not read at all.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    raw_rows: int = 0
    loaded_rows: int = 0
    excluded: list[tuple[str, int, str]] = field(default_factory=list)
    repaired: list[tuple[str, int, str]] = field(default_factory=list)
    notes: list[tuple[str, int, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    rows_by_table: dict[str, int] = field(default_factory=dict)
    toc: TocRun | None = None
    clock: ClockJoin = field(default_factory=lambda: ClockJoin("none"))
    target_pid: int | None = None
    target_rows: int = 0


def read_instruments(
    sources: list[Source],
    *,
    rank: int = 0,
    pass_: str = "metal",
    target_pid: int | None = None,
    strict: bool = True,
    first_id: int = 0,
    pass_clock: PassClock | None = None,
    sink: Sink | None = None,
) -> InstrumentsData:
    """Read the XML of one recording: exports of its tables, and its TOC where there is one.

    A source is a name and what opens it as uncompressed bytes. `target_pid` overrides what the TOC says.
    kernel_id and span_id count from `first_id`. `pass_clock` lets the recording be joined with the pass:
    `clock.trace_ns(pass_clock.uptime_ns)` is then where the pass begins in the times of the rows.
    With `sink`, record batches go there as they are made and memory holds the ids of one document only;
    without, `tables` holds them all.

    strict: the first fault raises PhasescopeError. Otherwise rows before and behind it are kept, what is lost
    is counted, and a source that cannot be read goes to `failures`; one that is alone raises all the same.
    """
    if not sources:
        raise PhasescopeError("no Instruments export was given; name the XML that `xctrace export` wrote")
    batches: dict[str, list[pa.RecordBatch]] = {}

    def collect(table: str, batch: pa.RecordBatch) -> None:
        batches.setdefault(table, []).append(batch)

    loader = _Loader(
        Collector(sink or collect, {"rank": rank, "pass": pass_}), strict, first_id, target_pid, pass_clock
    )
    for name, opener in _in_order(sources):
        loader.read(name, opener, alone=len(sources) == 1)
    data = loader.finish()
    data.tables = {table: pa.Table.from_batches(parts, store_schema(table)) for table, parts in batches.items()}
    return data


def _in_order(sources: list[Source]) -> list[Source]:
    """TOC first, since it names the target; then the tables that others refer to."""
    order = ("<trace-toc", f'name="{tables.TIME_INFO}"', f'name="{tables.COUNTER_INFO}"')

    def place(source: Source) -> tuple[int, str]:
        with unpacked(source[1]()) as stream:
            head = stream.read(HEAD_BYTES).decode("utf-8", "replace")
        return next((i for i, mark in enumerate(order) if mark in head), len(order)), source[0]

    return sorted(sources, key=place)


class _Loader:
    def __init__(
        self,
        collector: Collector,
        strict: bool,
        first_id: int,
        target_pid: int | None,
        pass_clock: PassClock | None,
    ) -> None:
        self._collector = collector
        self._strict = strict
        self._next_id = first_id
        self._given_pid = target_pid
        self._pass_clock = pass_clock
        self._data = InstrumentsData(target_pid=target_pid)
        self._quality = Quality()
        self._tocs: list[TocRun] = []
        self._run: int | None = None
        self._nodes: dict[tuple[str, str], str] = {}
        self._time_infos: list[TimeInfo] = []
        self._signpost_times: list[tuple[str, int]] = []
        self._marks = {mark.name for mark in pass_clock.marks} if pass_clock else set()
        self._pairing = Pairing(tables.SIGNPOSTS)
        self._counters: dict[int, tuple[str, str | None]] = {}

    # Sources

    def read(self, name: str, opener: Callable[[], BinaryIO], alone: bool) -> None:
        """Read one source; a failure raises when strict or alone, and is kept otherwise."""
        try:
            self._read(name, opener, alone)
        except PhasescopeError as error:
            if self._strict or alone:
                raise
            self._data.failures.append((name, str(error)))

    def _read(self, name: str, opener: Callable[[], BinaryIO], alone: bool) -> None:
        with unpacked(opener()) as stream:
            head = stream.read(HEAD_BYTES)
        if not head:
            raise PhasescopeError(f"{name}: empty file; the export was interrupted: run `xctrace export` again")
        root = re.search(rb"<([A-Za-z][\w.-]*)", head.replace(b"\0", b""))
        if root and root[1] == b"trace-toc":
            with unpacked(opener()) as stream:
                self._tocs.extend(read_toc(cast(BinaryIO, stream), name))
            self._damaged(name, stream)
            return
        if root is None or root[1] != b"trace-query-result":
            raise PhasescopeError(
                f"{name}: not an export of xctrace; give the XML that `xctrace export --xpath` or `--toc` wrote"
            )
        with unpacked(opener()) as stream:
            nodes = self._read_document(name, cast(BinaryIO, stream))
        self._damaged(name, stream)
        if not nodes:
            self._no_table(name, alone)

    def _damaged(self, name: str, stream: Unpacked) -> None:
        if stream.damage and self._strict:
            raise PhasescopeError(f"{name}: {stream.damage}; export the table again")
        if stream.damage:
            self._quality.repair("damaged_compression", 1, f"{name}: {stream.damage}")

    def _read_document(self, name: str, stream: BinaryIO) -> int:
        rows_before = self._data.loaded_rows
        broken: list[Fault] = []

        def on_fault(fault: Fault) -> None:
            if self._strict:
                raise PhasescopeError(_sentence(name, fault))
            self._data.raw_rows += fault.rows_lost
            if fault.reason == "broken_xml":
                broken.append(fault)
            if fault.rows_lost:
                self._quality.exclude(fault.reason, fault.rows_lost, _sentence(name, fault))

        nodes: set[str] = set()
        for batch in read_rows(stream, on_fault):
            if batch.node not in nodes:
                nodes.add(batch.node)
                self._begin_node(name, batch)
            self._take(name, batch)
        kept = self._data.loaded_rows - rows_before
        for fault in broken:
            if not nodes:
                raise PhasescopeError(_sentence(name, fault))
            self._quality.repair("broken_xml", kept, f"{_sentence(name, fault)} ({kept} whole rows before it are kept)")
        return len(nodes)

    def _no_table(self, name: str, alone: bool) -> None:
        offers = sorted({table for toc in self._tocs for table in toc.tables})
        tail = (
            f"the recording offers: {', '.join(offers)}"
            if offers
            else "list what the recording offers with `xctrace export --input RECORDING.trace --toc`"
        )
        sentence = f"{name}: the table is not in this export (its XPath matched nothing); {tail}"
        if alone:
            raise PhasescopeError(sentence)
        self._quality.note("table_not_in_export", 0, sentence)

    def _begin_node(self, name: str, batch: Batch) -> None:
        """Refuse what mixes recordings: another run, or a table that was read already."""
        if batch.run is not None and self._run not in (None, batch.run):
            raise PhasescopeError(
                f"{name}: it is of recording (run) {batch.run}, the tables before it are of {self._run}, "
                "and their clocks differ; load each recording by itself"
            )
        self._run = batch.run if batch.run is not None else self._run
        key = (batch.schema.name, batch.node)
        before = self._nodes.setdefault(key, name)
        if before != name:
            raise PhasescopeError(
                f"{name}: {batch.schema.name} was read already from {before}; keep one export of each table, "
                "and one recording in a folder"
            )
        self._data.rows_by_table.setdefault(batch.schema.name, 0)

    # Rows

    def _take(self, name: str, batch: Batch) -> None:
        if not batch.rows:
            return
        total = len(batch.rows)
        self._data.raw_rows += total
        table_map = MAPS.get(batch.schema.name)
        bad: Bad = {}
        if table_map is None:
            target, columns = spans_or_instants(batch, bad)
        else:
            target = table_map.target
            missing = table_map.missing(batch)
            if missing:
                self._lack_columns(name, batch, missing)
                return
            columns = table_map.columns(batch, bad)
        if bad:
            self._drop(name, batch, bad)
            columns = {key: [v for i, v in enumerate(values) if i not in bad] for key, values in columns.items()}
        rows = total - len(bad)
        self._data.loaded_rows += rows
        self._data.rows_by_table[batch.schema.name] += rows
        self._store(batch.schema.name, target, table_map, columns, rows)

    def _lack_columns(self, name: str, batch: Batch, missing: list[str]) -> None:
        sentence = (
            f"{name}: table {batch.schema.name} has no column {', '.join(missing)}; export it again, or with "
            "another version of Xcode"
        )
        if self._strict:
            raise PhasescopeError(sentence)
        self._quality.exclude("missing_column", len(batch.rows), sentence)

    def _drop(self, name: str, batch: Batch, bad: Bad) -> None:
        for index, reason in sorted(bad.items()):
            fault = Fault("unreadable_value", reason, batch.schema.name, batch.numbers[index], batch.lines[index], 1, 1)
            if self._strict:
                raise PhasescopeError(_sentence(name, fault))
            self._quality.exclude(fault.reason, 1, _sentence(name, fault))

    def _store(
        self, schema: str, target: str, table_map: TableMap | None, columns: dict[str, list[Any]], rows: int
    ) -> None:
        if table_map is not None:
            for column in table_map.durations:
                self._null_durations(schema, columns, column, rows)
            columns |= {key: [value] * rows for key, value in table_map.constants.items()}
        add = self._collector.add
        if schema == tables.GPU_INTERVALS:
            self._next_id, ours = add_gpu_intervals(add, columns, rows, self._next_id, self._target())
            self._data.target_rows += ours
        elif schema == tables.COUNTER_INTERVALS:
            add_counter_intervals(add, columns, rows)
        elif schema == tables.COUNTER_VALUE:
            unknown = add_counter_values(add, columns, rows, self._counters)
            if unknown:
                self._quality.note("counter_without_info", unknown, "counter values whose gpu-counter-info is not here")
        elif schema == tables.SIGNPOSTS:
            self._remember_marks(columns, ("Begin", "Event"))
            self._pairing.take(columns, rows, add)
        elif schema in tables.SIGNPOST_INTERVALS:
            columns["message"], columns["redacted"] = hide_private(columns.get("message") or [None] * rows)
            columns["end_ns"] = [
                None if dur is None else start + dur
                for start, dur in zip(columns["start_ns"], columns.get("dur_ns") or [None] * rows, strict=True)
            ]
            self._remember_marks(columns, None)
            add(target, rows, columns)
        else:
            if schema == tables.TIME_INFO:
                self._time_infos += map(TimeInfo, columns["mabs_epoch"], columns["numerator"], columns["denominator"])
            elif schema == tables.COUNTER_INFO:
                names = columns.get("name") or [None] * rows
                units = columns.get("unit") or [None] * rows
                for number, counter, unit in zip(columns["counter_id"], names, units, strict=True):
                    self._counters[number] = (counter or f"counter {number}", unit)
            elif target == "spans":
                columns["span_id"] = list(range(self._next_id, self._next_id + rows))
                self._next_id += rows
            add(target, rows, columns)

    def _null_durations(self, schema: str, columns: dict[str, list[Any]], column: str, rows: int) -> None:
        values = columns.get(column)
        if values is None:
            values = columns[column] = [None] * rows
        nulls = values.count(None)
        if nulls:
            columns[column] = [0 if value is None else value for value in values]
            self._quality.repair(
                "null_duration", nulls, f"{schema}: a null duration is 0 ns, which is the same to Instruments"
            )

    def _remember_marks(self, columns: dict[str, list[Any]], kinds: tuple[str, ...] | None) -> None:
        if self._marks:
            events = columns.get("event") if kinds else None
            for index, name in enumerate(columns["name"]):
                if name in self._marks and (events is None or kinds is None or events[index] in kinds):
                    self._signpost_times.append((name, columns["start_ns"][index]))

    def _target(self) -> int | None:
        toc = self._toc()
        if self._given_pid is not None:
            return self._given_pid
        return toc.target_pid if toc else None

    def _toc(self) -> TocRun | None:
        if len(self._tocs) == 1:
            return self._tocs[0] if None in (self._run, number := self._tocs[0].number) or number == self._run else None
        return next((toc for toc in self._tocs if toc.number == self._run), None)

    # The end

    def finish(self) -> InstrumentsData:
        """Everything that can be said only once all is read."""
        data = self._data
        self._pairing.finish(self._collector.add)
        data.toc = self._toc()
        data.target_pid = self._target()
        data.clock = join_clock(
            self._time_infos,
            self._signpost_times,
            data.toc.start_unix_ns if data.toc else None,
            self._pass_clock,
        )
        if self._time_infos and data.clock.method == "none" and self._strict:
            raise PhasescopeError(f"time-info: {data.clock.reason}")
        self._quality.about_recording(data, self._pairing)
        self._collector.add("instruments_recordings", 1, self._recording())
        self._collector.finish()
        data.excluded, data.repaired, data.notes = self._quality.lists()
        return data

    def _recording(self) -> dict[str, list[Any]]:
        data, toc = self._data, self._data.toc or TocRun()
        same_target = data.target_pid == toc.target_pid
        row = {
            "recording": self._run if self._run is not None else toc.number,
            "target_pid": data.target_pid,
            "target_process": toc.target_process if same_target else None,
            "target_status": toc.target_status if same_target else None,
            "device_model": toc.device_model,
            "os_version": toc.os_version,
            "template": toc.template,
            "instruments_version": toc.instruments_version,
            "recording_mode": toc.recording_mode,
            "end_reason": toc.end_reason,
            "start_unix_ns": toc.start_unix_ns,
            "dur_ns": toc.dur_ns,
            "counter_set": toc.counter_set,
            "shader_timeline": toc.shader_timeline,
            "clock_method": data.clock.method,
            "clock_uncertainty_ns": data.clock.uncertainty_ns,
            "start_uptime_ns": data.clock.start_uptime_ns,
            "pass_start_ns": data.clock.trace_ns(self._pass_clock.uptime_ns) if self._pass_clock else None,
        }
        return {key: [value] for key, value in row.items()}


def _sentence(name: str, fault: Fault) -> str:
    table = f"table {fault.table}, " if fault.table else ""
    row = f"row {fault.row}, " if fault.row is not None else ""
    return f"{name}: {table}{row}line {fault.line} column {fault.column}: {fault.message}; export the table again"
