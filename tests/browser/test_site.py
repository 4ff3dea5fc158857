"""The published site in headless Chromium, from a file server: at its top and from a folder below it."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.publish import publish
from tests.unit.reports.test_publish import run_name, site_store

webdriver = pytest.importorskip("selenium.webdriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromedriver") is None, reason="chromedriver is not installed"),
]
FOLDER = "some/where"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server whose top is the site, which also has a copy of it in a folder."""
    folder = tmp_path_factory.mktemp("served")
    site = folder / "top"
    publish(site, site_store(folder / "s.duckdb"))
    shutil.copytree(site, folder / "copy")
    shutil.move(folder / "copy", site / FOLDER)
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", site
        server.shutdown()


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--window-size=1440,900",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield browser
    browser.quit()


def wait(driver: Any, condition: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not driver.execute_script(f"return {condition}"):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.05)


def visit(driver: Any, url: str) -> None:
    driver.get(url)
    wait(driver, "document.body.dataset.charts === 'drawn'")


def requested(driver: Any) -> set[str]:
    messages = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    sent = (m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent")
    return {url for url in sent if not url.startswith(("data:", "chrome"))}


def shown(driver: Any) -> list[str]:
    return driver.execute_script(
        "return [...document.querySelectorAll('#run-rows tr')].filter(row => !row.hidden && row.offsetHeight)"
        ".map(row => row.querySelector('a').getAttribute('href').slice(5, -5))"
    )


def fill(driver: Any, text: str) -> None:
    driver.execute_script(
        "const find = document.querySelector('#find'); find.value = arguments[0];"
        "find.dispatchEvent(new Event('input', {bubbles: true}))",
        text,
    )


def choose(driver: Any, name: str, value: str) -> None:
    driver.execute_script(
        "const select = document.querySelector(`#filter-${arguments[0]}`); select.value = arguments[1];"
        "select.dispatchEvent(new Event('change', {bubbles: true}))",
        name,
        value,
    )


@pytest.mark.parametrize("below", ["", FOLDER + "/"])
def test_every_kind_of_page_draws_and_requests_nothing(driver: Any, served: tuple[str, Path], below: str) -> None:
    address, site = served
    index = json.loads((site / "data/index.json").read_text())
    pages = ["index.html", index["runs"][0]["page"], index["histories"][0]["page"], index["scaling"][0]["page"]]
    for page in [*pages, index["comparisons"][0]["page"]]:
        driver.get_log("performance")
        driver.get_log("browser")
        url = f"{address}/{below}{page}"
        visit(driver, url)
        undrawn = driver.execute_script(
            "return [...document.querySelectorAll('.chart')].filter(c => !c.querySelector('svg, canvas')).length"
        )
        assert undrawn == 0, page
        assert requested(driver) == {url}
        assert [e["message"] for e in driver.get_log("browser") if "getImageData" not in e["message"]] == [], page


@pytest.mark.parametrize("below", ["", FOLDER + "/"])
def test_a_reader_gets_from_the_index_to_a_run_and_back(driver: Any, served: tuple[str, Path], below: str) -> None:
    address, _ = served
    visit(driver, f"{address}/{below}")
    driver.find_element("css selector", f"a[href='runs/{run_name(20)}.html']").click()
    wait(driver, f"location.pathname.endsWith('/{below}runs/{run_name(20)}.html')")
    assert run_name(20) in driver.find_element("css selector", ".about").text
    driver.find_element("link text", "All runs").click()
    wait(driver, f"location.pathname.endsWith('/{below}index.html') && document.querySelector('#run-rows') !== null")


def test_search_filters_and_sorting_work_together(driver: Any, served: tuple[str, Path]) -> None:
    visit(driver, f"{served[0]}/index.html")
    assert len(shown(driver)) == 15
    choose(driver, "attention", "eager")
    assert shown(driver) == [run_name(25)]
    assert driver.find_element("id", "shown").text == "1 of 15"
    fill(driver, "no such thing")
    assert shown(driver) == []
    assert driver.find_element("id", "none").is_displayed()
    driver.find_element("id", "none-all").click()
    assert len(shown(driver)) == 15
    fill(driver, "torch 2.13.0 SYNTHETIC")
    assert set(shown(driver)) == {run_name(number) for number in range(6)}
    decode = driver.find_element("xpath", "//th[contains(., 'decode step')]//button")
    decode.click()
    ordered = shown(driver)
    assert set(ordered) == {run_name(number) for number in range(6)}
    sizes = driver.execute_script(
        "return [...document.querySelectorAll('#run-rows tr')].filter(row => !row.hidden)"
        ".map(row => Number(row.cells[6].dataset.sort))"
    )
    assert sizes == sorted(sizes, reverse=True)


def test_a_choice_can_be_linked(driver: Any, served: tuple[str, Path]) -> None:
    visit(driver, f"{served[0]}/index.html#?find=2.14.0&attention=sdpa")
    found = shown(driver)
    assert run_name(25) not in found
    assert run_name(6) in found
    assert run_name(5) not in found
    fill(driver, "")
    assert driver.execute_script("return location.hash") == "#?attention=sdpa"
    driver.get("about:blank")
    visit(driver, f"{served[0]}/index.html#?attention=%3Cscript%3E")
    assert len(shown(driver)) == 15


def test_downloads_are_served(driver: Any, served: tuple[str, Path]) -> None:
    visit(driver, f"{served[0]}/{FOLDER}/index.html")
    hrefs = driver.execute_script(
        "return [...document.querySelectorAll('a[download]')].map(a => a.getAttribute('href'))"
    )
    assert "data/index.json" in hrefs
    assert "data/runs.parquet" in hrefs
    for href in hrefs:
        assert (served[1] / FOLDER / href).is_file()


@pytest.mark.parametrize("width", [360, 1440])
def test_the_page_does_not_scroll_sideways(driver: Any, served: tuple[str, Path], width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        index = json.loads((served[1] / "data/index.json").read_text())
        for page in ("index.html", index["histories"][0]["page"], index["scaling"][0]["page"]):
            visit(driver, f"{served[0]}/{page}")
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width, page
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
