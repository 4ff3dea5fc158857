"""The normaliser: for any list of events exact times survive and every event is accounted for."""

import io
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.chrome_trace import read_chrome_trace
from analyze.errors import PhasescopeError
from analyze.lanes import assign_lanes
from analyze.normalised_trace import NormalisedTrace


def normalise(document: object) -> NormalisedTrace:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_chrome_trace(io.BytesIO(text), "x.json")


def microseconds(ns: int) -> str:
    return f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


IDS = st.one_of(st.integers(0, 3), st.sampled_from(["", "stream 7", "140589156634432"]), st.just(2**40), st.none())
CATEGORIES = st.sampled_from(
    ["cpu_op", "kernel", "python_function", "user_annotation", "Trace", "cuda_sync", "", "own"]
)
EVENTS = st.lists(
    st.tuples(st.integers(0, 10**7), st.integers(0, 10**6), IDS, IDS, CATEGORIES, st.booleans()), max_size=30
)


@given(EVENTS, st.sampled_from([0, 1_767_189_312_000_123_250, 5_185_804_039_281_787]))
def test_exact_times_survive(rows: list[tuple[int, int, object, object, str, bool]], base: int) -> None:
    events = []
    for i, (start, dur, pid, tid, category, quoted) in enumerate(rows):
        ts, length = microseconds(base + start), microseconds(dur)
        number = '"%s"' if quoted else "%s"
        ids = f'"pid":{json.dumps(pid)},"tid":{json.dumps(tid)}'
        events.append(f'{{"ph":"X","name":"e{i}","cat":"{category}",{ids},"ts":{number % ts},"dur":{number % length}}}')
    trace = normalise(f"[{','.join(events)}]".encode())
    assert trace.raw_events == len(rows)
    assert trace.excluded_events == 0
    origin = min((row[0] for row in rows), default=0)
    expected = {(f"e{i}", row[0] - origin, row[1]) for i, row in enumerate(rows)}
    slices, spans = trace.slices, trace.tables["spans"]
    got = set(zip(slices.name.to_pylist(), slices.start_ns.tolist(), slices.dur_ns.tolist(), strict=True))
    got |= set(zip(spans["name"].to_pylist(), spans["start_ns"].to_pylist(), spans["dur_ns"].to_pylist(), strict=True))
    assert got == expected
    # Threads: as many as there are distinct pairs of ids, and each slice on its own pair.
    pairs = {(str(r[2] if r[2] is not None else ""), str(r[3] if r[3] is not None else "")) for r in rows}
    threads = trace.tables["threads"]
    assert set(zip(threads["pid"].to_pylist(), threads["tid"].to_pylist(), strict=True)) == pairs
    order, lanes, _ = assign_lanes(slices.thread, slices.start_ns, slices.dur_ns)
    assert len(lanes) == len(order) == len(slices)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
ANY_EVENT = st.dictionaries(
    st.sampled_from(["ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "args", "s"]),
    st.one_of(JSON_VALUES, st.sampled_from(list("XBEiCbenstfMNOD")), st.integers(-5, 50)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(ANY_EVENT, JSON_VALUES), max_size=12))
def test_anything_is_accounted_for(members: list[object]) -> None:
    """Types swapped, numbers huge or negative, members that are no events: an account, never an exception."""
    trace = normalise({"traceEvents": members})
    assert trace.raw_events == len(members)
    rows = len(trace.slices) + sum(trace.tables[name].num_rows for name in ("instants", "flows"))
    assert rows <= len(members)
    assert (trace.slices.dur_ns >= 0).all()
    assert (trace.slices.start_ns >= 0).all()


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"ph": "X", "name": "a", "dur": 1}, "no_timestamp"),
        ({"ph": "X", "name": "a", "ts": "soon", "dur": 1}, "unreadable_timestamp"),
        ({"ph": "X", "name": "a", "ts": 1e300, "dur": 1}, "timestamp_out_of_range"),
        ({"ph": "X", "name": "a", "ts": 5, "dur": -1}, "negative_duration"),
        ({"ph": "X", "name": "a", "ts": 5, "dur": "long"}, "unreadable_duration"),
        ({"ph": "X", "name": "a", "ts": 5, "dur": 1e15}, "duration_out_of_range"),
        ({"ph": "X", "name": "a", "ts": 1e15, "dur": 1}, "far_from_the_rest"),
        ({"ph": "i", "name": "a", "ts": 1e15}, "far_from_the_rest"),
        ({"ph": "E", "name": "a", "ts": 5, "pid": 1, "tid": 1}, "end_without_begin"),
        ({"ph": "e", "name": "a", "ts": 5, "id": 1}, "end_without_begin"),
        ({"ph": "C", "name": "a", "ts": 5}, "counter_without_value"),
        ({"ph": "?", "name": "a", "ts": 5}, "unknown_ph"),
    ],
)
def test_every_exclusion_has_its_reason(event: dict[str, object], reason: str) -> None:
    good = [{"ph": "X", "name": f"g{i}", "pid": 1, "tid": 1, "ts": 10 + i, "dur": 1} for i in range(3)]
    trace = normalise([*good, event])
    assert trace.raw_events == 4
    assert trace.faults.excluded == {reason: 1}
    assert trace.faults.first[reason]
    assert len(trace.slices) == 3


