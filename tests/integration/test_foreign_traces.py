"""Real traces of other tools, against exact truth: nothing lost, nothing invented."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from analyze.load import LoadResult, load
from analyze.one_run import Options
from analyze.query import open_store
from tests.shared import SHARED, needs_shared

pytestmark = needs_shared
KINETO = SHARED / "traces" / "kineto"
TRUTH = [json.loads(line) for line in (KINETO / "truth.jsonl").read_text().splitlines()] if KINETO.is_dir() else []
UNION = """
WITH marks AS (
    SELECT start_ns, start_ns + dur_ns AS end_ns,
        max(start_ns + dur_ns) OVER (ORDER BY start_ns, start_ns + dur_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM kernels WHERE run_id = ? AND kind IN (SELECT unnest(?::VARCHAR[]))
)
SELECT coalesce(sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns)))), 0)::BIGINT FROM marks
"""  # noqa: E501


@pytest.fixture(scope="module")
def kineto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LoadResult, duckdb.DuckDBPyConnection]]:
    store = tmp_path_factory.mktemp("kineto") / "s.duckdb"
    result = load(sorted(KINETO.glob("*.json.gz")), store)
    con = open_store(store)
    yield result, con
    con.close()


def one(con: duckdb.DuckDBPyConnection, sql: str, *values: object) -> object:
    return con.execute(sql, list(values)).fetchall()[0][0]


def test_every_trace_loads(kineto: tuple[LoadResult, duckdb.DuckDBPyConnection]) -> None:
    result, _ = kineto
    assert [str(error) for error in result.failed] == []
    assert len(result.loaded) == len(TRUTH) == 13


@pytest.mark.parametrize("truth", TRUTH, ids=[t["file"] for t in TRUTH])
def test_against_truth(kineto: tuple[LoadResult, duckdb.DuckDBPyConnection], truth: dict[str, object]) -> None:
    result, con = kineto
    run = next(r for r in result.loaded if r.source == truth["file"])
    assert run.raw_events == truth["events"]
    assert run.raw_events == run.loaded_events + run.excluded_events
    assert run.excluded_events == 0

    by_category = dict(
        con.execute(
            "SELECT category, count(*) FROM ("
            "SELECT category FROM ops WHERE run_id = $r UNION ALL SELECT category FROM spans WHERE run_id = $r "
            ") GROUP BY 1",
            {"r": run.run_id},
        ).fetchall()
    )
    by_kind = dict(
        con.execute("SELECT kind, count(*) FROM kernels WHERE run_id = ? GROUP BY 1", [run.run_id]).fetchall()
    )
    expected = dict(truth["x_by_cat"])  # type: ignore[call-overload]
    device = {"kernel": ("kernel", "Kernel"), "memcpy": ("gpu_memcpy", "Memcpy"), "memset": ("gpu_memset", "Memset")}
    for kind, names in device.items():
        assert by_kind.get(kind, 0) == sum(expected.pop(name, 0) for name in names)
    assert by_category == expected

    assert one(con, "SELECT count(*) FROM kernels WHERE run_id = ? AND kind = 'kernel'", run.run_id) == truth["kernels"]
    assert one(con, "SELECT count(*) FROM kernels WHERE run_id = ?", run.run_id) == truth["device_rows"]
    sum_ns = one(
        con, "SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM kernels WHERE run_id = ? AND kind = 'kernel'", run.run_id
    )
    assert sum_ns == truth["kernel_sum_ns"]
    assert one(con, UNION, run.run_id, ["kernel"]) == truth["kernel_union_ns"]
    assert one(con, UNION, run.run_id, ["kernel", "memcpy", "memset"]) == truth["device_union_ns"]
    without_launch = one(
        con, "SELECT count(*) FROM kernels WHERE run_id = ? AND kind = 'kernel' AND launch_op_id IS NULL", run.run_id
    )
    assert without_launch == truth["kernels_without_launch"]
    if truth["top_kernel"]:
        top = con.execute(
            "SELECT name, sum(dur_ns)::BIGINT FROM kernels WHERE run_id = ? AND kind = 'kernel' "
            "GROUP BY 1 ORDER BY 2 DESC",
            [run.run_id],
        ).fetchall()[0]
        assert list(top) == truth["top_kernel"]


def test_raw_events_that_are_rows_are_all_there(kineto: tuple[LoadResult, duckdb.DuckDBPyConnection]) -> None:
    """Counted in the store, not by the reader: slices, instants, flows, counters and metadata add up to the file."""
    result, con = kineto
    for run in result.loaded:
        with gzip.open(KINETO / run.source) as stream:
            phases: dict[str, int] = {}
            for event in json.load(stream)["traceEvents"]:
                phases[event["ph"]] = phases.get(event["ph"], 0) + 1
        stored = {
            "X": one(con, "SELECT (SELECT count(*) FROM ops WHERE run_id = $1) + "
                          "(SELECT count(*) FROM kernels WHERE run_id = $1) + "
                          "(SELECT count(*) FROM spans WHERE run_id = $1)", run.run_id),
            "flows": one(con, "SELECT count(*) FROM flows WHERE run_id = ?", run.run_id),
            "instants": one(con, "SELECT count(*) FROM instants WHERE run_id = ?", run.run_id),
            "metadata": one(con, "SELECT count(*) FROM trace_metadata WHERE run_id = ? AND key LIKE '%/%' "
                                 "AND regexp_matches(key, '^(process|thread)_(name|labels|sort_index) ')", run.run_id),
        }  # fmt: skip
        assert stored["X"] == phases.get("X", 0), run.source
        assert stored["flows"] == sum(phases.get(ph, 0) for ph in "stf"), run.source
        assert stored["instants"] == phases.get("i", 0), run.source
        assert stored["metadata"] == phases.get("M", 0), run.source


def test_nanoseconds_on_an_epoch_base(kineto: tuple[LoadResult, duckdb.DuckDBPyConnection]) -> None:
    """Timestamps of 16 digits and three decimals: exact, in order, and with every slice nested as it was."""
    from decimal import Decimal

    _, con = kineto
    name = "ns-resolution-epoch-timestamps"
    run_id = one(con, "SELECT run_id FROM runs WHERE source = ?", f"{name}.json.gz")
    with gzip.open(KINETO / f"{name}.json.gz") as stream:
        events = json.load(stream, parse_float=Decimal, parse_int=Decimal)["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    origin = min(e["ts"] for e in slices)
    expected = sorted((int((e["ts"] - origin) * 1000), int(e["dur"] * 1000), e["name"]) for e in slices)
    got = con.execute(
        "SELECT start_ns, dur_ns, name FROM ops WHERE run_id = $r UNION ALL "
        "SELECT start_ns, dur_ns, name FROM kernels WHERE run_id = $r UNION ALL "
        "SELECT start_ns, dur_ns, name FROM spans WHERE run_id = $r ORDER BY ALL",
        {"r": run_id},
    ).fetchall()
    assert got == expected


def test_chrome_inputs_of_perfetto(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    result = load([SHARED / "traces" / "chrome"], store)
    assert result.failed == []
    account = {r.source: (r.raw_events, r.loaded_events, r.excluded_events) for r in result.loaded}
    assert account == {
        "json_async.json": (6, 6, 0),
        "json_counter_args.json": (1, 1, 0),
        "json_extreme_vals.json": (4, 4, 0),
        "json_flow.json": (9, 9, 0),
        "json_incomplete.json": (1, 1, 0),
        "json_pid_tid_zero.json": (14, 14, 0),
        "json_trailing_comma.json": (2, 2, 0),
        "nested-tracks.perfetto-trace": (2724, 2724, 0),
        "overlapping_complete_event_recovered.json": (2, 2, 0),
        "string_pid_tid.json": (1, 1, 0),
        "string_ts_and_dur.json": (3, 3, 0),
    }
    con = open_store(store)

    def rows(table: str, columns: str, source: str) -> list[tuple[object, ...]]:
        return con.execute(
            f"SELECT {columns} FROM {table} JOIN runs USING (run_id) WHERE source = ? ORDER BY ALL", [source]
        ).fetchall()

    assert rows("ops", "name, dur_ns", "overlapping_complete_event_recovered.json") == [
        ("inner", 100_000), ("outer", 100_000),
    ]  # fmt: skip
    assert rows("ops", "name, dur_ns", "string_ts_and_dur.json") == [("BeginEvent", 100_500), ("CompleteEvent", 50_500)]
    assert rows("ops", "name, dur_ns", "json_extreme_vals.json") == [
        ("BeginNoTTS", 100_000), ("CompleteNoTDUR", 50_000),
    ]  # fmt: skip
    assert rows("spans", "name, kind, dur_ns", "json_extreme_vals.json") == [("CompleteNoDur", "unfinished", None)]
    assert rows("spans", "kind, dur_ns", "json_async.json") == [("async", 100_000)] * 3
    counters = dict(rows("counters", "regexp_extract(track, '[^/]*$'), value", "json_counter_args.json"))  # type: ignore[arg-type]
    assert counters["leading_dot"] == 0.75
    assert counters["plus_val"] == 10.5
    assert counters["just_dot"] is None
    con.close()


CASES = {
    # file: (raw, loaded, excluded, repaired)
    "k01_unescaped_quote.json": (2, 1, 1, 0),
    "k03_raw_newline_in_name.json": (1, 1, 0, 2),
    "k05_windows_backslash.json": (1, 1, 0, 3),
    "k07_nan_counter.json": (2, 2, 0, 2),
    "k09_metadata_after_events.json": (1, 1, 0, 0),
    "k11_truncated_array.json": (2, 1, 1, 1),
    "k13_multimember.json.gz": (2, 2, 0, 0),
    "k15_tid_over_u32.json": (2, 2, 0, 0),
    "k17_tid0_tid1.json": (2, 2, 0, 0),
    "k19_string_epoch_ts.json": (3, 3, 0, 0),
    "k21_child_outlives_parent.json": (3, 3, 0, 0),
    "k23_kernel_overrun.json": (3, 3, 0, 0),
    "k25_ts_zero_kernel.json": (2, 1, 1, 0),
    "k27_launch_without_kernel.json": (3, 3, 0, 0),
    "k29_gpu_annotation_overlap.json": (2, 2, 0, 0),
    "k31_graph_launch_one_to_many.json": (5, 5, 0, 0),
    "k33_no_rank.json": (3, 3, 0, 0),
    "k35_no_profilerstep.json": (2, 2, 0, 0),
    "k37_comms_without_kernel.json": (2, 2, 0, 0),
    "k39_mps_cpu_dispatch_only.json": (3, 3, 0, 0),
}


class Case:
    """One case, loaded, with short ways to ask it."""

    def __init__(self, name: str, tmp_path: Path) -> None:
        self.result = load([SHARED / "cases" / name], tmp_path / "s.duckdb")
        assert self.result.failed == []
        self.run = self.result.loaded[0]
        self.con = open_store(tmp_path / "s.duckdb")

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return self.con.execute(sql).fetchall()

    def reasons(self, kind: str) -> dict[str, str]:
        return {str(r): str(d) for r, d in self.rows(f"SELECT reason, detail FROM quality WHERE kind = '{kind}'")}


@pytest.mark.parametrize("name", CASES)
def test_case_accounts(name: str, tmp_path: Path) -> None:
    run = Case(name, tmp_path).run
    assert (run.raw_events, run.loaded_events, run.excluded_events, run.repaired_events) == CASES[name]


def test_all_cases_are_listed() -> None:
    assert sorted(CASES) == sorted(p.name for p in (SHARED / "cases").glob("k*"))


def test_strict_refuses_and_leaves_nothing(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    result = load([SHARED / "cases" / "k11_truncated_array.json"], store, options=Options(strict=True))
    assert [error.exit_code for error in result.failed] == [3]
    assert "k11_truncated_array.json" in str(result.failed[0])
    assert not store.exists()


def test_k01_names_the_byte(tmp_path: Path) -> None:
    case = Case("k01_unescaped_quote.json", tmp_path)
    assert case.rows("SELECT name FROM ops") == [("aten::mm",)]
    assert "byte 34" in case.reasons("excluded")["malformed"]


def test_k05_backslashes_are_kept_as_written(tmp_path: Path) -> None:
    case = Case("k05_windows_backslash.json", tmp_path)
    assert case.rows("SELECT name FROM ops") == [("pkg\\dir\\mod.py(7): run",)]


def test_k07_nan_is_a_gap(tmp_path: Path) -> None:
    case = Case("k07_nan_counter.json", tmp_path)
    assert case.rows("SELECT t_ns, value FROM counters ORDER BY t_ns") == [(0, None), (100_000, 40.0)]


def test_k09_metadata_behind_the_events(tmp_path: Path) -> None:
    case = Case("k09_metadata_after_events.json", tmp_path)
    assert case.rows("SELECT rank FROM ops") == [(3,)]
    assert case.rows("SELECT value FROM trace_metadata WHERE key = 'baseTimeNanoseconds'") == [("1700000000000000000",)]


def test_k11_says_where_it_broke(tmp_path: Path) -> None:
    case = Case("k11_truncated_array.json", tmp_path)
    assert case.rows("SELECT name, dur_ns FROM ops") == [("prefill", 8000)]
    assert case.reasons("repaired")["truncated"].startswith("the file ends inside an event that begins at byte 63")


def test_k15_threads_stay_apart(tmp_path: Path) -> None:
    case = Case("k15_tid_over_u32.json", tmp_path)
    rows = case.rows("SELECT name, tid, depth FROM ops JOIN threads USING (run_id, thread_id) ORDER BY name")
    assert rows == [("a", "140589156634432", 0), ("b", "140588800255680", 0)]


def test_k17_streams_stay_apart(tmp_path: Path) -> None:
    case = Case("k17_tid0_tid1.json", tmp_path)
    assert case.rows("SELECT name, stream FROM kernels ORDER BY name") == [("k0", "0"), ("k1", "1")]


def test_k19_exact_and_nested(tmp_path: Path) -> None:
    case = Case("k19_string_epoch_ts.json", tmp_path)
    rows = case.rows("SELECT name, start_ns, dur_ns, depth FROM ops ORDER BY name")
    assert rows == [("c", 250, 200, 1), ("p", 0, 700, 0)]
    assert case.rows("SELECT flow_id, t_ns FROM flows") == [("9007199254740993", 50)]


def test_k21_ranges_do_not_vanish(tmp_path: Path) -> None:
    case = Case("k21_child_outlives_parent.json", tmp_path)
    rows = case.rows("SELECT name, layer, dur_ns FROM ops ORDER BY start_ns")
    assert rows == [
        ("model.py(4): forward", "python", 100_050),
        ("ProfilerStep#3", "annotation", 100_000),
        ("decode", "annotation", 60_000),
    ]
    assert case.rows("SELECT phase, dur_ns FROM phases") == [("decode", 60_000)]
    assert "overlapping_slices" in case.reasons("note")


def test_k23_busy_is_a_union(tmp_path: Path) -> None:
    case = Case("k23_kernel_overrun.json", tmp_path)
    assert case.rows("SELECT sum(busy_ns) <= 1600000000 FROM kernel_summary WHERE name = 'fmha'") == [(True,)]
    assert case.rows("SELECT device_busy_ns FROM phase_breakdown") in ([(1_600_000_000,)], [(None,)])
    assert any("overlap" in reason for reason in case.reasons("note"))


def test_k25_the_window_is_not_fifty_years(tmp_path: Path) -> None:
    case = Case("k25_ts_zero_kernel.json", tmp_path)
    assert case.rows("SELECT max(start_ns + dur_ns) FROM ops") == [(6000,)]
    assert "zero_timestamp" in case.reasons("excluded")


def test_k29_annotations_are_not_work(tmp_path: Path) -> None:
    case = Case("k29_gpu_annotation_overlap.json", tmp_path)
    assert case.rows("SELECT name, dur_ns FROM kernels") == [("gemm", 20_000)]
    assert case.rows("SELECT name, kind FROM spans") == [("decode", "device_annotation")]


def test_k33_rank_is_zero(tmp_path: Path) -> None:
    assert Case("k33_no_rank.json", tmp_path).rows("SELECT DISTINCT rank FROM kernels") == [(0,)]


def test_slices_nested_deeper_than_trace_processor_follows(tmp_path: Path) -> None:
    levels = 600
    deep = [
        {"ph": "X", "name": f"f{n}", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": n, "dur": 2 * (levels - n) + 5}
        for n in range(levels)
    ]
    after = {"ph": "X", "name": "after", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 5000, "dur": 1}
    trace, store = tmp_path / "t.json", tmp_path / "s.duckdb"
    trace.write_text(json.dumps([*deep, after]))
    assert load([trace], store).failed == []
    con = duckdb.connect(str(store), read_only=True)
    got = con.execute(
        "SELECT max(depth), count(*) FILTER (parent_id IS NULL), sum(self_ns), max(dur_ns), "
        "count(*) FILTER (depth = 1 + (SELECT p.depth FROM ops p WHERE p.op_id = o.parent_id)) FROM ops o"
    ).fetchall()
    con.close()
    assert got == [(599, 2, 1_206_000, 1_205_000, 599)]


def _slice(name: str, cat: str, tid: int, ts: float, dur: float, pid: int = 1, **args: object) -> dict[str, object]:
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def _launched(
    number: int, call_us: float, work_us: float, dur_us: float, *, tid: int = 1, stream: int = 7
) -> list[dict]:
    return [
        _slice("cudaLaunchKernel", "cuda_runtime", tid, call_us, 5, correlation=number),
        _slice("k", "kernel", stream, work_us, dur_us, pid=0, correlation=number, device=0, stream=stream),
    ]


def _idle(tmp_path: Path, events: list[dict]) -> tuple[list[tuple], list[tuple], list[tuple]]:
    """Idle time of each phase by phase_breakdown, by the sum of device_idle, and by time_budget."""
    trace, store = tmp_path / "t.json", tmp_path / "s.duckdb"
    trace.write_text(json.dumps({"traceEvents": events}))
    assert load([trace], store).failed == []
    con = duckdb.connect(str(store), read_only=True)
    answers = [
        con.execute(f"SELECT phase, sum({column})::BIGINT FROM {table} GROUP BY phase ORDER BY phase").fetchall()
        for table, column in (
            ("phase_breakdown", "device_idle_ns"), ("device_idle", "if(cause = 'copy', 0, dur_ns)"),
            ("time_budget", "device_idle_ns"),
        )
    ]  # fmt: skip
    assert con.execute("SELECT count(*) FROM device_idle WHERE dur_ns <= 0").fetchall() == [(0,)]
    con.close()
    return answers[0], answers[1], answers[2]


def test_idle_where_a_row_begins_before_its_phase(tmp_path: Path) -> None:
    events = []
    for step, mark in enumerate(("inference.prefill", "inference.decode_step")):
        at = 10_000 * step
        events.append(_slice(mark, "user_annotation", 1, at, 9000))
        for n in range(100):
            work = at - 500 if step == 1 and n == 0 else at + 20 + 80 * n
            events += _launched(100 * step + n + 1, at + 10 + 80 * n, work, 50)
    breakdown, rows, budget = _idle(tmp_path, events)
    assert breakdown == rows == budget == [("decode", 4_050_000), ("prefill", 4_000_000)]


def test_idle_between_rows_of_other_phases(tmp_path: Path) -> None:
    """A row of no phase runs in the middle, the last row of prefill in decode: what is idle goes by the extent."""
    events = [
        _slice("inference.prefill", "user_annotation", 1, 0, 1000),
        _slice("inference.decode_step", "user_annotation", 1, 1000, 1000),
        _slice("k3", "kernel", 8, 500, 50, pid=0, correlation=999, device=0, stream=8),
    ]  # fmt: skip
    spilled = [_launched(1, 10, 100, 50), _launched(2, 20, 1100, 50), _launched(3, 1010, 1300, 50)]
    # enough short rows at home that the loop counts as synchronised
    home = [_launched(1000 + n, 30 + n / 10, 160 + n / 10, 0.05) for n in range(400)]
    breakdown, rows, budget = _idle(tmp_path, [*events, *(e for group in (*spilled, *home) for e in group)])
    busy_home = 400 * 50
    assert breakdown == rows == budget == [("decode", 900_000), ("prefill", 900_000 - busy_home)]
