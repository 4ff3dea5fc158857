"""One timeline: what `export` writes comes back from trace processor with the same counts, names, times and values."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import phasescope
from analyze.commands.export import command
from analyze.engines import open_engine
from analyze.errors import PhasescopeError
from analyze.export import Exported, export
from analyze.store import writable_store
from tests.shared import SHARED, needs_shared

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "smollm2-135m-cpu.zip"
RUN = "run-1"
# A wall clock far beyond what a double holds to the nanosecond.
BEGAN = 1_796_047_188_962_679_187
SLICES = (
    "SELECT p.name AS process, t.name AS track, s.name AS name, coalesce(s.category, '') AS category, s.ts AS ts, "
    "s.dur AS dur FROM slice s JOIN track t ON t.id = s.track_id JOIN process_track pt ON pt.id = t.id "
    "JOIN process p USING (upid) ORDER BY s.ts, s.id"
)
VALUES = (
    "SELECT p.name AS process, t.name AS track, coalesce(t.unit, '') AS unit, c.ts AS ts, c.value AS value "
    "FROM counter c JOIN counter_track t ON t.id = c.track_id JOIN process_counter_track pt ON pt.id = t.id "
    "JOIN process p USING (upid) ORDER BY c.ts, c.id"
)
FLOWS = (
    "SELECT a.name AS sender, b.name AS receiver, b.ts AS ts FROM flow f JOIN slice a ON a.id = f.slice_out "
    "JOIN slice b ON b.id = f.slice_in ORDER BY b.ts"
)
ARGS = "SELECT s.name AS name, a.key AS key, a.display_value AS value FROM slice s JOIN args a USING (arg_set_id)"


class Back:
    """A trace as trace processor reads it: rows as tuples, without the exporter's own notes."""

    def __init__(self, path: Path) -> None:
        with open_engine("wasm") as engine:
            engine.parse(path.read_bytes())
            engine.finish()
            assert engine.stats() == []
            rows = {name: engine.query(sql).to_pylist() for name, sql in _queries().items()}
            clocks = engine.query("SELECT clock_name, clock_value FROM clock_snapshot").to_pylist()
        self.slices = [tuple(row.values()) for row in rows["slices"] if row["category"] != "note"]
        self.notes = [tuple(row.values()) for row in rows["slices"] if row["category"] == "note"]
        self.values = [tuple(row.values()) for row in rows["values"]]
        self.flows = [tuple(row.values()) for row in rows["flows"]]
        self.args = {(row["name"], row["key"]): row["value"] for row in rows["args"]}
        self.clocks = {row["clock_name"]: row["clock_value"] for row in clocks}

    def begins(self, process: str) -> dict[str, int]:
        return {name: ts for title, _, name, _, ts, _ in self.slices if title == process}


def _queries() -> dict[str, str]:
    return {"slices": SLICES, "values": VALUES, "flows": FLOWS, "args": ARGS}


def insert(con: duckdb.DuckDBPyConnection, table: str, **row: Any) -> None:
    row = {"run_id": RUN} | row
    names = ", ".join(f'"{name}"' for name in row)
    con.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def add_run(con: duckdb.DuckDBPyConnection, device: str = "mps") -> None:
    insert(con, "runs", source="b", source_kind="bundle", source_sha256="0", device=device, ranks=1, loaded_unix_ns=1,
           phasescope_version="0", raw_events=0, loaded_events=0, excluded_events=0)  # fmt: skip


def add_pass(con: duckdb.DuckDBPyConnection, name: str, began: int | None, status: str = "measured") -> None:
    clock = None if began is None else {"start": {"unix_ns": began, "monotonic_ns": 5, "raw_ns": 5}}
    insert(con, "passes", **{"pass": name}, status=status, detail=json.dumps({"clock": clock}),
           reason=None if status == "measured" else "there is none.")  # fmt: skip


def phase(con: duckdb.DuckDBPyConnection, pass_: str, name: str, step: int, start: int | None, dur: int) -> None:
    insert(con, "phases", **{"pass": pass_}, rank=0, repeat=0, phase=name, step=step, start_ns=start, dur_ns=dur,
           tokens=3, source="timer")  # fmt: skip


def op(con: duckdb.DuckDBPyConnection, number: int, name: str, start: int, dur: int, **more: Any) -> None:
    row = {"pass": "profiled", "rank": 0, "op_id": number, "depth": 0, "thread_id": 1, "layer": "operator",
           "category": "cpu_op", "self_ns": dur}  # fmt: skip
    insert(con, "ops", **(row | {"name": name, "start_ns": start, "dur_ns": dur} | more))


