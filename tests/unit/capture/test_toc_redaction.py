"""What a TOC and the exported tables must not carry into a bundle."""

import pytest

from capture.toc_redaction import redact_toc
from tests.shared import SHARED, needs_shared

TOC = """<?xml version="1.0"?>

<trace-toc><run number="1"><info><target>
<device uuid="00008103-000123456789001E" model="MacBook Air" name="Jane's MacBook" os-version="26.3 (25D2128)"/>
<host-device uuid="11111111" name="jane-host"/>
<process type="launched" name="python3.11" pid="42" path="/Users/jane/venv/bin/python" arguments="--token hf_abc"
 return-exit-status="0" termination-reason="exit(0)"><environment name="HF_TOKEN" value="hf_abc">HF_TOKEN=hf_abc
</environment></process></target><summary>
<start-date>2026-03-30T15:16:25.137-07:00</start-date><duration>1.301597</duration>
<end-reason>/Users/jane/x ended</end-reason><template-name>Jane's counters</template-name>
<recording-mode>Deferred</recording-mode><future-thing owner="jane">jane</future-thing>
<intruments-recording-settings><instrument name="Metal Application"><array><dictionary><key name="GPU">
<value>Counter Set: (null)</value><value>Shader Timeline: Disabled</value><value>Output: /Users/jane</value>
</key></dictionary></array></instrument></intruments-recording-settings></summary></info>
<processes><process name="Jane's Diary" pid="7" path="/Applications/Diary.app"/></processes>
<data><table schema="metal-gpu-intervals" target-pid="SINGLE"/>
<table schema="os-log" subsystem="&quot;com.jane.app&quot;"/>
<table schema="x" target-pid="31337"/></data><tracks><track name="jane"/></tracks></run></trace-toc>"""


def test_only_what_is_known_to_be_harmless_stays() -> None:
    text = redact_toc(TOC.encode()).decode()
    for private in (
        "jane",
        "Jane",
        "hf_abc",
        "HF_TOKEN",
        "00008103",
        "11111111",
        "Diary",
        "/Users",
        "/Applications",
        "31337",
    ):
        assert private not in text, private
    for needed in (
        '<device model="MacBook Air" os-version="26.3 (25D2128)">',
        '<process type="launched" name="python3.11" pid="42" return-exit-status="0" termination-reason="exit(0)">',
        "<start-date>2026-03-30T15:16:25.137-07:00</start-date>",
        "<duration>1.301597</duration>",
        "<recording-mode>Deferred</recording-mode>",
        "<value>Counter Set: (null)</value>",
        "<value>Shader Timeline: Disabled</value>",
        '<table schema="metal-gpu-intervals" target-pid="SINGLE">',
        '<table schema="os-log">',
        "<template-name>[redacted]</template-name>",
    ):
        assert needed in text, needed


def test_the_analyzer_reads_the_same_from_it() -> None:
    import io

    from analyze.instruments.toc import read_toc

    (before,) = read_toc(io.BytesIO(TOC.encode()), "toc.xml")
    (after,) = read_toc(io.BytesIO(redact_toc(TOC.encode())), "toc.xml")
    before.template, before.end_reason = "[redacted]", "[redacted]"
    assert after == before


def test_redacting_twice_changes_nothing() -> None:
    once = redact_toc(TOC.encode())
    assert redact_toc(once) == once


@pytest.mark.parametrize("cut", [0, 10, 300, len(TOC) - 1])
def test_what_is_not_whole_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="not a whole table of contents"):
        redact_toc(TOC.encode()[:cut])


@pytest.mark.parametrize("text", ['<!DOCTYPE a [<!ENTITY x "y">]><trace-toc/>', "<html/>"])
def test_other_documents_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"DOCTYPE|the root is"):
        redact_toc(text.encode())


@needs_shared
def test_a_real_toc_keeps_its_tables() -> None:
    import io

    from analyze.instruments.toc import read_toc

    real = (SHARED / "traces" / "instruments" / "toc.xml").read_bytes()
    redacted = redact_toc(real)
    assert b"--iters" not in redacted
    assert b"SkyLight" not in redacted
    assert read_toc(io.BytesIO(redacted), "toc.xml") == read_toc(io.BytesIO(real), "toc.xml")
