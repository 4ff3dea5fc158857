"""Command lines of xctrace, and the look at what it exported."""

from pathlib import Path

import pytest

from capture.xctrace import Xctrace, XctraceMissing, export, find_xctrace, record_argv, table_argv, toc_argv
from capture.xctrace_rows import check_export
from tests.integration import fake_xctrace
from tests.shared import SHARED, needs_shared

XCTRACE = Xctrace("/Applications/Xcode.app/Contents/Developer/usr/bin/xctrace", "26.0")
TRACE = Path("/tmp/x/metal.trace")


def test_record_by_launch() -> None:
    argv = record_argv(
        XCTRACE,
        trace=TRACE,
        worker=["/venv/bin/python", "-m", "capture.launched_worker", "metal", "/tmp/s"],
        environment={"PYTHONPATH": "/a:/b", "HF_HOME": "/models"},
        time_limit_s=900.0,
        target_stdout=Path("/tmp/x/target.log"),
    )
    assert argv == [
        "/Applications/Xcode.app/Contents/Developer/usr/bin/xctrace",
        "record",
        "--template",
        "Metal System Trace",
        "--time-limit",
        "900s",
        "--no-prompt",
        "--output",
        "/tmp/x/metal.trace",
        "--env",
        "HF_HOME=/models",
        "--env",
        "PYTHONPATH=/a:/b",
        "--target-stdout",
        "/tmp/x/target.log",
        "--launch",
        "--",
        "/venv/bin/python",
        "-m",
        "capture.launched_worker",
        "metal",
        "/tmp/s",
    ]


def test_instruments_and_a_template_of_the_users() -> None:
    argv = record_argv(
        XCTRACE,
        trace=TRACE,
        worker=["w"],
        environment={},
        time_limit_s=0.5,
        target_stdout=Path("/o"),
        template="/mine.tracetemplate",
        instruments=("os_signpost", "Metal GPU Counters"),
    )
    assert argv[2:10] == [
        "--template",
        "/mine.tracetemplate",
        "--instrument",
        "os_signpost",
        "--instrument",
        "Metal GPU Counters",
        "--time-limit",
        "1s",
    ]


def test_export() -> None:
    assert toc_argv(XCTRACE, TRACE)[1:] == ["export", "--input", "/tmp/x/metal.trace", "--toc"]
    assert table_argv(XCTRACE, TRACE, "metal-gpu-intervals")[1:] == [
        "export",
        "--input",
        "/tmp/x/metal.trace",
        "--xpath",
        '/trace-toc/run[@number="1"]/data/table[@schema="metal-gpu-intervals"]',
    ]


def test_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(XctraceMissing, match="runs on a Mac only"):
        find_xctrace()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    fake_xctrace.install(tmp_path)
    found = find_xctrace()
    assert (found.path, found.version) == (str(tmp_path / "xctrace"), "xctrace version 26.0 (17A5295f)")


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"stub": True}, r"requires Xcode, but active developer .*xcode-select -s"),
        ({"version_exit": 69}, r"exit code 69: You have not agreed .*xcodebuild -license accept"),
    ],
)
def test_find_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, object], sentence: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    fake_xctrace.install(tmp_path, **how)
    with pytest.raises(XctraceMissing, match=sentence):
        find_xctrace()


def test_export_never_raises(tmp_path: Path) -> None:
    assert export([str(tmp_path / "nothing")], tmp_path / "out")[0] == 127
    code, said = export(["/bin/sh", "-c", "echo whole; echo crashed >&2; kill -TRAP $$"], tmp_path / "out")
    assert (code, said) == (-5, "crashed")
    assert (tmp_path / "out").read_text() == "whole\n"


def test_rows_of_a_process_are_counted_through_references(tmp_path: Path) -> None:
    path = tmp_path / "t.xml"
    path.write_text(fake_xctrace.table("metal-gpu-intervals", fake_xctrace.gpu_rows(42, 3)))
    check = check_export(path, 42)
    assert (check.whole, check.tables, check.rows, check.own_rows) == (True, 1, 4, 3)
    assert check_export(path, 7).own_rows == 1
    assert check_export(path, 1).own_rows == 0


def test_what_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.xml"
    text = fake_xctrace.table("metal-gpu-intervals", fake_xctrace.gpu_rows(42, 3))
    for cut in range(0, len(text) - 2, 23):
        path.write_text(text[:cut])
        assert not check_export(path, 42).whole
    path.write_text('<!DOCTYPE a [<!ENTITY x "y">]><trace-query-result/>')
    assert check_export(path, 42).fault == "it holds a DOCTYPE"


@needs_shared
def test_real_tables() -> None:
    folder = SHARED / "traces" / "instruments"
    gpu = check_export(folder / "metal-gpu-intervals.xml", 98491)
    assert (gpu.whole, gpu.tables, gpu.rows, gpu.own_rows) == (True, 1, 1545, 1001)
    encoders = check_export(folder / "metal-application-encoders-list.xml", 98491)
    assert (encoders.rows, encoders.own_rows) == (999, 999)
    assert check_export(SHARED / "cases" / "x09_no_match.xml", 1).tables == 0
    assert check_export(SHARED / "cases" / "x11_zero_bytes.xml", 1).fault == "empty file"