def kernel(con: duckdb.DuckDBPyConnection, number: int, name: str, start: int, dur: int, **more: Any) -> None:
    row = {"pass": "profiled", "rank": 0, "kernel_id": number, "kind": "kernel", "device": "0", "stream": "7",
           "attributed_by": "correlation"}  # fmt: skip
    insert(con, "kernels", **(row | {"name": name, "start_ns": start, "dur_ns": dur} | more))


def add_profiled(con: duckdb.DuckDBPyConnection) -> None:
    """A pass with a trace: nested, touching, overlapping and empty slices on two layers, kernels, samples."""
    add_pass(con, "profiled", BEGAN + 500)
    insert(
        con, "trace_metadata", **{"pass": "profiled"}, rank=0, key="phasescope.origin_unix_ns", value=str(BEGAN + 1007)
    )
    insert(con, "threads", **{"pass": "profiled"}, rank=0, thread_id=1, pid="9", tid="77", thread_name="python")
    phase(con, "profiled", "prefill", 0, 100, 50)
    phase(con, "profiled", "decode", 1, 150, 33)
    phase(con, "profiled", "decode", 2, None, 33)
    op(con, 1, "aten::mm", 100, 20, args='{"Input Dims": [[2, 3]], "note": "π \\" \\\\ nan"}')
    op(con, 2, "aten::mm", 120, 10)
    op(con, 3, "inner", 101, 19)
    op(con, 4, "empty", 120, 0)
    op(con, 5, "crosses", 125, 30, thread_id=1)
    op(con, 6, "aten::mm", 100, 90, thread_id=2)
    op(con, 7, "cudaLaunchKernel", 131, 2, category="cuda_runtime")
    op(con, 8, "step", 90, 100, layer="annotation", category=None)
    kernel(con, 20, "gemm", 140, 7, launch_op_id=7)
    kernel(con, 21, "gemm", 144, 5, launch_op_id=7)
    kernel(con, 22, "copy", 160, 5, kind="memcpy", stream="8", bytes=4)
    insert(con, "samples", **{"pass": "profiled"}, repeat=0, phase="after_prefill", step=0, t_ns=151,
           kv_cache_bytes=2**52 + 1, tensor_bytes=0, driver_bytes=9, resident_bytes=7,
           process_cpu_percent=99.25)  # fmt: skip
    insert(con, "counters", **{"pass": "profiled"}, rank=0, track="Power", t_ns=110, value=0.1426, unit="percent")
    insert(con, "counters", **{"pass": "profiled"}, rank=0, track="Power", t_ns=111, value=None, unit="percent")
    insert(con, "counters", **{"pass": "profiled"}, rank=0, track="Power", t_ns=112, value=-3.5, unit="percent")


