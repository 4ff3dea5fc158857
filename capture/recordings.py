"""The passes that xctrace records: metal, signposts, counters. Record by launch, export each table, judge, redact."""

from __future__ import annotations

import gzip
import io
import os
import re
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from capture.bundle import write_then_rename
from capture.child import ChildResult
from capture.clock import read_clocks
from capture.launched import OnEvent, clean_environment, passed_on, run_launched
from capture.redact import redact
from capture.spec import CaptureSpec
from capture.table_redaction import redact_table
from capture.toc_redaction import redact_toc
from capture.xctrace import (
    TEMPLATE,
    Xctrace,
    XctraceMissing,
    export,
    find_xctrace,
    record_argv,
    table_argv,
    toc_argv,
)
from capture.xctrace_rows import ExportCheck, check_export

TOC_NAME = "toc.redacted.xml"
GPU_TABLE = "metal-gpu-intervals"
_ALWAYS = ("time-info", "device-thermal-state-intervals", "gpu-performance-state-intervals")
_METAL = (
    GPU_TABLE,
    "metal-gpu-state-intervals",
    "metal-application-encoders-list",
    "metal-application-command-buffer-submissions",
    "metal-command-buffer-completed",
    "metal-command-buffer-error",
    "metal-driver-intervals",
    "metal-driver-event-intervals",
    "metal-current-allocated-size",
)
_SIGNPOSTS = ("os-signpost", "os-signpost-interval", "OSSignpostIntervals")
_COUNTERS = ("metal-gpu-counter-intervals", "gpu-counter-info", "gpu-counter-value", "metal-shader-profiler-intervals")


@dataclass(frozen=True)
class Recording:
    """What a pass records. `evidence`: tables of which one must have rows for the pass to count as measured."""

    instruments: tuple[str, ...]
    tables: tuple[str, ...]
    evidence: tuple[str, ...]


RECORDINGS = {
    "metal": Recording((), _ALWAYS + _METAL, (GPU_TABLE,)),
    "signposts": Recording(("os_signpost",), _ALWAYS + _SIGNPOSTS, _SIGNPOSTS),
    "counters": Recording(("Metal GPU Counters",), _ALWAYS + _METAL[:2] + _COUNTERS, _COUNTERS[:1] + _COUNTERS[2:]),
}
_NOT_OFFERED = "not in this recording"
# xctrace says so of chips whose counters it cannot select, in one run with exit code 0.
_REFUSES_COUNTERS = "not supported on target device"
# What a table's name may be in a TOC, and so in a file name.
_SCHEMA = re.compile(rb'<table\b[^>]*\bschema="([\w.-]{1,80})"')


def record_pass(
    name: str, spec: CaptureSpec, folder: Path, timeout_s: float, on_event: OnEvent, template: str | None = None
) -> ChildResult:
    """Run pass `name` under xctrace and put its tables into `folder`; never raises for what xctrace does.

    `template`: a .tracetemplate of the user's, in place of Apple's and of the instruments that the pass would add.
    """
    recording = RECORDINGS[name]
    try:
        xctrace = find_xctrace()
    except XctraceMissing as missing:
        return _unsupported(str(missing))
    deadline = time.monotonic() + timeout_s
    # One warm-up compiles every length; more would only swell the recording, which starts with the process.
    spec = replace(spec, warmup=min(spec.warmup, 1), repeat=1)
    environment = clean_environment()
    with tempfile.TemporaryDirectory(prefix="phasescope-") as place:
        trace, target_log = Path(place) / f"{name}.trace", Path(place) / "target.log"

        def wrap(worker: list[str]) -> list[str]:
            return record_argv(
                xctrace,
                trace=trace,
                worker=worker,
                environment=passed_on(environment),
                time_limit_s=timeout_s,
                target_stdout=target_log,
                template=template or TEMPLATE,
                instruments=() if template else recording.instruments,
            )

        # What is recorded with counters on is the workload of pass metal.
        inside = "metal" if name == "counters" else name
        result, code = run_launched(inside, spec, folder, timeout_s, on_event, environment=environment, wrap=wrap)
        if target_log.exists():
            result.log += redact(target_log.read_text(errors="replace")[-16_384:])
        final = result.final
        if final is None and name == "counters" and _REFUSES_COUNTERS in result.log:
            line = next(each.strip() for each in result.log.splitlines() if _REFUSES_COUNTERS in each)
            return replace(_unsupported(f"xctrace refuses its counters here: {line}."), log=result.log)
        if final is None or final.get("status") != "measured":
            return result  # the workload did not run to its end: its own reason is the better one
        final["detail"]["xctrace"] = {
            "version": xctrace.version,
            "record_exit_code": code,
            "template": "user's own" if template else TEMPLATE,
            "trace_bytes": _size(trace),
        }
        if not trace.exists():
            last = next(iter(reversed(result.log.strip().splitlines())), "no word of why")
            final["status"], final["reason"] = "failed", f"xctrace wrote no recording (exit code {code}: {last})."
            return result
        on_event({"event": "progress", "done": 0, "total": 0, "what": "exporting the tables"})
        _export_all(xctrace, trace, folder, recording, result, deadline)
    return result