@pytest.mark.parametrize("ordered", ["B", "b"])
def test_no_phase_is_no_end_of_anything(ordered: str) -> None:
    """An empty ph is in every set of letters that is written as text."""
    trace = normalise(
        [
            {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 5},
            {"ph": "", "name": "x", "ts": 2},
            {"ph": ordered, "name": "b", "cat": "q", "id": "1", "pid": 1, "tid": 1, "ts": 10},
        ]
    )
    assert (trace.raw_events, trace.faults.excluded) == (3, {"unknown_ph": 1})


def test_begin_and_end_become_slices() -> None:
    marks = [("B", "outer", 0), ("B", "inner", 1), ("E", "inner", 3), ("E", "", 9), ("B", "open", 20)]
    trace = normalise([{"ph": ph, "name": name, "pid": 1, "tid": 1, "ts": ts} for ph, name, ts in marks])
    got = sorted(
        zip(trace.slices.name.to_pylist(), trace.slices.start_ns.tolist(), trace.slices.dur_ns.tolist(), strict=True)
    )
    assert got == [("inner", 1000, 2000), ("outer", 0, 9000)]
    spans = trace.tables["spans"].to_pylist()
    assert [(s["name"], s["kind"], s["dur_ns"]) for s in spans] == [("open", "unfinished", None)]
    assert trace.excluded_events == 0


@pytest.mark.parametrize(("begin", "end"), [("B", "E"), ("b", "e"), ("S", "F")])
def test_one_begins_as_the_other_ends(begin: str, end: str) -> None:
    """Only the order in the file tells that the end at 10 is the first one's."""
    marks = [(begin, 0), (end, 10), (begin, 10), (end, 25), (begin, 30), (begin, 30), (end, 30), (end, 40)]
    trace = normalise([{"ph": ph, "cat": "c", "name": "a", "id": 1, "pid": 1, "tid": 1, "ts": ts} for ph, ts in marks])
    spans = [(s["start_ns"], s["dur_ns"]) for s in trace.tables["spans"].to_pylist()]
    slices = list(zip(trace.slices.start_ns.tolist(), trace.slices.dur_ns.tolist(), strict=True))
    assert sorted(spans + slices) == [(0, 10_000), (10_000, 15_000), (30_000, 0), (30_000, 10_000)]
    assert not trace.faults.excluded


def test_local_ids_of_two_processes_are_two() -> None:
    marks = [("b", 1, 0), ("b", 2, 5), ("e", 1, 10), ("e", 2, 20)]
    trace = normalise(
        [{"ph": ph, "cat": "c", "name": "a", "id2": {"local": "0x1"}, "pid": pid, "ts": ts} for ph, pid, ts in marks]
    )
    spans = [(s["track"], s["start_ns"], s["dur_ns"]) for s in trace.tables["spans"].to_pylist()]
    assert sorted(spans) == [("1/", 0, 10_000), ("2/", 5000, 15_000)]


def test_what_only_began_counts_from_the_first_of_it() -> None:
    trace = normalise([{"ph": "B", "name": "a", "pid": 1, "tid": 1, "ts": 1_700_000_000_000_000 + ts} for ts in (5, 9)])
    assert [s["start_ns"] for s in trace.tables["spans"].to_pylist()] == [0, 4000]
    assert trace.origin_ns == 1_700_000_000_000_005_000


