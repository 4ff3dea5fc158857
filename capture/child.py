"""One pass in a child process: started, listened to, and ended in time, by the parent."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from capture.redact import redact
from capture.spec import CaptureSpec

LOG_LIMIT_BYTES = 64 * 1024


@dataclass
class ChildResult:
    """How a pass's process ended. final: its last word (done, refused or error), None if it died without one.

    facts: what it said of model and machine, None if it did not get that far. log: what it printed, without names
    of user, host and folders.
    """

    pid: int
    final: dict[str, Any] | None = None
    facts: dict[str, Any] | None = None
    died: str | None = None
    log: str = ""
    notes: list[str] = field(default_factory=list)


def run_child(
    name: str,
    spec: CaptureSpec,
    folder: Path,
    timeout_s: float,
    on_event: Callable[[dict[str, Any]], None],
) -> ChildResult:
    """Run pass `name` in a process of its own that writes into `folder`; never longer than timeout_s seconds."""
    environment = dict(os.environ)
    root = str(Path(__file__).resolve().parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "capture.worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
        )
        result = ChildResult(process.pid)
        try:
            request = {"spec": asdict(spec), "folder": str(folder.resolve())}
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
            except BrokenPipeError:
                pass  # it died at once; how it ended tells why
            _listen(process.stdout, timeout_s, result, on_event)
            if result.died is None:
                code = process.wait()
                if result.final is None:
                    result.died = _death(code)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
        result.log = _read_log(log)
    return result


def _listen(stream: Any, timeout_s: float, result: ChildResult, on_event: Callable[[dict[str, Any]], None]) -> None:
    import time

    lines: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            result.died = f"It took longer than {timeout_s:g} s and was ended; give more with --timeout."
            return
        if line is None:
            return
        event = json.loads(line)
        if event["event"] == "facts":
            result.facts = event
        elif event["event"] in ("done", "refused", "error"):
            result.final = event
        on_event(event)


def _death(code: int) -> str:
    if code == -signal.SIGKILL:
        return "Its process was killed (signal 9); a system that runs out of memory does that."
    if code < 0:
        return f"Its process ended with signal {-code} ({signal.Signals(-code).name})."
    return f"Its process ended with exit code {code} and no word of why."


def _read_log(log: BinaryIO) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - LOG_LIMIT_BYTES))
    text = log.read().decode(errors="replace")
    return redact(text.replace("\r", "\n"))
