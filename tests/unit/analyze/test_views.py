"""The views on hand-made traces with values worked out by hand, and unions against brute force."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.analyze.rows import Store


@pytest.fixture
def store() -> Store:
    return Store(views=True)


def one(store: Store, columns: str, view: str, where: str = "true") -> tuple[Any, ...]:
    [row] = store.rows(f"SELECT {columns} FROM {view} WHERE {where}")
    return row


def test_breakdown_of_host_time(store: Store) -> None:
    store.mark("step[DECODE bs=1]", 100, 100)
    store.op("aten::linear", 110, 30)
    store.op("aten::mm", 115, 20, depth=1)
    store.call("cudaLaunchKernel", 120, 5, depth=2)
    store.op("aten::add", 130, 20)  # partly overlaps: on a lane of its own
    store.call("cudaDeviceSynchronize", 160, 15)
    store.op("aten::mul", 190, 30)  # outlives the phase: cut
    store.op("aten::mm", 110, 80, thread_id=2)  # another thread's
    store.op("aten::mm", 250, 10)
    store.analyse()
    # 110-150, 160-175, 190-200
    assert one(
        store,
        "wall_ns, operator_ns, between_operators_ns, sync_ns, operators, launches, device_busy_ns, device_idle_ns, "
        "kernels",
        "phase_breakdown",
    ) == (100, 65, 35, 15, 4, 1, None, None, None)


def test_a_phase_that_begins_inside_an_operator(store: Store) -> None:
    store.op("torch::compiled region", 0, 160)
    store.mark("step[DECODE bs=1]", 100, 100)
    store.op("aten::mm", 110, 20, depth=1)
    store.op("aten::mm_inner", 112, 10, depth=2)
    store.op("aten::add", 140, 10, depth=1)
    store.op("aten::after", 170, 10)
    store.op("aten::after_inner", 172, 5, depth=1)
    store.analyse()
    assert one(store, "operator_ns, operators", "phase_breakdown") == (40, 5)


def test_breakdown_without_operators(store: Store) -> None:
    store.add("phases", **{"pass": "clean"}, phase="decode", step=1, dur_ns=200, cpu_ns=300, tokens=2, cached_tokens=9)
    assert one(
        store,
        "wall_ns, operator_ns, between_operators_ns, sync_ns, cpu_percent, tokens, cached_tokens",
        "phase_breakdown",
    ) == (200, None, None, None, 150.0, 2, 9)


def synchronised_decode(store: Store) -> None:
    """A phase 100-200; launches at 105 and 150; kernels 110-130 and 165-185, the launch of the third at 166."""
    store.mark("inference.decode_step", 100, 100)
    for start, correlation in ((105, 1), (150, 2), (166, 3)):
        store.call("cudaLaunchKernel", start, 2, correlation=correlation)
    store.call("cudaStreamSynchronize", 112, 20)
    store.kernel(110, 20, 1)
    store.kernel(165, 20, 2)
    store.kernel(175, 15, 3, stream="8")


def test_busy_is_a_union_and_idle_has_causes(store: Store) -> None:
    synchronised_decode(store)
    store.analyse()
    assert one(store, "device_busy_ns, device_idle_ns, kernels, launches", "phase_breakdown") == (45, 55, 3, 3)
    assert one(store, "start_ns, end_ns, synchronised, established", "device_extent") == (100, 200, True, True)
    assert store.rows("SELECT start_ns, dur_ns, cause FROM device_idle ORDER BY start_ns") == [
        (100, 5, "host"),
        (105, 5, "launch"),
        (130, 2, "synchronisation"),
        (132, 18, "host"),
        (150, 15, "launch"),
        (190, 10, "host"),
    ]


def test_copies_are_work_of_their_own_engine(store: Store) -> None:
    synchronised_decode(store)
    store.call("cudaMemcpyAsync", 134, 2, correlation=4)
    store.kernel(140, 15, 4, kind="memcpy", stream="20")
    store.analyse()
    assert one(store, "device_busy_ns, device_idle_ns, kernels", "phase_breakdown") == (60, 40, 3)
    assert store.rows(
        "SELECT start_ns, dur_ns, cause FROM device_idle WHERE start_ns BETWEEN 130 AND 189 ORDER BY 1"
    ) == [
        (130, 2, "synchronisation"),
        (132, 2, "host"),
        (134, 6, "launch"),
        (140, 15, "copy"),
        (155, 10, "launch"),
    ]


def test_a_graph_that_runs_after_its_step(store: Store) -> None:
    store.mark("step[DECODE bs=4]", 0, 50)
    store.call("hipGraphLaunch", 10, 4, correlation=9)
    for start in (100, 130, 160):
        store.kernel(start, 20, 9)
    store.analyse()
    assert one(store, "start_ns, end_ns, synchronised, established", "device_extent") == (100, 180, False, True)
    assert one(store, "device_busy_ns, device_idle_ns, kernels, launches", "phase_breakdown") == (60, 20, 3, 1)
    assert store.rows("SELECT start_ns, dur_ns, cause FROM device_idle ORDER BY start_ns") == [
        (120, 10, "launch"),
        (150, 10, "launch"),
    ]
    assert one(
        store, "tokens, launches, kernels, kernels_per_launch, launches_per_token, median_delay_ns", "launches"
    ) == (4, 1, 3, 3.0, 0.25, 120.0)


def test_idle_is_not_said_where_launches_have_no_kernel(store: Store) -> None:
    synchronised_decode(store)
    store.call("cudaLaunchKernel", 192, 2, correlation=77)
    store.analyse()
    assert one(store, "device_busy_ns, device_idle_ns", "phase_breakdown") == (45, None)
    assert store.rows("SELECT DISTINCT cause FROM device_idle") == [("not established",)]
    assert store.notes()["launches_without_kernel"] == 1


def test_idle_is_not_said_where_coverage_is_short(store: Store) -> None:
    store.mark("step[DECODE bs=4]", 0, 100)
    store.call("cudaLaunchKernel", 10, 4, correlation=1)
    store.kernel(20, 98, 1)
    store.kernel(150, 2, 99)
    store.analyse()
    assert one(store, "device_busy_ns, device_idle_ns", "phase_breakdown") == (98, None)
    assert store.rows("SELECT attributed_by, kernels, device_ns, share FROM coverage ORDER BY 1") == [
        ("correlation", 1, 98, 0.98),
        ("unattributed", 1, 2, 0.02),
    ]


def test_negative_delays_stay_out_of_the_median(store: Store) -> None:
    store.mark("step[DECODE bs=1]", 0, 100)
    for correlation, delay in ((1, -5), (2, 10), (3, 20), (4, 30)):
        store.call("cudaLaunchKernel", correlation * 10, 1, correlation=correlation)
        store.kernel(correlation * 10 + delay, 1, correlation)
    store.analyse()
    assert one(store, "median_delay_ns, negative_delays, launches, kernels", "launches") == (20.0, 1, 4, 4)


def test_kernels_by_name(store: Store) -> None:
    store.kernel(0, 100, name="fmha")
    store.kernel(50, 40, name="gemm")
    store.kernel(60, 60, name="gemm", stream="8")
    store.kernel(200, 0, name="gemm")
    store.kernel(0, 10, name="gemm", device="1")
    assert store.rows("SELECT device, name, calls, sum_ns, busy_ns, share FROM kernel_summary ORDER BY 1, 2") == [
        ("0", "fmha", 1, 100, 100, 0.5),
        ("0", "gemm", 3, 100, 70, 0.5),
        ("1", "gemm", 1, 10, 10, 1.0),
    ]


def test_operators_by_name_and_layer(store: Store) -> None:
    store.mark("step[DECODE bs=1]", 0, 100)
    store.op("aten::linear", 10, 40, self_ns=10)
    store.op("aten::mm", 15, 30, depth=1, self_ns=30)
    store.op("nn.py: forward", 5, 90, layer="python", category="python_function")
    store.op("aten::mm", 200, 50)
    store.analyse()
    assert store.rows(
        "SELECT phase, name, layer, calls, total_ns, self_ns, self_share FROM op_summary ORDER BY layer, phase, name"
    ) == [
        ("decode", "step[DECODE bs=1]", "annotation", 1, 100, 100, 1.0),
        ("decode", "aten::linear", "operator", 1, 40, 10, 0.25),
        ("decode", "aten::mm", "operator", 1, 30, 30, 0.75),
        (None, "aten::mm", "operator", 1, 50, 50, 1.0),
        ("decode", "nn.py: forward", "python", 1, 90, 90, 1.0),
    ]


def test_latency_is_of_the_clean_pass_only(store: Store) -> None:
    for repeat, dur in enumerate((10, 20, 30, 40, 50)):
        store.add("phases", **{"pass": "clean"}, repeat=repeat, phase="decode", step=1, dur_ns=dur, cpu_ns=dur * 2,
                  cached_tokens=513, source="timer")  # fmt: skip
    store.add("phases", **{"pass": "profiled"}, phase="decode", step=1, dur_ns=900)
    assert store.rows("SELECT * EXCLUDE run_id FROM step_latency") == [
        ("decode", 1, 513, 5, 30.0, 12.0, 48.0, 10, 50, 200.0, 900.0)
    ]


@pytest.mark.parametrize(("device", "busy"), [("cpu", True), ("mps", False), (None, False)])
def test_a_process_that_lacks_a_core_on_cpu_was_not_alone(store: Store, device: str | None, busy: bool) -> None:
    store.add("runs", device=device)
    clean = {"pass": "clean", "dur_ns": 100, "source": "timer"}
    for repeat, cpu in enumerate((79, 60, 150)):  # the middle repeat decides; two steps of it are one number
        store.add("phases", phase="prefill", step=0, repeat=repeat, cpu_ns=cpu + 1, **clean)
        store.add("phases", phase="decode", step=1, repeat=repeat, cpu_ns=cpu - 10, **clean)
        store.add("phases", phase="decode", step=2, repeat=repeat, cpu_ns=cpu + 10, **clean)
    store.add("phases", **{"pass": "profiled"}, phase="decode", step=1, dur_ns=100, cpu_ns=1)
    assert store.rows("SELECT * EXCLUDE run_id FROM clean_cpu ORDER BY phase") == [
        ("decode", 79.0, busy),
        ("prefill", 80.0, False),
    ]


def test_kv_bytes_are_equal_differ_or_not_established(store: Store) -> None:
    def measured(phase: str, step: int, *per_repeat: int | None) -> None:
        for repeat, value in enumerate(per_repeat):
            store.add("samples", phase=f"after_{phase}", step=step, repeat=repeat, kv_cache_bytes=value)
            store.add("phases", **{"pass": "profiled"}, phase=phase, step=step, repeat=repeat, cached_tokens=512 + step)

    measured("prefill", 0, 14_680_064, 14_680_064)
    measured("decode", 1, 14_708_736, 14_708_737)
    measured("decode", 2, 14_737_408)
    measured("decode", 3, None)
    measured("decode", 4, 5)
    store.add("samples", phase="before_prefill", step=0, kv_cache_bytes=0)
    for cached, computed in ((512, 14_680_064), (513, 14_708_736), (514, None), (515, 14_766_080)):
        store.add("kv_expected", cached_tokens=cached, computed_bytes=computed)
    assert store.rows("SELECT * EXCLUDE run_id FROM kv_check ORDER BY step") == [
        ("prefill", 0, 512, 14_680_064, 14_680_064, "equal"),
        ("decode", 1, 513, 14_708_737, 14_708_736, "differs"),
        ("decode", 2, 514, 14_737_408, None, "not established"),
        ("decode", 3, 515, None, 14_766_080, "not established"),
        ("decode", 4, 516, 5, None, "not established"),
    ]


@pytest.mark.parametrize(("device", "available"), [("cpu", False), ("mps", True)])
def test_zeros_of_cpu_counters_are_not_available(store: Store, device: str, available: bool) -> None:
    store.add("runs", device=device)
    store.add("samples", phase="after_prefill", step=0, t_ns=5, tensor_bytes=0, driver_bytes=0, kv_cache_bytes=0)
    rows = store.rows("SELECT counter, bytes, available FROM memory_timeline WHERE bytes IS NOT NULL ORDER BY counter")
    assert rows == [("driver", 0, available), ("kv_cache", 0, True), ("tensor", 0, available)]
    assert one(store, "count(*), bool_or(available)", "memory_timeline", "bytes IS NULL") == (4, False)


def test_every_view_and_column_says_what_it_is() -> None:
    import duckdb

    from analyze.sql_text import sql_text
    from tests.unit.analyze.rows import VIEWS

    con = duckdb.connect()
    con.execute(sql_text("schema.sql"))
    con.execute(sql_text("schema_instruments.sql"))
    for view in VIEWS:
        con.execute(sql_text(f"views/{view}.sql"))
    bare = con.execute(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL UNION ALL "
        "SELECT table_name || '.' || column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
    ).fetchall()
    assert bare == []


def emptied(store: Store) -> Store:
    for table in ("ops", "kernels", "phases", "quality"):
        store.con.execute(f"DELETE FROM {table}")
    return store


def covered(intervals: list[tuple[int, int]], start: int, end: int) -> int:
    return sum(any(a <= t < b for a, b in intervals) for t in range(start, end))


def laminar(intervals: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Those that nest legally with all taken so far, with their depths."""
    taken: list[tuple[int, int]] = []
    for a, b in intervals:
        if a < b and all(b <= c or d <= a or (c <= a and b <= d) or (a <= c and d <= b) for c, d in taken):
            taken.append((a, b))
    taken.sort(key=lambda i: (i[0], -i[1]))
    return [
        (a, b, sum(c <= a and b <= d and (i < j) for i, (c, d) in enumerate(taken))) for j, (a, b) in enumerate(taken)
    ]


