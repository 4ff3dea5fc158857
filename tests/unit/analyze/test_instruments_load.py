"""From exports to store columns: values, and the account of every row."""

from itertools import pairwise

import pyarrow as pa
import pytest

from analyze.errors import PhasescopeError
from analyze.instruments.clock import PassClock
from analyze.instruments.load import read_instruments
from analyze.instruments.store_tables import BATCH_ROWS, store_schema
from analyze.instruments.tables import MAPS
from tests.unit.analyze.instruments_xml import (
    GPU_COLUMNS,
    document,
    gpu_table,
    node,
    process,
    read,
    schema,
    store,
    table,
)

TOC = b"""<trace-toc><run number="1"><info><target><process name="llm" pid="42"/></target>
<summary><start-date>2026-01-01T00:00:00.000+00:00</start-date><recording-mode>Deferred</recording-mode></summary></info>
<data><table schema="metal-gpu-intervals"/><table schema="os-signpost"/></data></run></trace-toc>"""
TIME_INFO_COLUMNS = [("mabs-epoch", "uint64"), ("timebase-info", "timebase-info")]


def time_info(*epochs: int) -> bytes:
    timebase = "<timebase-info><numerator>125</numerator><denominator>3</denominator></timebase-info>"
    return table("time-info", TIME_INFO_COLUMNS, [f"<uint64>{e}</uint64>{timebase}" for e in epochs], 9)


def test_every_mapped_column_is_a_column_of_its_table() -> None:
    moved = {
        "metal-gpu-intervals": {"name", "device", "bytes", "start_ns", "dur_ns"},
        "metal-gpu-counter-intervals": {"percent_value"},
        "gpu-counter-value": {"counter_id"},
        "os-signpost": {"event", "scope"},
    }
    for name, table_map in MAPS.items():
        known = set(store_schema(table_map.target).names) | moved.get(name, set())
        assert set(table_map.fields) | set(table_map.constants) <= known, name


def test_the_store_takes_all_that_arrow_says() -> None:
    connection = store(read(gpu_table([(1, 2, 42)])))
    for (name,) in connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'metal%' OR table_name IN ('kernels', "
        "'signposts', 'time_info', 'device_states', 'instruments_recordings', 'counters', 'spans', 'instants')"
    ).fetchall():
        columns = connection.execute(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND column_name <> 'run_id' "
            "ORDER BY column_index",
            [name],
        ).fetchall()
        assert [column for (column,) in columns] == store_schema(name).names


def test_every_table_and_column_is_documented() -> None:
    connection = store(read(gpu_table([(1, 2, 42)])))
    bare = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal UNION ALL "
        "SELECT table_name, '' FROM duckdb_tables() WHERE comment IS NULL AND NOT internal UNION ALL "
        "SELECT view_name, '' FROM duckdb_views() WHERE comment IS NULL AND NOT internal"
    ).fetchall()
    assert bare == []


def test_gpu_rows_become_kernels_whoever_they_are_of() -> None:
    data = read(gpu_table([(100, 20, 42), (110, 5, 7), (130, 1, None)]), TOC, first_id=50)
    kernels = data.tables["kernels"].select(
        ["kernel_id", "name", "kind", "stream", "start_ns", "dur_ns", "process", "attributed_by"]
    )
    assert kernels.to_pylist() == [
        dict(zip(kernels.column_names, row, strict=True))
        for row in [
            (50, "(no label)", "metal", "Compute", 100, 20, "llm (42)", "unattributed"),
            (51, "(no label)", "metal", "Compute", 110, 5, "llm (7)", "unattributed"),
            (52, "(no label)", "metal", "Compute", 130, 1, None, "unattributed"),
        ]
    ]
    assert data.tables["metal_gpu_intervals"]["pid"].to_pylist() == [42, 7, None]
    assert (data.target_pid, data.target_rows) == (42, 1)
    assert [note[0] for note in data.notes] == []


