"""What an exported table must not carry into a bundle, and what it must."""

import io
import re
from pathlib import Path

import pytest

from capture import redact, table_redaction
from capture.table_redaction import redact_table
from tests.shared import SHARED, needs_shared

COLUMNS = "time thread process event-type identifier name subsystem message backtrace"
ROWS = """<row><event-time id="1" fmt="00:01">1000</event-time>
<thread id="2" fmt="Diary writer 0x7 (Jane\'s Diary, pid: 7)">
<tid id="3" fmt="0x7">7</tid><process id="4" fmt="Jane\'s Diary (7)"><pid id="5" fmt="7">7</pid></process></thread>
<process ref="4"/><event-type id="6" fmt="Event">Event</event-type><uint64 id="7" fmt="9">9</uint64>
<signpost-name id="8" fmt="open entry">open entry</signpost-name>
<subsystem id="9" fmt="com.jane.diary">com.jane.diary</subsystem>
<os-log-metadata id="10" fmt="lover.txt &amp; more">lover.txt &amp; more</os-log-metadata>
<backtrace id="11"><frame id="12" name="-[Diary open]" addr="0x10"><binary id="13" name="Diary" UUID="DEAD-BEEF"
 path="/Users/jane/Applications/Diary.app/Diary"/></frame></backtrace></row>
<row><event-time ref="1"/><thread id="20" fmt="Main 0x9 (python3.11, pid: 42)"><tid id="21" fmt="0x9">9</tid>
<process id="22" fmt="python3.11 (42)"><pid id="23" fmt="42">42</pid></process></thread><process ref="22"/>
<event-type ref="6"/><uint64 ref="7"/><signpost-name ref="8"/>
<subsystem id="24" fmt="PyTorchMPS">PyTorchMPS</subsystem>
<os-log-metadata id="25" fmt="from /Users/jane/run.py beside Jane\'s Diary (7)"
>from /Users/jane/run.py</os-log-metadata>
<backtrace id="26"><frame id="27" name="main" addr="0x20"><binary id="28" name="python3.11" UUID="CAFE"
 path="/Users/jane/venv/bin/python"/></frame></backtrace></row>
<row><event-time id="30" fmt="00:02">2000</event-time><sentinel/><sentinel/><event-type ref="6"/>
<uint64 id="31" fmt="0">0</uint64>
<signpost-name id="32" fmt="unattributed">unattributed</signpost-name><sentinel/><sentinel/><sentinel/></row>
"""


def export(rows: str) -> str:
    cols = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name><engineering-type>{name}</engineering-type></col>"
        for name in COLUMNS.split()
    )
    head = "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
    return f'{head}<schema name="os-signpost">{cols}</schema>{rows}</node></trace-query-result>\n'


@pytest.fixture
def redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(table_redaction, "replacements", lambda: [("/Users/jane", "~"), ("jane", "<user>")])
    return redact_bytes(export(ROWS).encode(), 42, tmp_path).decode()


def redact_bytes(raw: bytes, own_pid: int, folder: Path) -> bytes:
    (folder / "raw.xml").write_bytes(raw)
    out = io.BytesIO()
    redact_table(folder / "raw.xml", out, own_pid)
    return out.getvalue()


def test_nothing_private_stays(redacted: str) -> None:
    for private in ("jane", "Jane", "Diary", "lover", "Users", "DEAD", "CAFE", "venv"):
        assert private not in redacted, private


def test_what_is_evidence_stays(redacted: str) -> None:
    rows = redacted.split("<row>")[1:]
    assert len(rows) == 3
    for kept in (
        '<event-time id="1" fmt="00:01">1000</event-time>',
        '<process id="4" fmt="other (7)"><pid id="5" fmt="7">7</pid></process>',
        '<event-type id="6" fmt="Event">Event</event-type>',
        '<signpost-name id="8" fmt="open entry">open entry</signpost-name>',  # ours refers to it
        '<subsystem id="9" fmt="other">other</subsystem>',
        '<os-log-metadata id="10" fmt="other">other</os-log-metadata>',
    ):
        assert kept in rows[0], kept
    for kept in (
        '<process id="22" fmt="python3.11 (42)">',
        '<subsystem id="24" fmt="PyTorchMPS">PyTorchMPS</subsystem>',
        'fmt="from ~/run.py beside other (7)">from ~/run.py<',
        '<binary id="28" name="python3.11"/>',
    ):
        assert kept in rows[1], kept
    assert '<signpost-name id="32" fmt="unattributed">unattributed</signpost-name>' in rows[2]
    ids = re.findall(r' (?:id|ref)="(\d+)"', export(ROWS))
    assert re.findall(r' (?:id|ref)="(\d+)"', redacted) == ids


def test_redacting_twice_changes_nothing(redacted: str, tmp_path: Path) -> None:
    assert redact_bytes(redacted.encode(), 42, tmp_path).decode() == redacted


@pytest.mark.parametrize("raw", [b"", export(ROWS)[:900].encode(), b"<!DOCTYPE a [<!ENTITY x 'y'>]><a/>"])
def test_what_is_not_whole_is_refused(raw: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="export"):
        redact_bytes(raw, 42, tmp_path)


def test_a_user_whose_name_is_a_tag_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact.getpass, "getuser", lambda: "row")
    out = redact_bytes(export(ROWS).encode(), 42, tmp_path).decode()
    assert out.count("<row>") == 3


@needs_shared
def test_a_real_table_loads_the_same_under_other_names(tmp_path: Path) -> None:
    from tests.unit.analyze.instruments_xml import read

    real = (SHARED / "traces" / "instruments" / "metal-gpu-intervals.xml").read_bytes()
    redacted = redact_bytes(real, 98491, tmp_path)
    for program in (b"Firefox", b"Terminal"):
        assert program in real
        assert program not in redacted
    before, after = (read(data).tables for data in (real, redacted))
    assert after["kernels"].drop(["process", "name"]) == before["kernels"].drop(["process", "name"])
    assert set(after["kernels"]["process"].to_pylist()) == {
        "sm_apple_metal_probe_host (98491)",
        "WindowServer (420)",
        "other (63961)",
        "other (643)",
    }
    own = [process == "sm_apple_metal_probe_host (98491)" for process in after["kernels"]["process"].to_pylist()]
    assert after["kernels"].filter(own) == before["kernels"].filter(own)
    assert sum(own) == 1001
    assert after["metal_gpu_intervals"]["pid"] == before["metal_gpu_intervals"]["pid"]