@pytest.fixture(scope="module")
def one_store() -> Store:
    return Store(views=True)


moments = st.integers(0, 40)
some = st.lists(st.tuples(moments, moments).map(lambda pair: (min(pair), max(pair))), max_size=12)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operators=some, first=st.integers(0, 20), last=st.integers(21, 40), syncs=some)
def test_operator_time_against_brute_force(
    one_store: Store, operators: list[tuple[int, int]], first: int, last: int, syncs: list[tuple[int, int]]
) -> None:
    store = emptied(one_store)
    store.mark("step[DECODE bs=1]", first, last - first)
    nested = laminar(operators)
    for a, b, depth in nested:
        store.op("aten::mm", a, b - a, depth=depth)
    for a, b in syncs:  # on lanes of their own, however they overlap
        store.call("cudaDeviceSynchronize", a, b - a)
    store.analyse()
    inside = [(a, min(b, last)) for a, b, _ in nested if first <= a < last]
    waits = [(a, min(b, last)) for a, b in syncs if first <= a < last]
    enclosed = any(a < first < b for a, b, _ in nested)
    expected = (covered(inside + waits, first, last), covered(waits, first, last))
    operator_ns, sync_ns, between = one(store, "operator_ns, sync_ns, between_operators_ns", "phase_breakdown")
    if not nested and not syncs:
        assert (operator_ns, sync_ns, between) == (None, None, None)
        return
    assert sync_ns == expected[1]
    assert operator_ns + between == last - first
    if not (enclosed and waits):  # an extra lane inside an enclosing operator hides that depth
        assert operator_ns == expected[0]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kernels=st.lists(
        st.tuples(st.integers(10, 60), st.integers(0, 20), st.integers(0, 3), st.booleans()), min_size=1, max_size=12
    ),
    launches=st.lists(st.integers(0, 60), min_size=4, max_size=4),
    syncs=some,
)
def test_device_time_against_brute_force(
    one_store: Store,
    kernels: list[tuple[int, int, int, bool]],
    launches: list[int],
    syncs: list[tuple[int, int]],
) -> None:
    store = emptied(one_store)
    end = 100
    store.mark("inference.decode_step", 0, end)
    used = {which for _, _, which, _ in kernels}
    for which in used:
        store.call("cudaLaunchKernel", launches[which], 1, correlation=which + 1)
    for a, b in syncs:
        store.call("cudaDeviceSynchronize", a, b - a)
    for start, dur, which, copies in kernels:
        store.kernel(start, dur, which + 1, kind="memcpy" if copies else "kernel")
    store.analyse()
    rows = [(start, start + dur) for start, dur, _, _ in kernels]
    compute = [(start, start + dur) for start, dur, _, copies in kernels if not copies]
    copying = [(start, start + dur) for start, dur, _, copies in kernels if copies]
    total = sum(dur for _, dur, _, _ in kernels)
    busy, idle = one(store, "device_busy_ns, device_idle_ns", "phase_breakdown")
    assert busy == covered(rows, 0, end)
    assert idle == (end - busy if total else None)
    if not total:
        return
    parts = dict(store.rows("SELECT cause = 'copy', sum(dur_ns) FROM device_idle GROUP BY ALL"))
    assert parts.get(False, 0) == idle
    assert parts.get(True, 0) == covered(copying, 0, end) - sum(
        any(a <= t < b for a, b in compute) and any(a <= t < b for a, b in copying) for t in range(end)
    )
    waited = sum(row[0] for row in store.rows("SELECT dur_ns FROM device_idle WHERE cause = 'synchronisation'"))
    assert waited <= covered(syncs, 0, end)
    summed = dict(store.rows("SELECT kind, busy_ns FROM kernel_summary"))
    assert summed.get("kernel", 0) == covered(compute, 0, end)
    assert summed.get("memcpy", 0) == covered(copying, 0, end)
