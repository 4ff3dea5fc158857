"""Perfetto protobuf from other tools, among it PyTorch 2.15's own .pftrace."""

import gzip
from pathlib import Path

import pytest

from analyze.load import load
from analyze.perfetto_trace import _Framing
from analyze.query import open_store
from tests.integration.pftrace import PyTorchTrace


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    made = PyTorchTrace()
    made.slice("decode", "user_annotation", 1_000, 9_000)
    made.slice("aten::mm", "cpu_op", 2_000, 4_000, **{"Input Dims": "[[1, 2], [2, 3]]"})
    made.slice("cudaLaunchKernel", "cuda_runtime", 2_500, 3_000, correlation=42)
    made.kernel("gemm_kernel", 20_000, 5_000, 7, 42)
    made.kernel("Memcpy DtoH (Device -> Pageable)", 26_000, 1_000, 7, 43)
    made.counters("HBM BW (%)", [(20_000, 61.5), (21_000, 62.25)])
    return made.write(tmp_path / "x.pftrace")


def test_kernels_counters_and_host_slices(trace: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    result = load([trace], store)
    assert result.failed == []
    run = result.loaded[0]
    con = open_store(store)

    def rows(sql: str) -> list[tuple[object, ...]]:
        return con.execute(sql).fetchall()

    assert rows("SELECT source_kind FROM runs") == [("perfetto",)]
    assert rows("SELECT name, layer, start_ns, dur_ns, correlation_id, shapes FROM ops ORDER BY start_ns") == [
        ("decode", "annotation", 0, 8_000, None, None),
        ("aten::mm", "operator", 1_000, 2_000, None, "[[1, 2], [2, 3]]"),
        ("cudaLaunchKernel", "operator", 1_500, 500, 42, None),
    ]
    assert rows(
        "SELECT name, kind, device, stream, start_ns, dur_ns, correlation_id FROM kernels ORDER BY start_ns"
    ) == [
        ("gemm_kernel", "kernel", "0", "7", 19_000, 5_000, 42),
        ("Memcpy DtoH (Device -> Pageable)", "memcpy", "0", "7", 25_000, 1_000, 43),
    ]
    assert rows("SELECT track, t_ns, value FROM counters ORDER BY t_ns") == [
        ("GPU 0 Counters/HBM BW (%)", 19_000, None),
        ("GPU 0 Counters/HBM BW (%)", 20_000, 62.25),
    ]
    assert rows("SELECT events FROM quality WHERE reason = 'first_counter_sample'") == [(1,)]
    assert rows("SELECT phase, dur_ns FROM phases") == [("decode", 8_000)]
    assert rows("SELECT attributed_by, phase, launch_delay_ns FROM kernels ORDER BY start_ns") == [
        ("correlation", "decode", 17_500),
        ("unattributed", None, None),
    ]
    assert rows("SELECT process_name, thread_name, pid, tid FROM threads WHERE tid = '101'") == [
        ("server", "python", "100", "101")
    ]
    assert (run.raw_events, run.loaded_events, run.excluded_events) == (7, 7, 0)
    con.close()


def test_a_cut_off_trace_is_not_taken_for_whole(trace: Path, tmp_path: Path) -> None:
    whole = gzip.decompress(trace.read_bytes())
    for missing in (1, 2, 7):
        short = tmp_path / f"short{missing}.pftrace"
        short.write_bytes(whole[:-missing])
        result = load([short], tmp_path / "s.duckdb")
        assert result.failed == []
        run = result.loaded[0]
        assert (run.raw_events, run.loaded_events, run.excluded_events) == (7, 6, 1)
        con = open_store(tmp_path / "s.duckdb")
        rows = con.execute(
            "SELECT reason, kind FROM quality WHERE run_id = ? AND kind <> 'note' ORDER BY 1", [run.run_id]
        )
        assert rows.fetchall() == [("cut_off", "excluded"), ("truncated", "repaired")]
        con.close()


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_framing_does_not_depend_on_the_pieces(trace: Path, size: int) -> None:
    whole = gzip.decompress(trace.read_bytes())
    for end, missing in ((len(whole), False), (len(whole) - 1, True), (len(whole) - 5, True)):
        framing = _Framing()
        for at in range(0, end, size):
            framing.feed(whole[at : min(at + size, end)])
        assert bool(framing.missing_bytes) == missing
        assert framing.read_bytes == end