def test_no_row_of_the_target_is_not_captured_and_never_idle() -> None:
    for source in (gpu_table([(100, 20, 7)]), gpu_table([])):
        data = read(source, TOC)
        note = next(sentence for reason, _, sentence in data.notes if reason == "not_captured")
        assert "not captured, which does not mean that the GPU was idle" in note
        share = store(data).execute("SELECT verdict, own_busy_share FROM metal_share").fetchone()
        assert share in [("not captured", 0.0), ("not captured", None)]


def test_a_null_duration_is_zero_and_said_so() -> None:
    row = "<start-time>5</start-time><sentinel/><gpu-channel-name>Compute</gpu-channel-name><sentinel/>" + process(42)
    data = read(table("metal-gpu-intervals", GPU_COLUMNS, [row]))
    assert data.tables["kernels"]["dur_ns"].to_pylist() == [0]
    assert [(reason, rows) for reason, rows, _ in data.repaired] == [("null_duration", 1)]


def test_values_that_are_no_values_exclude_their_row() -> None:
    def row(start: str, pid_cell: str = process(42)) -> str:
        return f"<start-time>{start}</start-time><duration>1</duration><sentinel/><sentinel/>{pid_cell}"

    source = table(
        "metal-gpu-intervals",
        GPU_COLUMNS,
        [row("1"), row("x"), row("-4"), row(str(2**50 - 1)), row("99999999999999999999"), row("2")],
    )
    with pytest.raises(PhasescopeError, match=r"0\.xml: table metal-gpu-intervals, row 2, line 4 .*'x' is not a whole"):
        read(source)
    data = read(source, strict=False)
    assert data.tables["kernels"]["start_ns"].to_pylist() == [1, 2]
    assert data.tables["metal_gpu_intervals"]["kernel_id"].to_pylist() == [0, 1]
    assert [(reason, rows) for reason, rows, _ in data.excluded] == [("unreadable_value", 4)]


def test_a_missing_column_is_named() -> None:
    source = table("metal-gpu-intervals", GPU_COLUMNS[1:], ["<sentinel/>" * 4])
    with pytest.raises(PhasescopeError, match="has no column start"):
        read(source)
    data = read(source, strict=False)
    assert [(reason, rows) for reason, rows, _ in data.excluded] == [("missing_column", 1)]


def test_columns_are_found_by_mnemonic_wherever_they_stand() -> None:
    columns = [GPU_COLUMNS[i] for i in (4, 3, 1, 0, 2)]
    row = process(42) + "<duration>9</duration><duration>3</duration><start-time>5</start-time><sentinel/>"
    data = read(table("metal-gpu-intervals", columns, [row]))
    assert data.tables["kernels"].select(["start_ns", "dur_ns"]).to_pylist() == [{"start_ns": 5, "dur_ns": 3}]
    assert data.tables["metal_gpu_intervals"]["start_latency_ns"].to_pylist() == [9]


def signposts(*events: tuple[int, str, str, int], pid: int = 42, subsystem: str = "S") -> bytes:
    columns = [
        ("time", "event-time"),
        ("process", "process"),
        ("event-type", "event-type"),
        ("name", "signpost-name"),
        ("identifier", "os-signpost-identifier"),
        ("subsystem", "subsystem"),
        ("message", "os-log-metadata"),
    ]
    return table(
        "os-signpost",
        columns,
        [
            f"<event-time>{time}</event-time>{process(pid)}<event-type>{kind}</event-type>"
            f"<signpost-name>{name}</signpost-name><os-signpost-identifier>{identifier}</os-signpost-identifier>"
            f"<subsystem>{subsystem}</subsystem><os-log-metadata fmt='&lt;private&gt;'/>"
            for time, kind, name, identifier in events
        ],
        3,
    )


