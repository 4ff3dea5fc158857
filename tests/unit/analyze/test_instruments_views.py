"""The views over GPU rows: unions, shares, bursts, host time."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import analyze
from analyze.instruments.clock import PassClock
from tests.unit.analyze.instruments_xml import GPU_COLUMNS, gpu_table, opener, process, read, store, table
from tests.unit.analyze.test_instruments_load import TOC, time_info

INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20), st.sampled_from([42, 7, None])), min_size=1, max_size=25
)


def brute(intervals: list[tuple[int, int]]) -> int:
    return len({t for start, dur in intervals for t in range(start, start + dur)})


@settings(max_examples=25, deadline=None)
@given(INTERVALS)
def test_busy_is_a_union(intervals: list[tuple[int, int, int | None]]) -> None:
    connection = store(read(gpu_table(intervals), TOC))
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT scope, process, rows, sum_ns, busy_ns, span_ns, idle_ns FROM metal_busy"
    ).fetchall()
    groups = {("all", None): intervals}
    for interval in intervals:
        pid = interval[2]
        groups.setdefault(("process", f"llm ({pid})" if pid else None), []).append(interval)
    assert len(rows) == len(groups)
    for scope, name, count, sum_ns, busy_ns, span_ns, idle_ns in rows:
        mine = [(start, dur) for start, dur, _ in groups[scope, name]]
        assert (count, sum_ns, busy_ns) == (len(mine), sum(dur for _, dur in mine), brute(mine))
        assert busy_ns <= min(sum_ns, span_ns)
        assert busy_ns + idle_ns == span_ns
    share = connection.execute(
        "SELECT verdict, own_rows, other_rows, unattributed_rows, own_busy_ns, all_busy_ns FROM metal_share"
    ).fetchone()
    own = [(start, dur) for start, dur, pid in intervals if pid == 42]
    assert share == (
        "captured" if own else "not captured",
        len(own),
        sum(pid == 7 for _, _, pid in intervals),
        sum(pid is None for _, _, pid in intervals),
        brute(own),
        brute([(start, dur) for start, dur, _ in intervals]),
    )


def marked_run(uncertain: bool = False) -> Any:
    """Prefill 1000..2000 and two decode steps of 500, on a recording that began 100 ns before the pass."""
    gpu = [
        (1100, 300, 42),
        (1300, 500, 42),
        (2050, 100, 42),
        (2200, 50, 42),
        (2230, 100, 7),
        (2600, 100, 42),
        (5000, 9, 42),
    ]
    encoders = table(
        "metal-application-encoders-list",
        [("start", "start-time"), ("duration", "duration"), ("process", "process")],
        [
            f"<start-time>{start}</start-time><duration>{dur}</duration>{process(pid)}"
            for start, dur, pid in [(1000, 200, 42), (1050, 100, 42), (2000, 100, 42), (2450, 100, 42), (2010, 400, 7)]
        ],
        2,
    )
    clock = PassClock(1_767_225_600_000_000_100, 1_000_000_100)
    sources = [gpu_table(gpu), encoders, TOC] + ([] if uncertain else [time_info(24_000_000)])
    data = read(*sources, pass_clock=clock)
    connection = store(data)
    begin = data.clock.trace_ns(clock.uptime_ns)
    assert begin == 100
    for phase, step, start_ns, dur_ns in [
        ("prefill", 0, 900, 1000),
        ("decode", 1, 1900, 500),
        ("decode", 2, 2400, 500),
    ]:
        connection.execute(
            "INSERT INTO phases BY NAME SELECT 'r' AS run_id, 'metal' AS pass, 0 AS rank, 0 AS repeat, ? AS phase, "
            "? AS step, ? AS start_ns, ? AS dur_ns, ? AS tokens, 'timer' AS source",
            [phase, step, start_ns + begin, dur_ns, 8 if phase == "prefill" else 1],
        )
    sql = Path(analyze.__path__[0]) / "sql" / "instruments_attribution.sql"
    connection.execute(sql.read_text(), {"run_id": "r"})
    return connection


def test_bursts_and_gaps_for_each_phase() -> None:
    rows = marked_run().execute(
        "SELECT phase, step, wall_ns, rows, sum_ns, busy_ns, idle_ns, bursts, bursts_per_token, median_gap_ns, "
        "longest_gap_ns, median_start_latency_ns FROM metal_bursts ORDER BY step"
    )
    assert rows.fetchall() == [
        ("prefill", 0, 1000, 2, 800, 700, 300, 1, 0.125, None, None, 7.0),
        ("decode", 1, 500, 2, 150, 150, 350, 2, 2.0, 50.0, 50, 7.0),
        ("decode", 2, 500, 1, 100, 100, 400, 1, 1.0, None, None, 7.0),
    ]


def test_rows_of_others_and_outside_stay_unattributed() -> None:
    rows = marked_run().execute("SELECT start_ns, phase, step, attributed_by FROM kernels ORDER BY start_ns")
    assert rows.fetchall() == [
        (1100, "prefill", 0, "containment"),
        (1300, "prefill", 0, "containment"),
        (2050, "decode", 1, "containment"),
        (2200, "decode", 1, "containment"),
        (2230, None, None, "unattributed"),
        (2600, "decode", 2, "containment"),
        (5000, None, None, "unattributed"),
    ]


def test_a_start_date_is_too_coarse_to_attribute_by() -> None:
    found = marked_run(uncertain=True).execute("SELECT DISTINCT attributed_by FROM kernels").fetchall()
    assert found == [("unattributed",)]


def test_host_time_hidden_and_exposed() -> None:
    rows = marked_run().execute(
        "SELECT phase, step, wall_ns, hidden_ns, exposed_ns, encode_ns, encode_hidden_ns, encode_exposed_ns "
        "FROM metal_host ORDER BY step"
    )
    assert rows.fetchall() == [
        ("prefill", 0, 1000, 700, 300, 200, 100, 100),
        ("decode", 1, 500, 150, 350, 150, 50, 100),
        ("decode", 2, 500, 100, 400, 50, 0, 50),
    ]


def test_signposts_by_name() -> None:
    intervals = table(
        "os-signpost-interval",
        [
            ("start", "start-time"),
            ("duration", "duration"),
            ("name", "signpost-name"),
            ("start-message", "os-log-metadata"),
        ],
        [
            f"<start-time>{i}</start-time><duration>{i}</duration><signpost-name>op</signpost-name><os-log-metadata>{m}</os-log-metadata>"
            for i, m in ((1, "&lt;private&gt;"), (3, "aten::mm (id=G1)"))
        ],
    )
    rows = store(read(intervals)).execute(
        "SELECT source_table, name, status, signposts, redacted, sum_ns, median_ns FROM metal_signposts"
    )
    assert rows.fetchall() == [("os-signpost-interval", "op", "interval", 2, 1, 4, 2.0)]


def test_helpers_open_anew() -> None:
    open_it = opener(b"x")
    assert (open_it().read(), open_it().read()) == (b"x", b"x")


def gates(connection: Any) -> dict[str, tuple[str, Any, Any]]:
    rows = connection.execute("SELECT gate, verdict, measured, expected FROM metal_gates").fetchall()
    return {gate: (verdict, measured, expected) for gate, verdict, measured, expected in rows}


def gated_run(
    dispatches: int = 3, seen: int = 3, span: int = 1000, active: int = 1030, clean: int = 1050, target: int = 42
) -> Any:
    """A pass of which everything can be tested: a probe at 100..200, then prefill at 1000..2000."""
    probe = [(100 + 30 * number, 10, 42) for number in range(seen)]
    gpu = table(
        "metal-gpu-intervals",
        [*GPU_COLUMNS, ("encoder-id", "metal-command-buffer-id")],
        [
            f"<start-time>{start}</start-time><duration>{dur}</duration><sentinel/><sentinel/>{process(pid)}"
            f"<metal-command-buffer-id>{start}</metal-command-buffer-id>"
            for start, dur, pid in [*probe, (1000, span, 42)]
        ],
    )
    states = table(
        "metal-gpu-state-intervals",
        [("start", "start-time"), ("duration", "duration"), ("state", "gpu-state")],
        [f"<start-time>0</start-time><duration>{active}</duration><gpu-state>Active</gpu-state>"],
        2,
    )
    clock = PassClock(1, 1_000_000_000)
    connection = store(read(gpu, states, time_info(24_000_000), pass_clock=clock, target_pid=target))
    detail = f'{{"probe": {{"dispatches": {dispatches}, "start_ns": 90, "dur_ns": 110}}}}'
    connection.execute("INSERT INTO passes VALUES ('r', 'metal', 'measured', NULL, ?)", [detail])
    for pass_, dur_ns in (("metal", 1000), ("clean", clean)):
        connection.execute(
            "INSERT INTO phases BY NAME SELECT 'r' AS run_id, ? AS pass, 0 AS rank, 0 AS repeat, 'prefill' AS phase, "
            "0 AS step, 1000 AS start_ns, ? AS dur_ns, 8 AS tokens, 'timer' AS source",
            [pass_, dur_ns],
        )
    sql = Path(analyze.__path__[0]) / "sql" / "instruments_attribution.sql"
    connection.execute(sql.read_text(), {"run_id": "r"})
    return connection


def test_all_gates_hold() -> None:
    connection = gated_run()
    assert gates(connection) == {
        "process captured": ("holds", 4, None),
        "clocks joined": ("holds", 1, 0),
        "probe dispatches": ("holds", 3, 3),
        "union is the state table's active time": ("holds", 1030, 1030),
        "GPU span of prefill is its timer": ("holds", 1000, 1000),
        "prefill as fast as in pass clean": ("holds", 1000, 1050),
    }
    assert connection.execute("SELECT verdict, failed, open FROM metal_trust").fetchall() == [
        ("established", None, None)
    ]


@pytest.mark.parametrize(
    ("change", "gate", "numbers"),
    [
        ({"seen": 2, "active": 1020}, "probe dispatches", (2, 3)),
        ({"seen": 0, "active": 1000}, "probe dispatches", (0, 3)),
        ({"span": 980, "active": 1010}, "GPU span of prefill is its timer", (980, 1000)),
        ({"active": 1040}, "union is the state table's active time", (1030, 1040)),
        ({"clean": 850}, "prefill as fast as in pass clean", (1000, 850)),
    ],
)
def test_a_failed_gate_takes_the_trust_away(change: dict[str, int], gate: str, numbers: tuple[int, int]) -> None:
    connection = gated_run(**change)
    assert gates(connection)[gate] == ("does not hold", *numbers)
    assert connection.execute("SELECT verdict, failed FROM metal_trust").fetchall() == [("not established", gate)]


def test_a_process_that_was_not_captured_establishes_nothing() -> None:
    connection = gated_run(target=4711)
    assert gates(connection)["process captured"] == ("does not hold", 0, None)
    assert connection.execute("SELECT verdict FROM metal_trust").fetchall() == [("not established",)]


def test_marks_on_a_clock_that_is_not_joined_establish_nothing() -> None:
    """The machine slept: the recording's times and the pass's are not comparable, and both are in the store."""
    connection = gated_run()
    connection.execute(
        "UPDATE instruments_recordings SET clock_method = 'none', clock_uncertainty_ns = NULL, pass_start_ns = NULL"
    )
    assert gates(connection)["clocks joined"] == ("does not hold", None, 0)
    assert connection.execute("SELECT verdict, failed FROM metal_trust").fetchall() == [
        ("not established", "clocks joined")
    ]


def test_what_cannot_be_tested_stays_open() -> None:
    connection = store(read(gpu_table([(0, 5, 42)]), TOC))
    assert connection.execute("SELECT verdict, failed, open FROM metal_trust").fetchall() == [
        ("partly established", None, "clocks joined; probe dispatches; union is the state table's active time")
    ]
