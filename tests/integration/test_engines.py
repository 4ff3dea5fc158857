"""Both trace engines through the same suite.

`native` here is the real client against `fake_shell.py`, which answers through the wasm engine: no
native binary of Perfetto's is downloaded for tests. Where PHASESCOPE_TRACE_PROCESSOR names a real one,
the suite runs against that as well.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from analyze.engines import Engine, open_engine
from analyze.engines.module_cache import cached_path
from analyze.engines.native import NativeEngine
from analyze.engines.shell import fetch_shell, find_shell, perfetto_cache_path
from analyze.engines.wasm import WasmEngine, wasm_path
from analyze.errors import PhasescopeError
from tests.integration.fake_shell import VERSION, write_fake_shell

REAL_SHELL = os.environ.get("PHASESCOPE_TRACE_PROCESSOR")
Make = Callable[[], Engine]


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    return write_fake_shell(tmp_path)


@pytest.fixture(params=["wasm", "memory64", "native (fake shell)", "native (real)"])
def make_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    if request.param == "native (real)":
        if REAL_SHELL is None:
            pytest.skip("PHASESCOPE_TRACE_PROCESSOR names no native trace processor")
        return lambda: open_engine("native", REAL_SHELL, source="t.json")
    if request.param == "native (fake shell)":
        path = write_fake_shell(tmp_path)
        return lambda: open_engine("native", str(path), source="t.json")
    return lambda: open_engine("wasm", memory64=request.param == "memory64", source="t.json")


def chrome_trace(events: int) -> bytes:
    return json.dumps(
        {
            "traceEvents": [
                {"ph": "X", "pid": 1, "tid": 1 + i % 2, "ts": i * 10, "dur": 5, "name": f"op {i % 7} ✓"}
                for i in range(events)
            ]
        },
        ensure_ascii=False,  # v52 hands \\u escapes on as they are
    ).encode()


def test_a_trace_in_pieces_and_its_slices(make_engine: Make) -> None:
    trace = chrome_trace(5000)
    with make_engine() as engine:
        for start in range(0, len(trace), 100_000):
            engine.parse(trace[start : start + 100_000])
        engine.finish()
        table = engine.query("SELECT id, ts, dur, name, parent_id, dur / 2.0 AS half FROM slice ORDER BY ts")
        assert table.schema == pa.schema(
            [
                ("id", pa.int64()),
                ("ts", pa.int64()),
                ("dur", pa.int64()),
                ("name", pa.string()),
                ("parent_id", pa.null()),
                ("half", pa.float64()),
            ]
        )
        assert table["ts"].to_pylist() == [i * 10_000 for i in range(5000)]
        assert table["name"].to_pylist() == [f"op {i % 7} ✓" for i in range(5000)]
        assert set(table["dur"].to_pylist()) == {5000}
        assert set(table["half"].to_pylist()) == {2500.0}
        assert engine.stats() == []


def test_results_of_several_batches(make_engine: Make) -> None:
    """60,000 rows of three cells are more than one batch of trace processor's."""
    with make_engine() as engine:
        engine.finish()
        table = engine.query(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999) "
            "SELECT i, CASE WHEN i % 3 THEN 'n' || i END AS s, -i * 1000003 AS negative FROM n"
        )
        assert table["i"].to_pylist() == list(range(60000))
        assert table["s"].to_pylist() == [f"n{i}" if i % 3 else None for i in range(60000)]
        assert table["negative"].to_pylist() == [-i * 1000003 for i in range(60000)]


def test_a_failed_query_leaves_the_engine_usable(make_engine: Make) -> None:
    with make_engine() as engine:
        engine.parse(chrome_trace(3))
        engine.finish()
        with pytest.raises(PhasescopeError, match="no such column: absent"):
            engine.query("SELECT absent FROM slice")
        assert engine.query("SELECT count(*) AS n FROM slice").to_pylist() == [{"n": 3}]
        assert engine.query("CREATE PERFETTO TABLE mine AS SELECT 7 AS seven").num_rows == 0
        assert engine.query("SELECT seven FROM mine").to_pylist() == [{"seven": 7}]


