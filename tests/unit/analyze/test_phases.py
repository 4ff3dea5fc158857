"""Phases of hand-made traces: nesting, steps, inference from shapes, one unknown phase, timings."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from analyze import phases
from tests.unit.analyze.rows import PASS, RUN, Store

SHOWN = "SELECT repeat, phase, step, start_ns, dur_ns, source FROM phases ORDER BY rank, start_ns, step"


@pytest.fixture
def store() -> Store:
    return Store()


def embedding(store: Store, start: int, batch: int, length: int, table: int = 32000, **values: int) -> None:
    shapes = json.dumps([[table, 64], [batch, length], [], []])
    store.op("aten::embedding", start, 5, shapes=shapes, **values)


def test_our_engines_repeats_and_steps(store: Store) -> None:
    for repeat in range(2):
        store.mark("inference.prefill", repeat * 100, 20)
        for step in (1, 2):
            store.mark("inference.decode_step", repeat * 100 + 20 * step, 10)
    store.analyse()
    assert store.rows(SHOWN) == [
        (0, "prefill", 0, 0, 20, "annotation"), (0, "decode", 1, 20, 10, "annotation"),
        (0, "decode", 2, 40, 10, "annotation"), (1, "prefill", 0, 100, 20, "annotation"),
        (1, "decode", 1, 120, 10, "annotation"), (1, "decode", 2, 140, 10, "annotation"),
    ]  # fmt: skip


def test_foreign_steps_are_numbered_in_order_of_occurrence(store: Store) -> None:
    store.mark("step[EXTEND bs=2 toks=100]", 0, 50)
    store.mark("step[MIXED bs=3]", 60, 50)
    store.mark("step[DECODE bs=3]", 120, 50)
    store.mark("step[IDLE bs=0]", 180, 5)
    store.analyse()
    assert store.rows("SELECT repeat, step, phase, sequences, tokens, prefill_tokens FROM phases ORDER BY step") == [
        (0, 0, "prefill", 2, 100, 100),
        (0, 1, "mixed", 3, None, None),
        (0, 2, "decode", 3, 3, 0),
        (0, 3, "idle", 0, None, None),
    ]


def test_nested_marks_of_two_grammars_count_once(store: Store) -> None:
    store.mark("execute_context_0(0)_generation_8(8)", 0, 100)
    store.mark("step[DECODE bs=8 c_sk=0 g_sk=900]", 10, 80, depth=1)
    store.mark("execute_context_0(0)_generation_8(8)", 200, 100)
    store.analyse()
    assert store.rows("SELECT start_ns, dur_ns, source, tokens, cached_tokens FROM phases ORDER BY step") == [
        (0, 100, "vllm", 8, 900),
        (200, 100, "vllm", 8, None),
    ]


def test_a_step_with_several_parts_stays_one_step(store: Store) -> None:
    store.mark("execute_context_0(0)_generation_2(6)", 0, 100)
    store.mark("step[DRAFT_LOOP raw_bs=2 bs=2 topk=1]", 10, 20)
    store.mark("step[TARGET_VERIFY bs=2]", 40, 20)
    store.analyse()
    assert store.rows("SELECT phase, start_ns, dur_ns, tokens FROM phases") == [("decode", 0, 100, 6)]


def test_a_hand_written_loop_gives_way_to_the_steps_inside(store: Store) -> None:
    store.mark("prefill", 0, 10)
    store.mark("decode", 20, 100)
    for i in range(3):
        store.mark("decode_step", 20 + i * 30, 20)
    store.analyse()
    assert store.rows("SELECT phase, step, start_ns, dur_ns FROM phases ORDER BY step") == [
        ("prefill", 0, 0, 10), ("decode", 1, 20, 20), ("decode", 2, 50, 20), ("decode", 3, 80, 20),
    ]  # fmt: skip


def test_a_range_that_outlives_its_parent_is_kept(store: Store) -> None:
    store.mark("ProfilerStep#3", 100, 100)
    store.mark("decode", 150, 60)
    store.analyse()
    assert store.rows(SHOWN) == [(0, "decode", 0, 150, 60, "hand_written")]


def test_profiler_steps_are_a_fallback_and_say_so(store: Store) -> None:
    store.mark("ProfilerStep#3", 0, 100)
    store.mark("ProfilerStep#4", 100, 100)
    store.analyse()
    assert [row[:3] for row in store.rows(SHOWN)] == [(0, "unknown", 0), (0, "unknown", 1)]
    assert store.notes()["phase_rule_profiler_step"] == 2


def test_what_vllm_011_cannot_split_is_said(store: Store) -> None:
    store.mark("execute_new_1_cached_3", 0, 100)
    store.analyse()
    assert store.rows("SELECT phase, sequences FROM phases") == [("mixed", 4)]
    assert store.notes()["phase_rule_vllm_new_cached"] == 1


def test_mixed_steps_without_token_counts_are_said(store: Store) -> None:
    store.mark("step[MIXED bs=4]", 0, 100)
    store.mark("step[MIXED bs=5 c=1 c_sq=7 g=4 g_sq=4]", 100, 100)
    store.mark("execute_context_2(100)_generation_3(3)", 200, 100)
    store.analyse()
    tokens = store.rows("SELECT phase, prefill_tokens, decode_tokens FROM phases ORDER BY start_ns")
    assert tokens == [("mixed", None, None), ("mixed", 7, 4), ("mixed", 100, 3)]
    assert store.notes() == {"mixed_steps_not_split": 1}


def test_a_mode_that_no_grammar_knows_is_named(store: Store) -> None:
    store.mark("step[REWIND bs=4]", 0, 100)
    store.mark("step[DECODE bs=4]", 100, 100)
    store.analyse()
    assert store.rows("SELECT phase FROM phases ORDER BY start_ns") == [("unknown",), ("decode",)]
    assert store.notes() == {"unknown_mode": 1}


def test_names_without_a_category_are_looked_at_and_operators_are_not(store: Store) -> None:
    store.op("prefill", 0, 10, category=None)
    store.op("decode", 20, 10, category="cpu_op")
    store.analyse()
    assert store.rows("SELECT phase, start_ns FROM phases") == [("prefill", 0)]


def test_ranks_are_recognised_each_for_itself(store: Store) -> None:
    store.mark("step[DECODE bs=1]", 0, 10)
    store.mark("other", 0, 10, rank=1)
    store.analyse()
    assert store.rows("SELECT rank, phase, source FROM phases ORDER BY rank") == [
        (0, "decode", "sglang"),
        (1, "unknown", "whole_trace"),
    ]


def test_shapes_of_hf_generate(store: Store) -> None:
    embedding(store, 100, 2, 7)
    embedding(store, 110, 2, 7, table=512)  # positions: the smaller table is no forward of its own
    embedding(store, 200, 2, 1)
    embedding(store, 300, 2, 1)
    store.op("aten::mm", 350, 40)
    store.analyse()
    assert store.rows(
        "SELECT phase, step, start_ns, dur_ns, tokens, sequences, source, name FROM phases ORDER BY step"
    ) == [
        ("prefill", 0, 100, 100, 14, 2, "inferred", "aten::embedding [2, 7]"),
        ("decode", 1, 200, 100, 2, 2, "inferred", "aten::embedding [2, 1]"),
        ("decode", 2, 300, 90, 2, 2, "inferred", "aten::embedding [2, 1]"),
    ]
    assert store.notes()["phases_inferred"] == 3


def test_one_forward_alone_is_no_generation(store: Store) -> None:
    embedding(store, 100, 16, 559)
    store.analyse()
    assert store.rows("SELECT phase, source FROM phases") == [("unknown", "whole_trace")]


@pytest.mark.parametrize(
    "shapes", ["", "[", "3", "[[1]]", "[[1,2],[3,4,5]]", '[["a","b"],["c","d"]]', "null", "[[1,2],[0,0]]"]
)
def test_odd_shapes_tell_nothing(store: Store, shapes: str) -> None:
    store.op("aten::embedding", 0, 5, shapes=shapes)
    store.analyse()
    assert store.rows("SELECT source FROM phases") == [("whole_trace",)]


def test_onnx_runtime(store: Store) -> None:
    def forward(start: int, tokens: int | None) -> None:
        store.op("model_run", start, 50, category="Session")
        shape = {"int64": [1, tokens]} if tokens else {"float": [1, 8]}
        args = json.dumps({"op_name": "Gather", "input_type_shape": [{"float": [100, 8]}, shape]})
        store.op("Gather_kernel_time", start + 5, 10, category="Node", args=args)
        store.op("MatMul_kernel_time", start + 20, 10, category="Node", args='{"input_type_shape":[{"int64":[1,1]}]}')

    forward(0, 9)
    forward(100, 1)
    store.op("model_run", 200, 50, category="Session")
    store.analyse()
    assert store.rows("SELECT phase, step, start_ns, dur_ns, tokens, source FROM phases ORDER BY step") == [
        ("prefill", 0, 0, 50, 9, "inferred"),
        ("decode", 1, 100, 50, 1, "inferred"),
        ("unknown", 2, 200, 50, None, "onnx_model_run"),
    ]
    # neither the forward's own range nor anything else of it is an operator twice
    assert store.rows("SELECT role, count(*) FROM ops GROUP BY role ORDER BY role") == [("operator", 4), (None, 3)]


def test_jax_modules_on_the_device(store: Store) -> None:
    for i, module in enumerate(["jit_prefill", "jit_prefill", "jit_decode", "jit_other", "jit_decode"]):
        store.kernel(i * 10, 8, args=json.dumps({"hlo_module": module, "hlo_op": f"fusion.{i}"}))
    store.analyse()
    assert store.rows(SHOWN) == [
        (0, "prefill", 0, 0, 18, "jax_hlo_module"),
        (0, "decode", 1, 20, 8, "jax_hlo_module"),
        (0, "decode", 2, 40, 8, "jax_hlo_module"),
    ]
    assert store.rows("SELECT phase, step, attributed_by FROM kernels ORDER BY start_ns") == [
        ("prefill", 0, "containment"), ("prefill", 0, "containment"), ("decode", 1, "containment"),
        (None, None, "unattributed"), ("decode", 2, "containment"),
    ]  # fmt: skip


def test_jax_step_numbers(store: Store) -> None:
    for step in range(2):
        store.op("train", step * 100, 50, category=None, args=json.dumps({"step_num": str(step)}))
    store.analyse()
    assert store.rows(SHOWN) == [(0, "unknown", 0, 0, 50, "jax_step"), (0, "unknown", 1, 100, 50, "jax_step")]


def test_mlc_requests_are_threads(store: Store) -> None:
    store.op("prefill (0)", 0, 10, category=None, thread_id=1)
    store.op("prefill (0)", 2, 10, category=None, thread_id=2)
    store.op("decode (0)", 20, 10, category=None, thread_id=1)
    store.analyse()
    assert store.rows("SELECT phase, step, thread_id FROM phases ORDER BY step") == [
        ("prefill", 0, 1),
        ("prefill", 1, 2),
        ("decode", 2, 1),
    ]


def test_nothing_recognised_is_one_phase_with_the_commonest_names(store: Store) -> None:
    for i in range(12):
        for _ in range(i + 1):
            store.mark(f"range_{i:02}", i * 10, 5)
    store.kernel(200, 100)
    store.analyse()
    assert store.rows(SHOWN) == [(0, "unknown", 0, 0, 300, "whole_trace")]
    [(events, detail)] = store.rows("SELECT events, detail FROM quality WHERE reason = 'no_phase_recognised'")
    assert events == 78
    assert "range_11 (12), range_10 (11)" in detail
    assert "range_02 (3)." in detail
    assert "range_01" not in detail


def test_an_empty_trace_has_no_phase(store: Store) -> None:
    store.analyse()
    assert store.rows(SHOWN) == []
    assert store.notes() == {}


def test_timings_are_merged_and_missing_steps_added(store: Store) -> None:
    store.mark("inference.prefill", 0, 20)
    store.mark("inference.decode_step", 30, 10)
    store.analyse()
    timings = pa.table(
        {
            "repeat": pa.array([0, 0, 0], pa.int32()),
            "phase": ["prefill", "decode", "decode"],
            "step": pa.array([0, 1, 2], pa.int32()),
            "start_ns": [1, 31, 50],
            "dur_ns": [18, 8, 9],
            "cpu_ns": [17, 7, 6],
            "tokens": [512, 1, 1],
            "cached_tokens": [512, 513, 514],
        }
    )
    phases.merge_timings(store.con, RUN, PASS, timings)
    shown = "SELECT phase, step, start_ns, dur_ns, cpu_ns, tokens, cached_tokens, source FROM phases ORDER BY step"
    assert store.rows(shown) == [
        ("prefill", 0, 0, 20, 17, 512, 512, "annotation"),
        ("decode", 1, 30, 10, 7, 1, 513, "annotation"),
        ("decode", 2, 50, 9, 6, 1, 514, "timer"),
    ]
