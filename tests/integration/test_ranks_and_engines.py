"""Several ranks as one run, and the same tables from both trace engines."""

import gzip
import json
from pathlib import Path

import duckdb
import pytest

from analyze.load import load
from analyze.one_run import Options
from analyze.query import open_store
from tests.integration.fake_shell import write_fake_shell
from tests.shared import SHARED, needs_shared


def rank_trace(path: Path, rank: int, base: int) -> Path:
    events = [
        {"ph": "X", "cat": "user_annotation", "name": "decode", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 2,
         "args": {"correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": f"k{rank}", "pid": 0, "tid": 7, "ts": 70, "dur": 10 + rank,
         "args": {"correlation": 5, "device": 0, "stream": 7}},
    ]  # fmt: skip
    document = {
        "distributedInfo": {"rank": rank, "world_size": 2},
        "baseTimeNanoseconds": base,
        "traceEvents": events,
    }
    path.write_text(json.dumps(document))
    return path


def test_ranks_of_one_job_are_one_run(tmp_path: Path) -> None:
    """Every rank uses the same correlation ids, threads and streams: ids never cross files."""
    paths = [rank_trace(tmp_path / f"r{rank}.json", rank, 10**18 + rank * 1000) for rank in (1, 0)]
    result = load(paths, tmp_path / "s.duckdb", one_run=True)
    assert result.failed == []
    assert len(result.loaded) == 1
    assert result.loaded[0].raw_events == 6
    con = open_store(tmp_path / "s.duckdb")
    rows = con.execute(
        "SELECT k.rank, k.name, o.rank, o.name, k.phase, k.step FROM kernels k "
        "JOIN ops o ON o.run_id = k.run_id AND o.op_id = k.launch_op_id ORDER BY 1"
    ).fetchall()
    assert rows == [(0, "k0", 0, "cudaLaunchKernel", "decode", 0), (1, "k1", 1, "cudaLaunchKernel", "decode", 0)]
    assert con.execute("SELECT ranks FROM runs").fetchall() == [(2,)]
    assert con.execute("SELECT count(*), count(DISTINCT op_id) FROM ops").fetchall() == [(4, 4)]
    assert con.execute("SELECT count(*), count(DISTINCT thread_id) FROM threads").fetchall() == [(4, 4)]
    origins = con.execute(
        "SELECT rank, value FROM trace_metadata WHERE key = 'phasescope.origin_unix_ns' ORDER BY 1"
    ).fetchall()
    assert origins == [(0, str(10**18 + 10_000)), (1, str(10**18 + 1000 + 10_000))]
    con.close()


def test_apart_they_are_two_runs(tmp_path: Path) -> None:
    paths = [rank_trace(tmp_path / f"r{rank}.json", rank, 10**18) for rank in (0, 1)]
    result = load(paths, tmp_path / "s.duckdb")
    assert [run.raw_events for run in result.loaded] == [3, 3]


def plain_trace(path: Path, **document: object) -> Path:
    event = {"ph": "X", "cat": "cpu_op", "name": path.name, "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    path.write_text(json.dumps({"traceEvents": [event], **document}))
    return path


def ranks_and_notes(paths: list[Path], store: Path) -> tuple[dict[str, int], dict[str, str]]:
    result = load(paths, store, one_run=True)
    assert result.failed == []
    con = open_store(store)
    ranks = dict(con.execute("SELECT name, rank FROM ops").fetchall())
    notes = dict(con.execute("SELECT reason, detail FROM quality WHERE reason LIKE 'ranks%'").fetchall())
    con.close()
    return ranks, notes


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["dp0_pp0_tp1_dcp0_ep1_rank1.17.pt.trace.json", "dp0_pp0_tp0_dcp0_ep0_rank0.17.pt.trace.json"], [1, 0]),
        (["x-rank-5.17.pt.trace.json", "x-rank-2.17.pt.trace.json", "host_7.async_llm.17.pt.trace.json"], [5, 2, 6]),
        (["1700-TP-1.trace.json", "1700-TP-0.trace.json"], [1, 0]),
        (["p-1700-TP-1-DP-0-EXTEND.trace.json", "p-1700-TP-3-DP-0-EXTEND.trace.json"], [1, 3]),
    ],
)
def test_ranks_in_the_names_that_engines_give(names: list[str], ranks: list[int], tmp_path: Path) -> None:
    paths = [plain_trace(tmp_path / name) for name in names]
    found, notes = ranks_and_notes(paths, tmp_path / "s.duckdb")
    assert found == dict(zip(names, ranks, strict=True))
    assert ("ranks_by_order" in notes) == any("async" in name for name in names)


