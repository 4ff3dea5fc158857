"""What one child process of the benchmarks does: `python -m tests.benchmarks.child TASK ARGS`, one JSON line out."""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def peak_bytes() -> int:
    """Peak of the resident memory of this process so far (on macOS the unit of ru_maxrss is bytes, else KiB)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _content(path: str) -> bytes:
    import gzip

    data = Path(path).read_bytes()
    return gzip.decompress(data) if path.endswith(".gz") else data


def load(path: str, store: str = "") -> Callable[[], dict[str, Any]]:
    """`phasescope load` of one file into a new store."""
    import analyze.load

    def work() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            result = analyze.load.load([path], store or Path(folder) / "x.duckdb")
        if result.failed:
            raise result.failed[0]
        return {"events": result.loaded[0].raw_events}

    return work


def folder(path: str, jobs: str) -> Callable[[], dict[str, Any]]:
    """`phasescope load FOLDER --jobs N` into a new store."""
    import analyze.load

    def work() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as out:
            result = analyze.load.load([path], Path(out) / "x.duckdb", jobs=int(jobs))
        if result.failed:
            raise result.failed[0]
        return {"runs": len(result.loaded)}

    return work


def json_load(path: str) -> Callable[[], dict[str, Any]]:
    """`json.load` of the same file."""
    import gzip

    def work() -> dict[str, Any]:
        with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
            return {"events": len(json.load(file)["traceEvents"])}

    return work


def msgspec_raw(path: str) -> Callable[[], dict[str, Any]]:
    """A typed decode with exact times, arguments left as raw JSON: the least that reading can cost."""
    from decimal import Decimal

    import msgspec

    class Event(msgspec.Struct, gc=False):
        ph: str
        name: str = ""
        cat: str = ""
        pid: int | str | None = None
        tid: int | str | None = None
        ts: Decimal | None = None
        dur: Decimal | None = None
        id: int | str | None = None
        args: msgspec.Raw = msgspec.Raw(b"")

    class Trace(msgspec.Struct):
        traceEvents: list[Event]

    return lambda: {"events": len(msgspec.json.decode(_content(path), type=Trace).traceEvents)}


def msgspec_whole(path: str) -> Callable[[], dict[str, Any]]:
    """A typed decode of everything, arguments included, which the tables need too."""
    from decimal import Decimal

    import msgspec

    class Event(msgspec.Struct):
        ph: str
        name: str = ""
        cat: str = ""
        pid: int | str | None = None
        tid: int | str | None = None
        ts: Decimal | None = None
        dur: Decimal | None = None
        id: int | str | None = None
        args: dict[str, Any] | None = None

    class Trace(msgspec.Struct):
        traceEvents: list[Event]

    return lambda: {"events": len(msgspec.json.decode(_content(path), type=Trace).traceEvents)}


TASKS: dict[str, Callable[..., Callable[[], dict[str, Any]]]] = {
    "load": load,
    "folder": folder,
    "json": json_load,
    "msgspec-raw": msgspec_raw,
    "msgspec-whole": msgspec_whole,
}


def main() -> None:
    """Run the task named on the command line and print what it took."""
    work = TASKS[sys.argv[1]](*sys.argv[2:])
    baseline = peak_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    answer = work()
    account = {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_bytes": peak_bytes(),
        "baseline_bytes": baseline,
        "answer": answer,
    }
    print(json.dumps(account))


if __name__ == "__main__":
    main()
