"""Bad input gets one clear sentence with the file's name and the way out, its exit code, and nothing half-written."""

import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import duckdb
import pytest

import phasescope
from analyze.load import load
from analyze.one_run import Options
from tests.shared import SHARED, needs_shared

TRACE = {"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the command in this process: (exit code, standard output, standard error)."""

    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["phasescope", *map(str, args)])
        with pytest.raises(SystemExit) as end:
            phasescope.main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return call


@pytest.fixture
def store(tmp_path: Path) -> Path:
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(TRACE))
    path = tmp_path / "phases.duckdb"
    assert load([trace], path).failed == []
    return path


def tar_bytes() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x"))
    return out.getvalue()


def zip_bytes(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def zip_with_flag(**files: bytes) -> bytes:
    """A zip whose first file is marked as encrypted."""
    data = bytearray(zip_bytes(**files))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b" \n ", "nothing but white space"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
        (pickle.dumps({"segments": [], "device_traces": []}), "memory snapshot"),
        (b'{"rocprofiler-sdk-tool": [{"metadata": {}}]}', "rocprofiler"),
        (b'{"segments": [], "device_traces": []}', "memory snapshot"),
        (b'{"op_map": {"0": "aten::mm"}}', "operator map"),
        (b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}', "execution trace"),
        (tar_bytes(), "a tar archive"),
        (zip_bytes(), "an empty zip file"),
        (zip_bytes(archive__data=b"", **{"archive__data.pkl": b""}), "a PyTorch checkpoint"),
        (b"PK\x03\x04broken", "a damaged zip file"),
        (gzip.compress(b"x" * 999)[:12] + b"\xff" * 40, "a damaged gzip file"),
        (gzip.compress(gzip.compress(b"[]")), "a gzip file inside another"),
        (gzip.compress(zip_bytes(a=b"[]")), "a zip file inside another"),
        (zip_bytes(a=zip_bytes(b=b"[]")), "a zip file inside another"),
        (zip_with_flag(b=b"[]"), "encrypted"),
        (zip_bytes(**{"README.md": b"hello"}), "no trace in this zip"),
        (json.dumps(TRACE).encode("utf-16"), "UTF-16"),
        (json.dumps(TRACE).encode("utf-16-be"), "UTF-16"),
        (b"[1, 2, 3]", "none of its 3 events can be loaded (not_an_event"),
        (b"[" * 100_000, "none of its 1 events can be loaded (cut_off"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"SQLite format 3\x00", "an SQLite file"),
        (b"ED12xxxx", "an ExecuTorch .etdp file"),
        (b"hello world\n", "text of no kind"),
        (bytes(range(200, 256)), "bytes of no kind"),
        (b"<html><body>404</body></html>", "a web page"),
        (b'{"nodes": []}', "no traceEvents"),
        (b"[]", None),
        (b'{"traceEvents": []}', None),
    ],
)
def test_what_a_file_looks_like(tmp_path: Path, run, data: bytes, words: str | None) -> None:
    source, store = tmp_path / "some.file", tmp_path / "s.duckdb"
    source.write_bytes(data)
    code, out, err = run("load", source, "--store", store)
    if words is None:  # an empty trace is an answer, not a fault
        assert code == 0
        assert "0 events = 0 loaded + 0 excluded" in out
        return
    assert code == 1
    lines = [line for line in err.splitlines() if not line.startswith("loading")]
    assert len(lines) == 1
    assert words in lines[0]
    assert "some.file" in lines[0]
    assert not store.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["some.file"]


def test_a_pipe_does_not_hang(tmp_path: Path, run) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run("load", tmp_path / "pipe", "--store", tmp_path / "s.duckdb")
    assert (code, "a pipe or a device, not a file" in err) == (1, True)


LONG = json.dumps({"traceEvents": [{**TRACE["traceEvents"][0], "name": f"op{i:03}"} for i in range(300)]}).encode()
STREAMS = {
    "chrome": LONG,
    "perfetto": (SHARED / "traces/chrome/nested-tracks.perfetto-trace"),
    "instruments": (SHARED / "traces/instruments/metal-gpu-intervals.xml"),
}