def test_equal_ranks_are_told_apart_by_order_and_that_is_said(tmp_path: Path) -> None:
    """Two stages of one worker, or data-parallel workers that count from 0 each."""
    names = ["a-TP-0-DP-0.json", "a-TP-0-DP-1.json"]
    paths = [plain_trace(tmp_path / name, distributedInfo={"rank": 0}) for name in names]
    ranks, notes = ranks_and_notes(paths, tmp_path / "s.duckdb")
    assert ranks == {names[0]: 0, names[1]: 1}
    assert "1 is a-TP-0-DP-1.json" in notes["ranks_by_order"]


def test_missing_ranks_are_said(tmp_path: Path) -> None:
    paths = [plain_trace(tmp_path / f"{r}.json", distributedInfo={"rank": r, "world_size": 8}) for r in (1, 4)]
    ranks, notes = ranks_and_notes(paths, tmp_path / "s.duckdb")
    assert ranks == {"1.json": 1, "4.json": 4}
    assert notes == {"ranks_missing": "of the 8 ranks that the traces speak of 2 are here: 1, 4"}


@pytest.mark.parametrize("rank", [2**31, -1, 10**30, True, [1], "x", 1.5])
def test_what_is_no_rank_is_none(rank: object, tmp_path: Path) -> None:
    path = plain_trace(tmp_path / "t.json", distributedInfo={"rank": rank})
    assert ranks_and_notes([path], tmp_path / "s.duckdb") == ({"t.json": 0}, {})


def test_one_run_is_whole_or_not_at_all(tmp_path: Path) -> None:
    good, empty, xml = plain_trace(tmp_path / "r0.json"), tmp_path / "r1.json", tmp_path / "x.xml"
    empty.write_bytes(b"")
    xml.write_text("<?xml version='1.0'?><trace-query-result/>")
    for bad in (empty, xml):
        result = load([good, bad], tmp_path / "s.duckdb", one_run=True)
        assert result.loaded == []
        assert [bad.name in str(error) for error in result.failed] == [True]
        assert not (tmp_path / "s.duckdb").exists()


def everything(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables but what names the engine and the hour."""
    con = duckdb.connect(str(store), read_only=True)
    tables = [row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()]
    rows = {}
    for table in tables:
        drop = "EXCLUDE (loaded_unix_ns, trace_engine, trace_engine_version)" if table == "runs" else ""
        rows[table] = con.execute(f"SELECT * {drop} FROM {table} ORDER BY ALL").fetchall()
    con.close()
    return rows


@needs_shared
@pytest.mark.parametrize("folder", ["chrome", "kineto", "cases"])
def test_both_engines_give_the_same_tables(folder: str, tmp_path: Path) -> None:
    """The native engine is a fake shell here, which speaks its HTTP interface and answers through the wasm one."""
    if folder == "kineto":
        small = ("sglang", "vllm", "h100", "gpu-user", "triton", "cpu-only", "integer")
        sources = [p for p in sorted((SHARED / "traces" / folder).glob("*.gz")) if p.name.startswith(small)]
    elif folder == "chrome":
        sources = sorted((SHARED / "traces" / folder).iterdir())
    else:
        sources = sorted((SHARED / "cases").glob("k*"))
    shell = write_fake_shell(tmp_path)
    stores = {}
    for kind in ("wasm", "native"):
        stores[kind] = tmp_path / f"{kind}.duckdb"
        options = Options(engine=kind, trace_processor=str(shell) if kind == "native" else None)
        result = load(sources, stores[kind], options=options)
        assert result.failed == []
    con = duckdb.connect(str(stores["native"]), read_only=True)
    assert con.execute("SELECT DISTINCT trace_engine FROM runs WHERE trace_engine IS NOT NULL").fetchall() == [
        ("native",)
    ]
    con.close()
    assert everything(stores["wasm"]) == everything(stores["native"])


def test_gzip_or_not_is_the_same_trace_but_other_bytes(tmp_path: Path) -> None:
    plain = rank_trace(tmp_path / "a.json", 0, 10**18)
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    result = load([plain, packed], tmp_path / "s.duckdb")
    assert [run.raw_events for run in result.loaded] == [3, 3]
    assert len({run.run_id for run in result.loaded}) == 2