def test_lost_events_are_in_the_stats(make_engine: Make) -> None:
    """A slice that partly overlaps another on its thread does not nest; v52 drops it and says so."""
    overlapping = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": ts, "dur": 10, "name": name} for ts, name in ((0, "a"), (5, "b"))
    ]
    with make_engine() as engine:
        engine.parse(json.dumps(overlapping).encode())
        engine.finish()
        kept = engine.query("SELECT count(*) AS n FROM slice")["n"][0].as_py()
        lost = {stat.name: (stat.severity, stat.value) for stat in engine.stats()}
    if kept == 1:
        assert lost == {"slice_drop_overlapping_complete_event": ("error", 1)}
    else:  # v57 and later move it to a track of its own
        assert kept == 2


@pytest.mark.parametrize("content", [b"no trace at all", b"\0" * 4096, b'{"traceEvents": [{"ph": "X", "na'])
def test_what_is_no_trace_is_refused(make_engine: Make, content: bytes) -> None:
    def load(engine: Engine) -> None:
        engine.parse(content)
        engine.finish()

    with make_engine() as engine, pytest.raises(PhasescopeError, match=r"cannot read t\.json: "):
        load(engine)


def test_a_closed_engine_says_so(make_engine: Make) -> None:
    engine = make_engine()
    assert engine.name in ("native", "wasm")
    assert engine.version
    engine.close()
    engine.close()
    with pytest.raises(PhasescopeError, match=r"engine for t\.json has stopped"):
        engine.query("SELECT 1")


def test_two_engines_do_not_share_a_trace(make_engine: Make) -> None:
    with make_engine() as one, make_engine() as two:
        one.parse(chrome_trace(2))
        two.parse(chrome_trace(5))
        for engine, rows in ((one, 2), (two, 5)):
            engine.finish()
            assert engine.query("SELECT * FROM slice").num_rows == rows


# --- wasm alone