def damaged(data: bytes) -> dict[str, bytes]:
    """The same content, packed and then harmed in the ways in which files are."""
    packed = gzip.compress(data)
    flipped = bytearray(packed)
    flipped[-6] ^= 1  # the checksum
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace", data)
    in_zip = bytearray(out.getvalue())
    in_zip[len(in_zip) // 2] ^= 0xFF
    return {
        "cut": packed[: len(packed) * 2 // 3],
        "checksum": bytes(flipped),
        "tail": packed + b"tail",
        "zip": bytes(in_zip),
    }


@needs_shared
@pytest.mark.parametrize("way", ["cut", "checksum", "tail", "zip"])
@pytest.mark.parametrize("kind", STREAMS)
def test_a_damaged_archive_gives_what_is_whole(kind: str, way: str, tmp_path: Path, run) -> None:
    content = STREAMS[kind]
    data = content if isinstance(content, bytes) else content.read_bytes()
    source = tmp_path / "t.packed"
    source.write_bytes(damaged(data)[way])
    result = load([source], tmp_path / "s.duckdb")
    if way == "zip" and not result.loaded:  # the flipped byte may leave nothing whole
        assert "t" in str(result.failed[0])
        return
    (loaded,) = result.loaded
    assert loaded.loaded_events > 0
    con = duckdb.connect(str(tmp_path / "s.duckdb"), read_only=True)
    (detail,) = con.execute("SELECT detail FROM quality WHERE reason = 'damaged_compression'").fetchall()
    con.close()
    assert "of the unpacked content" in detail[0]
    strict = load([source], tmp_path / "strict.duckdb", options=Options(strict=True))
    assert [error.exit_code for error in strict.failed] == [3]
    assert not (tmp_path / "strict.duckdb").exists()


def test_strict_also_refuses_what_was_loaded_before(tmp_path: Path, run) -> None:
    source, store = tmp_path / "cut.json", tmp_path / "s.duckdb"
    source.write_bytes(LONG[:-30])
    assert run("load", source, "--store", store)[0] == 0
    code, _, err = run("load", source, "--store", store, "--strict")
    assert code == 3
    assert "since it was loaded without --strict" in err


def test_a_zip_of_traces_and_other_files(tmp_path: Path, run) -> None:
    source, trace = tmp_path / "all.zip", json.dumps(TRACE).encode()
    source.write_bytes(
        zip_bytes(**{"README.md": b"x", "a.json": trace, "b.json.gz": gzip.compress(trace + b" "), "c.png": b"\x89PNG"})
    )
    code, out, err = run("load", source, "--store", tmp_path / "s.duckdb")
    assert code == 1
    assert "a.json: run a-" in out
    assert "b.json.gz: run b-" in out
    assert "c.png: a picture" in err
    assert "1 of 3 sources" in err


def test_a_missing_file(tmp_path: Path, run) -> None:
    code, _, err = run("load", tmp_path / "none.json", "--store", tmp_path / "s.duckdb")
    assert (code, "none.json: no such file" in err) == (1, True)


def test_an_empty_folder(tmp_path: Path, run) -> None:
    (tmp_path / "empty").mkdir()
    code, _, err = run("load", tmp_path / "empty", "--store", tmp_path / "s.duckdb")
    assert code == 1
    assert f"{tmp_path / 'empty'}: no trace and no bundle in this folder; name one that `phasescope capture`" in err
    assert not (tmp_path / "s.duckdb").exists()


def test_one_of_several_fails_and_the_others_are_in(tmp_path: Path, run) -> None:
    good, bad, store = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "s.duckdb"
    good.write_text(json.dumps(TRACE))
    bad.write_bytes(b"")
    code, out, err = run("load", bad, good, "--store", store)
    assert code == 1
    assert "good.json: run good-" in out
    assert "bad.json: an empty file" in err
    assert "1 of 2 sources were not loaded" in err
    code, out, _ = run("runs", "--store", store, "--format", "csv")
    assert out.count("good-") == 1


def test_the_same_bytes_are_known(tmp_path: Path, run, store: Path) -> None:
    code, out, _ = run("load", tmp_path / "trace.json", "--store", store)
    assert code == 0
    assert "already in" in out


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELEC 1", "SQL: syntax error"),
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT foo FROM runs", "`phasescope tables NAME` lists the columns"),
        ("DELETE FROM runs", "read-only"),
        ("CREATE TABLE t(a INT)", "read-only"),
        ("SELECT * FROM read_csv('/etc/passwd')", "cannot reach files"),
        ("SELECT * FROM '/etc/passwd'", None),
        ("ATTACH '/tmp/x.duckdb'", "cannot reach files"),
        ("COPY runs TO '/tmp/x.csv'", "cannot reach files"),
        ("INSTALL httpfs", "cannot reach files"),
        ("LOAD httpfs", None),
        ("SET enable_external_access = true", "cannot reach files"),
        ("SET lock_configuration = false", "cannot reach files"),
        ("", "no statement"),
        ("/* only a comment */", "no statement"),
    ],
)
def test_queries_only_read_the_store(run, store: Path, sql: str, words: str | None) -> None:
    before = store.read_bytes()
    code, out, err = run("query", sql or " ", "--store", store)
    assert code == 1
    assert out == ""
    assert len(err.splitlines()) == 1
    assert words is None or words in err
    assert store.read_bytes() == before


