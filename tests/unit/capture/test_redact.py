import getpass
import gzip
import json
import os
import platform
import sys
from pathlib import Path

from capture.passes.profiled import _whole, compress_trace
from capture.redact import redact


def test_names_of_this_machine_are_gone(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "ada.lovelace")
    monkeypatch.setattr(platform, "node", lambda: "analytical-engine")
    home = str(Path.home())
    text = f"{home}/x {sys.prefix}/lib/y.py ada.lovelace@analytical-engine {os.getcwd()}/z"
    cleaned = redact(text)
    for name in (home + "/", sys.prefix, "ada.lovelace", "analytical-engine", os.getcwd()):
        assert name not in cleaned
    assert "/lib/y.py" in cleaned


def test_a_trace_keeps_its_events_and_loses_names_and_strides(tmp_path: Path):
    home = str(Path.home())
    args = (
        '"Concrete Inputs": ["], [1]"], "Input type": ["float", "Scalar"], "Input Strides": [[[4, 1], [1]], []], '
        '"Input Dims": [[2, 4], []], "Ev Idx": 7'
    )
    text = (
        '{\n"host_name": "secret-box",\n"traceEvents": [\n'
        f'{{"ph": "X", "name": "{home}/app.py(3): f", "ts": 1.5, "args": {{\n{args}\n}}}}\n'
        f'],"traceName": "{tmp_path}/.trace.json.partial" }}'
    )
    (tmp_path / "raw").write_text(text)
    assert _whole(tmp_path / "raw")
    for dims_only in (True, False):
        compress_trace(tmp_path / "raw", tmp_path / "out.gz", dims_only=dims_only)
        trace = json.loads(gzip.decompress((tmp_path / "out.gz").read_bytes()))
        assert trace["host_name"] == ""
        assert trace["traceName"] == "trace.json"
        (event,) = trace["traceEvents"]
        assert home not in event["name"]
        assert event["name"].endswith("/app.py(3): f")
        expected = {"Input Dims": [[2, 4], []], "Ev Idx": 7}
        if not dims_only:
            expected |= {
                "Concrete Inputs": ["], [1]"],
                "Input type": ["float", "Scalar"],
                "Input Strides": [[[4, 1], [1]], []],
            }
        assert event["args"] == expected


def test_a_trace_that_was_cut_off_is_noticed(tmp_path: Path):
    (tmp_path / "raw").write_text('{"traceEvents": [{"ph": "X", "na')
    assert not _whole(tmp_path / "raw")
