"""What a Mac has for recording GPU traces: chip, Xcode, xctrace, developer mode.

Nothing here was run on a Mac by this project; the commands and their answers are from Apple's manual pages
and from published runs.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass

# Output of a command that ended with code 0, else None (it failed, is missing, or took too long).
Runner = Callable[[list[str], float], str | None]
_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Mac:
    """One Mac; None where the system did not tell. xctrace is None with the command-line tools alone."""

    chip: str | None
    gpu_cores: str | None
    developer_folder: str | None
    xctrace_path: str | None
    xctrace_version: str | None
    developer_mode: bool | None

    @property
    def apple_silicon(self) -> bool:
        return (self.chip or "").startswith("Apple")

    @property
    def rosetta(self) -> bool:
        """Whether this Python is an Intel build on an Apple chip; torch then has no device mps."""
        return self.apple_silicon and platform.machine() != "arm64"

    @property
    def full_xcode(self) -> bool:
        return self.xctrace_version is not None


def examine(run: Runner) -> Mac:
    """Ask the commands of macOS through `run`."""

    def ask(*arguments: str) -> str | None:
        return run(list(arguments), _TIMEOUT_S) or None

    hardware = _json(ask("system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json"))
    facts = (hardware.get("SPHardwareDataType") or [{}])[0]
    displays = (hardware.get("SPDisplaysDataType") or [{}])[0]
    # With the command-line tools alone xcrun finds no xctrace, or a stub that fails when it is run.
    path = ask("xcrun", "-f", "xctrace")
    version = ask(path.splitlines()[-1], "version") if path else None
    mode = ask("DevToolsSecurity", "-status")
    return Mac(
        chip=facts.get("chip_type") or ask("sysctl", "-n", "machdep.cpu.brand_string"),
        gpu_cores=displays.get("sppci_cores"),
        developer_folder=ask("xcode-select", "-p"),
        xctrace_path=path.splitlines()[-1] if path else None,
        xctrace_version=version.splitlines()[-1] if version else None,
        developer_mode=None if mode is None else "enabled" in mode,
    )


def _json(text: str | None) -> dict:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
