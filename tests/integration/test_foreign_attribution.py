"""Phases and attribution of real traces that other tools wrote, and of the small ones that broke other tools."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analyze.load import load
from analyze.query import open_store
from tests.shared import SHARED, needs_shared

pytestmark = needs_shared
KINETO = SHARED / "traces" / "kineto"
TRUTH = (
    {truth["file"]: truth for truth in map(json.loads, (KINETO / "truth.jsonl").read_text().splitlines())}
    if KINETO.is_dir()
    else {}
)


class Runs:
    """Queries with `{run}` standing for the run of a source."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.ids = dict(con.execute("SELECT source, run_id FROM runs").fetchall())

    def rows(self, source: str, sql: str) -> list[tuple[Any, ...]]:
        run_id = next(run for name, run in self.ids.items() if name.startswith(source))
        return self.con.execute(sql.replace("{run}", f"run_id = '{run_id}'")).fetchall()

    def one(self, source: str, sql: str) -> tuple[Any, ...]:
        [row] = self.rows(source, sql)
        return row


def loaded(sources: list[Path], store: Path) -> Iterator[Runs]:
    assert load(sources, store).failed == []
    con = open_store(store)
    yield Runs(con)
    con.close()


@pytest.fixture(scope="module")
def kineto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    yield from loaded(sorted(KINETO.glob("*.json.gz")), tmp_path_factory.mktemp("kineto") / "s.duckdb")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    yield from loaded(sorted((SHARED / "cases").glob("k*")), tmp_path_factory.mktemp("cases") / "s.duckdb")


def test_vllms_kernels_belong_to_the_step_that_launched_them(kineto: Runs) -> None:
    source = "vllm-decode"
    assert kineto.rows(
        source, "SELECT phase, step, sequences, tokens, cached_tokens, source FROM phases WHERE {run}"
    ) == [("decode", 0, 32, 32, 55086, "vllm_detailed")]
    assert kineto.one(
        source, "SELECT phase, step, attributed_by, count(*) FROM kernels WHERE {run} AND kind = 'kernel' GROUP BY ALL"
    ) == ("decode", 0, "correlation", 425)
    inside = "k.start_ns BETWEEN p.start_ns AND p.start_ns + p.dur_ns"
    assert kineto.one(
        source,
        f"SELECT count(*) FROM kernels k JOIN phases p USING (run_id) WHERE {{run}} AND kind = 'kernel' AND {inside}",
    ) == (0,)
    breakdown = "SELECT device_busy_ns, device_idle_ns, kernels, launches FROM phase_breakdown WHERE {run}"
    busy = TRUTH["vllm-decode-full-graph.json.gz"]["device_union_ns"]
    # from the first device row to the end of the last: 19,114,059 - 8,370,878 ns on the trace's clock
    assert kineto.one(source, breakdown) == (busy, 10_743_181 - busy, 425, 5)
    assert kineto.one(source, "SELECT kernels_per_launch, launches_per_token FROM launches WHERE {run}") == (
        85.0,
        5 / 32,
    )


def test_sglangs_nested_ranges_count_once(kineto: Runs) -> None:
    source = "sglang-decode"
    assert kineto.rows(
        source, "SELECT phase, step, sequences, tokens, cached_tokens, dur_ns FROM phases WHERE {run}"
    ) == [("decode", 0, 32, 32, 32785, 465_716_634)]
    assert kineto.one(source, "SELECT device_busy_ns, kernels FROM phase_breakdown WHERE {run}") == (
        TRUTH["sglang-decode-qwen3-8b.json.gz"]["device_union_ns"],
        555,
    )
    # hipMemcpyWithStream brings the tokens to the host: 463,042,815 ns until its turn, 4,526 ns copying
    waits = "SELECT name, dur_ns FROM ops WHERE {run} AND role = 'synchronisation' ORDER BY dur_ns DESC LIMIT 1"
    assert kineto.one(source, waits) == ("hipMemcpyWithStream", 463_063_750)