def test_signposts_pair_by_name_and_identifier() -> None:
    data = read(
        signposts(
            (10, "Begin", "a", 1),
            (20, "Begin", "b", 1),
            (30, "End", "a", 1),
            (40, "End", "b", 2),
            (50, "Event", "c", 0),
            (60, "Begin", "d", 1),
            (70, "Begin", "d", 1),
            (80, "End", "d", 1),
            (95, "End", "d", 1),
        )
    )
    found = data.tables["signposts"].select(["name", "status", "start_ns", "end_ns", "dur_ns", "message", "redacted"])
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("a", "interval", 10, 30, 20, "redacted", True),
        ("b", "end_only", None, 40, None, "redacted", True),
        ("c", "event", 50, None, None, "redacted", True),
        ("d", "interval", 70, 80, 10, "redacted", True),
        ("d", "interval", 60, 95, 35, "redacted", True),
        ("b", "begin_only", 20, None, None, "redacted", True),
    ]
    assert data.raw_rows == data.loaded_rows == 9
    assert [(reason, rows) for reason, rows, _ in data.notes] == [("unpaired_signposts", 2), ("ambiguous_signposts", 1)]


def test_another_process_or_subsystem_never_closes_a_signpost() -> None:
    both = signposts((10, "Begin", "a", 1)), signposts((20, "End", "a", 1), pid=7).replace(b"table[3]", b"table[4]")
    assert [r["status"] for r in read(*both).tables["signposts"].to_pylist()] == ["end_only", "begin_only"]


