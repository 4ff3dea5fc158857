"""Where a native `trace_processor_shell` lies on this machine; nothing here downloads one unasked."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from analyze.errors import PhasescopeError

_VARIABLE = "PHASESCOPE_TRACE_PROCESSOR"


@dataclass(frozen=True)
class Shell:
    """A native trace processor and how it was found: option, environment, PATH or perfetto cache."""

    path: str
    found_by: str


def find_shell(explicit: str | None = None) -> Shell | None:
    """The first of: `explicit`, PHASESCOPE_TRACE_PROCESSOR, PATH, the perfetto package's cache; else None.

    Raises PhasescopeError when a path that somebody named is no executable file. `trace_processor` on
    PATH is not taken: under that name Perfetto hands out a script that downloads the program.
    """
    for path, found_by in ((explicit, "--trace-processor"), (os.environ.get(_VARIABLE), _VARIABLE)):
        if path:
            if not os.path.isfile(path) or not os.access(path, os.X_OK):
                raise PhasescopeError(f"{path}, named by {found_by}, is not an executable file.")
            return Shell(path, found_by)
    if on_path := shutil.which("trace_processor_shell"):
        return Shell(on_path, "PATH")
    cached = perfetto_cache_path()
    if cached is not None and cached.is_file():
        return Shell(str(cached), "perfetto cache")
    return None


def perfetto_cache_path() -> Path | None:
    """Where the perfetto package keeps the shell it pins; None where it has none for this platform.

    As perfetto.prebuilts.perfetto_prebuilts.download_or_get_cached names it.
    """
    from perfetto.prebuilts.manifests.trace_processor_shell import TRACE_PROCESSOR_SHELL_MANIFEST

    for entry in TRACE_PROCESSOR_SHELL_MANIFEST:
        here = entry.get("platform") == sys.platform and platform.machine().lower() in entry.get("machine", [])
        if here and entry.get("url"):
            root, extension = os.path.splitext(entry["file_name"])
            folder = Path.home() / ".local" / "share" / "perfetto" / "prebuilts"
            return folder / f"{root}-{entry['sha256'][:16]}{extension}"
    return None


def fetch_shell() -> Shell:
    """Download the trace processor that the perfetto package pins, by its own code and checksum.

    Raises PhasescopeError when it cannot be had (no network, no build for this platform).
    """
    from perfetto.prebuilts.manifests.trace_processor_shell import TRACE_PROCESSOR_SHELL_MANIFEST
    from perfetto.prebuilts.perfetto_prebuilts import get_perfetto_prebuilt

    try:
        return Shell(get_perfetto_prebuilt(TRACE_PROCESSOR_SHELL_MANIFEST), "perfetto cache")
    except Exception as error:
        raise PhasescopeError(
            f"The native trace processor could not be downloaded ({_why(error)}); "
            "go on with --engine wasm, which needs no download."
        ) from error


def _why(error: Exception) -> str:
    import subprocess

    if isinstance(error, subprocess.CalledProcessError):
        return f"curl ended with code {error.returncode}"
    if isinstance(error, FileNotFoundError):
        return "curl is not installed"
    return str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
