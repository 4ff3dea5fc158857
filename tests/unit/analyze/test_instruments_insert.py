"""A recording into a store that holds the pass's marks already."""

import duckdb
import pytest

from analyze.errors import PhasescopeError
from analyze.instruments.clock import PassClock
from analyze.instruments.insert import insert_instruments
from analyze.instruments.load import InstrumentsData
from tests.unit.analyze.instruments_xml import gpu_table, opener, read, store, table
from tests.unit.analyze.test_instruments_load import TOC, time_info

CLOCK = PassClock(1_767_225_600_000_000_000, 1_000_000_100)


def empty_store() -> duckdb.DuckDBPyConnection:
    data = InstrumentsData()
    connection = store(data)
    connection.execute(
        "INSERT INTO phases BY NAME SELECT 'r' AS run_id, pass, 0 AS rank, 0 AS repeat, 'prefill' AS phase, 0 AS step, "
        "900 AS start_ns, 1000 AS dur_ns, 'timer' AS source FROM (VALUES ('metal'), ('clean')) t(pass)"
    )
    connection.execute(
        "INSERT INTO samples BY NAME SELECT 'r' AS run_id, 'metal' AS pass, 0 AS repeat, 'after_prefill' AS phase, "
        "0 AS step, 1900 AS t_ns"
    )
    connection.execute(
        "INSERT INTO kernels BY NAME SELECT 'r' AS run_id, 'profiled' AS pass, 0 AS rank, 7 AS kernel_id, 'k' AS name, "
        "'kernel' AS kind, 0 AS start_ns, 1 AS dur_ns, 'correlation' AS attributed_by"
    )
    return connection


def test_marks_move_to_the_clock_of_the_recording() -> None:
    connection = empty_store()
    sources = [gpu_table([(1100, 300, 42), (5000, 1, 42)]), time_info(24_000_000), TOC]
    data = insert_instruments(
        connection,
        [(f"{i}.xml", opener(source)) for i, source in enumerate(sources)],
        run_id="r",
        pass_clock=CLOCK,
    )
    assert (data.raw_rows, data.loaded_rows, data.tables) == (3, 3, {})
    assert connection.execute("SELECT pass, start_ns FROM phases ORDER BY pass").fetchall() == [
        ("clean", 900),
        ("metal", 1000),
    ]
    assert connection.execute("SELECT t_ns FROM samples").fetchall() == [(2000,)]
    assert connection.execute(
        "SELECT kernel_id, pass, phase, attributed_by FROM kernels ORDER BY kernel_id"
    ).fetchall() == [
        (7, "profiled", None, "correlation"),
        (8, "metal", "prefill", "containment"),
        (9, "metal", None, "unattributed"),
    ]


def test_without_a_join_nothing_moves() -> None:
    connection = empty_store()
    data = insert_instruments(
        connection,
        [("g.xml", opener(gpu_table([(1100, 300, 42)])))],
        run_id="r",
        target_pid=42,
        pass_clock=CLOCK,
    )
    assert data.clock.method == "none"
    assert connection.execute("SELECT start_ns FROM phases WHERE pass = 'metal'").fetchall() == [(900,)]
    assert connection.execute("SELECT phase FROM kernels WHERE pass = 'metal'").fetchall() == [(None,)]


def test_strict_and_tolerant() -> None:
    bad = table("metal-gpu-intervals", [("start", "start-time")], ["<start-time>1</start-time>", "<sentinel/>"])
    with pytest.raises(PhasescopeError, match="its start is missing"):
        insert_instruments(empty_store(), [("g.xml", opener(bad))], run_id="r", strict=True)
    data = insert_instruments(empty_store(), [("g.xml", opener(bad))], run_id="r")
    assert (data.raw_rows, data.loaded_rows) == (2, 1)
    assert read(bad, strict=False).loaded_rows == 1
