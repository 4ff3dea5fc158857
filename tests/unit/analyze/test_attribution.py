"""Which phase host slices and device rows belong to, on hand-made traces."""

from __future__ import annotations

import json

import pytest

from tests.unit.analyze.rows import Store

KERNELS = "SELECT phase, step, attributed_by, launch_delay_ns FROM kernels ORDER BY kernel_id"


@pytest.fixture
def store() -> Store:
    return Store()


def test_roles(store: Store) -> None:
    names = [
        ("cudaLaunchKernel", "launch"), ("cudaLaunchKernelExC", "launch"), ("cuLaunchKernel", "launch"),
        ("hipExtModuleLaunchKernel", "launch"), ("hipGraphLaunch", "launch"), ("cudaLaunchHostFunc", "runtime"),
        ("cudaMemcpyAsync", "copy"), ("hipMemcpyWithStream", "copy"), ("cudaMemsetAsync", "copy"),
        ("cudaDeviceSynchronize", "synchronisation"), ("hipEventSynchronize", "synchronisation"),
        ("cudaStreamWaitEvent", "runtime"), ("cudaMalloc", "runtime"),
    ]  # fmt: skip
    for i, (name, _) in enumerate(names):
        store.call(name, i * 10, 5, category="Runtime" if i % 2 else "cuda_driver")
    store.op("aten::mm", 500, 5)
    store.op("MatMul_kernel_time", 510, 5, category=None)
    store.mark("launch", 520, 5)
    store.op("torch/nn.py(1): launch", 530, 5, layer="python", category="python_function")
    store.analyse()
    roles = [row[0] for row in store.rows("SELECT role FROM ops ORDER BY op_id")]
    assert roles == [role for _, role in names] + ["operator", "operator", None, None]


@pytest.mark.parametrize(
    ("copied_ns", "call_ns", "role"),
    [
        (4, 100, "synchronisation"),  # 90 of 100 until the kernel before it is done
        (4, 92, "copy"),  # returned before the copy was done: 190..194 against 192
        (200, 300, "copy"),  # the copy itself takes most
    ],
)
def test_a_copy_that_waits_for_earlier_work_is_a_wait(store: Store, copied_ns: int, call_ns: int, role: str) -> None:
    store.call("hipLaunchKernel", 50, 5, correlation=1)
    store.kernel(60, 130, correlation=1)
    store.call("hipMemcpyWithStream", 100, call_ns, correlation=2)
    store.kernel(190, copied_ns, correlation=2, kind="memcpy")
    store.analyse()
    assert store.rows("SELECT role FROM ops ORDER BY op_id") == [("launch",), (role,)]


def test_a_copy_on_an_idle_device_is_a_copy(store: Store) -> None:
    store.call("cudaLaunchKernel", 50, 5, correlation=1)
    store.kernel(60, 30, correlation=1)
    store.call("cudaMemcpy", 100, 100, correlation=2)
    store.kernel(190, 5, correlation=2, kind="memcpy")
    store.kernel(60, 130, device="1")  # another device's work is nothing to wait for
    store.analyse()
    assert store.rows("SELECT role FROM ops ORDER BY op_id") == [("launch",), ("copy",)]


def test_a_first_copy_waits_for_nothing(store: Store) -> None:
    store.call("cudaMemcpyAsync", 100, 450, correlation=2)
    store.kernel(525, 10, correlation=2, kind="memcpy")
    store.kernel(10, 500, device="1")
    store.analyse()
    assert store.rows("SELECT role FROM ops") == [("copy",)]


def test_work_belongs_to_the_phase_in_which_it_starts(store: Store) -> None:
    store.mark("step[EXTEND bs=1 toks=9]", 100, 100)
    store.mark("step[DECODE bs=1]", 200, 100)
    for start in (99, 100, 199, 200, 299, 300):
        store.op("aten::mm", start, 30)
    store.analyse()
    assert store.rows("SELECT phase, step FROM ops WHERE name = 'aten::mm' ORDER BY start_ns") == [
        (None, None), ("prefill", 0), ("prefill", 0), ("decode", 1), ("decode", 1), (None, None),
    ]  # fmt: skip


