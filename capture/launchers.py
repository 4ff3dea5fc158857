"""How each pass's process is started: most as a plain child, some launched by xctrace or with variables set."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from capture.bundle import write_then_rename
from capture.child import ChildResult, run_child
from capture.launched import OnEvent, clean_environment, run_launched
from capture.opstats_tables import read_tables
from capture.recordings import RECORDINGS, record_pass
from capture.spec import CaptureSpec
from capture.xctrace import XctraceMissing, find_xctrace

# Statistics of operators (16), copies (32) and CPU fallbacks (64), printed when the process ends (MPSProfiler.h).
OPSTATS_VARIABLES = {"PYTORCH_MPS_LOG_PROFILE_INFO": "112"}
GPUTRACE_VARIABLES = {"MTL_CAPTURE_ENABLED": "1"}
OPSTATS_NAME = "opstats.json"


def start_pass(
    name: str,
    spec: CaptureSpec,
    folder: Path,
    timeout_s: float,
    on_event: OnEvent,
) -> ChildResult:
    """Run pass `name` in the way it needs; what run_child returns, for all of them."""
    if name in RECORDINGS and not _samples_counters_itself(name, spec):
        template = spec.counters_template if name == "counters" else None
        return record_pass(name, spec, folder, timeout_s, on_event, template)
    if name == "opstats":
        return _opstats(spec, folder, timeout_s, on_event)
    if name == "gputrace":
        environment = clean_environment() | GPUTRACE_VARIABLES
        spec = replace(spec, warmup=0, repeat=1)
        return run_launched(name, spec, folder, timeout_s, on_event, environment=environment)[0]
    return run_child(name, spec, folder, timeout_s, on_event)


def _samples_counters_itself(name: str, spec: CaptureSpec) -> bool:
    """Where there is no xctrace the counters pass needs no recorder: PyTorch samples them in the process (CUDA)."""
    if name != "counters" or spec.device not in ("auto", "cuda"):
        return False
    try:
        find_xctrace()
    except XctraceMissing:
        return sys.platform != "darwin"
    return False


def _opstats(spec: CaptureSpec, folder: Path, timeout_s: float, on_event: OnEvent) -> ChildResult:
    """Read PyTorch's tables from what the process printed when it ended."""
    environment = clean_environment() | OPSTATS_VARIABLES
    spec = replace(spec, warmup=min(spec.warmup, 1), repeat=1)
    with tempfile.TemporaryDirectory(prefix="phasescope-") as place:
        log = Path(place) / "log"
        result, code = run_launched("opstats", spec, folder, timeout_s, on_event, environment=environment, full_log=log)
        printed = log.read_text(errors="replace")
    final = result.final
    if final is None or final.get("status") != "measured":
        return result
    tables = read_tables(printed)
    missing = [name for name, rows in tables.items() if rows is None]
    final["detail"] |= {
        "exit_code": code,
        "tables": {name: None if rows is None else len(rows) for name, rows in tables.items()},
    }
    if len(missing) == len(tables):
        final["status"] = "failed"
        final["reason"] = f"PyTorch printed none of its tables when the process ended (exit code {code})."
        return result
    with write_then_rename(folder / OPSTATS_NAME) as stream:
        stream.write(json.dumps(tables, indent=1).encode() + b"\n")
    if not tables["operations"]:
        final["status"], final["reason"] = "empty", "PyTorch counted no operator on the GPU."
    return result
