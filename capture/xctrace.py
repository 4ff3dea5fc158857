"""Apple's `xctrace`: where it is, its command lines, and what its exit codes are worth.

Exit codes cannot be trusted (published runs): 54 came with whole recordings, 133 (SIGTRAP) after a whole export,
0 for a refused counter set. So what it wrote is looked at instead. Export goes through stdout, since `--output` of
export once cut files off. Nothing here was run on a Mac by this project; see docs/not-verified.md.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from capture.errors import PhasescopeError

TEMPLATE = "Metal System Trace"
ASK_S = 60.0
EXPORT_S = 600.0


class XctraceMissing(PhasescopeError):
    """There is no usable xctrace; the sentence says what is missing for it."""


@dataclass(frozen=True)
class Xctrace:
    """A usable xctrace."""

    path: str
    version: str


def find_xctrace() -> Xctrace:
    """Ask xcrun for xctrace and xctrace for its version. Raises XctraceMissing."""
    if shutil.which("xcrun") is None:
        raise XctraceMissing("xcrun is not on this machine: xctrace comes with Xcode, which runs on a Mac only.")
    found = _ask(["xcrun", "-f", "xctrace"])
    path = found.stdout.strip().splitlines()[-1] if found.returncode == 0 and found.stdout.strip() else None
    if path is None:
        raise XctraceMissing(_why_missing(found))
    asked = _ask([path, "version"])
    if asked.returncode != 0:
        raise XctraceMissing(_why_missing(asked))
    return Xctrace(path, asked.stdout.strip().splitlines()[-1] if asked.stdout.strip() else "unknown")


def _why_missing(done: subprocess.CompletedProcess[str]) -> str:
    said = (done.stderr + done.stdout).strip()
    first = said.splitlines()[0] if said else "no word of why"
    if "license" in said.lower():
        way_out = "accept it with `sudo xcodebuild -license accept`"
    else:
        way_out = "install Xcode and choose it with `sudo xcode-select -s /Applications/Xcode.app`"
    return f"xctrace does not run here (exit code {done.returncode}: {first}); {way_out}."


def _ask(argv: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=ASK_S)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", f"no answer within {ASK_S:g} s")
    except OSError as error:
        return subprocess.CompletedProcess(argv, 127, "", str(error))


def record_argv(
    xctrace: Xctrace,
    *,
    trace: Path,
    worker: Sequence[str],
    environment: Mapping[str, str],
    time_limit_s: float,
    target_stdout: Path,
    template: str = TEMPLATE,
    instruments: Sequence[str] = (),
) -> list[str]:
    """The command that records `worker` by launching it; --launch must come last.

    The launched process is not known to inherit anything, so what it needs of the environment is named.
    """
    return [
        xctrace.path,
        "record",
        "--template",
        template,
        *(word for name in instruments for word in ("--instrument", name)),
        "--time-limit",
        f"{max(1, int(time_limit_s))}s",
        "--no-prompt",
        "--output",
        str(trace),
        *(word for name in sorted(environment) for word in ("--env", f"{name}={environment[name]}")),
        "--target-stdout",
        str(target_stdout),
        "--launch",
        "--",
        *worker,
    ]


def toc_argv(xctrace: Xctrace, trace: Path) -> list[str]:
    """The command that prints the table of contents."""
    return [xctrace.path, "export", "--input", str(trace), "--toc"]


def table_argv(xctrace: Xctrace, trace: Path, schema: str) -> list[str]:
    """The command that prints every table of a schema."""
    xpath = f'/trace-toc/run[@number="1"]/data/table[@schema="{schema}"]'
    return [xctrace.path, "export", "--input", str(trace), "--xpath", xpath]


def export(argv: list[str], out: Path) -> tuple[int, str]:
    """Run an export with its stdout into `out`; returns the exit code and the first line of what it complained."""
    with out.open("wb") as stream:
        try:
            done = subprocess.run(argv, stdout=stream, stderr=subprocess.PIPE, timeout=EXPORT_S)
        except subprocess.TimeoutExpired:
            return 124, f"no end within {EXPORT_S:g} s"
        except OSError as error:
            return 127, str(error)
    return done.returncode, next(iter(done.stderr.decode("utf-8", "replace").strip().splitlines()), "")