def test_one_graph_launch_to_many_kernels_of_any_time(store: Store) -> None:
    store.mark("step[DECODE bs=8]", 0, 400)
    launch = store.call("hipGraphLaunch", 10, 4, correlation=9)
    for start in (600, 700, 800):
        store.kernel(start, 50, correlation=9)
    store.analyse()
    assert store.rows(KERNELS) == [
        ("decode", 0, "correlation", 590),
        ("decode", 0, "correlation", 690),
        ("decode", 0, "correlation", 790),
    ]
    assert store.rows("SELECT DISTINCT launch_op_id FROM kernels") == [(launch,)]
    assert store.notes() == {}


def test_kernels_without_launch_are_neither_guessed_nor_dropped(store: Store) -> None:
    store.mark("step[DECODE bs=8]", 0, 400)
    store.kernel(50, 10, correlation=5)
    store.kernel(70, 10)
    store.kernel(90, 10, correlation=0)
    store.call("cudaLaunchKernel", 20, 4, correlation=0)
    store.analyse()
    assert store.rows(KERNELS) == [(None, None, "unattributed", None)] * 3
    assert store.notes() == {"kernels_without_launch": 3, "launches_without_kernel": 1}


def test_correlation_ids_never_cross_ranks(store: Store) -> None:
    for rank in (0, 1):
        store.mark("step[DECODE bs=8]", 0, 400, rank=rank, thread_id=rank)
    store.call("cudaLaunchKernel", 10, 4, correlation=3, rank=0, thread_id=0)
    store.kernel(50, 10, correlation=3, rank=1)
    store.analyse()
    assert store.rows(KERNELS) == [(None, None, "unattributed", None)]


def test_a_launch_outside_every_phase(store: Store) -> None:
    store.mark("step[DECODE bs=8]", 100, 400)
    store.call("cudaLaunchKernel", 10, 4, correlation=3)
    store.kernel(150, 10, correlation=3)
    store.analyse()
    assert store.rows(KERNELS) == [(None, None, "correlation", 140)]
    assert store.notes() == {"launched_outside_phases": 1}


def test_a_call_that_kernels_came_from_is_a_launch(store: Store) -> None:
    """Runtimes have other words for it: MTIA's runFunction."""
    store.mark("step[DECODE bs=8]", 0, 400)
    store.call("runFunction", 10, 4, correlation=3, category="mtia_runtime")
    store.call("copyToDevice", 20, 4, correlation=4, category="mtia_runtime")
    store.call("setDevice", 30, 4, correlation=5, category="mtia_runtime")
    store.kernel(150, 10, correlation=3)
    store.kernel(170, 10, correlation=4, kind="memcpy")
    store.analyse()
    roles = store.rows("SELECT role FROM ops WHERE layer = 'operator' ORDER BY start_ns")
    assert roles == [("launch",), ("runtime",), ("runtime",)]


def test_flows_where_there_is_no_correlation_id(store: Store) -> None:
    store.add("threads", thread_id=1)
    store.mark("step[DECODE bs=8]", 0, 100)
    launch = store.call("cudaLaunchKernel", 20, 4)
    store.add("flows", flow_id="1", ph="s", track="10/10", t_ns=20)
    store.add("flows", flow_id="1", ph="f", track="0/7", t_ns=150)
    store.add("flows", flow_id="2", ph="s", track="10/10", t_ns=20, category="fwdbwd")
    store.add("flows", flow_id="2", ph="f", track="0/9", t_ns=150, category="fwdbwd")
    store.kernel(150, 10)
    store.kernel(150, 10, stream="9")
    store.kernel(151, 10)
    store.analyse()
    assert store.rows(KERNELS) == [
        ("decode", 0, "flow", 130),
        (None, None, "unattributed", None),
        (None, None, "unattributed", None),
    ]
    assert store.rows("SELECT launch_op_id FROM kernels ORDER BY kernel_id LIMIT 1") == [(launch,)]