def test_arguments_of_begin_and_end_are_joined() -> None:
    trace = normalise(
        [
            {"ph": "B", "name": "a", "ts": 0, "args": {"x": 1, "y": 1}},
            {"ph": "E", "name": "a", "ts": 2, "args": {"y": 2}},
        ]
    )
    assert json.loads(trace.slices.args.whole()[0].as_py()) == {"x": 1, "y": 2}


def test_counters_of_pytorch_gpu_rows() -> None:
    """PyTorch 2.15 writes one unnamed series in a process whose pid is a text."""
    trace = normalise([{"ph": "C", "name": "HBM BW (%)", "pid": "GPU 0 Counters", "ts": 1, "args": {"": 37.5}}])
    assert trace.tables["counters"].to_pylist() == [
        {"track": "GPU 0 Counters/HBM BW (%)", "t_ns": 0, "value": 37.5, "unit": "%"}
    ]


def test_jax_device_rows_have_no_category() -> None:
    trace = normalise(
        [
            {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:GPU:0"}},
            {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "/host:CPU"}},
            {"ph": "X", "name": "fusion.1", "pid": 3, "tid": 1, "ts": 1, "dur": 1},
            {"ph": "X", "name": "PjitFunction", "pid": 7, "tid": 1, "ts": 1, "dur": 1},
        ]
    )
    kinds = [trace.slices.kinds[k] for k in trace.slices.kind]
    assert dict(zip(trace.slices.name.to_pylist(), kinds, strict=True)) == {
        "fusion.1": "kernel",
        "PjitFunction": "operator",
    }


def test_a_million_names() -> None:
    text = ",".join(f'{{"ph":"X","name":"n{i}","pid":1,"tid":1,"ts":{i},"dur":1}}' for i in range(1_000_000))
    trace = normalise(f"[{text}]".encode())
    assert trace.raw_events == len(trace.slices) == 1_000_000
    assert trace.slices.name[999_999].as_py() == "n999999"
    assert int(trace.slices.start_ns[999_999]) == 999_999_000


WHOLE = (
    b'{"schemaVersion":1,"traceEvents":[\n'
    b'{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},\n'
    b'{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10.125,"dur":5,"args":{"Input Dims":[[1,2]]}},\n'
    b'{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":12,"dur":5,"args":{"correlation":3}},\n'
    b'{"ph":"i","name":"mark","pid":1,"tid":1,"ts":13,"s":"g"},\n'
    b'{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":20,"dur":5}\n'
    b'],"traceName":"x"}'
)


def _loss(trace: NormalisedTrace) -> bool:
    return bool(trace.faults.excluded or trace.faults.repaired)


def test_cut_at_every_byte() -> None:
    for end in range(len(WHOLE)):
        try:
            trace = normalise(WHOLE[:end])
        except PhasescopeError as error:
            assert "x.json" in str(error)  # noqa: PT017
            continue
        # A cut inside the last brace loses nothing but the brace; anything else must be said.
        assert _loss(trace), WHOLE[:end][-40:]
        assert trace.raw_events <= 5


def test_flip_every_byte() -> None:
    whole = normalise(WHOLE)
    for at in range(len(WHOLE)):
        for flip in (0x01, 0x80, 0x20):
            broken = WHOLE[:at] + bytes([WHOLE[at] ^ flip]) + WHOLE[at + 1 :]
            try:
                trace = normalise(broken)
            except PhasescopeError as error:
                assert "x.json" in str(error)  # noqa: PT017
                continue
            if trace.raw_events - trace.excluded_events < whole.raw_events:
                assert _loss(trace), broken[max(0, at - 30) : at + 30]


def test_random_bytes_never_hang_or_crash() -> None:
    random = np.random.default_rng(7)
    outcomes: Counter[str] = Counter()
    for _ in range(400):
        data = bytearray(WHOLE)
        for _ in range(int(random.integers(1, 12))):
            at = int(random.integers(0, len(data)))
            match int(random.integers(0, 3)):
                case 0:
                    data[at] = int(random.integers(0, 256))
                case 1:
                    del data[at : at + int(random.integers(1, 30))]
                case _:
                    data[at:at] = data[at : at + int(random.integers(1, 60))]
        try:
            trace = normalise(bytes(data))
            outcomes["read"] += 1
            assert trace.raw_events >= 0
        except PhasescopeError:
            outcomes["refused"] += 1
    assert outcomes["read"] > 300