def test_counters_by_is_percentage_and_categories_as_text() -> None:
    columns = [
        ("start", "start-time"),
        ("duration", "duration"),
        ("counter-id", "uint32"),
        ("name", "gpu-counter-name"),
        ("label", "formatted-label"),
        ("value", "fixed-decimal"),
        ("percent-value", "percent"),
        ("is-percentage", "boolean"),
    ]

    def row(name: str, label: str, value: str | None, percent: str | None, flag: int) -> str:
        first = f"<fixed-decimal>{value}</fixed-decimal>" if value else "<sentinel/>"
        second = f"<percent>{percent}</percent>" if percent else "<sentinel/>"
        return (
            f"<start-time>0</start-time><duration>5</duration><uint32>1</uint32><gpu-counter-name>{name}</gpu-counter-name>"
            f'<formatted-label fmt="{label}"/>{first}{second}<boolean>{flag}</boolean>'
        )

    data = read(
        table(
            "metal-gpu-counter-intervals",
            columns,
            [
                row("ALU", "0.14 %", None, "0.1426", 1),
                row("ALU", "12 %", "12.5", None, 1),
                row("Read", "6 GB/s", "6", "99", 0),
                row("Top Performance Limiter", "Last Level Cache", None, None, 0),
                row("Odd", "", "nan", None, 0),
            ],
        )
    )
    rows = data.tables["metal_counter_intervals"].select(["name", "value", "is_percentage", "label"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("ALU", 0.1426, True, "0.14 %"),
        ("ALU", 12.5, True, "12 %"),
        ("Read", 6.0, False, "6 GB/s"),
        ("Top Performance Limiter", None, False, "Last Level Cache"),
        ("Odd", None, False, None),
    ]
    samples = data.tables["counters"].select(["track", "value", "unit"]).to_pylist()
    assert [tuple(row.values()) for row in samples] == [
        ("ALU", 0.1426, "percent"),
        ("ALU", 12.5, "percent"),
        ("Read", 6.0, None),
    ]


def test_counter_values_take_their_names_from_the_info_table() -> None:
    values = table(
        "gpu-counter-value",
        [("timestamp", "event-time"), ("counter-id", "uint32"), ("value", "fixed-decimal")],
        [
            '<event-time id="1">10</event-time><uint32 id="2">0</uint32><fixed-decimal id="3">0.5</fixed-decimal>',
            '<event-time ref="1"/><uint32 id="4">1</uint32><fixed-decimal id="5">7</fixed-decimal>',
            '<event-time ref="1"/><uint32 id="6">2</uint32><fixed-decimal ref="5"/>',
        ],
        1,
    )
    info = table(
        "gpu-counter-info",
        [("counter-id", "uint32"), ("name", "gpu-counter-name"), ("type", "string")],
        [
            "<uint32>0</uint32><gpu-counter-name>ALU Utilization</gpu-counter-name><string>Percentage</string>",
            "<uint32>1</uint32><gpu-counter-name>Bytes</gpu-counter-name><string>Bytes</string>",
        ],
        2,
    )
    data = read(values, info)  # the info comes second and is read first
    rows = data.tables["counters"].select(["track", "t_ns", "value", "unit"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("ALU Utilization", 10, 0.5, "percent"),
        ("Bytes", 10, 7.0, None),
        ("counter 2", 10, 7.0, None),
    ]
    assert [(reason, rows) for reason, rows, _ in data.notes] == [("counter_without_info", 1)]


def test_unknown_tables_are_kept_whole() -> None:
    spans = table(
        "hang-risks",
        [("start", "start-time"), ("duration", "duration"), ("label", "string"), ("x", "uint32"), ("x", "uint32")],
        ["<start-time>1</start-time><duration>2</duration><string>slow</string><uint32>3</uint32><uint32>4</uint32>"],
    )
    instants = table("ticks", [("time", "event-time"), ("x", "uint32")], ["<event-time>9</event-time><sentinel/>"], 2)
    timeless = table("metal-gpu-info", [("name", "string")], ["<string>M1</string>"], 3)
    data = read(spans, instants, timeless, first_id=5)
    (span,) = data.tables["spans"].to_pylist()
    assert (span["span_id"], span["kind"], span["name"], span["start_ns"], span["dur_ns"]) == (
        5,
        "hang-risks",
        "slow",
        1,
        2,
    )
    assert span["args"] == '{"start": 1, "duration": 2, "label": "slow", "x": 3, "x#2": 4}'
    found = [(row["name"], row["category"], row["t_ns"]) for row in data.tables["instants"].to_pylist()]
    assert found == [("M1", "metal-gpu-info", None), ("ticks", "ticks", 9)] or found == [
        ("ticks", "ticks", 9),
        ("M1", "metal-gpu-info", None),
    ]


def test_time_info_joins_with_the_pass() -> None:
    data = read(time_info(24_000_000), gpu_table([(1, 1, 42)]), TOC, pass_clock=PassClock(10**18, 1_000_000_500))
    row = data.tables["instruments_recordings"].to_pylist()[0]
    assert (row["clock_method"], row["clock_uncertainty_ns"], row["pass_start_ns"]) == ("time_info", 1, 500)
    assert data.clock.trace_ns(1_000_000_777) == 777
    assert data.tables["time_info"].to_pylist()[0]["denominator"] == 3


def test_a_recording_over_a_sleep_is_refused() -> None:
    with pytest.raises(PhasescopeError, match="2 epochs: the machine slept"):
        read(time_info(24, 48), gpu_table([(1, 1, 42)]))
    data = read(time_info(24, 48), gpu_table([(1, 1, 42)]), TOC, strict=False, pass_clock=PassClock(10**18, 5))
    assert data.clock.method == "none"
    assert "clock_not_joined" in [reason for reason, _, _ in data.notes]
    assert data.tables["instruments_recordings"]["pass_start_ns"].to_pylist() == [None]


def test_start_date_is_the_last_resort_with_its_uncertainty() -> None:
    unix_ns = 1_767_225_600_000_000_000
    data = read(gpu_table([(1, 1, 42)]), TOC, pass_clock=PassClock(unix_ns + 250, 9_000))
    row = data.tables["instruments_recordings"].to_pylist()[0]
    assert (row["clock_method"], row["clock_uncertainty_ns"], row["pass_start_ns"]) == (
        "toc_start_date",
        1_000_000,
        250,
    )


def test_nothing_to_read_is_said() -> None:
    with pytest.raises(PhasescopeError, match="no Instruments export was given"):
        read_instruments([])
    with pytest.raises(PhasescopeError, match=r"0\.xml: empty file"):
        read(b"")
    for other in (b"\x1f\x8bnoise", b"<html></html>", b"hello"):
        with pytest.raises(PhasescopeError, match="not an export of xctrace"):
            read(other)


def test_an_empty_result_names_what_the_recording_offers() -> None:
    nothing = document()
    with pytest.raises(PhasescopeError, match=r"the table is not in this export .*--toc"):
        read(nothing, strict=False)
    data = read(nothing, TOC)
    reason, rows, sentence = data.notes[0]
    assert (reason, rows) == ("table_not_in_export", 0)
    assert "the recording offers: metal-gpu-intervals, os-signpost" in sentence


def test_one_bad_source_among_several_fails_alone() -> None:
    data = read(gpu_table([(1, 2, 42)]), b"", b"hello", strict=False)
    assert [name for name, _ in data.failures] == ["1.xml", "2.xml"]
    assert data.loaded_rows == 1
    with pytest.raises(PhasescopeError, match="empty file"):
        read(gpu_table([(1, 2, 42)]), b"")


def test_recordings_are_not_mixed() -> None:
    other_run = gpu_table([(1, 2, 42)]).replace(b"/run[1]", b"/run[3]").replace(b"table[1]", b"table[2]")
    with pytest.raises(PhasescopeError, match=r"1\.xml: it is of recording \(run\) 3"):
        read(gpu_table([(1, 2, 42)]), other_run)
    with pytest.raises(PhasescopeError, match=r"1\.xml: metal-gpu-intervals was read already from 0\.xml"):
        read(gpu_table([(1, 2, 42)]), gpu_table([(3, 4, 42)]))
    data = read(gpu_table([(1, 2, 42)]), gpu_table([(3, 4, 42)]), strict=False)
    assert data.tables["kernels"]["start_ns"].to_pylist() == [1]
    assert len(data.failures) == 1


def test_a_cut_file_offers_its_whole_rows() -> None:
    whole = gpu_table([(i, 1, 42) for i in range(10)])
    cut = whole[: whole.index(b"<start-time>7</start-time>") + 30]
    with pytest.raises(PhasescopeError, match=r"0\.xml: table metal-gpu-intervals, row 8, line \d+ column \d+"):
        read(cut)
    data = read(cut, strict=False)
    assert data.tables["kernels"]["start_ns"].to_pylist() == list(range(7))
    assert [(reason, rows) for reason, rows, _ in data.repaired] == [("broken_xml", 7)]
    assert [(reason, rows) for reason, rows, _ in data.excluded] == [("broken_xml", 1)]


def test_many_nodes_in_one_document() -> None:
    first = schema("metal-gpu-intervals", GPU_COLUMNS)
    row = "<row><start-time>{}</start-time><duration>1</duration><sentinel/><sentinel/><sentinel/></row>"
    data = read(
        document(
            node(first + row.format(1), 1),
            node(row.format(2), 2),
            node(schema("tick", [("time", "event-time")]) + "<row><event-time>3</event-time></row>", 3),
            node("<row><event-time>4</event-time></row>", 4),
        )
    )
    assert data.tables["kernels"]["start_ns"].to_pylist() == [1, 2]
    assert data.tables["instants"]["t_ns"].to_pylist() == [3, 4]


def test_a_sink_gets_batches_and_memory_holds_none() -> None:
    rows = BATCH_ROWS + 7_000
    source = gpu_table([(i, 1, 42) for i in range(rows)])
    batches: list[tuple[str, pa.RecordBatch]] = []
    data = read(source, sink=lambda name, batch: batches.append((name, batch)))
    assert data.tables == {}
    starts = [s for name, batch in batches if name == "kernels" for s in batch.column("start_ns").to_pylist()]
    assert len(starts) == rows
    assert all(b == a + 1 for a, b in pairwise(starts))
    assert sum(name == "kernels" for name, _ in batches) == 2
