"""The page of a scaling study over a store with known laws in it."""

from pathlib import Path

import pytest

from analyze.query import open_store
from analyze.store import writable_store
from reports import scaling
from reports.page import page
from tests.unit.analyze.test_scaling import store


def study(path: Path) -> scaling.Scaling:
    con = open_store(path)
    try:
        [series] = scaling.series_of(con).rows
        return scaling.build(series, scaling.collect(con, series["series"]))
    finally:
        con.close()


def test_the_laws_are_told_with_their_intervals(tmp_path):
    built = study(store(tmp_path / "s", [64, 128, 256], batches=(1, 2), prefill_ns=lambda n: 10_000 * n**1.5))
    assert built.runs == 6
    assert built.batches == ((1, "●"), (2, "■"))
    assert built.prefill.finding.startswith(
        "Exponent with which prefill grows with the prompt length: batch 1: 1.50 (95"
    )
    assert "batch 1: +7.00\u202fµs for each 1\u202f000 cached tokens" in built.decode.finding
    assert built.kv.finding.startswith("One more token of one sequence takes 512 bytes. 18 of 18 measured points equal")
    assert [verdict.verdict for verdict in built.kv_verdicts] == ["holds", "holds"]
    assert "an upper bound" in built.headroom.finding
    assert {figure.name for figure in built.figures()} == {"scaling-prefill", "scaling-decode", "scaling-kv"}


def test_noise_is_not_told_as_an_exponent(tmp_path):
    noisy = {64: 1.0e6, 128: 1.4e6, 256: 0.7e6}
    built = study(store(tmp_path / "s", [64, 128, 256], prefill_ns=lambda n: noisy[n]))
    assert "batch 1: not established" in built.prefill.finding


def test_what_is_not_known_is_said(tmp_path):
    built = study(store(tmp_path / "s", [64, 128], device="cpu", driver=0, limit=None, kv_bytes=lambda n, b: 4096))
    assert built.headroom.finding.startswith("Not available")
    assert built.headroom.table.rows == ()
    assert "without an interval from two lengths" in built.prefill.finding
    assert built.kv_verdicts[0].verdict == "does not hold"
    assert built.kv_verdicts[1].verdict == "not established"


def test_one_length_and_one_batch_are_no_study(tmp_path):
    con = open_store(store(tmp_path / "s", [64, 64]))
    try:
        assert not scaling.series_of(con)
    finally:
        con.close()


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_page_renders(tmp_path, device):
    built = study(store(tmp_path / "s", [64, 128, 256], batches=(1, 2), device=device))
    text = page("site_scaling.html", built.figures(), scaling=built, page_title="t")
    assert text.count('class="chart"') == 3
    assert "random weights" in text


def test_disturbed_runs_are_marked(tmp_path):
    path = store(tmp_path / "s", [64, 128, 256], device="cpu")
    assert study(path).disturbed is None
    with writable_store(path) as con:
        con.execute("UPDATE phases SET cpu_ns = if(run_id = 'b1-p128-1', dur_ns // 2, dur_ns)")
    built = study(path)
    assert built.disturbed == (
        "Do not quote the times of 1 run of 3, nor lines through them (busy machine: b1-p128-1)."
    )
    assert [row[-1].text for row in built.points.rows] == ["\u2013", "do not quote: busy machine", "\u2013"]
    text = page("site_scaling.html", built.figures(), scaling=built, page_title="t")
    assert text.count("Do not quote the times of 1 run of 3") == 1