@pytest.mark.parametrize(("source", "silent"), [("h100-qwen", 436), ("mi300-qwen", 463)])
def test_kernels_without_launch_are_unattributed_not_idle_not_dropped(kineto: Runs, source: str, silent: int) -> None:
    assert kineto.one(
        source,
        "SELECT count(*), count(phase), count(launch_op_id) FROM kernels "
        "WHERE {run} AND kind = 'kernel' AND attributed_by = 'unattributed'",
    ) == (silent, 0, 0)
    shares = dict(kineto.rows(source, "SELECT attributed_by, share FROM coverage WHERE {run}"))
    assert 0.69 < shares["correlation"] < 0.70
    assert sum(shares.values()) == pytest.approx(1)
    assert kineto.one(source, "SELECT device_idle_ns FROM phase_breakdown WHERE {run}") == (None,)
    causes = {row[0] for row in kineto.rows(source, "SELECT DISTINCT cause FROM device_idle WHERE {run}")}
    assert causes == {"copy", "not established"}
    assert kineto.one(source, "SELECT count(*) FROM quality WHERE {run} AND reason = 'kernels_without_launch'") == (1,)


@pytest.mark.parametrize("source", TRUTH)
def test_launches_and_unions_of_every_trace(kineto: Runs, source: str) -> None:
    truth = TRUTH[source]
    assert kineto.one(
        source, "SELECT count(*) FROM kernels WHERE {run} AND kind = 'kernel' AND launch_op_id IS NULL"
    ) == (truth["kernels_without_launch"],)
    assert kineto.one(source, "SELECT coalesce(sum(kernels), 0) FROM coverage WHERE {run}") == (truth["device_rows"],)
    # a phase is never busier than its extent is long, and gaps without copies add up to its idle time
    for start, end, busy, idle, gaps in kineto.rows(
        source,
        """
        SELECT e.start_ns, e.end_ns, b.device_busy_ns, b.device_idle_ns, g.gaps
        FROM device_extent e
        JOIN phase_breakdown b USING (run_id, pass, rank, repeat, phase, step)
        LEFT JOIN (
            SELECT run_id, phase, step, sum(dur_ns) FILTER (cause <> 'copy') AS gaps FROM device_idle GROUP BY ALL
        ) g USING (run_id, phase, step)
        WHERE {run}
        """,
    ):
        assert idle is None or idle == gaps
        if start is not None and not source.startswith("a100-training"):  # a few of its rows outlive their step
            assert busy + (idle or 0) <= end - start


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a100-training", [("unknown", "profiler_step", 6)]),
        ("ns-resolution", [("unknown", "profiler_step", 5)]),
        ("h100-qwen", [("unknown", "profiler_step", 1)]),
        ("resnet50-2021", [("unknown", "whole_trace", 1)]),
        ("a100-alexnet", [("unknown", "whole_trace", 1)]),
        ("cpu-only-gloo", [("unknown", "profiler_step", 1)]),
    ],
)
def test_traces_without_marks_of_phases(kineto: Runs, source: str, expected: list[tuple[str, str, int]]) -> None:
    assert kineto.rows(source, "SELECT phase, source, count(*) FROM phases WHERE {run} GROUP BY ALL") == expected


def test_launches_of_the_2021_schema(kineto: Runs) -> None:
    assert kineto.one(
        "resnet50-2021", "SELECT launches, kernels, kernels_per_launch, negative_delays FROM launches WHERE {run}"
    ) == (8772, 8772, 1.0, 0)
    assert kineto.one("resnet50-2021", "SELECT attributed_by, kernels FROM coverage WHERE {run}") == (
        "correlation",
        9096,
    )


def test_a_backward_thread_belongs_to_the_profilers_step(kineto: Runs) -> None:
    assert kineto.rows(
        "a100-training",
        "SELECT thread_id = (SELECT any_value(thread_id) FROM phases WHERE {run}) AS main, count(*) > 10000 "
        "FROM ops WHERE {run} AND phase IS NOT NULL AND role = 'operator' GROUP BY ALL ORDER BY ALL",
    ) == [(False, True), (True, True)]


