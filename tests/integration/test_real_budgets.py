"""The time budget on real traces of other tools: parts sum to the wall exactly, and are what the trace shows."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from analyze.load import load
from analyze.query import open_store
from tests.shared import SHARED, needs_shared

pytestmark = needs_shared


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    traces = sorted((SHARED / "traces" / "kineto").glob("*.json.gz"))
    store = tmp_path_factory.mktemp("budget") / "s.duckdb"
    assert load(traces, store).failed == []
    connection = open_store(store)
    yield connection
    connection.close()


def test_parts_sum_to_the_wall_of_every_phase(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT r.source, p.dur_ns, sum(b.ns)::BIGINT FROM phases p JOIN runs r USING (run_id) "
        "LEFT JOIN time_budget b USING (run_id, pass, rank, repeat, phase, step) "
        "GROUP BY r.source, p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step, p.dur_ns"
    ).fetchall()
    assert len({source for source, _, _ in rows}) == 13
    assert [(source, wall) for source, wall, parts in rows if wall != parts] == []


def test_the_same_time_lies_between_operators_as_in_the_breakdown(con: duckdb.DuckDBPyConnection) -> None:
    # the breakdown of a whole trace is a union over its threads, the budget is that of one
    rows = con.execute(
        "WITH b AS (SELECT run_id, pass, rank, repeat, phase, step, "
        "coalesce(sum(ns) FILTER (part = 'between operators'), 0)::BIGINT AS ns FROM time_budget GROUP BY ALL) "
        "SELECT b.ns, d.between_operators_ns FROM b "
        "JOIN phase_breakdown d USING (run_id, pass, rank, repeat, phase, step) "
        "JOIN phases p USING (run_id, pass, rank, repeat, phase, step) WHERE p.source <> 'whole_trace'"
    ).fetchall()
    assert len(rows) >= 15
    assert [row for row in rows if row[0] != row[1]] == []


def test_parts_of_an_h100_step(con: duckdb.DuckDBPyConnection) -> None:
    parts = dict(
        con.execute("SELECT part, ns FROM time_budget JOIN runs USING (run_id) WHERE source LIKE 'h100%'").fetchall()
    )
    assert sum(parts.values()) == 47_151_395
    # cudaDeviceSynchronize and cudaStreamSynchronize of the step, and aten::is_nonzero around one of them
    assert parts["synchronisation"] == 14_123_620
    assert parts["other"] < 0.003 * 47_151_395  # every operator with real work in it has a kind
    assert max(parts, key=lambda part: parts[part]) == "synchronisation"


def test_idle_is_said_only_where_it_is_known(con: duckdb.DuckDBPyConnection) -> None:
    known = {
        source
        for (source,) in con.execute(
            "SELECT DISTINCT source FROM time_budget JOIN runs USING (run_id) WHERE device_idle_ns IS NOT NULL"
        ).fetchall()
    }
    # servers run ahead of the device; the two Qwen traces lack launches of a tenth of their kernels
    assert not {source for source in known if source.startswith(("vllm", "sglang", "h100", "mi300", "cpu-only"))}
    assert "a100-training-109k-events.json.gz" in known


def test_graph_replays_are_recognised(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT r.source, count(*), max(kernels) FROM (SELECT run_id, launch_op_id, count(*) AS kernels FROM kernels "
        "WHERE launch_op_id IS NOT NULL GROUP BY ALL HAVING count(*) > 1) JOIN runs r USING (run_id) "
        "WHERE r.source LIKE 'vllm%' OR r.source LIKE 'sglang%' GROUP BY r.source ORDER BY r.source"
    ).fetchall()
    assert [source for source, _, _ in rows] == ["sglang-decode-qwen3-8b.json.gz", "vllm-decode-full-graph.json.gz"]
    assert all(replays == 1 and kernels > 100 for _, replays, kernels in rows)


def test_every_claim_about_a_foreign_trace_is_open_or_shown(con: duckdb.DuckDBPyConnection) -> None:
    verdicts = con.execute("SELECT claim_id, verdict, settled_by FROM claims").fetchall()
    assert len(verdicts) == 13 * 16
    # no bundle, so no clean pass, no samples and no architecture: only copies can be read from a trace alone
    assert {claim for claim, verdict, _ in verdicts if verdict != "not established"} <= {"copies"}
    assert all(settled for _, verdict, settled in verdicts if verdict == "not established")
