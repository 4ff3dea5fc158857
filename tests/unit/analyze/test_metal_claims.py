"""Claims of a Mac's run: what they rest on when a recording passes its gates, and that nothing rests on one that fails.

The run is made up as a real one is: warm-up and a probe before the marks, another process on the same GPU.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyze import claims
from tests.unit.analyze.answers import QWEN, Answers
from tests.unit.analyze.rows import RUN

METAL: dict[str, Any] = {"pass": "metal"}
OWN, OTHER = 42, 7
RESTS_ON_GPU_ROWS = ("prefill_denser", "decode_picket_fence", "limiter_prefill", "limiter_decode")


class MacRun:
    def __init__(self, probe_rows: int = 3) -> None:
        self.store = Answers()
        self.store.run(device="mps", device_name="Apple M3", dtype="float16", new_tokens=9, architecture=QWEN)
        self.store.add("passes", status="measured", **{"pass": "clean"})
        detail = {"probe": {"dispatches": 3, "start_ns": 50_000, "dur_ns": 1_000}}
        self.store.add("passes", status="measured", detail=json.dumps(detail), **METAL)
        self.store.add(
            "instruments_recordings", target_pid=OWN, clock_method="time_info", clock_uncertainty_ns=1,
            pass_start_ns=0, **METAL,
        )  # fmt: skip
        self.gpu(1_000, 40_000)  # warm-up
        for number in range(probe_rows):
            self.gpu(50_100 + 200 * number, 100)
        t = 100_000
        for phase, step in [("prefill", 0), *(("decode", n) for n in range(1, 9))]:
            wall, busy = (20_000, 19_900) if phase == "prefill" else (10_000, 9_940)
            for name in ("clean", "metal"):
                self.store.phase(
                    phase, step, t, wall, repeat=0, source="timer", tokens=512 if phase == "prefill" else 1,
                    cached_tokens=512 + step, **{"pass": name},
                )  # fmt: skip
            where = {"phase": phase, "step": step, "repeat": 0, "attributed_by": "containment"}
            self.gpu(t + 20, busy if phase == "prefill" else 3_000, **where)
            if phase == "decode":
                self.gpu(t + busy - 1_980, 2_000, **where)
                self.gpu(t + 4_000, 3_500, pid=OTHER)  # of another process, in the middle of our gap
            for k in range(6):
                self.store.add(
                    "counters", track="GPU Last Level Cache Limiter", t_ns=t + 100 * k, value=90.0, unit="percent",
                    **METAL,
                )  # fmt: skip
            t += wall + 1_000

    def gpu(self, start: int, dur: int, pid: int = OWN, **values: Any) -> None:
        number = self.store.kernel(
            start, dur, name="Compute Command 0", kind="metal", stream="Compute", **METAL, **values
        )
        self.store.add("metal_gpu_intervals", kernel_id=number, pid=pid, encoder_id=number, **METAL)

    def claims(self) -> dict[str, dict[str, Any]]:
        self.store.derive()
        claims.establish(self.store.con, RUN)
        return {row["claim_id"]: row for row in self.store.dicts("FROM claims")}


def test_all_gates_hold_in_the_made_up_run() -> None:
    run = MacRun()
    assert run.store.rows("SELECT verdict, failed FROM metal_trust") == [("partly established", None)]


def test_own_gpu_rows_establish_what_they_can() -> None:
    rows = MacRun().claims()
    for name in ("prefill_denser", "decode_picket_fence"):
        assert "device rows of pass metal" in rows[name]["evidence"], rows[name]
    numbers = json.loads(rows["prefill_denser"]["numbers"])
    assert numbers["prefill_busy_share"] == pytest.approx(0.995)
    assert numbers["decode_busy_share"] == pytest.approx(0.5)  # the other process's work is none of ours
    assert rows["prefill_denser"]["verdict"] == "holds"
    assert json.loads(rows["limiter_decode"]["numbers"])["memory_counter_percent"] == 90.0


def test_busy_and_idle_of_a_phase_are_of_the_recorded_process() -> None:
    sql = "SELECT DISTINCT wall_ns, device_busy_ns, device_idle_ns FROM phase_breakdown WHERE pass = 'metal' ORDER BY 1"
    assert MacRun().store.rows(sql) == [(10_000, 5_000, 5_000), (20_000, 19_900, 100)]
    budget = "SELECT DISTINCT wall_ns, part, ns FROM time_budget WHERE pass = 'metal' ORDER BY ALL"
    assert MacRun().store.rows(budget) == [
        (10_000, "device idle", 5_000),
        (10_000, "device work", 5_000),
        (20_000, "device idle", 100),
        (20_000, "device work", 19_900),
    ]
    gaps = "SELECT step, sum(dur_ns) FROM device_idle WHERE pass = 'metal' AND step IN (0, 3) GROUP BY ALL ORDER BY 1"
    assert MacRun().store.rows(gaps) == [(0, 100), (3, 5_000)]
    bursts = "SELECT DISTINCT wall_ns, busy_ns, idle_ns FROM metal_bursts ORDER BY 1"
    assert MacRun().store.rows(bursts) == [(10_000, 5_000, 5_000), (20_000, 19_900, 100)]


def test_rows_lost_inside_the_phases_establish_no_idle() -> None:
    run = MacRun()
    run.store.con.execute("UPDATE kernels SET attributed_by = 'unattributed', phase = NULL, step = NULL WHERE step = 3")
    rows = run.claims()
    assert (rows["prefill_denser"]["verdict"], rows["decode_picket_fence"]["verdict"]) == ("not established",) * 2


@pytest.mark.parametrize(
    ("gate", "change"),
    [
        ("process captured", "UPDATE metal_gpu_intervals SET pid = 7"),
        ("clocks joined", "UPDATE instruments_recordings SET clock_uncertainty_ns = 1000000"),
        ("clocks joined", "UPDATE instruments_recordings SET clock_uncertainty_ns = NULL, pass_start_ns = NULL"),
        ("probe dispatches", None),
        (
            "union is the state table's active time",
            "INSERT INTO metal_gpu_states VALUES ('run', 'metal', 0, 0, 5, 'Active', NULL, 1, NULL)",
        ),
        ("GPU span of prefill is its timer", "UPDATE kernels SET dur_ns = 19000 WHERE phase = 'prefill'"),
        ("prefill as fast as in pass clean", "UPDATE phases SET dur_ns = 17000 WHERE pass = 'clean' AND step = 0"),
    ],
)
def test_a_failed_gate_turns_every_claim_that_rests_on_its_rows(gate: str, change: str | None) -> None:
    run = MacRun(probe_rows=2 if change is None else 3)
    if change is not None:
        run.store.con.execute(change)
    (failed,) = run.store.rows("SELECT failed FROM metal_trust WHERE verdict = 'not established'")
    assert gate in failed[0]
    rows = run.claims()
    for name in RESTS_ON_GPU_ROWS:
        assert rows[name]["verdict"] == "not established", name
        assert "pass metal" not in rows[name]["evidence"], name
        assert "90.0" not in str(rows[name]["numbers"]), name
