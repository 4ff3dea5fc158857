"""A pass whose process another program starts (xctrace), or which must start with variables set and end by itself.

The worker is the same as of every pass; it is reached through a socket, since the one who launches it owns its
stdin and stdout. Closing the socket ends the worker, however the parent died.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from capture.child import ChildResult, _death, _listen, _read_log
from capture.environment import PROFILING_VARIABLES
from capture.spec import CaptureSpec

POLL_S = 0.2
WORKER = "capture.launched_worker"
# What a launched process needs of the environment: where models lie, and how many threads may run. No secrets.
PASSED_ON = ("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_CACHE", "OMP_NUM_THREADS", "HOME", "PATH")

OnEvent = Callable[[dict[str, Any]], None]


def clean_environment() -> dict[str, str]:
    """This process's environment without any profiling variable, and with where our modules lie."""
    environment = {name: value for name, value in os.environ.items() if name not in PROFILING_VARIABLES}
    root = str(Path(__file__).resolve().parent.parent)
    # A launcher may resolve a virtual environment's python to the one it links to; then these paths find the packages.
    packages = [path for path in sys.path if path.endswith("site-packages")]
    inherited = environment.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, [root, *packages, *inherited])))
    return environment


def passed_on(environment: Mapping[str, str], names: tuple[str, ...] = ()) -> dict[str, str]:
    """The part of an environment that a launched process must be given by name."""
    wanted = (*PASSED_ON, "PYTHONPATH", *names)
    return {name: environment[name] for name in wanted if name in environment}


def run_launched(
    name: str,
    spec: CaptureSpec,
    folder: Path,
    timeout_s: float,
    on_event: OnEvent,
    *,
    environment: Mapping[str, str],
    wrap: Callable[[list[str]], list[str]] = lambda worker: worker,
    full_log: Path | None = None,
) -> tuple[ChildResult, int | None]:
    """Run pass `name` under `wrap(its command)`; never longer than timeout_s seconds.

    Returns what run_child returns (pid is the worker's) and the exit code of the launcher, None if it was killed.
    `full_log` gets all that was printed; the result keeps its end.
    """
    deadline = time.monotonic() + timeout_s

    def heard(event: dict[str, Any]) -> None:
        if event["event"] == "pid":
            result.pid = event["pid"]
        on_event(event)

    with (
        tempfile.TemporaryDirectory(prefix="ps-") as place,
        full_log.open("w+b") if full_log else tempfile.TemporaryFile() as log,
        socket.socket(socket.AF_UNIX) as server,
    ):
        address = str(Path(place) / "s")
        server.bind(address)
        server.listen(1)
        argv = wrap([sys.executable, "-m", WORKER, name, address])
        launcher = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(environment), start_new_session=True
        )
        result = ChildResult(launcher.pid)
        code: int | None = None
        try:
            connection = _accept(server, launcher, deadline)
            if connection is not None:
                with connection, connection.makefile("rb") as stream:
                    request = {"spec": asdict(spec), "folder": str(folder.resolve())}
                    connection.sendall(json.dumps(request).encode() + b"\n")
                    try:
                        _listen(stream, deadline - time.monotonic(), result, heard)
                    finally:  # wakes the thread that still reads, and ends the worker
                        with contextlib.suppress(OSError):
                            connection.shutdown(socket.SHUT_RDWR)
            try:
                code = launcher.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                result.died = f"It took longer than {timeout_s:g} s and was ended; give more with --timeout."
            if code is not None and result.final is None and result.died is None:
                result.died = _death(code)
        finally:
            if launcher.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(launcher.pid, signal.SIGKILL)  # a session of its own, made above
            launcher.wait()
        result.log = _read_log(log)
    return result, code


def _accept(server: socket.socket, launcher: subprocess.Popen[bytes], deadline: float) -> socket.socket | None:
    """The worker's connection, or None when the launcher ended or time ran out before it came."""
    server.settimeout(POLL_S)
    while time.monotonic() < deadline:
        try:
            connection, _ = server.accept()
        except TimeoutError:
            if launcher.poll() is not None:
                return None
            continue
        connection.settimeout(None)
        return connection
    return None
