"""The report in headless Chromium: charts drawn, nothing requested, readable on a phone, in the dark, by all."""

import json
import shutil
import time
from collections.abc import Iterator
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reports.report import report
from tests.unit.reports.builder import NASTY, Synthetic, build

webdriver = pytest.importorskip("selenium.webdriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromedriver") is None, reason="chromedriver is not installed"),
]

FOREIGN = {"source_kind": "chrome_json", "clean": False, "samples": False, "device": None, "weights": None}
EVERYTHING = {"device": "cuda", "kernels": True, "nasty": True, "weights": "random", "excluded": 12, "repaired": 3}
RUNS = (
    Synthetic(run_id="everything", claims=True, **EVERYTHING),
    Synthetic(run_id="foreign", phases=False, **FOREIGN),
    # some 300,000 operators and kernels, as in a profiled run of a large model
    Synthetic(run_id="large", device="cuda", kernels=True, layers=80, ops_per_layer=26, new_tokens=16, repeats=3),
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    store = build(folder / "s.duckdb", *RUNS)
    return {run.run_id: report(store, run.run_id, folder / f"{run.run_id}.html") for run in RUNS}


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
    browser.set_script_timeout(60)
    yield browser
    browser.quit()


def visit(driver: Any, page: Path, width: int = 1440, scheme: str = "light") -> None:
    """Open `page` at a width and in a colour scheme, and wait until its charts are drawn."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get(page.as_uri())
    wait(driver, "return document.body.dataset.charts === 'drawn'")


def wait(driver: Any, condition: str, seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not driver.execute_script(condition):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.05)


def logged(driver: Any) -> list[str]:
    """What the page wrote to the console; Chromium's own advice on how these tests read a canvas is not of it."""
    return [entry["message"] for entry in driver.get_log("browser") if "getImageData" not in entry["message"]]


def test_charts_are_drawn_and_nothing_is_requested(driver: Any, pages: dict[str, Path]) -> None:
    driver.get_log("performance")
    logged(driver)
    visit(driver, pages["everything"])
    assert logged(driver) == []
    asked = [
        message["params"]["request"]["url"]
        for message in (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert {url for url in asked if not url.startswith("data:")} == {pages["everything"].as_uri()}
    marks = driver.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('.chart')].map(place => [place.dataset.figure,"
        " place.querySelector('canvas') ? place.querySelector('canvas').width"
        " : place.querySelectorAll('svg .mark-symbol path, svg .mark-rect path, svg .mark-line path').length]))"
    )
    assert {"timeline-overview", "timeline-detail", "step-latency", "profiled-steps", "kv-growth"} <= set(marks)
    assert min(marks.values()) >= 15, marks
    painted = driver.execute_script(
        "const c = document.querySelector('[data-figure=timeline-detail] canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Set();"
        "for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add([d[i], d[i + 1], d[i + 2]].join());"
        "return [...seen]"
    )
    assert {"230,159,0", "0,114,178"} <= set(painted)  # prefill orange, decode blue


def test_policy_blocks_what_the_page_does_not_bring(driver: Any, pages: dict[str, Path]) -> None:
    visit(driver, pages["foreign"])
    refused = driver.execute_async_script(
        "const done = arguments[0];"
        "document.addEventListener('securitypolicyviolation', event => done(event.violatedDirective));"
        "const s = document.createElement('script'); s.textContent = 'window.ran = true'; document.body.append(s);"
    )
    assert refused.startswith("script-src")
    assert driver.execute_script("return window.ran") is None
    logged(driver)


def test_nasty_names_are_inert(driver: Any, pages: dict[str, Path]) -> None:
    visit(driver, pages["everything"])
    assert driver.execute_script("return document.querySelectorAll('main img, [onload], [onerror]').length") == 0
    shown = driver.execute_script(
        "return [...document.querySelectorAll('#operators th')].map(th => th.textContent.trim())"
    )
    assert set(NASTY[:4]) <= set(shown)
    canvas = driver.find_element("css selector", "[data-figure=timeline-detail] canvas")
    driver.find_element("css selector", ".jumps [data-low]:nth-of-type(2)").click()  # prefill: wide slices
    wait(driver, "return document.querySelector('.jumps [aria-pressed=true]')?.textContent === 'prefill'")
    tip = ""
    for offset in range(-300, 300, 7):
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        webdriver.ActionChains(driver, duration=10).move_to_element_with_offset(canvas, offset, -28).perform()
        tip = driver.execute_script("return document.querySelector('#tip').textContent")
        if "<img" in tip:
            break
    assert "<img" in tip, "no slice with a nasty name was hovered"
    assert driver.execute_script("return document.querySelector('#tip').querySelectorAll('img').length") == 0
    assert logged(driver) == []


def test_numbers_on_an_axis_stand_apart(driver: Any, pages: dict[str, Path]) -> None:
    for width in (390, 480, 560, 640, 720):
        visit(driver, pages["everything"], width)
        boxes = driver.execute_script(
            "return [...document.querySelectorAll('[data-figure=kv-growth] .role-axis-label text')]"
            ".filter(t => t.textContent && getComputedStyle(t).opacity !== '0' && t.getAttribute('opacity') !== '0')"
            ".map(t => t.getBoundingClientRect()).map(r => [r.top, r.left, r.right])"
        )
        bottom = sorted(box for box in boxes if box[0] == max(top for top, _, _ in boxes))
        gaps = [right[1] - left[2] for left, right in pairwise(bottom)]
        assert len(gaps) >= 3
        assert min(gaps) >= 8, (width, gaps)


@pytest.mark.parametrize("width", [390, 768, 1440])
@pytest.mark.parametrize("name", ["everything", "foreign"])
def test_nothing_sticks_out(driver: Any, pages: dict[str, Path], name: str, width: int) -> None:
    visit(driver, pages[name], width)
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    cut = driver.execute_script(
        "return [...document.querySelectorAll('.chart > *')]"
        ".filter(chart => chart.getBoundingClientRect().right > innerWidth).length"
    )
    assert cut == 0


def test_timeline_zooms(driver: Any, pages: dict[str, Path]) -> None:
    visit(driver, pages["everything"])
    pixels = "return document.querySelector('[data-figure=timeline-detail] canvas').toDataURL()"
    whole = driver.execute_script(pixels)
    overview = driver.find_element("css selector", "[data-figure=timeline-overview]")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", overview)
    drag = webdriver.ActionChains(driver, duration=50).move_to_element(overview).click_and_hold()
    drag.move_by_offset(60, 0).move_by_offset(60, 0).release().perform()
    wait(
        driver, f"return ({pixels.removeprefix('return ')}) !== arguments[0]".replace("arguments[0]", json.dumps(whole))
    )
    assert driver.execute_script("return document.querySelector('[aria-pressed=true]')") is None
    driver.find_element("css selector", ".lanes").send_keys("0")
    wait(driver, "return document.querySelector('.jumps [aria-pressed=true]')?.textContent === 'whole'")
    driver.find_element("css selector", ".jumps [data-low]:nth-of-type(2)").click()
    wait(driver, "return document.querySelector('.jumps [aria-pressed=true]')?.textContent === 'prefill'")


def test_tables_sort_and_find(driver: Any, pages: dict[str, Path]) -> None:
    visit(driver, pages["everything"])
    rows = (
        "return [...document.querySelectorAll('#operators-table tbody tr')].filter(r => !r.hidden)"
        ".map(r => [...r.cells].map(c => c.textContent.trim()))"
    )
    sort = driver.find_elements("css selector", "#operators-table .sort")
    driver.execute_script("arguments[0].click()", sort[1])
    calls = [int(row[1].replace("\u202f", "")) for row in driver.execute_script(rows)]
    assert calls == sorted(calls, reverse=True)
    driver.execute_script("arguments[0].click()", sort[1])
    assert [int(row[1].replace("\u202f", "")) for row in driver.execute_script(rows)] == sorted(calls)
    heads = driver.execute_script("return [...document.querySelectorAll('[aria-sort]')].map(h => h.ariaSort)")
    assert heads == ["ascending"]
    driver.find_element("css selector", "#operators-table-find").send_keys("SILU")
    assert [row[0] for row in driver.execute_script(rows)] == ["aten::silu"]
    assert driver.find_element("css selector", "#operators-table .shown").text.startswith("1 of ")


def test_sql_is_copied_as_it_is_shown(driver: Any, pages: dict[str, Path]) -> None:
    visit(driver, pages["everything"])
    driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    driver.execute_script("document.querySelectorAll('details.sql').forEach(d => { d.open = true })")
    button = driver.find_element("css selector", "#kv .copy")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    wait(driver, "return document.querySelector('#kv .copy').textContent === 'Copied'")
    copied = driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == driver.execute_script("return document.querySelector('#kv pre').textContent")
    assert "run_id = 'everything'" in copied


def test_dark_and_print(driver: Any, pages: dict[str, Path]) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    pixel = (
        "const c = document.querySelector('[data-figure=timeline-detail] canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, 30).data; const seen = new Set();"
        "for (let i = 0; i < d.length; i += 4) seen.add([d[i], d[i + 1], d[i + 2]].join());"
        "return seen.has('230,159,0')"
    )
    visit(driver, pages["everything"], scheme="dark")
    assert driver.execute_script(ground) == "rgb(18, 21, 25)"
    assert not driver.execute_script(pixel)  # the canvas follows: its orange is the dark theme's
    light = {"media": "", "features": [{"name": "prefers-color-scheme", "value": "light"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
    wait(driver, pixel)
    assert driver.execute_script(ground) == "rgb(255, 255, 255)"
    paper = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", paper)
    assert driver.execute_script(ground) == "rgb(255, 255, 255)"
    assert driver.execute_script("return getComputedStyle(document.querySelector('.contents')).display") == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["everything", "foreign"])
def test_accessible(driver: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    visit(driver, pages[name], scheme=scheme)
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    driver.execute_script((resources.files(axe) / "axe.min.js").read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run(document).then(r => arguments[0](r.violations))")
    told = [(v["id"], [node["html"][:160] for node in v["nodes"][:3]]) for v in found]
    assert told == []


def test_a_chart_that_fails_leaves_its_table(driver: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    page = pages["everything"].read_text(encoding="utf-8")
    start = page.index('id="data-step-latency">') + len('id="data-step-latency">')
    broken.write_text(page[:start] + "{" + page[start:], encoding="utf-8")
    visit(driver, broken)
    assert driver.find_element("css selector", "#steps .undrawn:not([hidden])").is_displayed()
    assert driver.find_element("css selector", "#steps-table").is_displayed()
    assert driver.find_elements("css selector", "[data-figure=kv-growth] svg")  # the others are drawn
    assert len(logged(driver)) == 1


def test_a_large_run_is_small_and_opens_at_once(driver: Any, pages: dict[str, Path]) -> None:
    assert pages["large"].stat().st_size < 2_000_000
    assert pages["everything"].stat().st_size < 1_500_000
    visit(driver, pages["large"])
    painted, loaded = driver.execute_script(
        "const n = performance.getEntriesByType('navigation')[0];"
        "return [performance.getEntriesByName('first-contentful-paint')[0].startTime, n.loadEventEnd]"
    )
    print(f"first paint after {painted:.0f} ms, loaded after {loaded:.0f} ms")
    assert painted < 3_000  # within one second on a quiet machine; this one may be busy
