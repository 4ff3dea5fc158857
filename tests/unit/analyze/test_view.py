"""What `phasescope view` serves, and to whom."""

import gzip
import http.client
import json
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analyze.engines.wasm import web_dist
from analyze.errors import PhasescopeError
from analyze.load import load
from analyze.view import make_server, open_trace, timeline_of
from capture.bundle import BundleWriter, Manifest, Model, PassRecord, Workload, zip_bundle

TRACE = json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "name": "op"}]}).encode()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_bytes(TRACE)
    return path


def make_bundle(folder: Path, *, profiled: bool) -> Path:
    workload = Workload("cpu", "float32", "sdpa", "dynamic", "all", 1, 8, 2, 0, 1, 0)
    manifest = Manifest("run", None, 0, "0.1.0", Model("tiny", "random", "random"), workload)
    writer = BundleWriter.create(folder, manifest)
    if profiled:
        (folder / "profiled").mkdir()
        (folder / "profiled" / "trace.json.gz").write_bytes(gzip.compress(TRACE))
        writer.record(PassRecord("profiled", "measured", None))
    else:
        writer.record(PassRecord("profiled", "refused", "a profiling variable is set"))
    return folder


def content(source: Path) -> bytes:
    with open_trace(source)() as stream:
        return stream.read()


@contextmanager
def serving(source: Path) -> Iterator[int]:
    with make_server(source) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def get(port: int, path: str, host: str | None = None) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    response = connection.getresponse()
    found = response.status, response.read(), dict(response.getheaders())
    connection.close()
    return found


def test_trace_files(trace: Path, tmp_path: Path) -> None:
    packed = tmp_path / "named as you like"
    packed.write_bytes(gzip.compress(TRACE[:20]) + gzip.compress(TRACE[20:]))
    perfetto = tmp_path / "t.pftrace"
    perfetto.write_bytes(b"\x0a\x02\x08\x01")
    assert content(trace) == content(packed) == TRACE
    assert content(perfetto) == b"\x0a\x02\x08\x01"


def test_bundles(tmp_path: Path) -> None:
    folder = make_bundle(tmp_path / "bundle", profiled=True)
    zip_bundle(folder, tmp_path / "bundle.zip")
    assert content(folder) == content(tmp_path / "bundle.zip") == TRACE
    bare = make_bundle(tmp_path / "bare", profiled=False)
    with pytest.raises(PhasescopeError, match=r"bare has no trace to show \(pass profiled is refused: a profiling"):
        open_trace(bare)


def test_what_is_drawn_and_what_is_shown_as_it_is(tmp_path: Path, trace: Path) -> None:
    bundle, place, store = make_bundle(tmp_path / "bundle", profiled=True), tmp_path / "place", tmp_path / "s.duckdb"
    place.mkdir()
    assert timeline_of(trace, place, store) == trace
    assert timeline_of(bundle, place, store, raw=True) == bundle
    assert list(place.iterdir()) == []
    drawn = timeline_of(bundle, place, store)
    assert drawn == place / "timeline.pftrace"
    assert b"profiled: placed at the start" in content(drawn)
    assert not store.exists()
    load([trace], store)
    other = tmp_path / "other"
    assert b"about this timeline of trace-" in content(timeline_of(None, other, store, run="trace"))
    with pytest.raises(PhasescopeError, match="no such run"):
        timeline_of(None, tmp_path, store, run="nobody")


def test_a_bundle_with_nothing_measured(tmp_path: Path) -> None:
    bare = make_bundle(tmp_path / "bare", profiled=False)
    with pytest.raises(PhasescopeError, match=r"no times to draw \(pass profiled is refused: a profiling"):
        timeline_of(bare, tmp_path, tmp_path / "none.duckdb")


def test_what_cannot_be_shown(tmp_path: Path, trace: Path) -> None:
    with pytest.raises(PhasescopeError, match="no such file"):
        open_trace(tmp_path / "absent.json")
    (tmp_path / "two.json").write_bytes(TRACE)
    with pytest.raises(PhasescopeError, match="holds 2 traces; name one"):
        open_trace(tmp_path)
    instruments = tmp_path / "intervals.xml"
    instruments.write_text("<?xml version='1.0'?><trace-query-result/>")
    with pytest.raises(PhasescopeError, match="is Instruments XML"):
        open_trace(instruments)
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(TRACE * 5000)[:-20])
    with pytest.raises(PhasescopeError, match=r"cut\.json\.gz"):
        make_server(cut)


def test_the_ui_and_the_trace_are_served(trace: Path) -> None:
    with serving(trace) as port:
        status, page, headers = get(port, "/")
        assert (status, page) == (200, (web_dist() / "index.html").read_bytes())
        assert "connect-src 'self' blob: data:;" in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers
        status, body, headers = get(port, "/localtrace?x=1")
        assert (status, body, headers["Content-Length"]) == (200, TRACE, str(len(TRACE)))
        assert get(port, "/vizviewer_info")[:2] == (200, b"{}")
        version = next(path.name for path in web_dist().iterdir() if path.is_dir())
        status, _, headers = get(port, f"/{version}/trace_processor.wasm")
        assert (status, headers["Content-Type"]) == (200, "application/wasm")
        assert get(port, f"/{version}/frontend_bundle.js")[2]["Content-Type"] == "text/javascript"


@pytest.mark.parametrize(
    "path",
    ["/../viewer.py", "/..%2fviewer.py", "//etc/passwd", "/assets/../../__init__.py", "/nothing", "/v52.0/", "*"],
)
def test_no_path_leads_out_of_the_ui(trace: Path, path: str) -> None:
    assert (web_dist().parent / "viewer.py").is_file()
    with serving(trace) as port:
        assert get(port, path)[0] == 404


def test_only_this_machine_is_answered(trace: Path) -> None:
    with make_server(trace) as server:
        assert server.server_address[0] == "127.0.0.1"
    with serving(trace) as port:
        assert get(port, "/localtrace", host=f"localhost:{port}")[0] == 200
        for host in (f"evil.example:{port}", "127.0.0.1", "evil.example"):
            assert get(port, "/localtrace", host=host)[0] == 403


def test_a_port_that_is_taken(trace: Path) -> None:
    with (
        make_server(trace) as server,
        pytest.raises(PhasescopeError, match=r"Port \d+ cannot be used .*--port"),
    ):
        make_server(trace, server.server_address[1])


def test_ctrl_c_ends_the_command(trace: Path) -> None:
    # A shell starts what runs in its background with Ctrl-C ignored, and a test's process inherits that.
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from analyze.commands.view import command; command()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(trace), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("trace.json is shown at http://127.0.0.1:")
    port = int(line.split("127.0.0.1:")[1].split("/")[0])
    assert get(port, "/file_info")[0] == 200
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=10)
    assert (process.returncode, rest, errors) == (0, "Ended.\n", "")


def test_a_zip_of_one_trace(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.writestr("trace.json", TRACE)
    assert content(tmp_path / "one.zip") == TRACE