def test_the_operators_number_where_the_launch_is_missing(store: Store) -> None:
    store.mark("step[DECODE bs=8]", 0, 100)
    store.op("aten::mm", 10, 20, external_id=44)
    store.kernel(300, 10, correlation=8, args=json.dumps({"External id": 44}))
    store.kernel(305, 10, correlation=8, args=json.dumps({"external id": 44}))  # as in 2021
    store.kernel(310, 10, correlation=9, args=json.dumps({"External id": 45}))
    store.kernel(320, 10, correlation=9, args='{"External id": ')
    store.analyse()
    assert store.rows(KERNELS) == [
        ("decode", 0, "external_id", None),
        ("decode", 0, "external_id", None),
        (None, None, "unattributed", None),
        (None, None, "unattributed", None),
    ]


def test_time_counts_only_where_our_engine_ran(store: Store) -> None:
    store.mark("inference.prefill", 0, 100)
    store.mark("inference.decode_step", 100, 100)
    store.kernel(50, 10)
    store.kernel(150, 10)
    store.kernel(250, 10)
    store.op("autograd", 120, 5, thread_id=2)
    store.analyse()
    assert store.rows(KERNELS) == [
        ("prefill", 0, "containment", None), ("decode", 1, "containment", None), (None, None, "unattributed", None),
    ]  # fmt: skip
    assert store.rows("SELECT phase, step FROM ops WHERE thread_id = 2") == [("decode", 1)]


def test_other_threads_of_a_server_are_not_taken_by_time(store: Store) -> None:
    store.mark("step[DECODE bs=8]", 0, 100)
    store.op("aten::mm", 10, 5)
    store.op("aten::copy_", 20, 5, thread_id=2)
    store.analyse()
    assert store.rows("SELECT phase FROM ops WHERE name LIKE 'aten%' ORDER BY start_ns") == [("decode",), (None,)]


def test_marks_on_a_thread_that_does_no_work(store: Store) -> None:
    store.mark("step[DECODE bs=8]", 0, 100)
    store.call("cudaLaunchKernel", 20, 5, correlation=1, thread_id=2)
    store.kernel(120, 10, correlation=1)
    store.analyse()
    assert store.rows(KERNELS) == [("decode", 0, "correlation", 100)]


def test_profiler_steps_bracket_every_thread(store: Store) -> None:
    store.mark("ProfilerStep#1", 0, 100)
    store.op("aten::mm", 10, 5)
    store.call("cudaLaunchKernel", 20, 5, correlation=1, thread_id=2)
    store.kernel(120, 10, correlation=1)
    store.analyse()
    assert store.rows(KERNELS) == [("unknown", 0, "correlation", 100)]


def test_one_phase_over_all_holds_all_but_attributes_nothing(store: Store) -> None:
    store.op("aten::mm", 0, 10)
    store.kernel(5, 10)
    store.analyse()
    assert store.rows(KERNELS) == [("unknown", 0, "unattributed", None)]


def test_negative_delay_and_overlap_are_noted(store: Store) -> None:
    store.mark("step[DECODE bs=8]", 0, 100)
    store.call("cudaLaunchKernel", 50, 5, correlation=1)
    store.call("cudaLaunchKernel", 60, 5, correlation=2)
    store.call("cudaLaunchKernel", 70, 5, correlation=3)
    store.kernel(40, 25, correlation=1)
    store.kernel(64, 10, correlation=2)
    store.kernel(74, 10, correlation=3)
    store.analyse()
    assert [row[3] for row in store.rows(KERNELS)] == [-10, 4, 4]
    assert store.notes() == {"negative_launch_delay": 1, "overlap_on_stream": 1}


def test_a_second_pass_is_left_alone(store: Store) -> None:
    store.op("aten::mm", 0, 10, **{"pass": "other"})
    store.op("aten::mm", 0, 10)
    store.analyse()
    assert store.rows("SELECT pass, role FROM ops ORDER BY pass") == [("other", None), ("trace", "operator")]