def test_a_table_that_is_not_there(run, store: Path) -> None:
    code, out, err = run("tables", "nosuch", "--store", store)
    assert (code, out) == (1, "")
    assert err == "phasescope: nosuch: no such table or view in this store; `phasescope tables` lists them\n"


def test_stores_that_are_none(tmp_path: Path, run) -> None:
    missing, folder, text, other = (
        tmp_path / "no.duckdb",
        tmp_path / "dir",
        tmp_path / "t.duckdb",
        tmp_path / "o.duckdb",
    )
    folder.mkdir()
    text.write_text("hello" * 1000)
    con = duckdb.connect(str(other))
    con.execute("CREATE TABLE mine (a INT)")
    con.close()
    for path, words in (
        (missing, "no store there"),
        (folder, "a folder, not a store"),
        (text, "not a DuckDB file"),
        (other, "no phasescope store"),
    ):
        code, _, err = run("runs", "--store", path)
        assert code in (1, 2)
        assert path.name in err, err
        assert words in err or "is a directory" in err
        trace = tmp_path / "trace.json"
        trace.write_text(json.dumps(TRACE))
    code, _, err = run("load", trace, "--store", other)
    assert code == 1
    assert "no phasescope store" in err
    con = duckdb.connect(str(other), read_only=True)
    assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("mine",)]
    con.close()


def test_a_store_of_another_version(run, store: Path) -> None:
    con = duckdb.connect(str(store))
    con.execute("UPDATE store_info SET value = '99' WHERE key = 'schema_version'")
    con.close()
    code, _, err = run("runs", "--store", store)
    assert code == 1
    assert "schema version 99" in err


def test_a_store_that_another_process_holds(run, store: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()",
            str(store),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for command in (["runs"], ["load", store.with_name("trace.json")]):
            code, _, err = run(*command, "--store", store)
            assert code == 1
            assert "another process holds this store" in err
            assert store.name in err
    finally:
        holder.communicate(b"")


def test_a_full_disk_leaves_no_partial_run(tmp_path: Path, store: Path) -> None:
    """A limit on the size of files stands for the full disk; set once trace processor, which needs files, is done."""
    big = tmp_path / "big.json"
    events = [
        {"ph": "X", "name": f"op{i}", "pid": 1, "tid": 1, "ts": i * 10, "dur": 5, "args": {"x": f"{i:064x}"}}
        for i in range(60_000)
    ]  # fmt: skip
    big.write_text(json.dumps({"traceEvents": events}))
    limit = store.stat().st_size + 200_000
    code = f"""
import resource, signal, sys
import analyze.trace_rows, phasescope
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
nest = analyze.trace_rows.nest
def nest_then_fill_the_disk(*args):
    nesting = nest(*args)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
    return nesting
analyze.trace_rows.nest = nest_then_fill_the_disk
sys.argv = ["phasescope", "load", sys.argv[1], "--store", sys.argv[2]]
phasescope.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(big), str(store)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if not line.startswith("loading")]
    assert len(lines) == 1, done.stderr
    assert "could not be written" in lines[0]
    con = duckdb.connect(str(store), read_only=True)
    assert con.execute("SELECT count(*) FROM runs").fetchall() == [(1,)]
    assert con.execute("SELECT count(*) FROM ops WHERE name LIKE 'op%'").fetchall() == [(0,)]
    con.close()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["nonsense"], 2),
        (["load"], 2),
        (["query", "SELECT 1", "--format", "xml"], 2),
        (["query", "SELECT 1", "--format", "parquet"], 2),
        (["load", "x", "--engine", "fast"], 2),
    ],
)
def test_wrong_calls(run, store: Path, args: list[str], code: int) -> None:
    extra = ["--store", str(store)] if args[0] == "query" else []
    assert run(*args, *extra)[0] == code
