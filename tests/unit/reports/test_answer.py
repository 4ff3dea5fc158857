"""The answer's numbers add up, and say when the machine was not the run's own."""

import duckdb
import pytest

from analyze.query import open_store
from reports.collect import collect
from reports.format import THIN
from reports.report import ReportData, render
from tests.unit.reports.builder import MS, Synthetic, build

THREE = Synthetic(run_id="three", repeats=4, new_tokens=3, samples=False)


@pytest.fixture
def store(tmp_path):
    return build(tmp_path / "s.duckdb", THREE)


def changed(store, *statements):
    with duckdb.connect(str(store)) as con:
        for sql in statements:
            con.execute(sql)
    with open_store(store) as con:
        results = collect(con, "three")
    return results, ReportData.from_results(results)


PREFILL_MS = [400, 100, 300, 900]
STEPS_MS = [(50, 60), (40, 44), (70, 90), (50, 50)]  # totals 510, 184, 460, 1000: the lower middle is repeat 2


def by_hand():
    for repeat, (prefill, steps) in enumerate(zip(PREFILL_MS, STEPS_MS, strict=True)):
        for step, ms in enumerate((prefill, *steps)):
            yield (
                f"UPDATE phases SET dur_ns = {ms * MS}, cpu_ns = {ms * MS} "
                f"WHERE pass = 'clean' AND repeat = {repeat} AND step = {step}"
            )


def test_total_is_prefill_and_the_steps_of_one_generation(store):
    results, data = changed(store, *by_hand())
    row = results["generation"].one()
    assert (row["generations"], row["repeat"], row["decode_steps"]) == (4, 2, 2)
    assert (row["total_ns"], row["prefill_ns"], row["decode_step_ns"]) == (460 * MS, 300 * MS, 80 * MS)
    assert row["total_ns"] == row["prefill_ns"] + row["decode_steps"] * row["decode_step_ns"]
    text = data.answer.text.replace(THIN, " ")
    assert text.startswith(
        "3 tokens took 460 ms: prefill 300 ms (65 %), then 2 decode steps of 80.0 ms on average (12.5 tokens/s), "
        "in the middle one of 4 repeats. "
    )
    assert "elementwise alone: " in text
    assert "  " not in text


def test_a_process_without_its_core_is_said(store):
    _, quiet = changed(store)
    assert quiet.answer.disturbed is None
    assert "do not quote" not in quiet.answer.text
    _, busy = changed(store, "UPDATE phases SET cpu_ns = dur_ns * 66 // 100 WHERE pass = 'clean' AND phase = 'decode'")
    says = f"The machine was busy while this was measured (in decode the process got 66{THIN}% of one core): "
    assert busy.answer.text.endswith(says + "do not quote these times.")
    assert "A thread that waits for a core shows as the operator" in render(busy)
    _, other = changed(store, "UPDATE runs SET device = 'cuda'")
    assert other.answer.disturbed is None  # a GPU's host may wait


def test_steps_far_from_alike_are_said(store):
    _, data = changed(store, "UPDATE phases SET dur_ns = 3 * dur_ns, cpu_ns = 3 * cpu_ns WHERE step = 2")
    assert "The decode steps are far from alike" in data.answer.text


def test_a_device_that_takes_longer_than_the_host_leads(tmp_path):
    path = build(tmp_path / "d.duckdb", Synthetic(run_id="three", device="cuda", kernels=True, new_tokens=3))
    results, _ = changed(path)
    rows = [dict(row, device_busy_ns=2 * row["wall_ns"], device_idle_ns=0) for row in results["breakdown"]]
    breakdown = type(results["breakdown"])("breakdown", "", results["breakdown"].columns, tuple(rows))
    text = ReportData.from_results({**results, "breakdown": breakdown}).answer.text
    assert "on the host: the device sets the pace. " in text
    assert text.index("sets the pace") < text.index("operators")
