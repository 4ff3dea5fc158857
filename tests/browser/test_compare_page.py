"""The comparison in headless Chromium: charts drawn, nothing requested, nothing sticks out, light and dark."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from reports.backends import backends
from reports.compare import compare
from tests.browser.test_report_page import driver, logged, pytestmark, visit  # noqa: F401
from tests.unit.reports.builder import NASTY, Synthetic
from tests.unit.reports.comparing import store

LONG = "aten::_scaled_dot_product_flash_attention_for_cpu"
FOREIGN = {"source_kind": "chrome_json", "clean": False, "samples": False, "device": None, "weights": None}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    at = store(
        folder / "s.duckdb",
        Synthetic(run_id="one", repeats=6, device="cuda", kernels=True, seed=1),
        Synthetic(run_id="two", repeats=6, device="cuda", kernels=True, decode_ms=60.0, nasty=True, seed=2),
        Synthetic(run_id="trace1", kernels=True, **FOREIGN),
        Synthetic(run_id="trace2", kernels=True, **FOREIGN),
    )
    with duckdb.connect(str(at)) as con:  # a name without a place to break it, in the first sentence
        con.execute(f"UPDATE ops SET name = '{LONG}' WHERE name = '{NASTY[2]}'")
    names = {name: folder / f"{name}.html" for name in ("runs", "traces", "backends")}
    compare("one", "two", store=at, out=names["runs"], fail_on=["decode_p50 > 5%", "kv_bytes_per_token > 0%"])
    compare("trace1", "trace2", store=at, out=names["traces"])
    backends(["one", "two", "trace1"], names["backends"], store=at)
    return names


def test_charts_are_drawn_and_nothing_is_requested(driver: Any, pages: dict[str, Path]) -> None:  # noqa: F811
    driver.get_log("performance")
    logged(driver)
    visit(driver, pages["runs"])
    assert logged(driver) == []
    asked = [
        message["params"]["request"]["url"]
        for message in (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert {url for url in asked if not url.startswith("data:")} == {pages["runs"].as_uri()}
    marks = driver.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('.chart')].map(place => [place.dataset.figure,"
        " place.querySelectorAll('svg .mark-symbol path').length]))"
    )
    # five ratios; 15 decode steps on two sides; their 15 ratios
    assert marks == {"ratios": 5, "compare-steps": 30, "compare-step-ratios": 15}
    assert driver.execute_script("return document.querySelectorAll('.undrawn:not([hidden])').length") == 0


def test_the_first_screen_answers_and_the_gate_stands_under_it(driver: Any, pages: dict[str, Path]) -> None:  # noqa: F811
    visit(driver, pages["runs"])
    sentence = driver.find_element("css selector", ".sentence")
    assert "B's decode step is slower" in sentence.text
    assert sentence.rect["y"] + sentence.rect["height"] < 900
    chips = driver.execute_script(
        "return [...document.querySelectorAll('#gate .claims .chip')].map(c => c.textContent.trim())"
    )
    assert chips == ["✗ refused", "✓ passed"]
    order = driver.execute_script("return [...document.querySelectorAll('main > section')].map(s => s.id)")
    assert order.index("differs") == 1
    assert driver.execute_script("return document.querySelectorAll('main img, [onload], [onerror]').length") == 0


def test_bars_of_one_phase_share_a_scale(driver: Any, pages: dict[str, Path]) -> None:  # noqa: F811
    visit(driver, pages["runs"])
    widths = driver.execute_script(
        "return [...document.querySelectorAll('#budget .bar')].map(bar => ["
        " bar.getAttribute('aria-label').split(':')[0],"
        " [...bar.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0) / bar.clientWidth])"
    )
    by_name = dict(widths)
    assert by_name["B, decode"] == pytest.approx(1, abs=0.01)
    assert by_name["A, decode"] == pytest.approx(48 / 60, abs=0.05)


def test_a_long_name_breaks_on_a_phone(driver: Any, pages: dict[str, Path]) -> None:  # noqa: F811
    visit(driver, pages["runs"], 390)
    assert LONG in driver.find_element("css selector", ".sentence").text
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, 768, 1440])
@pytest.mark.parametrize("name", ["runs", "traces", "backends"])
def test_nothing_sticks_out(driver: Any, pages: dict[str, Path], name: str, width: int) -> None:  # noqa: F811
    visit(driver, pages[name], width, scheme="dark" if width == 768 else "light")
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert logged(driver) == []


def test_light_and_dark_differ(driver: Any, pages: dict[str, Path]) -> None:  # noqa: F811
    shown = []
    for scheme in ("light", "dark"):
        visit(driver, pages["runs"], 1440, scheme)
        shown.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert shown == ["rgb(255, 255, 255)", "rgb(18, 21, 25)"]
