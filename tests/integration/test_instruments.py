"""Instruments exports of a real Mac, the collected faults of such files, and damaged twins of the real ones."""

import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.errors import PhasescopeError
from analyze.instruments.load import InstrumentsData, read_instruments
from tests.shared import SHARED, needs_shared
from tests.unit.analyze.instruments_xml import case, read, store

FOLDER = SHARED / "traces" / "instruments"


@pytest.fixture(scope="module")
def recording() -> InstrumentsData:
    return read_instruments([(path.name, partial(path.open, "rb")) for path in sorted(FOLDER.glob("*.xml"))])


@needs_shared
def test_all_tables_of_a_recording_load(recording: InstrumentsData) -> None:
    assert recording.raw_rows == recording.loaded_rows == 6772
    assert (recording.excluded, recording.repaired, recording.failures) == ([], [], [])
    assert {name: table.num_rows for name, table in recording.tables.items()} == {
        "kernels": 1545,
        "metal_gpu_intervals": 1545,
        "metal_gpu_states": 2947,
        "metal_encoders": 999,
        "metal_command_buffers": 1087,
        "instants": 194,
        "instruments_recordings": 1,
    }
    assert recording.rows_by_table["metal-gpu-counter-intervals"] == 0
    assert [reason for reason, _, _ in recording.notes] == [
        "empty_table metal-gpu-counter-intervals",
        "empty_table metal-shader-profiler-intervals",
        "no_counter_set",
    ]


@needs_shared
def test_busy_equals_the_state_table_to_the_nanosecond(recording: InstrumentsData) -> None:
    rows = store(recording).execute("SELECT rows, sum_ns, busy_ns, state_active_ns FROM metal_busy WHERE scope = 'all'")
    assert rows.fetchall() == [(1545, 40_854_435, 36_478_560, 36_478_560)]


@needs_shared
def test_whose_work_it_was(recording: InstrumentsData) -> None:
    connection = store(recording)
    assert connection.execute(
        "SELECT process, rows FROM metal_busy WHERE scope = 'process' ORDER BY rows"
    ).fetchall() == [
        ("Terminal (643)", 30),
        ("Firefox GPU Helper (63961)", 156),
        ("WindowServer (420)", 358),
        ("sm_apple_metal_probe_host (98491)", 1001),
    ]
    share = connection.execute(
        "SELECT verdict, target_pid, own_rows, other_rows, unattributed_rows, own_busy_ns FROM metal_share"
    )
    assert share.fetchall() == [("captured", 98491, 1001, 544, 0, 8_316_519)]


@needs_shared
def test_encoders_join_their_gpu_rows(recording: InstrumentsData) -> None:
    joined = store(recording).execute(
        "SELECT count(DISTINCT e.encoder_id), count(*) FROM metal_encoders e "
        "JOIN metal_gpu_intervals g USING (run_id, cmdbuffer_id, encoder_id)"
    )
    assert joined.fetchall() == [(999, 1000)]


def kernels(data: InstrumentsData) -> list[tuple[Any, ...]]:
    wanted = ["start_ns", "dur_ns", "stream", "process"]
    return [tuple(row.values()) for row in data.tables["kernels"].select(wanted).to_pylist()]


ONE = (1_000_000, 10_000, "Compute", "llm (42)")


@needs_shared
def test_x01_refs_and_sentinel() -> None:
    data = read(case("x01_refs_and_sentinel.xml"))
    assert kernels(data) == [ONE, (2_000_000, 10_000, "Compute", "llm (42)")]
    latency = store(data).execute("SELECT avg(start_latency_ns), count(start_latency_ns) FROM metal_gpu_intervals")
    assert latency.fetchall() == [(5000.0, 1)]


@needs_shared
def test_x03_dangling_ref() -> None:
    source = case("x03_dangling_ref.xml")
    with pytest.raises(PhasescopeError, match=r"metal-gpu-intervals, row 2, line 4 column 53: ref 999 points to an id"):
        read(source)
    data = read(source, strict=False)
    assert kernels(data) == [ONE]
    assert [(reason, rows) for reason, rows, _ in data.excluded] == [("malformed_row", 1)]


@needs_shared
def test_x05_second_node_without_schema() -> None:
    assert kernels(read(case("x05_second_node_without_schema.xml"))) == [
        ONE,
        (2_000_000, 10_000, "Compute", "llm (42)"),
    ]


@needs_shared
def test_x07_unattributed() -> None:
    data = read(case("x07_unattributed.xml"), target_pid=42)
    assert kernels(data) == [ONE, (2_000_000, 917_291, "Fragment", None)]
    assert data.tables["metal_gpu_intervals"]["pid"].to_pylist() == [42, None]
    share = store(data).execute("SELECT verdict, own_rows, other_rows, unattributed_rows FROM metal_share").fetchall()
    assert share == [("captured", 1, 0, 1)]


