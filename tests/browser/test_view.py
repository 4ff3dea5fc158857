"""Perfetto's UI in headless Chromium: it opens the trace, and no request leaves this machine."""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from analyze.view import make_server, timeline_of

webdriver = pytest.importorskip("selenium.webdriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromedriver") is None, reason="chromedriver is not installed"),
]


@pytest.fixture
def driver() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(60)
    yield browser
    browser.quit()


def network(driver: Any) -> tuple[list[str], list[str]]:
    """Addresses that the page asked for and got, and those that the page's policy blocked."""
    asked: dict[str, str] = {}
    blocked = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        details = message["params"]
        if message["method"] == "Network.requestWillBeSent":
            asked[details["requestId"]] = details["request"]["url"]
        elif message["method"] == "Network.loadingFailed" and details.get("blockedReason") == "csp":
            blocked.append(asked.pop(details["requestId"]))
        elif message["method"] == "Network.webSocketCreated":
            asked[details["requestId"]] = details["url"]
    return list(asked.values()), blocked


@contextmanager
def opened(driver: Any, server: ThreadingHTTPServer) -> Iterator[str]:
    """The UI of a server in the browser; yields its host."""
    thread = threading.Thread(target=server.serve_forever, args=[0.05])
    thread.start()
    host = f"127.0.0.1:{server.server_address[1]}"
    try:
        driver.get(f"http://{host}/")
        yield host
    finally:
        server.shutdown()
        thread.join()


def ask(driver: Any, sql: str) -> int:
    """The number `n` that the UI's own trace processor answers, once it has the trace."""
    return int(
        driver.execute_async_script(
            """
            const [sql, done] = arguments;
            const look = async () => {
                const trace = window.app && window.app.trace;
                if (!trace || !location.hash.includes('viewer')) return setTimeout(look, 100);
                const rows = await trace.engine.query(sql);
                done(Number(rows.firstRow({n: 0}).n));
            };
            look();
            """,
            sql,
        )
    )


def test_the_ui_opens_the_trace_and_asks_nobody_else(driver: Any, tmp_path: Path) -> None:
    events = [
        {"ph": "X", "pid": 7, "tid": 7, "ts": i * 10, "dur": 8, "name": "decode step", "cat": "cpu_op"}
        for i in range(500)
    ]
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": events}))
    with make_server(trace) as server, opened(driver, server) as host:
        assert ask(driver, "SELECT count(*) AS n FROM slice WHERE name = 'decode step' AND dur = 8000") == 500
    asked, blocked = network(driver)
    assert f"http://{host}/localtrace" in asked
    elsewhere = [
        url for url in asked if not url.startswith(("data:", "blob:", "chrome")) and urlsplit(url).netloc != host
    ]
    assert elsewhere == []
    # The policy has something to do: the UI does try other addresses.
    assert blocked
    assert all(urlsplit(url).netloc != host for url in blocked)


def test_the_ui_opens_the_timeline_of_a_bundle(driver: Any, tmp_path: Path) -> None:
    bundle = Path(__file__).parents[2] / "sample_traces" / "smollm2-135m-cpu.zip"
    with make_server(timeline_of(bundle, tmp_path, tmp_path / "none.duckdb")) as server, opened(driver, server):
        decodes = "SELECT count(*) AS n FROM slice s JOIN track t ON t.id = s.track_id WHERE t.name = 'phases'"
        assert ask(driver, decodes) > 0
        assert ask(driver, "SELECT count(*) AS n FROM counter_track WHERE name = 'KV cache'") > 0
        assert ask(driver, "SELECT count(*) AS n FROM process WHERE name IN ('clean', 'profiled')") == 2
