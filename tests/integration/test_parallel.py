"""A folder loaded by several processes: the same store as by one, and a process that dies takes one trace with it."""

import json
import os
import signal
from pathlib import Path

import duckdb
import pytest

from analyze import load as load_module
from analyze import parallel
from analyze.load import load
from analyze.one_run import Loaded, Options
from analyze.parallel import Task


def trace(path: Path, n: int, operators: int = 20) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::op{n}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5}
        for i in range(operators)
    ]  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "traces"
    path.mkdir()
    for n in range(5):
        trace(path / f"t{n}.json", n)
    (path / "t2.json").write_text("no trace at all")
    (path / "t9-again.json").write_bytes((path / "t1.json").read_bytes())
    return path


def rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    con = duckdb.connect(str(store), read_only=True)
    tables = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()]
    when = {"runs": " EXCLUDE (loaded_unix_ns)", "store_info": " EXCLUDE (value)"}
    out = {
        table: sorted(con.execute(f"SELECT *{when.get(table, '')} FROM {table}").fetchall(), key=str)
        for table in tables
    }
    out["order"] = con.execute("SELECT run_id FROM runs ORDER BY loaded_unix_ns").fetchall()
    con.close()
    return out


def test_processes_give_the_store_that_one_gives(folder: Path, tmp_path: Path) -> None:
    results = {jobs: load([folder], tmp_path / f"{jobs}.duckdb", jobs=jobs) for jobs in (1, 3)}
    assert rows(tmp_path / "1.duckdb") == rows(tmp_path / "3.duckdb")
    for result in results.values():
        assert [(run.source, run.already) for run in result.loaded] == [
            ("t0.json", False), ("t1.json", False), ("t3.json", False), ("t4.json", False), ("t1.json", True),
        ]  # fmt: skip
        assert len(result.failed) == 1
        assert str(result.failed[0]).startswith("t2.json: text of no kind that phasescope knows")
    again = load([folder], tmp_path / "3.duckdb", jobs=3)
    assert [run.already for run in again.loaded] == [True] * 5
    assert not list(tmp_path.glob("*.wal"))


def test_a_killed_process_loses_its_own_trace_only(folder: Path, tmp_path: Path) -> None:
    """The kernel's memory killer, by hand: SIGKILL to the process that has just got its trace."""
    trace(folder / "t2.json", 2)
    started = parallel._Pool.start

    def start(pool: parallel._Pool, index: int, task: Task) -> None:
        started(pool, index, task)
        if task.names == ("t2.json",):
            worker = next(worker for worker in pool.workers if worker.task is task)
            assert worker.process.pid is not None
            os.kill(worker.process.pid, signal.SIGKILL)

    tasks = [Task((f"t{n}.json",), (str(folder / f"t{n}.json"),), 1) for n in range(5)]
    outcomes: dict[int, object] = {}
    pool_class = parallel._Pool
    pool_class.start = start  # type: ignore[method-assign]
    try:
        parallel.load_tasks(tasks, 2, Options(), lambda i, store, outcome: outcomes.update({i: outcome}))
    finally:
        pool_class.start = started  # type: ignore[method-assign]
    assert list(outcomes) == [0, 1, 2, 3, 4]
    assert "t2.json: the process that loaded it ended with code -9" in str(outcomes[2])
    assert all(isinstance(outcomes[i], Loaded) for i in (0, 1, 3, 4))


def test_memory_bounds_how_many_run_at_once(tmp_path: Path) -> None:
    pool = parallel._Pool(tmp_path, jobs=4, options=Options(), budget_bytes=10)
    large, small = Task(("a",), ("a",), 11), Task(("b",), ("b",), 4)
    assert pool.takes(large)  # alone it may always run
    running = [parallel._Worker(None, None, 0, small)]  # type: ignore[arg-type]
    pool.workers = running
    assert pool.takes(small)
    assert not pool.takes(large)
    pool.workers = running * 2
    assert not pool.takes(small)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_source_that_vanishes_meanwhile_costs_no_other(
    tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"t{n}.json" for n in range(3)]
    for n, path in enumerate(paths):
        trace(path, n)
    found = load_module.find_groups

    def and_then_one_goes(*args: object, **kwargs: object) -> object:
        groups = found(*args, **kwargs)  # type: ignore[arg-type]
        paths[1].unlink()
        return groups

    monkeypatch.setattr(load_module, "find_groups", and_then_one_goes)
    result = load(paths, tmp_path / "s.duckdb", jobs=jobs)
    assert [run.source for run in result.loaded] == ["t0.json", "t2.json"]
    assert [str(error).split(" (", 1)[0] for error in result.failed] == ["t1.json: cannot be read"]