def add_metal(con: duckdb.DuckDBPyConnection, pass_start_ns: int | None, toc_unix_ns: int | None = None) -> None:
    add_pass(con, "metal", BEGAN + 9000)
    joined = {"clock_method": "time_info", "clock_uncertainty_ns": 1} if pass_start_ns else {"clock_method": "none"}
    insert(con, "instruments_recordings", **{"pass": "metal"}, **joined, rank=0, target_pid=42,
           pass_start_ns=pass_start_ns, start_unix_ns=toc_unix_ns)  # fmt: skip
    phase(con, "metal", "prefill", 0, 300 + (pass_start_ns or 0), 100)
    for number, start, process, pid in ((30, 310, "llm (42)", 42), (31, 312, "other (7)", 7), (32, 330, None, None)):
        kernel(con, number, "Compute", start + (pass_start_ns or 0), 10, **{"pass": "metal"}, kind="metal", device="M1",
               stream="Compute", process=process, attributed_by="unattributed")  # fmt: skip
        insert(con, "metal_gpu_intervals", **{"pass": "metal"}, rank=0, kernel_id=number, pid=pid, start_latency_ns=6)
    insert(con, "metal_encoders", **{"pass": "metal"}, rank=0, start_ns=305, dur_ns=4, thread="Main", encoder_label="")
    insert(
        con, "metal_allocated_size", **{"pass": "metal"}, rank=0, start_ns=301, process="llm (42)", allocated_bytes=4096
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.duckdb"
    with writable_store(path) as con:
        add_run(con)
        add_profiled(con)
        add_metal(con, pass_start_ns=250)
        add_pass(con, "energy", None, status="unsupported")
        insert(con, "spans", **{"pass": "profiled"}, rank=0, span_id=0, kind="async", name="s", start_ns=1, dur_ns=1)
    return path


def made(store: Path, **options: Any) -> tuple[Exported, Back]:
    exported = export(store.with_suffix(".pftrace"), store, force=True, **options)
    return exported, Back(exported.path)


def test_everything_comes_back_exactly(store: Path) -> None:
    exported, back = made(store)
    zero = BEGAN + 1007 + 90  # the first thing of all
    here, there = 1007 - 1097, 9000 - 250 - 1097
    gpu, host = "GPU 0 · stream ", "python 77 · operators"
    expected = [
        ("profiled", "phases", "prefill", "phase", 100 + here, 50),
        ("profiled", "phases", "decode 1", "phase", 150 + here, 33),
        ("profiled", host, "aten::mm", "cpu_op", 100 + here, 20),
        ("profiled", host, "aten::mm", "cpu_op", 120 + here, 10),
        ("profiled", host, "inner", "cpu_op", 101 + here, 19),
        ("profiled", host, "empty", "cpu_op", 120 + here, 0),
        ("profiled", host, "crosses", "cpu_op", 125 + here, 30),
        ("profiled", "thread · operators", "aten::mm", "cpu_op", 100 + here, 90),
        ("profiled", host, "cudaLaunchKernel", "cuda_runtime", 131 + here, 2),
        ("profiled", "python 77 · annotations", "step", "annotation", 90 + here, 100),
        ("profiled", gpu + "7", "gemm", "kernel", 140 + here, 7),
        ("profiled", gpu + "7", "gemm", "kernel", 144 + here, 5),
        ("profiled", gpu + "8", "copy", "memcpy", 160 + here, 5),
        ("metal", "phases", "prefill", "phase", 550 + there, 100),
        ("metal", "encoding · Main", "encoder", "metal_encode", 305 + there, 4),
        ("metal", "GPU M1 · Compute · llm (42)", "Compute", "metal", 560 + there, 10),
        ("metal", "GPU M1 · Compute · other (7)", "Compute", "metal", 562 + there, 10),
        ("metal", "GPU M1 · Compute · no process", "Compute", "metal", 580 + there, 10),
    ]
    assert Counter(back.slices) == Counter(expected)
    assert sorted(back.values, key=lambda row: (row[3], row[1])) == [
        ("profiled", "Power", "percent", 110 + here, 0.1426),
        ("profiled", "Power", "percent", 112 + here, -3.5),
        ("profiled", "CPU of the process", "% of one core", 151 + here, 99.25),
        ("profiled", "KV cache", "bytes", 151 + here, 2.0**52 + 1),
        ("profiled", "driver memory", "bytes", 151 + here, 9.0),
        ("profiled", "resident memory", "bytes", 151 + here, 7.0),
        ("profiled", "tensors", "bytes", 151 + here, 0.0),
        ("metal", "Metal allocated · llm (42)", "bytes", 301 + there, 4096.0),
    ]
    assert back.flows == [("cudaLaunchKernel", "gemm", 140 + here), ("cudaLaunchKernel", "gemm", 144 + here)]
    assert back.args[("aten::mm", "debug.args.note")] == 'π " \\ nan'
    assert back.args[("aten::mm", "debug.args.Input Dims[0][1]")] == "3"
    assert back.args[("Compute", "debug.args.queueing_ns")] == "6"
    assert back.clocks == {"BOOTTIME": 0, "REALTIME": zero}
    assert (exported.run_id, exported.slices, exported.counter_values) == (RUN, 18, 8)
    assert exported.left_out == {
        "phases without begin or end": 1,
        "counter samples without a value (gaps)": 1,
        "spans (asynchronous ranges, bookkeeping, other tables of Instruments)": 1,
    }


def test_the_trace_says_how_each_pass_was_placed(store: Path) -> None:
    _, back = made(store)
    read = "the wall clock read when the pass began; its recording joined by time_info, to 1 ns"
    assert [(track, name, ts, dur) for _, track, name, _, ts, dur in back.notes] == [
        ("passes", "profiled: placed by the base time of its trace", 0, 100),
        ("passes", f"metal: placed by {read}", 301 + 9000 - 250 - 1097, 349),
    ]
    said = back.args[(back.notes[0][2], "debug.args.passes")]
    assert said == "each pass is another execution of the workload; compare times inside a pass, not between passes"


def test_aligned_at_prefill(store: Path) -> None:
    _, back = made(store, align="prefill")
    assert back.begins("profiled")["prefill"] == back.begins("metal")["prefill"] == 249
    assert back.begins("profiled")["step"] == 239
    assert "first prefill" in back.notes[0][2]
    assert back.clocks == {}


def test_a_recording_that_is_not_joined_stands_apart(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with writable_store(path) as con:
        add_run(con)
        add_metal(con, pass_start_ns=None, toc_unix_ns=None)
    _, back = made(path)
    apart = "metal (recording, whose clock is not joined with the pass's)"
    assert {title for title, *_ in back.slices} == {"metal", apart}
    assert back.begins("metal") == {"prefill": 0}  # placed by the pass's clock
    assert min(back.begins(apart).values()) == 4  # 305, where its own first row is 301
    assert any("nothing tells its wall clock" in note[2] for note in back.notes)


def test_counters_that_a_cpu_does_not_have_are_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with writable_store(path) as con:
        add_run(con, device="cpu")
        insert(con, "samples", **{"pass": "memory"}, repeat=0, phase="after_prefill", step=0, t_ns=1, kv_cache_bytes=4,
               tensor_bytes=0, driver_bytes=0, resident_bytes=7)  # fmt: skip
    _, back = made(path)
    assert [track for _, track, *_ in back.values] == ["KV cache", "resident memory"]


def test_nothing_to_draw_and_what_is_in_the_way(tmp_path: Path, store: Path) -> None:
    empty = tmp_path / "empty.duckdb"
    with writable_store(empty) as con:
        add_run(con)
        add_pass(con, "clean", None, status="unsupported")
    out = tmp_path / "out.pftrace"
    with pytest.raises(PhasescopeError, match=r"no times to draw \(pass clean is unsupported: there is none\)"):
        export(out, empty)
    assert not out.exists()
    export(out, store)
    whole = out.read_bytes()
    with pytest.raises(PhasescopeError, match="--force"):
        export(out, store)
    with pytest.raises(PhasescopeError, match="no such run"):
        export(out, store, run="nobody", force=True)
    assert out.read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.duckdb", "out.pftrace", "s.duckdb"]


def test_the_command(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.pftrace"
    done = CliRunner().invoke(command, ["--perfetto", str(out), "--store", str(store), "--run", "run"])
    assert done.exit_code == 0
    assert done.stdout == f"Wrote {out}: 18 slices and 8 counter values of run {RUN}\n"
    assert "not drawn: 1 phases without begin or end" in done.stderr


def test_the_command_takes_a_bundle_that_is_in_no_store(tmp_path: Path) -> None:
    out, loaded = tmp_path / "t.pftrace", tmp_path / "s.duckdb"
    done = CliRunner().invoke(command, [str(SAMPLE), "--out", str(out)])
    assert done.exit_code == 0, done.output
    phasescope.load([SAMPLE], loaded)
    assert export(tmp_path / "again.pftrace", loaded).path.read_bytes() == out.read_bytes()
    both = CliRunner().invoke(command, [str(SAMPLE), "--store", str(loaded), "--perfetto", str(out)])
    assert both.exit_code == 2
    assert "SOURCE is shown by itself" in both.stderr


@needs_shared
def test_real_exports_of_instruments_come_back(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    phasescope.load([SHARED / "traces" / "instruments"], path)
    _, back = made(path)
    with duckdb.connect(str(path), read_only=True) as con:
        rows = con.execute(
            "SELECT name, start_ns, dur_ns FROM kernels UNION ALL "
            "SELECT encoder_label, start_ns, dur_ns FROM metal_encoders"
        ).fetchall()
    first = min(start for _, start, _ in rows)
    assert len(rows) == 2544
    assert Counter((name, ts, dur) for _, _, name, _, ts, dur in back.slices) == Counter(
        (name, start - first, dur) for name, start, dur in rows
    )


@needs_shared
def test_a_real_trace_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    phasescope.load([SHARED / "traces" / "kineto" / "mi300-qwen1.5-0.5b.json.gz"], path)
    exported, back = made(path)
    with duckdb.connect(str(path), read_only=True) as con:
        rows = con.execute(
            "SELECT name, start_ns, dur_ns FROM ops UNION ALL SELECT name, start_ns, dur_ns FROM kernels UNION ALL "
            "SELECT CASE WHEN step = 0 THEN phase ELSE phase || ' ' || step END, start_ns, dur_ns FROM phases"
        ).fetchall()
        launched = con.execute("SELECT count(*) FROM kernels WHERE launch_op_id IS NOT NULL").fetchall()[0][0]
    assert exported.slices == len(rows) == 12111
    first = min(start for _, start, _ in rows)
    assert Counter((name, ts, dur) for _, _, name, _, ts, dur in back.slices) == Counter(
        (name, start - first, dur) for name, start, dur in rows
    )
    assert len(back.flows) == launched == 1054
