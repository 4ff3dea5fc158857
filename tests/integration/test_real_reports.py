"""What a report says first of real traces and recordings of other tools."""

import json
from pathlib import Path

import pytest

from analyze.listing import runs
from analyze.load import load
from analyze.query import open_store
from reports.collect import collect
from reports.format import THIN
from reports.publish import publish
from reports.report import ReportData
from tests.shared import SHARED, needs_shared

pytestmark = needs_shared


GPU = "NVIDIA H100 80GB HBM3"


def report_of(source: Path, store: Path) -> ReportData:
    assert load([source], store).failed == []
    with open_store(store) as con:
        [(run_id,)] = con.execute("SELECT run_id FROM runs").fetchall()
        return ReportData.from_results(collect(con, run_id))


@pytest.fixture(scope="module")
def h100_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("h100") / "s.duckdb"


@pytest.fixture(scope="module")
def h100(h100_store: Path) -> ReportData:
    return report_of(SHARED / "traces" / "kineto" / "h100-qwen1.5-0.5b.json.gz", h100_store)


def test_the_answer_of_a_gpu_trace_speaks_of_the_gpu(h100: ReportData) -> None:
    text = h100.answer.text.replace(THIN, " ")
    assert "What the trace shows spans 49.7 ms with the profiler on" in text
    assert "The device is busy 45.6 ms of these 49.7 ms, 92 % (union of its rows in the whole pass); " in text
    assert text.endswith("how much of the rest it waits for the host is not established.")
    assert "Of 47.2 ms on the host, 47 % is operators; 30 % is waiting" in text
    assert "Of it" not in text


def test_the_budget_of_a_gpu_trace_has_the_device(h100: ReportData) -> None:
    assert h100.budget is not None
    [host, device] = h100.budget.bars
    assert (host.side, device.side) == ("host", "device")
    assert [(part.label, part.ns) for part in device.segments] == [
        ("device busy", 43_274_950),
        ("no device work recorded", 47_151_395 - 43_274_950),
    ]


def test_a_gpu_is_called_by_its_name_everywhere(h100_store: Path, h100: ReportData, tmp_path: Path) -> None:
    assert h100.subtitle == GPU
    assert [fact.value for fact in h100.glance.facts if fact.term == "Device"] == [GPU]
    [run] = json.loads(runs(h100_store, format_="json") or "")
    assert run["device"] == GPU
    publish(tmp_path / "site", h100_store)
    [shown] = json.loads((tmp_path / "site/data/index.json").read_text())["runs"]
    assert shown["device_name"] == GPU
    assert f'<td data-sort="{GPU.lower()}">{GPU}</td>' in (tmp_path / "site/index.html").read_text()
    assert GPU in (tmp_path / "site" / shown["page"]).read_text()


def test_the_answer_of_a_recording_speaks_of_the_gpu(tmp_path: Path) -> None:
    data = report_of(SHARED / "traces" / "instruments", tmp_path / "s.duckdb")
    text = data.answer.text.replace(THIN, " ")
    assert "The device is busy 8.32 ms of these 735 ms, 1.1 %, with the work of the recorded process" in text
    assert "36.5 ms with that of every process (union of the rows)" in text
    assert text.endswith("What the host did in that time is not known: no pass recorded operators.")
