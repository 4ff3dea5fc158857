"""Facts of the machine and its software, without any name of host or user."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

from capture.bundle import Machine

SOFTWARE = ("torch", "transformers", "accelerate", "tokenizers", "gguf", "numpy")


def _sysctl(name: str) -> str | None:
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


@functools.cache
def processor_name() -> str | None:
    """Name of the processor as the operating system tells it."""
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string")
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def machine_facts() -> Machine:
    """This machine; its device is added by the pass that opens it."""
    if sys.platform == "darwin":
        system = f"macOS {platform.mac_ver()[0]} {platform.machine()}"
    else:
        # Two parts of the version: the rest names a build, often of one provider's machines.
        kernel = ".".join(platform.release().split(".")[:2])
        system = f"{platform.system()} {kernel} {platform.machine()}"
    return Machine(os=system, processor=processor_name(), cores=os.cpu_count(), memory_bytes=_memory_bytes())


def software_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a capture rests on."""
    versions = {"python": platform.python_version()}
    for name in SOFTWARE:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
