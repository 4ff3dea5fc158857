"""Trace processor as a process of its own: `trace_processor_shell`, spoken to over its HTTP interface."""

from __future__ import annotations

import atexit
import contextlib
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from analyze.engines.base import Engine
from analyze.engines.cells import decode, one_line
from analyze.errors import PhasescopeError

if TYPE_CHECKING:
    import pyarrow as pa

_START_TIMEOUT_S = 20.0
# Long enough for a query over a trace of many gigabytes, short enough to end some day.
_REQUEST_TIMEOUT_S = 600.0
_STATUS_TIMEOUT_S = 5.0
_CHUNK_BYTES = 16 * 2**20


class _NotFound(http.client.HTTPException):
    """The shell has no such endpoint."""


class NativeEngine(Engine):
    """A shell started for one trace on a free port of this machine and ended by `close`.

    `source` names the trace in error messages, `request_timeout_s` bounds each wait for an answer.
    """

    name = "native"

    def __init__(self, path: str, *, source: str = "the trace", request_timeout_s: float = _REQUEST_TIMEOUT_S) -> None:
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory

        self._path = path
        self._source = source
        self._timeout_s = request_timeout_s
        self._protos = ProtoFactory(PlatformDelegate())
        self._process: subprocess.Popen[bytes] | None = None
        self._job: Any = None
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._port = _free_port()
        atexit.register(self.close)
        try:
            self._launch()
            self.version = self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def parse(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        for start in range(0, len(view), _CHUNK_BYTES):
            result = self._protos.AppendTraceDataResult()
            result.ParseFromString(self._request("POST", "/parse", view[start : start + _CHUNK_BYTES]))
            if result.error:
                raise PhasescopeError(
                    f"Perfetto's trace processor cannot read {self._source}: {one_line(result.error)}"
                )

    def finish(self) -> None:
        # /notify_eof answers nothing, even where the trace turns out to be cut off; /rpc answers the error.
        stream = self._protos.TraceProcessorRpcStream()
        stream.msg.add().request = self._protos.TraceProcessorRpc.TPM_FINALIZE_TRACE_DATA
        try:
            answer = self._request("POST", "/rpc", stream.SerializeToString())
        except _NotFound:
            self._request("GET", "/notify_eof")
            return
        for message in self._protos.TraceProcessorRpcStream.FromString(answer).msg:
            if error := message.fatal_error or message.finalize_data_result.error:
                raise PhasescopeError(f"Perfetto's trace processor cannot read {self._source}: {one_line(error)}")

    def query(self, sql: str) -> pa.Table:
        args = self._protos.QueryArgs()
        args.sql_query = sql
        return decode(self._request("POST", "/query", args.SerializeToString()))

    def close(self) -> None:
        from perfetto.trace_processor.process_tree import terminate_process_tree

        process, self._process = self._process, None
        if process is not None:
            terminate_process_tree(process, self._job)
        self._output.close()
        atexit.unregister(self.close)

    def _launch(self) -> None:
        from perfetto.trace_processor.process_tree import create_kill_on_close_job

        windows = sys.platform == "win32"
        try:
            self._process = subprocess.Popen(
                [self._path, "-D", "--http-port", str(self._port)],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if windows else 0,
                start_new_session=not windows,  # so that a wrapper script ends together with its child
            )
        except OSError as error:
            raise PhasescopeError(
                f"The trace processor {self._path} cannot be started ({error.strerror}); use --engine wasm."
            ) from error
        self._job = create_kill_on_close_job(self._process)

    def _wait_until_ready(self) -> str:
        """The version that the shell reports, once it answers."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                content = self._exchange("GET", "/status", b"", _STATUS_TIMEOUT_S)
                status = self._protos.StatusResult()
                status.ParseFromString(content)
            except Exception as error:
                if self._process is None or self._process.poll() is not None:
                    raise self._stopped("did not start") from error
                if time.monotonic() > deadline:
                    raise self._stopped(f"did not answer within {_START_TIMEOUT_S:.0f} s") from error
                time.sleep(0.02)
                continue
            return status.human_readable_version

    def _request(self, method: str, path: str, body: bytes | memoryview = b"") -> bytes:
        if self._process is None:
            raise PhasescopeError(f"The trace engine for {self._source} has stopped (it was closed); open a new one.")
        try:
            return self._exchange(method, path, body, self._timeout_s)
        except _NotFound:
            raise
        except TimeoutError as error:
            failure = self._stopped(f"did not answer {path} within {self._timeout_s:.0f} s")
            cause: Exception = error
        except (OSError, http.client.HTTPException) as error:
            if self._process is not None:  # the connection breaks a moment before the process is gone
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.5)
            failure = self._stopped(f"ended during {path}")
            cause = error
        self.close()
        raise failure from cause

    def _exchange(self, method: str, path: str, body: bytes | memoryview, timeout_s: float) -> bytes:
        # A connection a request: the shell may drop an idle one, and a local one costs nothing.
        with contextlib.closing(http.client.HTTPConnection("localhost", self._port, timeout=timeout_s)) as connection:
            connection.request(method, path, body=body or None)
            with connection.getresponse() as response:
                content = response.read()
                if response.status == 404:
                    raise _NotFound(path)
                if response.status != 200:
                    raise http.client.HTTPException(f"HTTP status {response.status} for {path}")
                return content

    def _stopped(self, what: str) -> PhasescopeError:
        code = self._process.poll() if self._process is not None else None
        self._output.seek(0, os.SEEK_END)
        self._output.seek(max(self._output.tell() - 4096, 0))
        said = self._output.read().decode("utf-8", "replace")
        details = [f"exit code {code}"] if code is not None else []
        details += [one_line(said)] if said.strip() else []
        why = f" ({'; '.join(details)})" if details else ""
        return PhasescopeError(f"The trace processor {self._path} {what} on {self._source}{why}; use --engine wasm.")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
