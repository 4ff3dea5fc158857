"""The table of contents."""

import io

import pytest

from analyze.errors import PhasescopeError
from analyze.instruments.toc import TocRun, read_toc, start_date_ns

TOC = b"""<?xml version="1.0"?>

<trace-toc>
    <run number="1">
        <info><target>
            <device model="MacBook Air" os-version="26.3.1 (25D2128)" platform="macOS"/>
            <process type="launched" return-exit-status="0" name="python3.11" pid="42" termination-reason="exit(0)"/>
        </target><summary>
            <start-date>2026-03-30T15:16:25.137-07:00</start-date>
            <duration>1.301597</duration>
            <template-name>Metal System Trace</template-name>
            <recording-mode>Deferred</recording-mode>
            <intruments-recording-settings><key name="GPU"><value>Counter Set: (null)</value>
            <value>Shader Timeline: Disabled</value></key></intruments-recording-settings>
        </summary></info>
        <data><table schema="time-info"/><table codes="&quot;0x1,0x25&quot;" schema="kdebug"/>
        <table schema="kdebug"/></data>
        <tracks/>
    </run>
    <run number="2"><info/><data/></run>
</trace-toc>
"""


def test_what_it_tells() -> None:
    first, second = read_toc(io.BytesIO(TOC), "toc.xml")
    assert first == TocRun(
        number=1,
        target_pid=42,
        target_process="python3.11",
        target_status="exit status 0, exit(0)",
        device_model="MacBook Air",
        os_version="26.3.1 (25D2128)",
        start_unix_ns=1774908985137000000,
        dur_ns=1_301_597_000,
        template="Metal System Trace",
        recording_mode="Deferred",
        counter_set="(null)",
        shader_timeline="Disabled",
        tables=["time-info", "kdebug", "kdebug"],
    )
    assert second == TocRun(number=2)
    assert first.offers("time-info")
    assert not first.offers("metal-gpu-intervals")


@pytest.mark.parametrize("cut", range(0, len(TOC) - 2, 37))
def test_a_cut_one_is_refused_with_the_way_out(cut: int) -> None:
    with pytest.raises(PhasescopeError, match=r"toc\.xml: .*line \d+ column \d+.*xctrace export"):
        read_toc(io.BytesIO(TOC[:cut]), "toc.xml")


def test_another_document_is_refused() -> None:
    with pytest.raises(PhasescopeError, match="the root is <html>"):
        read_toc(io.BytesIO(b"<html/>"), "toc.xml")


def test_dates() -> None:
    assert start_date_ns("1970-01-01T00:00:01.5+00:00") == 1_500_000_000
    assert start_date_ns("1970-01-01T01:00:00.001+01:00") == 1_000_000
    assert start_date_ns("1970-01-01T01:00:00") is None  # without an offset it is no moment
    assert start_date_ns("soon") is None