def _unsupported(reason: str) -> ChildResult:
    clock = {"start": asdict(read_clocks()), "end": None}
    final = {"event": "done", "status": "unsupported", "reason": reason, "clock": clock, "detail": {}}
    return ChildResult(os.getpid(), final=final)


def _export_all(
    xctrace: Xctrace, trace: Path, folder: Path, recording: Recording, result: ChildResult, deadline: float
) -> None:
    assert result.final is not None
    final = result.final
    place = trace.parent
    toc_path = place / "toc.xml"
    code, said = export(toc_argv(xctrace, trace), toc_path)
    try:
        toc = toc_path.read_bytes()
        redacted = redact_toc(toc)
    except ValueError as error:
        final["status"] = "failed"
        final["reason"] = f"xctrace cannot list its recording (exit code {code}: {redact(said) or error})."
        return
    with write_then_rename(folder / TOC_NAME) as stream:
        stream.write(redacted)
    offered = {schema.decode() for schema in _SCHEMA.findall(toc)}
    exports: dict[str, dict[str, Any]] = {}
    for schema in recording.tables:
        if schema not in offered:
            exports[schema] = {"note": _NOT_OFFERED}
        elif time.monotonic() > deadline:
            exports[schema] = {"note": "not exported: time ran out"}
        else:
            exports[schema] = _export_table(xctrace, trace, folder, schema, result.pid)
    final["detail"]["exports"] = exports
    final["detail"]["counters_in_toc"] = _counter_words(redacted)
    if recording is RECORDINGS["counters"]:
        final["status"], final["reason"] = _counters_verdict(recording, exports, final["detail"]["counters_in_toc"])
    else:
        final["status"], final["reason"] = _verdict(recording, exports, result.pid)


def _export_table(xctrace: Xctrace, trace: Path, folder: Path, schema: str, pid: int) -> dict[str, Any]:
    """Export a table, once more if it came out cut; keep it only when it is whole, whatever the exit code."""
    raw = trace.parent / f"{schema}.xml"
    attempts = 0
    while attempts < 2:
        attempts += 1
        note: str | None = None
        code, said = export(table_argv(xctrace, trace, schema), raw)
        check = check_export(raw, pid)
        if check.whole and check.tables:
            if code != 0:
                note = f"whole, although xctrace ended with exit code {code}"
            _pack(raw, folder / f"{schema}.xml.gz", pid)
            break
        note = _not_whole(check, code, redact(said)) if not check.whole else "the table is not in the export"
        if check.whole:
            break
    raw.unlink(missing_ok=True)
    return {
        "exit_code": code,
        "attempts": attempts,
        "whole": check.whole and check.tables > 0,
        "rows": check.rows,
        "own_rows": check.own_rows,
        **({"note": note} if note else {}),
    }


def _not_whole(check: ExportCheck, code: int, said: str) -> str:
    return f"left out: the XML is not whole ({check.fault}; exit code {code}{': ' + said if said else ''})"


def _pack(raw: Path, target: Path, pid: int) -> None:
    """Compress an export, with what is private in it replaced."""
    with (
        write_then_rename(target) as stream,
        gzip.GzipFile(target.name.removesuffix(".gz"), "wb", 6, stream, mtime=0) as packed,
        io.BufferedWriter(cast(io.RawIOBase, packed), 1 << 20) as lines,
    ):
        redact_table(raw, lines, pid)


def _counter_words(toc: bytes) -> list[str]:
    """What the TOC says of counters and the shader timeline."""
    return [word.decode() for word in re.findall(rb"<value>((?:Counter Set|Shader Timeline):[^<]*)</value>", toc)]


def _verdict(recording: Recording, exports: dict[str, dict[str, Any]], pid: int) -> tuple[str, str | None]:
    """Status and reason, from rows and not from exit codes."""
    found = {schema: exports[schema] for schema in recording.evidence if exports[schema].get("whole")}
    if not found:
        notes = "; ".join(f"{schema}: {exports[schema].get('note')}" for schema in recording.evidence)
        return "failed", f"No table with the evidence of this pass could be exported ({notes})."
    rows = sum(each["rows"] for each in found.values())
    own = sum(each["own_rows"] for each in found.values())
    if not own:
        return "empty", (
            f"Of {rows} rows in {', '.join(found)} none is of the recorded process ({pid}): its work was not captured, "
            "which does not mean that nothing ran."
        )
    return "measured", None


def _counters_verdict(
    recording: Recording, exports: dict[str, dict[str, Any]], toc_words: list[str]
) -> tuple[str, str | None]:
    """Whose the counters are cannot be told, and most Macs have none, which is no failure of the pass."""
    if any(exports[schema].get("rows") and exports[schema].get("whole") for schema in recording.evidence):
        return "measured", None
    cut = [f"{schema}: {exports[schema]['note']}" for schema in recording.evidence if not _is_empty(exports[schema])]
    if cut:
        return "failed", f"No table of counters could be exported ({'; '.join(cut)})."
    said = f" (its table of contents says {', '.join(toc_words)})" if toc_words else ""
    return "empty", (
        f"This Mac or Xcode recorded no {', '.join(recording.evidence)}{said}; try --counters-template with a template "
        "saved in Instruments."
    )


def _is_empty(export: dict[str, Any]) -> bool:
    return export.get("note") == _NOT_OFFERED or (bool(export.get("whole")) and not export["rows"])


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