def test_out_of_memory_loses_the_trace_and_not_the_program() -> None:
    engine = WasmEngine(memory_bytes=48 * 2**20, source="big.json")
    with pytest.raises(PhasescopeError, match=r"stopped on big\.json with \d+ MiB in use: Cannot enlarge"):
        engine.parse(chrome_trace(200_000))
    with pytest.raises(PhasescopeError, match="has stopped"):
        engine.query("SELECT 1")
    with WasmEngine() as fresh:
        assert fresh.query("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_an_engine_works_in_another_thread() -> None:
    found = []

    def work() -> None:
        with WasmEngine() as engine:
            found.append(engine.query("SELECT 3 AS n").to_pylist())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [[{"n": 3}]]


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """As on a terminal: a shell starts what runs in its background with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_interrupts")
def test_ctrl_c_during_a_query_ends_it() -> None:
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with WasmEngine() as engine:
        with pytest.raises(KeyboardInterrupt):
            engine.query(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) "
                "SELECT count(*) FROM n"
            )
        assert engine.query("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_two_processes_compile_into_an_empty_cache_at_once(tmp_path: Path) -> None:
    script = (
        "from analyze.engines.wasm import WasmEngine\n"
        "with WasmEngine() as engine: print(engine.query('SELECT 42 AS n')['n'][0])"
    )
    environment = dict(os.environ, PHASESCOPE_CACHE=str(tmp_path))
    command = [sys.executable, "-c", script]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == [b"42", b"42"]
    files = list(tmp_path.iterdir())
    assert [path.name for path in files] == [cached_path(wasm_path().read_bytes(), "trace_processor").name]
    # A third start takes the file as it is.
    before = files[0].stat()
    assert subprocess.run(command, env=environment, capture_output=True, check=True).stdout.strip() == b"42"
    assert files[0].stat().st_mtime_ns == before.st_mtime_ns


# --- native alone


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and waits for its parent does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:
        return not Path("/proc/self/stat").exists()  # no /proc on macOS


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_the_shell_and_its_children_end_with_the_engine(
    shell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SHELL_MODE", "child")
    with NativeEngine(str(shell)) as engine:
        assert engine.version == VERSION
        assert engine._process is not None
        processes = [engine._process.pid, int((tmp_path / "child.pid").read_text())]
        assert [alive(pid) for pid in processes] == [True, True]
    assert [ends(pid) for pid in processes] == [True, True]


def test_a_shell_that_cannot_start_says_why(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SHELL_MODE", "exit")
    with pytest.raises(PhasescopeError, match=r"did not start .*exit code 127; .*libfake\.so"):
        NativeEngine(str(shell))


def test_a_shell_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "trace_processor_shell"
    path.write_bytes(b"\0not a program")
    path.chmod(0o755)
    with pytest.raises(PhasescopeError, match=r"cannot be started .*; use --engine wasm"):
        NativeEngine(str(path))


@pytest.mark.parametrize(
    ("mode", "message"),
    [("die", r"ended during /query on t\.json \(exit code 3\)"), ("hang", r"did not answer /query within 1 s")],
)
def test_a_shell_that_dies_or_hangs(shell: Path, mode: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SHELL_MODE", mode)
    engine = NativeEngine(str(shell), source="t.json", request_timeout_s=1)
    assert engine._process is not None
    pid = engine._process.pid
    with pytest.raises(PhasescopeError, match=message):
        engine.query("SELECT 1")
    assert ends(pid)


def test_a_shell_without_rpc_is_told_the_end_otherwise(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SHELL_MODE", "no rpc")
    with NativeEngine(str(shell)) as engine:
        engine.parse(chrome_trace(4))
        engine.finish()
        assert engine.query("SELECT * FROM slice").num_rows == 4


def test_the_shell_ends_with_a_program_that_forgets_to_close(shell: Path) -> None:
    script = (
        "import sys\nfrom analyze.engines.native import NativeEngine\n"
        "engine = NativeEngine(sys.argv[1])\nprint(engine._process.pid, flush=True)\nraise SystemExit(7)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(shell)], capture_output=True)
    assert done.returncode == 7
    assert ends(int(done.stdout))


# --- which engine


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a native trace processor: empty PATH and home."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    monkeypatch.delenv("PHASESCOPE_TRACE_PROCESSOR", raising=False)
    monkeypatch.setenv("PATH", str(home / "bin"))
    monkeypatch.setattr(Path, "home", lambda: home)
    return home


def test_the_order_in_which_a_shell_is_found(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_shell() is None
    cached = perfetto_cache_path()
    assert cached is not None
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"")
    cached.chmod(0o755)
    assert (find_shell().path, find_shell().found_by) == (str(cached), "perfetto cache")
    on_path = write_fake_shell(bare / "bin")
    assert (find_shell().path, find_shell().found_by) == (str(on_path), "PATH")
    named = write_fake_shell(bare)
    monkeypatch.setenv("PHASESCOPE_TRACE_PROCESSOR", str(named))
    assert (find_shell().path, find_shell().found_by) == (str(named), "PHASESCOPE_TRACE_PROCESSOR")
    assert find_shell(str(on_path)).found_by == "--trace-processor"


def test_auto_takes_native_if_it_is_there(bare: Path) -> None:
    with open_engine() as engine:
        assert engine.name == "wasm"
        assert engine.version.startswith("Perfetto v")
    write_fake_shell(bare / "bin")
    with open_engine() as engine:
        assert (engine.name, engine.version) == ("native", VERSION)
    with open_engine("wasm") as engine:
        assert engine.name == "wasm"


def test_no_native_engine(bare: Path) -> None:
    with pytest.raises(PhasescopeError, match="No native trace processor was found"):
        open_engine("native")
    for kind in ("auto", "native"):
        with pytest.raises(PhasescopeError, match="/nowhere, named by --trace-processor, is not an executable"):
            open_engine(kind, "/nowhere")
    with pytest.raises(PhasescopeError, match="no trace engine fast"):
        open_engine("fast")


def test_the_cache_path_is_the_one_that_perfetto_uses(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """perfetto's own look-up must find a file at our path without calling curl."""
    cached = perfetto_cache_path()
    assert cached is not None
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"as if downloaded")
    monkeypatch.setenv("HOME", str(bare))
    assert fetch_shell().path == str(cached)


def test_a_fetch_without_network_is_one_sentence(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(bare))
    with pytest.raises(PhasescopeError, match=r"could not be downloaded \(curl is not installed\)"):
        fetch_shell()
    curl = bare / "bin" / "curl"
    curl.write_text("#!/bin/sh\nexit 6\n")
    curl.chmod(0o755)
    with pytest.raises(PhasescopeError, match=r"could not be downloaded \(curl ended with code 6\)"):
        fetch_shell()
    assert find_shell() is None