KERNELS = "SELECT name, phase, step, attributed_by, launch_delay_ns FROM kernels WHERE {run} ORDER BY start_ns"
REASONS = "SELECT reason, events FROM quality WHERE {run} AND kind = 'note' AND reason <> 'no_phase_recognised'"


def test_k21_a_child_that_outlives_its_parent(cases: Runs) -> None:
    assert cases.rows("k21", "SELECT phase, start_ns, dur_ns FROM phases WHERE {run}") == [("decode", 50_100, 60_000)]


def test_k23_kernels_that_overrun(cases: Runs) -> None:
    assert cases.one("k23", "SELECT device_busy_ns, wall_ns FROM phase_breakdown WHERE {run}") == (1_600_000_000,) * 2
    assert ("overlap_on_stream", 2) in cases.rows("k23", REASONS)


def test_k27_a_launch_without_kernel(cases: Runs) -> None:
    assert cases.rows("k27", KERNELS) == [("gemm", "unknown", 0, "correlation", 5_000)]
    assert cases.rows("k27", REASONS) == [("launches_without_kernel", 1)]
    assert cases.one("k27", "SELECT device_busy_ns, device_idle_ns, launches FROM phase_breakdown WHERE {run}") == (
        5_000, None, 2,
    )  # fmt: skip
    assert cases.rows("k27", "SELECT DISTINCT cause FROM device_idle WHERE {run}") == [("not established",)]


def test_k29_annotations_of_the_device_are_no_work(cases: Runs) -> None:
    assert cases.one("k29", "SELECT sum(busy_ns), sum(calls) FROM kernel_summary WHERE {run}") == (20_000, 1)


def test_k31_one_launch_to_many_kernels(cases: Runs) -> None:
    assert cases.rows("k31", KERNELS) == [
        ("attn", "decode", 0, "correlation", 20_000),
        ("gemm", "decode", 0, "correlation", 75_000),
        ("gemm", "decode", 0, "correlation", 140_000),
    ]
    assert cases.rows("k31", "SELECT name, calls, sum_ns FROM kernel_summary WHERE {run} ORDER BY name") == [
        ("attn", 1, 50_000),
        ("gemm", 2, 120_000),
    ]
    assert cases.one("k31", "SELECT launches, kernels, tokens FROM launches WHERE {run}") == (1, 3, 8)
    assert cases.rows("k31", REASONS) == []


@pytest.mark.parametrize(("case", "means"), [("k33", "correlation"), ("k35", "unattributed"), ("k37", "unattributed")])
def test_traces_without_rank_step_or_launch(cases: Runs, case: str, means: str) -> None:
    assert cases.one(case, "SELECT rank, phase, source FROM phases WHERE {run}") == (0, "unknown", "whole_trace")
    assert cases.one(case, "SELECT attributed_by, share FROM coverage WHERE {run}") == (means, 1.0)


def test_k39_operators_alone_say_nothing_of_the_device(cases: Runs) -> None:
    assert cases.one(
        "k39", "SELECT operator_ns, operators, device_busy_ns, device_idle_ns, kernels FROM phase_breakdown WHERE {run}"
    ) == (60_000, 2, None, None, None)
    assert cases.rows("k39", "FROM coverage WHERE {run}") == []


def test_k39_durations_are_dispatch_time_and_instruments_is_asked_for(cases: Runs) -> None:
    ((detail,),) = cases.rows("k39", "SELECT detail FROM quality WHERE reason = 'mps_dispatch_time' AND {run}")
    assert "durations are CPU dispatch time" in str(detail)
    assert "xctrace export" in str(detail)
    for case in ("k27", "k33", "k37"):
        assert cases.rows(case, "FROM quality WHERE reason = 'mps_dispatch_time' AND {run}") == []
