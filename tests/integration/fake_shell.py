"""A stand-in for `trace_processor_shell`: its HTTP interface, answered by the wasm engine.

No native binary is downloaded for tests. This script speaks what `NativeEngine` needs of the shell
(`-D --http-port N`; /status, /parse, /rpc, /notify_eof, /query) and misbehaves as FAKE_SHELL_MODE says, so it
shows that the client is right about the interface, not that Perfetto's own binary is.
"""

import http.server
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

VERSION = "fake shell"
_ROOT = Path(__file__).resolve().parents[2]


def write_fake_shell(folder: Path) -> Path:
    """An executable `trace_processor_shell` in `folder`."""
    path = folder / "trace_processor_shell"
    path.write_text(
        f"#!{sys.executable}\n"
        f"import sys\nsys.path.insert(0, {str(_ROOT)!r})\n"
        "from tests.integration.fake_shell import main\nmain()\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def main() -> None:
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    from analyze.engines.wasm import WasmEngine
    from analyze.errors import PhasescopeError

    assert sys.argv[1:3] == ["-D", "--http-port"], sys.argv
    mode = os.environ.get("FAKE_SHELL_MODE", "")
    if mode == "exit":
        print("error while loading shared libraries: libfake.so", file=sys.stderr)
        sys.exit(127)
    if mode == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        Path(sys.argv[0]).with_name("child.pid").write_text(str(child.pid))
    protos = ProtoFactory(PlatformDelegate())
    engine = WasmEngine()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if self.path == "/status":
                status = protos.StatusResult()
                status.human_readable_version = VERSION
                self.answer(status.SerializeToString())
            elif self.path == "/notify_eof":
                engine.finish()
                self.answer(b"")
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/parse":
                result = protos.AppendTraceDataResult()
                try:
                    engine.parse(body)
                    result.total_bytes_parsed = len(body)
                except PhasescopeError as error:
                    result.error = str(error)
                self.answer(result.SerializeToString())
            elif self.path == "/rpc" and mode != "no rpc":
                (request,) = protos.TraceProcessorRpcStream.FromString(body).msg
                assert request.request == request.TPM_FINALIZE_TRACE_DATA
                reply = protos.TraceProcessorRpcStream()
                reply.msg.add().response = request.request
                try:
                    engine.finish()
                except PhasescopeError as error:
                    reply.msg[0].finalize_data_result.error = str(error)
                self.answer(reply.SerializeToString())
            elif self.path == "/query":
                if mode == "die":
                    os._exit(3)
                if mode == "hang":
                    time.sleep(60)
                args = protos.QueryArgs.FromString(body)
                self.answer(engine.query_result(args.sql_query))
            else:
                self.send_error(404)

        def answer(self, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    http.server.HTTPServer(("127.0.0.1", int(sys.argv[3])), Handler).serve_forever()
