"""What this machine can capture and analyse, and what is missing for the rest."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Literal

from analyze import mac_tools
from analyze.errors import PhasescopeError
from analyze.mac_tools import Mac, Runner

Status = Literal["yes", "no", "perhaps", "note"]
_INSTALL = "pip install 'phasescope[capture]'"
_COMMAND_S, _PROBE_S = 15.0, 120.0
# In a process of its own: importing torch takes seconds, and a broken driver may hang or crash it.
_DEVICE_PROBE = """
import json, torch
found = {"cpu": f"{torch.get_num_threads()} threads", "cuda": None, "mps": None}
if torch.cuda.is_available():
    found["cuda"] = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}"
if torch.backends.mps.is_available():
    found["mps"] = getattr(torch.backends.mps, "get_name", lambda: "available")()
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Finding:
    """One line of the diagnosis: `status` answers whether `what` is there or can be done.

    `perhaps` means that only trying tells; `note` is a plain fact. `advice` is empty where nothing is missing.
    """

    topic: Literal["machine", "analysis", "capture", "pass"]
    what: str
    status: Status
    detail: str
    advice: str = ""


def run_command(arguments: list[str], timeout_s: float) -> str | None:
    """Standard output (and error) of a command, None where it fails or is not there."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", timeout=timeout_s)
    except (OSError, subprocess.SubprocessError):
        return None
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else None


def doctor(*, fetch: bool = False, run: Runner = run_command) -> list[Finding]:
    """Examine this machine; with `fetch`, download the native trace processor first.

    `run` starts the commands that are asked (tests give answers of other machines). Raises PhasescopeError
    when the download fails.
    """
    if fetch:
        from analyze.engines.shell import fetch_shell

        # perfetto prints what it downloads; standard output belongs to the findings.
        with contextlib.redirect_stdout(sys.stderr):
            fetch_shell()
    mac = mac_tools.examine(run) if sys.platform == "darwin" else None
    packages = [_package("torch"), _package("transformers")]
    devices = _devices(run) if packages[0].status == "yes" else None
    return [
        *_machine(mac),
        *_analysis(run),
        *packages,
        *_device_findings(packages[0].status == "yes", devices),
        *_passes(mac, all(item.status == "yes" for item in packages), devices or {}),
    ]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _package(name: str) -> Finding:
    version = _version(name)
    if version:
        return Finding("capture", name, "yes", version)
    return Finding("capture", name, "no", "not installed", _INSTALL)


def _machine(mac: Mac | None) -> list[Finding]:
    system = f"macOS {platform.mac_ver()[0]}" if mac else platform.system()
    findings = [
        Finding("machine", "system", "note", f"{system} {platform.machine()}, {os.cpu_count()} cores"),
        Finding("machine", "python", "note", f"{platform.python_version()} ({sys.executable})"),
    ]
    with contextlib.suppress(ValueError, OSError, AttributeError):  # no sysconf on Windows
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        findings.append(Finding("machine", "memory", "note", f"{memory_bytes / 2**30:.1f} GiB"))
    if mac is None:
        return findings
    cores = f", {mac.gpu_cores} GPU cores" if mac.gpu_cores else ""
    findings.append(Finding("machine", "chip", "note", f"{mac.chip or 'not told'}{cores}"))
    if mac.rosetta:
        findings.append(Finding("machine", "rosetta", "no", "this Python is an Intel build", "install an arm64 Python"))
    xcode = f"{mac.xctrace_version} in {mac.developer_folder}" if mac.full_xcode else "no usable xctrace"
    if not mac.full_xcode and mac.developer_folder:
        tools = "command-line tools only" if "CommandLineTools" in mac.developer_folder else mac.developer_folder
        xcode = f"{xcode} ({tools})"
    findings.append(Finding("machine", "xcode", "yes" if mac.full_xcode else "no", xcode, _xcode_advice(mac)))
    mode: Status = "perhaps" if mac.developer_mode is None else "yes" if mac.developer_mode else "no"
    detail = {"perhaps": "DevToolsSecurity does not answer", "yes": "enabled", "no": "disabled"}[mode]
    advice = "" if mode == "yes" else "sudo DevToolsSecurity -enable"
    return [*findings, Finding("machine", "developer mode", mode, detail, advice)]


def _xcode_advice(mac: Mac) -> str:
    if mac.full_xcode:
        return ""
    if mac.xctrace_path or "Xcode" in (mac.developer_folder or ""):
        return "open Xcode once, or sudo xcodebuild -license accept"
    return "install Xcode, then sudo xcode-select -s /Applications/Xcode.app"


def _analysis(run: Runner) -> list[Finding]:
    findings = []
    for package in ("duckdb", "perfetto", "pyarrow"):
        version = _version(package)
        advice = "" if version else f"pip install {package}"
        findings.append(Finding("analysis", package, "yes" if version else "no", version or "not installed", advice))
    return [*findings, _wasm(), _native(run)]


def _wasm() -> Finding:
    from analyze.engines.module_cache import is_cached
    from analyze.engines.wasm import wasm_path
    from analyze.user_cache import cache_folder

    what, wasmtime = "trace engine wasm", _version("wasmtime")
    try:
        path = wasm_path()
    except PhasescopeError as error:
        return Finding("analysis", what, "no", "trace_processor.wasm is missing", str(error))
    if wasmtime is None:
        return Finding("analysis", what, "no", "package wasmtime is not installed", "pip install wasmtime")
    state = f"compiled in {cache_folder()}" if is_cached(path) else "compiled at first use, some seconds"
    return Finding("analysis", what, "yes", f"Perfetto {path.parent.name}, wasmtime {wasmtime}; {state}")


def _native(run: Runner) -> Finding:
    from analyze.engines.shell import find_shell

    what = "trace engine native"
    try:
        shell = find_shell()
    except PhasescopeError as error:
        return Finding("analysis", what, "no", str(error), "correct or unset the variable")
    if shell is None:
        return Finding("analysis", what, "no", "no trace_processor_shell found", "optional: phasescope doctor --fetch")
    answer = run([shell.path, "--version"], _COMMAND_S)
    if answer is None:
        return Finding("analysis", what, "no", f"{shell.path} does not run here", "phasescope doctor --fetch")
    version = answer.splitlines()[0] if answer else "unknown version"
    return Finding("analysis", what, "yes", f"{version}; {shell.path} (by {shell.found_by})")


def _devices(run: Runner) -> dict[str, str | None] | None:
    """What torch can compute on, by device type; None where torch does not answer."""
    answer = run([sys.executable, "-c", _DEVICE_PROBE], _PROBE_S) or ""
    # Warnings may surround the answer, which is the one line that is a JSON object.
    for line in answer.splitlines():
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                return json.loads(line)
    return None


def _device_findings(torch: bool, devices: dict[str, str | None] | None) -> list[Finding]:
    if devices is None:
        detail = f"importing torch failed or took over {_PROBE_S:.0f} s"
        return [Finding("capture", "devices", "no", detail, "pip install --force-reinstall torch")] if torch else []
    return [
        Finding("capture", f"device {name}", "yes" if detail else "no", detail or "not available")
        for name, detail in devices.items()
    ]


@dataclass(frozen=True)
class _Need:
    met: bool
    lack: str
    advice: str


def _passes(mac: Mac | None, packages: bool, devices: dict[str, str | None]) -> list[Finding]:
    """Which passes of a capture can be recorded here, else all that is missing and what to do first."""
    torch = _Need(packages and bool(devices), "torch and transformers", _INSTALL)
    apple = _Need(bool(mac and mac.apple_silicon), "macOS on Apple silicon", "capture on such a Mac")
    mps = _Need(bool(devices.get("mps")), "torch with device mps", _INSTALL)
    xcode = _Need(bool(mac and mac.full_xcode), "full Xcode (xctrace)", _xcode_advice(mac) if mac else "")
    mode = _Need(bool(mac and mac.developer_mode is not False), "developer mode", "sudo DevToolsSecurity -enable")
    zeus = _Need(
        _version("zeus-apple-silicon") is not None,
        "package zeus-apple-silicon",
        "pip install zeus-apple-silicon",
    )
    needs = {
        "clean": [torch],
        "profiled": [torch],
        "memory": [torch],
        "energy": [apple, torch, zeus],
        "metal": [apple, torch, mps, xcode, mode],
        "signposts": [apple, torch, mps, xcode, mode],
        "counters": _counters_on_cuda(torch) if devices.get("cuda") else [apple, torch, mps, xcode, mode],
        "opstats": [apple, torch, mps],
        "gputrace": [apple, torch, mps],
    }
    findings = []
    for name, wanted in needs.items():
        lacking = [need for need in wanted if not need.met]
        if lacking:
            detail = f"needs {', '.join(need.lack for need in lacking)}"
            findings.append(Finding("pass", name, "no", detail, lacking[0].advice))
        elif name == "counters":
            findings.append(Finding("pass", name, "perhaps", "many chips refuse counters; the pass tries"))
        else:
            findings.append(Finding("pass", name, "yes", "can be recorded"))
    return findings


def _counters_on_cuda(torch: _Need) -> list[_Need]:
    """What PyTorch's own sampling of hardware counters needs (torch.profiler.PerformanceMetricsConfig)."""
    digits = re.findall(r"\d+", _version("torch") or "")[:2]
    recent = [int(each) for each in digits] >= [2, 15]
    cupti = _Need(_version("cupti-python") is not None, "package cupti-python", "pip install cupti-python")
    return [torch, _Need(recent, "PyTorch 2.15 or later", "pip install 'torch>=2.15'"), cupti]


_HEADINGS = {"machine": "This machine", "analysis": "Analysis", "capture": "Capture", "pass": "Passes"}


def as_text(findings: list[Finding]) -> str:
    """The findings for a terminal, a block for each topic, with what to do about what is missing."""
    width = max(len(finding.what) for finding in findings)
    lines: list[str] = []
    for topic, heading in _HEADINGS.items():
        lines += ["", heading] if lines else [heading]
        for finding in findings:
            if finding.topic == topic:
                answer = "" if finding.status == "note" else finding.status
                advice = f"  -> {finding.advice}" if finding.advice else ""
                lines.append(f"  {finding.what:{width}}  {answer:7}  {finding.detail}{advice}".rstrip())
    return "\n".join(lines)
