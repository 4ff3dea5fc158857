"""The diagnosis of this machine, and of Macs whose commands are answered by a script.

The answers follow Apple's manual pages and published runs; none was recorded on a Mac by this project.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyze import doctor as module
from analyze.commands.doctor import command
from analyze.doctor import Finding, as_text, doctor, run_command
from analyze.engines.shell import perfetto_cache_path
from capture.spec import ALL_PASSES, CALIBRATION

XCODE = "/Applications/Xcode.app/Contents/Developer"
M3_MAX = {
    "system_profiler SPHardwareDataType SPDisplaysDataType -json": json.dumps(
        {
            "SPHardwareDataType": [{"chip_type": "Apple M3 Max", "machine_model": "Mac15,9"}],
            "SPDisplaysDataType": [{"sppci_model": "Apple M3 Max", "sppci_cores": "40"}],
        }
    ),
    "xcode-select -p": XCODE,
    "xcrun -f xctrace": f"{XCODE}/usr/bin/xctrace",
    f"{XCODE}/usr/bin/xctrace version": "xctrace version 16.0 (16A242d)",
    "DevToolsSecurity -status": "Developer mode is currently enabled.",
    "torch": '{"cpu": "12 threads", "cuda": null, "mps": "Apple M3 Max"}',
}
Answers = dict[str, str]


def runner(answers: Answers) -> Callable[[list[str], float], str | None]:
    """A fake of `run_command`; a command that is not listed fails."""

    def run(arguments: list[str], timeout_s: float) -> str | None:
        assert timeout_s > 0
        if arguments[0] == sys.executable:
            return answers.get("torch")
        return answers.get(" ".join(arguments))

    return run


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    versions = {"torch": "2.13.0", "transformers": "5.24.0", "zeus-apple-silicon": "1.1.0"}
    installed = module._version
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("26.1", ("", "", ""), "arm64"))
    monkeypatch.setattr(module, "_version", lambda name: versions.get(name) or installed(name))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)


def examine(answers: Answers) -> dict[str, Finding]:
    return {finding.what: finding for finding in doctor(run=runner(answers))}


def passes(found: dict[str, Finding]) -> dict[str, str]:
    return {what: finding.status for what, finding in found.items() if finding.topic == "pass"}


@pytest.mark.usefixtures("mac")
def test_a_mac_with_all_tools() -> None:
    found = examine(M3_MAX)
    assert found["system"].detail.startswith("macOS 26.1 arm64")
    assert found["chip"].detail == "Apple M3 Max, 40 GPU cores"
    assert found["xcode"].detail == f"xctrace version 16.0 (16A242d) in {XCODE}"
    assert found["developer mode"].status == "yes"
    assert found["device mps"].detail == "Apple M3 Max"
    assert passes(found) == {
        "clean": "yes",
        "profiled": "yes",
        "memory": "yes",
        "energy": "yes",
        "metal": "yes",
        "signposts": "yes",
        "counters": "perhaps",
        "opstats": "yes",
        "gputrace": "yes",
    }
    assert "rosetta" not in found


def test_it_tells_of_every_pass_and_of_no_other() -> None:
    told = [finding.what for finding in doctor(run=runner({})) if finding.topic == "pass"]
    assert told == [name for name in ALL_PASSES if name != CALIBRATION]


@pytest.mark.usefixtures("mac")
def test_a_mac_with_the_command_line_tools_alone() -> None:
    """xcrun ends with `unable to find utility "xctrace"`, or hands out a stub that fails."""
    answers = dict(M3_MAX)
    answers["xcode-select -p"] = "/Library/Developer/CommandLineTools"
    del answers["xcrun -f xctrace"]
    found = examine(answers)
    assert (found["xcode"].status, found["xcode"].detail) == (
        "no",
        "no usable xctrace (command-line tools only)",
    )
    assert "xcode-select -s" in found["xcode"].advice
    assert passes(found)["metal"] == "no"
    assert found["metal"].detail == "needs full Xcode (xctrace)"
    assert found["metal"].advice == found["xcode"].advice
    assert passes(found)["gputrace"] == passes(found)["energy"] == "yes"
    answers["xcrun -f xctrace"] = "/usr/bin/xctrace"
    assert passes(examine(answers))["metal"] == "no"


@pytest.mark.usefixtures("mac")
def test_a_mac_without_developer_mode_or_licence() -> None:
    found = examine(dict(M3_MAX, **{"DevToolsSecurity -status": "Developer mode is currently disabled."}))
    assert found["developer mode"].status == "no"
    assert (found["metal"].detail, found["metal"].advice) == (
        "needs developer mode",
        "sudo DevToolsSecurity -enable",
    )
    unlicensed = dict(M3_MAX)
    del unlicensed[f"{XCODE}/usr/bin/xctrace version"]
    assert "license" in examine(unlicensed)["xcode"].advice


@pytest.mark.usefixtures("mac")
def test_a_mac_that_answers_nothing() -> None:
    found = examine({})
    assert found["chip"].detail == "not told"
    assert found["developer mode"].status == "perhaps"
    assert found["devices"].status == "no"
    assert set(passes(found).values()) == {"no"}


@pytest.mark.usefixtures("mac")
def test_an_intel_python_on_an_apple_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = examine(dict(M3_MAX, torch='{"cpu": "12 threads", "cuda": null, "mps": null}'))
    assert found["rosetta"].advice == "install an arm64 Python"
    assert found["metal"].detail == "needs torch with device mps"


def test_elsewhere_it_says_what_each_pass_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(module, "_version", lambda name: "1.0")
    found = examine({"torch": 'a warning\n{"cpu": "2 threads", "cuda": "1 x NVIDIA H200", "mps": null}'})
    assert found["device cuda"].detail == "1 x NVIDIA H200"
    assert (
        found["metal"].detail
        == "needs macOS on Apple silicon, torch with device mps, full Xcode (xctrace), developer mode"
    )
    assert found["energy"].detail == "needs macOS on Apple silicon"
    assert [passes(found)[name] for name in ("clean", "profiled", "gputrace")] == ["yes", "yes", "no"]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({"torch": "2.13.0+cu130"}, ("no", "needs PyTorch 2.15 or later, package cupti-python")),
        ({"torch": "2.15.0+cu130"}, ("no", "needs package cupti-python")),
        ({"torch": "2.15.0+cu130", "cupti-python": "13.0"}, ("perhaps", "many chips refuse counters; the pass tries")),
    ],
)
def test_counters_on_cuda(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], expected: tuple[str, str]) -> None:
    known = {"transformers": "5.24.0"} | versions
    installed = module._version
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(
        module, "_version", lambda name: known.get(name) if name in (*known, "cupti-python") else installed(name)
    )
    found = examine({"torch": '{"cpu": "2 threads", "cuda": "1 x NVIDIA H200", "mps": null}'})
    assert (found["counters"].status, found["counters"].detail) == expected


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = module._version
    monkeypatch.setattr(module, "_version", lambda name: None if name == "torch" else installed(name))
    found = examine({})
    assert (found["torch"].status, found["torch"].advice) == ("no", "pip install 'phasescope[capture]'")
    assert "devices" not in found
    assert found["clean"].advice == "pip install 'phasescope[capture]'"
    assert found["duckdb"].status == "yes"


def test_the_native_engine_is_found_and_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = tmp_path / "tp"
    shell.write_text("#!/bin/sh\necho Perfetto v59.1\n")
    shell.chmod(0o755)
    monkeypatch.setenv("PHASESCOPE_TRACE_PROCESSOR", str(shell))
    assert module._native(run_command).detail == f"Perfetto v59.1; {shell} (by PHASESCOPE_TRACE_PROCESSOR)"
    shell.write_text("#!/bin/sh\nexit 1\n")
    assert module._native(run_command).status == "no"
    monkeypatch.setenv("PHASESCOPE_TRACE_PROCESSOR", str(tmp_path / "gone"))
    assert "gone" in module._native(run_command).detail


def test_the_wasm_engine_and_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASESCOPE_CACHE", str(tmp_path))
    found = module._wasm()
    assert found.status == "yes"
    assert "Perfetto v" in found.detail
    assert found.detail.endswith("compiled at first use, some seconds")
    monkeypatch.setattr("analyze.engines.module_cache.is_cached", lambda _: True)
    assert module._wasm().detail.endswith(f"compiled in {tmp_path}")


def test_a_command_that_fails_hangs_or_is_not_there() -> None:
    assert run_command([sys.executable, "-c", "print('out'); import sys; print('err', file=sys.stderr)"], 30) == (
        "out\nerr"
    )
    assert run_command([sys.executable, "-c", "raise SystemExit(3)"], 30) is None
    assert run_command([sys.executable, "-c", "import time; time.sleep(30)"], 0.2) is None
    assert run_command(["no-such-command-here"], 1) is None


def test_the_command_in_both_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyze.doctor.run_command", runner({}))
    monkeypatch.setattr("analyze.doctor.doctor.__kwdefaults__", {"fetch": False, "run": runner({})})
    table = CliRunner().invoke(command, [])
    assert table.exit_code == 0
    assert [line for line in table.output.splitlines() if line and not line.startswith(" ")] == [
        "This machine",
        "Analysis",
        "Capture",
        "Passes",
    ]
    listed = json.loads(CliRunner().invoke(command, ["--format", "json"]).stdout)
    assert {row["topic"] for row in listed} == {"machine", "analysis", "capture", "pass"}
    assert set(listed[0]) == {"topic", "what", "status", "detail", "advice"}


def test_fetch_downloads_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for curl refuses; perfetto's own look-up of its cache finds a file that is there."""
    (tmp_path / "curl").write_text("#!/bin/sh\nexit 6\n")
    (tmp_path / "curl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PHASESCOPE_TRACE_PROCESSOR", raising=False)
    with pytest.raises(module.PhasescopeError, match=r"could not be downloaded \(curl ended with code 6\)"):
        doctor(fetch=True, run=runner({}))
    cached = perfetto_cache_path()
    assert cached is not None
    cached.write_text("#!/bin/sh\necho Perfetto v59.1\n")
    cached.chmod(0o755)
    found = {finding.what: finding for finding in doctor(fetch=True, run=runner({f"{cached} --version": "Perfetto"}))}
    assert found["trace engine native"].detail == f"Perfetto; {cached} (by perfetto cache)"


def test_text_lines_end_with_the_advice() -> None:
    text = as_text(
        [Finding("capture", "torch", "no", "not installed", "pip install x"), Finding("pass", "clean", "yes", "")]
    )
    assert text.splitlines() == [
        "This machine",
        "",
        "Analysis",
        "",
        "Capture",
        "  torch  no       not installed  -> pip install x",
        "",
        "Passes",
        "  clean  yes",
    ]


def test_torch_is_never_imported_here() -> None:
    script = (
        "import sys\nfrom analyze.doctor import doctor\n"
        "doctor(run=lambda arguments, timeout: None)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
