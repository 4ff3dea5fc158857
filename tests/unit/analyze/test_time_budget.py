"""The time budget: parts that sum to the wall exactly, and what each instant belongs to."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze.answers import Answers

DECODE: dict[str, Any] = {"phase": "decode", "step": 1, "repeat": 0}


def parts(store: Answers) -> dict[str, int]:
    return dict(store.rows("SELECT part, sum(ns)::BIGINT FROM time_budget GROUP BY part"))


def idle(store: Answers) -> dict[str, int | None]:
    return dict(store.rows("SELECT part, device_idle_ns FROM time_budget"))


def operator(store: Answers, name: str, start: int, dur: int, **values: Any) -> int:
    return store.op(name, start, dur, role="operator", **(DECODE | values))


def test_each_instant_belongs_to_one_part() -> None:
    store = Answers()
    store.phase("decode", 1, 100, 100, thread_id=1)
    operator(store, "aten::linear", 105, 20)  # 105..125
    operator(store, "aten::copy_", 106, 4, depth=1)  # inside the layer: linear too
    store.call("cudaLaunchKernel", 112, 5, role="launch", depth=1, **DECODE)
    operator(store, "aten::scaled_dot_product_attention", 130, 10)
    operator(store, "aten::bmm", 131, 3, depth=1)
    operator(store, "aten::pow", 140, 4)
    operator(store, "aten::embedding", 144, 2)
    operator(store, "aten::argmax", 146, 1)
    operator(store, "aten::cat", 147, 6, args='{"Concrete Inputs": ["", "-2"]}')
    operator(store, "aten::cat", 153, 2, args='{"Concrete Inputs": ["", "-1"]}')
    operator(store, "aten::to", 155, 3)
    operator(store, "aten::item", 158, 7)
    store.call("cudaMemcpyAsync", 159, 1, role="copy", depth=1, **DECODE)
    store.call("cudaStreamSynchronize", 161, 4, role="synchronisation", depth=1, **DECODE)
    store.call("cudaGetDevice", 166, 1, role="runtime", **DECODE)
    assert parts(store) == {
        "linear": 15, "launch": 5, "attention": 10, "norm": 4, "embedding": 2, "sampling": 1, "cache update": 6,
        "layout": 2, "copy": 4, "synchronisation": 6, "runtime": 1, "between operators": 44,
    }  # fmt: skip
    assert sum(parts(store).values()) == 100


def test_operators_are_cut_at_the_phase_and_other_threads_stand_apart() -> None:
    store = Answers()
    store.phase("decode", 1, 100, 50, thread_id=1)
    operator(store, "aten::linear", 90, 20)  # 10 of it inside
    operator(store, "aten::linear", 140, 30)  # 10 of it inside
    operator(store, "aten::mm", 105, 40, thread_id=2)
    operator(store, "aten::mm", 110, 10, thread_id=2, depth=1)
    operator(store, "aten::mul", 120, 5, phase=None, step=None)  # by time, not by its phase
    assert parts(store) == {"linear": 20, "elementwise": 5, "between operators": 25}
    assert store.rows("SELECT thread_id, operators, operator_ns FROM budget_other_threads") == [(2, 2, 40)]


def test_matmul_is_what_it_calls() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 20, thread_id=1)
    operator(store, "aten::matmul", 0, 10)
    operator(store, "aten::bmm", 2, 6, depth=1)
    operator(store, "aten::matmul", 10, 10)
    operator(store, "aten::mm", 13, 6, depth=1)
    assert parts(store) == {"other": 8, "attention": 6, "linear": 6}


def test_reshape_is_a_view_or_a_copy() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 20, thread_id=1)
    operator(store, "aten::reshape", 0, 10)
    operator(store, "aten::view", 2, 3, depth=1)
    operator(store, "aten::reshape", 10, 10)
    operator(store, "aten::clone", 11, 8, depth=1)
    assert parts(store) == {"other": 9, "layout": 3, "copy": 8}


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ('"Concrete Inputs": ["", "-2"]', "cache update"),
        ('"Concrete Inputs": [\n "",\n "-2"\n ]', "cache update"),  # as json.dump indents it
        ('"Input Dims": [[[0], [1, 2, 512, 128]], []]', "cache update"),  # only the dimensions kept: prefill
        ('"Input Dims": [[[1, 2, 512, 128], [1, 2, 1, 128]], []]', "cache update"),  # and decode
        ('"Input Dims": [[[1, 2, 1, 64], [1, 2, 1, 64]], []]', "layout"),  # halves that RoPE rotates
        ('"Concrete Inputs": ["", "-1"], "Input Dims": [[[1, 12, 512, 64], [1, 12, 512, 64]], []]', "layout"),
        ('"Input Dims": [[[1, 512, 64], [1, 512, 64]], []]', "layout"),
    ],
)
def test_a_join_is_of_the_cache_by_its_dimension_or_its_shapes(args: str, kind: str) -> None:
    store = Answers()
    store.phase("decode", 1, 0, 10, thread_id=1)
    operator(store, "aten::cat", 0, 10, args="{" + args + "}")
    assert parts(store) == {kind: 10}


def test_a_range_that_marks_a_phase_is_no_operator() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 50, thread_id=1)
    mark = store.op("execute_model", 0, 50, **DECODE)  # role NULL: its writer gave it no category of its own
    operator(store, "aten::linear", 10, 20, depth=1, parent_id=mark)
    operator(store, "aten::mm", 12, 5, depth=2)
    assert parts(store) == {"linear": 20, "between operators": 30}


def test_slices_that_overlap_on_their_thread_still_sum_up() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 30, thread_id=1)
    operator(store, "aten::linear", 0, 10)
    operator(store, "aten::linear", 5, 15)  # begins inside, ends after: on a lane of its own
    assert parts(store) == {"linear": 20, "between operators": 10}


def test_time_in_which_the_device_waits() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 100, thread_id=1)
    launch = store.call("cudaLaunchKernel", 10, 10, 1, role="launch", **DECODE)
    store.call("cudaDeviceSynchronize", 50, 50, role="synchronisation", **DECODE)
    store.kernel(25, 50, 1, launch_op_id=launch, attributed_by="correlation", **DECODE)
    assert parts(store) == {"between operators": 40, "launch": 10, "synchronisation": 50}
    assert idle(store) == {"between operators": 15, "launch": 10, "synchronisation": 25}


def test_operators_that_overlap_in_part_lose_no_time() -> None:
    """On extra lanes of a thread: what lies behind an earlier one is still of its kind."""
    store = Answers()
    store.phase("decode", 1, 0, 200, thread_id=1)
    for start in range(0, 90, 9):
        operator(store, "aten::linear", start, 10)  # 0..91 without a gap
    operator(store, "aten::add", 100, 50)
    operator(store, "aten::linear", 90, 20)  # up to 110: 19 more
    store.call("cudaLaunchKernel", 140, 8, role="launch", **DECODE)
    store.call("cudaMemcpyAsync", 145, 10, role="copy", **DECODE)
    assert parts(store) == {
        "linear": 110, "elementwise": 30, "launch": 8, "copy": 7, "between operators": 45,
    }  # fmt: skip


def test_a_rule_finds_its_names_among_many() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 5000, thread_id=1)
    for number in range(500):
        operator(store, f"mine::op{number}", 10 * number, 5)
    operator(store, "aten::linear", 5, 5)
    assert parts(store) == {"other": 2500, "linear": 5, "between operators": 2495}


def test_no_idle_inside_a_graph() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 100, thread_id=1)
    launch = store.call("cudaGraphLaunch", 10, 10, 1, role="launch", **DECODE)
    for start in (20, 40, 60):
        store.kernel(start, 10, 1, launch_op_id=launch, attributed_by="correlation", **DECODE)
    store.con.execute(
        "INSERT INTO ops SELECT * REPLACE (op_id + 100 AS op_id, start_ns + 5 AS start_ns, 2 AS step) FROM ops"
    )
    store.phase("decode", 2, 100, 0, thread_id=1)
    # between the kernels of one graph launch nobody could have worked: 20..70 is one stretch
    assert sum(value or 0 for value in idle(store).values()) == 50
    audit = store.dicts("SELECT step, graph_launches, graph_kernels FROM step_audit ORDER BY step")
    assert audit == [
        {"step": 1, "graph_launches": 1, "graph_kernels": 3},
        {"step": 2, "graph_launches": 1, "graph_kernels": 0},
    ]


def test_idle_is_not_said_where_the_loop_runs_ahead_or_rows_are_missing() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 100, thread_id=1)
    launch = store.call("cudaLaunchKernel", 10, 10, 1, role="launch", **DECODE)
    store.kernel(150, 10, 1, launch_op_id=launch, attributed_by="correlation", **DECODE)  # after the phase
    assert set(idle(store).values()) == {None}
    store.con.execute("UPDATE kernels SET start_ns = 30, attributed_by = 'unattributed', phase = NULL")
    assert set(idle(store).values()) == {None}


def test_a_trace_without_marks_is_told_by_its_busiest_thread() -> None:
    store = Answers()
    store.phase("unknown", 0, 0, 100, source="whole_trace", thread_id=None)
    operator(store, "aten::mm", 0, 30, thread_id=1, phase="unknown", step=0)
    operator(store, "aten::mm", 0, 60, thread_id=2, phase="unknown", step=0)
    assert store.rows("SELECT DISTINCT thread_id FROM time_budget") == [(2,)]
    assert parts(store) == {"linear": 60, "between operators": 40}
    assert store.rows("SELECT thread_id, operator_ns FROM budget_other_threads") == [(1, 30)]


def test_a_pass_of_device_rows_alone() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 100, source="timer", thread_id=None)
    store.kernel(10, 30, kind="metal", attributed_by="containment", **DECODE)
    assert parts(store) == {"device work": 30, "device idle": 70}
    store.kernel(50, 30, kind="metal", attributed_by="unattributed")
    assert parts(store) == {"not established": 100}


def test_a_clean_pass_has_no_budget() -> None:
    store = Answers()
    store.phase("decode", 1, 0, 100, **{"pass": "clean", "source": "timer"})
    assert parts(store) == {}


@st.composite
def forests(draw: st.DrawFn) -> list[tuple[str, int, int, int, str]]:
    """Nested slices (name, begin, end, depth, role) of one thread."""
    out: list[tuple[str, int, int, int, str]] = []

    def fill(low: int, high: int, depth: int) -> None:
        at = low
        while depth < 4 and draw(st.booleans()) and at < high:
            begin = draw(st.integers(at, high))
            end = draw(st.integers(begin, high))
            name = draw(
                st.sampled_from(["aten::linear", "aten::mul", "aten::copy_", "aten::matmul", "aten::bmm", "cudaX"])
            )
            role = (
                "operator"
                if name.startswith("aten")
                else draw(st.sampled_from(["launch", "runtime", "synchronisation"]))
            )
            out.append((name, begin, end, depth, role))
            fill(begin, end, depth + 1)
            at = end

    fill(0, 100, 0)
    return out


@settings(max_examples=40)
@given(forest=forests(), cuts=st.lists(st.integers(0, 110), min_size=2, max_size=4, unique=True))
def test_parts_sum_to_the_wall_whatever_the_slices(
    forest: list[tuple[str, int, int, int, str]], cuts: list[int]
) -> None:
    STORE.con.execute("DELETE FROM ops; DELETE FROM phases;")
    edges = sorted(cuts)
    for step, (begin, end) in enumerate(pairwise(edges)):
        STORE.phase("decode", step, begin, end - begin, thread_id=1)
    for name, begin, end, depth, role in forest:
        STORE.op(name, begin, end - begin, depth=depth, role=role)
    if not forest:
        assert STORE.rows("FROM time_budget") == []
        return
    sums = STORE.rows("SELECT step, sum(ns), any_value(wall_ns) FROM time_budget GROUP BY step ORDER BY step")
    assert [(step, int(ns), wall) for step, ns, wall in sums] == [
        (step, end - begin, end - begin) for step, (begin, end) in enumerate(pairwise(edges))
    ]
    covered = [sum(1 for _, b, e, depth, _ in forest if depth == 0 and b <= t < e) > 0 for t in range(110)]
    between = STORE.rows("SELECT coalesce(sum(ns), 0)::BIGINT FROM time_budget WHERE part = 'between operators'")
    assert between == [(sum(not covered[t] for t in range(edges[0], edges[-1])),)]


STORE = Answers()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::linear", "linear"), ("aten::addmm", "linear"), ("mkldnn::_linear_pointwise", "linear"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"), ("aten::_safe_softmax", "attention"),
        ("vllm::unified_attention_with_output", "attention"), ("aten::rms_norm", "norm"),
        ("aten::_fused_rms_norm", "norm"),
        ("aten::native_layer_norm", "norm"), ("aten::embedding", "embedding"), ("aten::multinomial", "sampling"),
        ("aten::index_copy_", "cache update"), ("_C_cache_ops::reshape_and_cache_flash", "cache update"),
        ("aten::_to_copy", "copy"), ("aten::_local_scalar_dense", "synchronisation"),
        ("aten::mul", "elementwise"), ("aten::add_", "elementwise"), ("aten::silu", "elementwise"),
        ("aten::_foreach_add_", "elementwise"), ("aten::where", "elementwise"), ("aten::cos", "elementwise"),
        ("_C::silu_and_mul", "elementwise"), ("_C::rotary_embedding", "elementwise"),
        ("sgl_kernel::apply_rope_pos_ids_cos_sin_cache", "elementwise"),
        ("aten::pow", "norm"), ("_C::fused_add_rms_norm", "norm"), ("aten::_foreach_copy_", "copy"),
        ("aten::cat", "layout"), ("aten::slice", "layout"), ("aten::t", "layout"), ("aten::index_select", "layout"),
        ("aten::tril", None), ("aten::sum", None), ("aten::empty", None),
        ("aten::matmul", None), ("aten::reshape", None),
        ("vllm::rocm_unquantized_gemm", "linear"),
    ],
)  # fmt: skip
def test_kinds_by_name(name: str, kind: str | None) -> None:
    rows = STORE.con.execute(
        "SELECT arg_min(kind, priority) FROM operator_kinds "
        "WHERE args_pattern IS NULL AND regexp_full_match(?, name_pattern)",
        [name],
    ).fetchall()
    assert rows == [(kind,)]
