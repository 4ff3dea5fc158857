"""Ctrl-C, wherever it comes: one word, exit code 1, nothing half-written. A process of its own gets a real SIGINT."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import phasescope
from analyze.errors import PhasescopeError
from analyze.interruption import is_interruption
from analyze.query import query
from analyze.store import scalar, transaction

BUNDLES = Path(__file__).resolve().parents[2] / "sample_traces"
SMALL, LARGE = BUNDLES / "smollm2-135m-cpu.zip", BUNDLES / "qwen2.5-1.5b-random-cpu.zip"
JOIN = "FROM ops a, ops b WHERE (a.op_id + b.op_id) % 7 = {rest} AND a.name <> b.name"

# Runs the command in this process and says `here` when it comes to the function `module:name`.
_SAYING_HERE = """
import importlib, sys
import phasescope
module, name = sys.argv[1].split(":")
module = importlib.import_module(module)
function = getattr(module, name)
def saying(*args, **kwargs):
    print("here", flush=True)
    return function(*args, **kwargs)
setattr(module, name, saying)
sys.argv = ["phasescope", *sys.argv[2:]]
phasescope.main()
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run."""
    store = tmp_path_factory.mktemp("interrupt") / "loaded.duckdb"
    assert not phasescope.load([SMALL], store).failed
    return store


def interrupted(point: str, *args: object, after_s: float = 0.0, again: bool = False) -> float:
    """Interrupt the command `after_s` after it came to `point`, check what it says; the seconds that it then took.

    `again`: as who is impatient, once more.
    """
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _SAYING_HERE, point, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            time.sleep(after_s)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            if again:
                time.sleep(0.03)
                process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
            took = time.monotonic() - begin
        finally:
            process.kill()
    said = [line for line in err.splitlines() if not line.startswith("loading ")]
    assert said == ["Interrupted."], err
    # The second may come when Python itself is about to end.
    assert process.returncode == 1 or (again and process.returncode == -signal.SIGINT)
    return took


@pytest.mark.parametrize(
    ("sql", "format_"),
    [
        ("SELECT count(*) " + JOIN.format(rest=3), "table"),
        ("SELECT a.op_id, b.op_id " + JOIN.format(rest=8), "csv"),  # no row, ever
        ("SELECT a.op_id, b.op_id FROM ops a, ops b", "parquet"),  # rows without end
    ],
)
def test_query_stops_at_once(loaded: Path, tmp_path: Path, sql: str, format_: str) -> None:
    out = tmp_path / "out"
    took = interrupted(
        "analyze.query:open_store", "query", sql, "--store", loaded, "--format", format_, "--out", out, after_s=0.7
    )
    assert took < 5  # about a second, on a machine that has nothing else to do
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("point", "after_s"),
    [
        ("analyze.store:_create_tables", 0),
        ("analyze.one_run:insert_trace", 0),
        ("analyze.trace_rows:_insert_slices", 0),
        ("analyze.trace_rows:insert_rows", 0),
        ("analyze.one_run:_finish", 0.01),
        ("analyze.derived:derive", 0),
    ],
)
def test_load_leaves_no_new_store(tmp_path: Path, point: str, after_s: float) -> None:
    interrupted(point, "load", SMALL, "--store", tmp_path / "new.duckdb", after_s=after_s)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("point", ["analyze.store:connect", "analyze.one_run:insert_trace", "analyze.derived:derive"])
def test_a_second_interruption_does_not_stop_the_cleaning_up(tmp_path: Path, point: str) -> None:
    interrupted(point, "load", SMALL, "--store", tmp_path / "new.duckdb", after_s=0.05, again=True)
    assert os.listdir(tmp_path) == []


def test_load_leaves_the_runs_that_were_there(loaded: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.duckdb"
    store.write_bytes(loaded.read_bytes())
    interrupted("analyze.derived:derive", "load", LARGE, "--store", store, after_s=0.02)
    with duckdb.connect(str(store)) as con:
        assert scalar(con, "SELECT count(*) FROM runs") == 1
        assert scalar(con, "SELECT count(DISTINCT run_id) FROM ops") == 1


@pytest.mark.parametrize(("point", "after_s"), [("reports.collect:run", 0), ("reports.collect:_timeline", 0.02)])
def test_report_leaves_no_file(loaded: Path, tmp_path: Path, point: str, after_s: float) -> None:
    interrupted(point, "report", "--store", loaded, "--out", tmp_path / "report.html", after_s=after_s)
    assert os.listdir(tmp_path) == []


def _duckdb_saw_it() -> None:
    raise RuntimeError("Query interrupted")


def _duckdb_was_told() -> None:
    raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")


def _python_saw_it() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("interruption", [_duckdb_saw_it, _duckdb_was_told, _python_saw_it])
def test_an_interruption_is_no_failure_to_write(interruption: Callable[[], None]) -> None:
    def insert(con: duckdb.DuckDBPyConnection) -> None:
        con.execute("INSERT INTO t VALUES (1)")
        try:
            interruption()
        finally:  # as `con.unregister` does in a transaction that is over
            raise duckdb.TransactionException("Current transaction is aborted (please ROLLBACK)")

    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (i INTEGER)")
        with pytest.raises(KeyboardInterrupt), transaction(con, "a trace"):
            insert(con)
        assert scalar(con, "SELECT count(*) FROM t") == 0


def test_a_failure_to_write_is_no_interruption() -> None:
    error = duckdb.TransactionException("Failed to commit")
    error.__context__ = again = RuntimeError("another")
    again.__context__ = error  # a ring ends
    assert not is_interruption(error)
    with duckdb.connect() as con, pytest.raises(PhasescopeError, match="could not be written"), transaction(con, "a"):
        raise error


def test_an_error_late_in_the_result_is_a_sentence(loaded: Path) -> None:
    sql = "SELECT CASE WHEN i = 900000 THEN error('late') ELSE 'x' END FROM range(1000000) t(i)"
    with pytest.raises(PhasescopeError, match=r"^SQL: .*late"):
        query(sql, loaded)