@needs_shared
def test_x09_no_match() -> None:
    source, toc = case("x09_no_match.xml"), (FOLDER / "toc.xml").read_bytes()
    assert len(source) == 65
    with pytest.raises(PhasescopeError, match="the table is not in this export"):
        read(source)
    (reason, _, sentence), *_ = read(source, toc).notes
    assert reason == "table_not_in_export"
    assert "metal-gpu-intervals" in sentence


@needs_shared
@pytest.mark.parametrize("strict", [True, False])
def test_x11_zero_bytes(strict: bool) -> None:
    with pytest.raises(PhasescopeError, match=r"0\.xml: empty file"):
        read(case("x11_zero_bytes.xml"), strict=strict)


@needs_shared
def test_x13_mismatched_tag() -> None:
    with pytest.raises(PhasescopeError, match="table time-profile, row 1, line 3 column 395: mismatched tag"):
        read(case("x13_mismatched_tag.xml"))


@needs_shared
def test_x15_private_signpost() -> None:
    data = read(case("x15_private_signpost.xml"))
    (row,) = data.tables["signposts"].to_pylist()
    assert (row["name"], row["dur_ns"], row["message"], row["redacted"]) == (
        "PyTorchOperationIntervals",
        500,
        "redacted",
        True,
    )


@needs_shared
def test_x17_unpaired_begin_end() -> None:
    data = read(case("x17_unpaired_begin_end.xml"))
    rows = data.tables["signposts"].select(["name", "status", "start_ns", "end_ns", "dur_ns"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("prefill", "end_only", None, 10, None),
        ("decode", "begin_only", 20, None, None),
    ]
    assert [(reason, rows) for reason, rows, _ in data.notes] == [("unpaired_signposts", 2)]


@needs_shared
def test_x19_counters() -> None:
    rows = read(case("x19_counters.xml")).tables["counters"].select(["track", "t_ns", "value", "unit"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("ALU Utilization", 0, 12.5, "percent"),
        ("GPU Read Bandwidth", 1_000_000, 6.0, None),
    ]


@needs_shared
def test_x21_bom_crlf_encoding() -> None:
    assert kernels(read(case("x21_bom_crlf_encoding.xml"))) == [ONE]


# Damaged twins of the real table


def twin(rows: int = 60) -> bytes:
    """The first rows of the real GPU intervals, as a whole document."""
    text = (FOLDER / "metal-gpu-intervals.xml").read_bytes()
    return b"<row>".join(text.split(b"<row>")[: rows + 1]).rstrip() + b"</node></trace-query-result>\n"


def truth(data: bytes) -> list[tuple[Any, ...]]:
    """start, duration, channel, process of each row by another, simpler reader."""
    tree = ElementTree.fromstring(data)
    ids = {element.get("id"): element for element in tree.iter() if element.get("id")}
    found = []
    for row in tree.iter("row"):
        cells = [ids.get(cell.get("ref"), cell) for cell in row]
        found.append((int(cells[0].text), int(cells[1].text), cells[2].text, cells[10].get("fmt")))  # type: ignore[arg-type]
    return found


@needs_shared
def test_the_whole_table_agrees_with_another_reader(recording: InstrumentsData) -> None:
    assert kernels(recording) == truth((FOLDER / "metal-gpu-intervals.xml").read_bytes())


@needs_shared
def test_cut_anywhere_the_rows_kept_are_the_first_rows() -> None:
    source = twin(25)
    expected = truth(source)
    whole_rows = [source.find(b"</row>", 0)]
    while (behind := source.find(b"</row>", whole_rows[-1] + 1)) > 0:
        whole_rows.append(behind)
    for cut in range(1, len(source) - 2, 61):
        with pytest.raises(PhasescopeError):
            read(source[:cut])
        complete = sum(end + len(b"</row>") <= cut for end in whole_rows)
        if not complete:
            continue
        data = read(source[:cut], strict=False)
        assert kernels(data) == expected[:complete]
        assert [reason for reason, _, _ in data.repaired] == ["broken_xml"]


@needs_shared
def test_a_dropped_cell_is_never_taken_for_another() -> None:
    source = twin(12)
    expected = truth(source)
    row_start, row_end = source.index(b"<row>", source.index(b"<row>") + 1), 0
    row_end = source.index(b"</row>", row_start)
    tree = ElementTree.fromstring(source)
    cells = [ElementTree.tostring(cell) for cell in list(tree.iter("row"))[1]]
    for index in range(len(cells)):
        for twisted in (
            cells[:index] + cells[index + 1 :],  # dropped
            [*cells[:index], cells[index], *cells[index:]],  # doubled
            [*cells[:index], *cells[index + 1 :], cells[index]],  # moved to the end
        ):
            if twisted == cells:
                continue
            bad = source[: row_start + 5] + b"".join(twisted) + source[row_end:]
            data = read(bad, strict=False)
            assert kernels(data) == expected[:1] + [row for row in expected[2:] if row in kernels(data)]
            assert expected[1] not in kernels(data)
            assert sum(rows for _, rows, _ in data.excluded) >= 1


@needs_shared
def test_every_dangling_ref_is_found() -> None:
    source = twin(6)
    at = 0
    dangled = 0
    while (at := source.find(b' ref="', at + 1)) > 0:
        end = source.index(b'"', at + 6)
        with pytest.raises(PhasescopeError, match="ref 77777 points to an id that was not defined"):
            read(source[: at + 6] + b"77777" + source[end:])
        dangled += 1
    assert dangled > 50


@needs_shared
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_of_any_kind_ends_in_a_sentence_or_an_account(data: st.DataObject) -> None:
    source = bytearray(twin(4))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(source) - 2))
        kind = data.draw(st.sampled_from(["flip", "cut", "double"]))
        length = data.draw(st.integers(1, 60))
        if kind == "flip":
            source[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del source[at : at + length]
        else:
            source[at:at] = source[at : at + length]
    for strict in (True, False):
        with suppress(PhasescopeError):
            read(bytes(source), strict=strict)  # checks that raw = loaded + excluded


# Size

GROWTH = """
import resource, sys
from analyze.instruments.load import read_instruments
from tests.integration.test_instruments import Generated
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
rows = [0]
def sink(table, batch):
    rows[0] += batch.num_rows if table == "kernels" else 0
def read(count):
    data = read_instruments([("big.xml", lambda: Generated(count))], sink=sink)
    assert data.loaded_rows == data.raw_rows == count
read(4_000)
before = peak()
read(int(sys.argv[1]))
print(peak() - before, rows[0])
"""


PROCESS = '<process id="{}" fmt="python3.11 (4242)"><pid id="{}" fmt="4242">4242</pid></process>'


class Generated:
    """A table of GPU intervals, made while it is read: about 1 KB and eight new ids a row, as real ones have."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.bytes = 0
        self.chunks = self._chunks()
        self.left = b""

    def close(self) -> None:
        pass

    def read(self, size: int) -> bytes:
        while len(self.left) < size and (more := next(self.chunks, b"")):
            self.left += more
        taken, self.left = self.left[:size], self.left[size:]
        self.bytes += len(taken)
        return taken

    def _chunks(self) -> Any:
        columns = [
            ("start", "start-time"),
            ("duration", "duration"),
            ("channel-name", "gpu-channel-name"),
            ("start-latency", "duration"),
            ("event-label", "formatted-label"),
            ("process", "process"),
            ("cmdbuffer-id", "metal-command-buffer-id"),
            ("encoder-id", "metal-command-buffer-id"),
            ("gpu-submission-id", "uint64"),
        ]
        from tests.unit.analyze.instruments_xml import schema

        yield (
            "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
            + schema("metal-gpu-intervals", columns)
        ).encode()
        padding = f'<narrative-text fmt="{" " * 440}"> </narrative-text>'
        for k in range(self.rows):
            first = 2 * (k > 0) + 8 * k  # the first row mints the process too
            ids = iter(range(first + 1, first + 11))
            yield (
                f'<row><start-time id="{next(ids)}" fmt="00:00.530.732">{530_000_000 + 60_000 * k}</start-time>'
                f'<duration id="{next(ids)}" fmt="19.83 µs">{19_833 + k % 97}</duration>'
                f"<gpu-channel-name>Compute</gpu-channel-name>"
                f'<duration id="{next(ids)}" fmt="234.21 µs">{234_209 + k % 1009}</duration>'
                f'<formatted-label id="{next(ids)}" fmt="Compute Command 0 {k}"><string>Compute Command 0</string>'
                f'{padding}<metal-encoder-id id="{next(ids)}" fmt="0x9d58ce63">{2_639_842_915 + k}</metal-encoder-id>'
                "</formatted-label>"
                + (PROCESS.format(next(ids), next(ids)) if not k else '<process ref="6"/>')
                + f'<metal-command-buffer-id id="{next(ids)}" fmt="0x7">{1_966_378_032 + k}</metal-command-buffer-id>'
                f'<metal-command-buffer-id id="{next(ids)}" fmt="0x8">{1_966_378_035 + k}</metal-command-buffer-id>'
                f'<uint64 id="{next(ids)}" fmt="2,639">{2_639_842_915 + k}</uint64></row>\n'
            ).encode()
        yield b"</node></trace-query-result>\n"


def test_memory_stays_bounded_on_a_large_table() -> None:
    rows = 90_000
    size = Generated(1000)
    while size.read(1 << 20):
        pass
    assert size.bytes * rows / 1000 > 95_000_000
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(rows)], cwd=root, capture_output=True, text=True, timeout=240, check=True
    )
    growth, kernels_seen = map(int, done.stdout.split())
    assert kernels_seen == rows + 4_000
    # One batch of columns (about 35 MB) and 100 bytes an id-bearing row; the document itself is over 95 MB.
    assert growth < 70_000_000
