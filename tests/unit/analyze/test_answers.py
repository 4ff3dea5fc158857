"""Step audit, decode trend and outliers, allocations and growth, provenance: hand-made rows, known answers."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from scipy import stats

from analyze.sql_text import sql_text
from tests.unit.analyze.answers import Answers


def steps(store: Answers, names: list[list[str]], **values: Any) -> None:
    """A decode step for each list of operators."""
    for step, operators in enumerate(names, 1):
        store.phase("decode", step, 10 * step, 5, **values)
        for name in operators:
            store.op(name, 0, 1, role="operator", phase="decode", step=step, repeat=0, **values)


def audit(store: Answers) -> list[tuple[Any, ...]]:
    return store.rows("SELECT step, verdict, extra, missing FROM step_audit ORDER BY step")


def test_a_step_that_differs_is_named_with_what_it_ran() -> None:
    store = Answers()
    usual = ["aten::mm", "aten::mm", "aten::cat"]
    steps(store, [usual, ["aten::cat", "aten::mm", "aten::mm"], ["aten::mm", "aten::resize_", "aten::resize_"], usual])
    assert audit(store) == [
        (1, "as most", None, None),
        (2, "as most", None, None),
        (3, "differs", "2 × aten::resize_", "1 × aten::cat, 1 × aten::mm"),
        (4, "as most", None, None),
    ]
    assert store.rows("SELECT DISTINCT typical_steps, steps FROM step_audit") == [(3, 4)]


def test_kernels_count_and_polling_does_not() -> None:
    store = Answers()
    steps(store, [["aten::mm"]] * 3)
    for step in (1, 2, 3):
        store.kernel(0, 1, name="gemv" if step < 3 else "gemm", phase="decode", step=step, repeat=0)
        for _ in range(step):
            store.call("cudaEventQuery", 0, 1, role="runtime", phase="decode", step=step, repeat=0)
    assert audit(store)[2] == (3, "differs", "1 × gemm (device)", "1 × gemv (device)")
    assert [row[1] for row in audit(store)] == ["as most", "as most", "differs"]


def test_no_majority_is_said() -> None:
    store = Answers()
    steps(store, [["a"], ["b"], ["c"]])
    assert [row[1] for row in audit(store)] == ["no majority"] * 3


def test_a_phase_that_occurs_once_is_not_compared() -> None:
    store = Answers()
    steps(store, [["a"]])
    assert audit(store) == []


def clean(store: Answers, durations: list[list[int]], cpu: list[list[int]] | None = None) -> None:
    """durations[repeat][step - 1] of decode steps from 101 cached tokens on."""
    for repeat, row in enumerate(durations):
        for number, dur in enumerate(row):
            store.phase(
                "decode", number + 1, 0, dur, repeat=repeat, cached_tokens=101 + number, tokens=1,
                cpu_ns=cpu[repeat][number] if cpu else None, **{"pass": "clean", "source": "timer"},
            )  # fmt: skip


def test_slope_and_interval_are_those_of_scipy() -> None:
    rng = random.Random(3)
    durations = [round(1_000_000 + 900 * n + rng.gauss(0, 4000)) for n in range(32)]
    store = Answers()
    clean(store, [[5_000_000, *durations]])
    (row,) = store.dicts("FROM decode_trend")
    fit = stats.linregress(range(102, 134), durations)
    assert row["slope_ns_per_token"] == pytest.approx(fit.slope)
    assert row["stderr_ns_per_token"] == pytest.approx(fit.stderr)
    assert row["t_quantile"] == pytest.approx(stats.t.ppf(0.975, 30), rel=1e-4)
    assert row["slope_low_ns_per_token"] == pytest.approx(fit.slope - stats.t.ppf(0.975, 30) * fit.stderr, rel=1e-3)
    assert row["verdict"] == "slower"
    assert (row["steps"], row["first_step_ns"]) == (32, 5_000_000)
    assert row["first_step_ratio"] == pytest.approx(5_000_000 / row["others_median_ns"])


@pytest.mark.parametrize("freedom", [5, 6, 10, 30, 500])
def test_the_quantile_of_students_t(freedom: int) -> None:
    store = Answers()
    clean(store, [[100, *(100 + n % 3 for n in range(freedom + 2))]])
    (found,) = store.rows("SELECT t_quantile FROM decode_trend")[0]
    assert found == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-3)


def test_trends_that_are_none_or_cannot_be_told() -> None:
    store = Answers()
    clean(store, [[100, 101, 99, 100, 101, 99, 100, 101, 99, 100]])
    assert store.rows("SELECT verdict FROM decode_trend") == [("no trend seen",)]
    few = Answers()
    clean(few, [[100, 101, 102, 103, 104, 105, 106]])  # six in the fit
    assert few.rows("SELECT verdict, slope_low_ns_per_token, t_quantile FROM decode_trend") == [
        ("not established", None, None)
    ]
    down = Answers()
    clean(down, [[100, *(1000 - 10 * n + n % 2 for n in range(12))]])
    assert down.rows("SELECT verdict FROM decode_trend") == [("faster",)]


def test_an_outlier_and_what_was_different() -> None:
    durations = [[1000 + n % 3 for n in range(12)] for _ in range(2)]
    cpu = [[900] * 12 for _ in range(2)]
    durations[0][4], cpu[0][4] = 3000, 950  # waited
    durations[0][7], cpu[0][7] = 2000, 1900  # worked
    durations[1][7], cpu[1][7] = 2000, 1900
    store = Answers()
    clean(store, durations, cpu)
    steps(store, [["aten::mm"]] * 7 + [["aten::mm", "aten::resize_"]] + [["aten::mm"]] * 4, **{"pass": "profiled"})
    rows = store.dicts(
        "SELECT repeat, step, in_repeats, repeats, difference FROM decode_outliers ORDER BY step, repeat"
    )
    assert [(row["repeat"], row["step"], row["in_repeats"]) for row in rows] == [(0, 5, 1), (0, 8, 2), (1, 8, 2)]
    assert rows[0]["difference"] == (
        "in 1 of 2 repeats; the process used the CPU for less than half of the added time: it waited; "
        "in the profiled pass this step ran the same operators as most"
    )
    assert rows[1]["difference"] == (
        "in every repeat; the process worked on the CPU for most of the added time; "
        "in the profiled pass this step ran also 1 × aten::resize_"
    )


def test_a_trend_makes_no_outliers() -> None:
    store = Answers()
    clean(store, [[1000 + 50 * n + n % 2 for n in range(40)]])
    assert store.rows("SELECT verdict FROM decode_trend") == [("slower",)]
    assert store.rows("FROM decode_outliers") == []


def allocate(
    store: Answers, t: int, change: int, total: int, number: int, device: int = 0, device_id: int = -1
) -> None:
    args = {
        "Bytes": change,
        "Total Allocated": total,
        "Total Reserved": 0,
        "Device Type": device,
        "Device Id": device_id,
        "Ev Idx": number,
    }
    store.con.execute(
        "INSERT INTO instants VALUES ('run', 'profiled', 0, '[memory]', 'cpu_instant_event', '1', ?, ?)",
        [t, json.dumps(args)],
    )


def test_allocations_on_the_clock_of_the_phases() -> None:
    store = Answers()
    profiled = {"pass": "profiled"}
    store.phase("prefill", 0, 100, 100, **profiled)
    store.phase("decode", 1, 250, 100, **profiled)
    for number, (t, change) in enumerate(
        [(50, 10), (120, 1000), (150, -400), (300, 50), (310, 30), (310, -30), (400, 7)]
    ):
        allocate(store, t, change, 5000 + change, number)
    allocate(store, 160, 64, 64, 99, device=1, device_id=0)
    rows = store.rows(
        "SELECT t_ns, since_start_bytes, phase, step FROM allocation_timeline "
        "WHERE device = 'cpu' ORDER BY event_number"
    )
    assert rows == [
        (50, 10, None, None), (120, 1010, "prefill", 0), (150, 610, "prefill", 0), (300, 660, "decode", 1),
        (310, 690, "decode", 1), (310, 660, "decode", 1), (400, 667, None, None),
    ]  # fmt: skip
    assert store.rows("SELECT DISTINCT device, reserved_bytes FROM allocation_timeline ORDER BY device") == [
        ("cpu", None),
        ("cuda:0", 0),
    ]
    (growth,) = store.dicts("FROM memory_growth WHERE counter = 'cpu'")
    assert (growth["before_bytes"], growth["after_prefill_bytes"], growth["last_bytes"]) == (10, 610, 660)
    assert (growth["prefill_growth_bytes"], growth["decode_growth_bytes"]) == (600, 50)
    assert (growth["peak_bytes"], growth["peak_t_ns"], growth["peak_phase"], growth["peak_step"]) == (
        1010,
        120,
        "prefill",
        0,
    )


def test_growth_of_sampled_counters_and_those_that_do_not_exist() -> None:
    store = Answers()
    store.run(device="cpu")
    places = [
        ("before_prefill", 0, 0, 500),
        ("after_prefill", 0, 1000, 900),
        ("after_decode", 1, 1010, 950),
        ("after_decode", 2, 1020, 940),
    ]
    for t, (phase, step, kv, resident) in enumerate(places):
        store.add(
            "samples",
            phase=phase,
            step=step,
            t_ns=t,
            kv_cache_bytes=kv,
            tensor_bytes=0,
            driver_bytes=0,
            resident_bytes=resident,
        )
    rows = {row["counter"]: row for row in store.dicts("FROM memory_growth")}
    assert set(rows) == {
        "kv_cache",
        "resident",
    }  # the zeros of tensor and driver bytes on cpu mean that there is no such counter
    assert (rows["kv_cache"]["prefill_growth_bytes"], rows["kv_cache"]["decode_growth_bytes"]) == (1000, 20)
    assert (rows["resident"]["peak_bytes"], rows["resident"]["peak_phase"], rows["resident"]["peak_step"]) == (
        950,
        "decode",
        1,
    )
    assert rows["resident"]["decode_growth_bytes"] == 40


def test_every_number_of_the_store_has_a_provenance() -> None:
    store = Answers()
    words = dict(store.rows("SELECT relation || '.' || \"column\", provenance FROM provenance"))
    assert words["phases.dur_ns"] == "measured"
    assert words["roofline.bound_ns"] == words["step_latency.median_ns"] == words["time_budget.ns"] == "derived"
    assert words["machine_peaks.value"] == words["claims.numbers"] == "stated"
    assert set(words.values()) == {"measured", "derived", "stated"}
    # an exception that names no column would be dead
    listed = re.findall(r"\('(\w+)', '(\w+)', '\w+'\)", sql_text("views/provenance.sql"))
    assert listed
    assert {f"{relation}.{column}" for relation, column in listed} <= set(words)


def test_peaks_state_their_provenance_and_source() -> None:
    rows = Answers().dicts("FROM machine_peaks")
    assert {row["provenance"] for row in rows} == {"published", "derived", "measured", "estimated"}
    assert all(row["source"] and row["value"] > 0 for row in rows)
    assert {(row["quantity"], row["unit"]) for row in rows} == {
        ("memory_bandwidth", "bytes/s"),
        ("matmul_rate", "FLOP/s"),
    }
    keys = [(row["device_pattern"], row["gpu_cores"], row["quantity"], row["dtype"]) for row in rows]
    assert len(keys) == len(set(keys))
