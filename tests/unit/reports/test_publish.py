"""The published site: what is on it, what stays out of it, and what is made again when something changes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet
import pytest
from click.testing import CliRunner

from analyze.errors import PhasescopeError
from analyze.store import writable_store
from reports import publish as publish_module
from reports.commands.publish import command
from reports.publish import publish
from reports.site import ledger as ledger_module
from tests.unit.reports.builder import Synthetic, build
from tests.unit.reports.private_store import BUNDLE, SECRETS, TRACE, private_store

SMALL = {"layers": 2, "new_tokens": 4, "repeats": 2}
DAY_NS = 86_400 * 10**9
CHANGED_AT = 6


def run_name(number: int) -> str:
    return f"202701{number + 1:02d}T120000Z-{number:08x}"


def site_store(path: Path, histories: int = 12) -> Path:
    """A dozen runs of one workload, slower from the seventh on with another torch; an eager run; two more lengths."""
    same = [
        Synthetic(
            run_id=run_name(number), seed=number, traced=False, prompt_tokens=64, slow_step=None,
            decode_ms=48.0 if number < CHANGED_AT else 60.0, **SMALL,
        )
        for number in range(histories)
    ]  # fmt: skip
    lengths = [
        Synthetic(run_id=run_name(20 + n), prompt_tokens=tokens, prefill_ms=ms, seed=n, **SMALL)
        for n, (tokens, ms) in enumerate(((128, 400.0), (256, 900.0)))
    ]
    eager = Synthetic(run_id=run_name(25), prompt_tokens=128, **SMALL)
    build(path, *same, *lengths, eager)
    with writable_store(path) as con:
        con.execute("UPDATE runs SET captured_unix_ns = ? + (loaded_unix_ns - ?) // 1000000000 * ?",
                    [1_790_000_000 * 10**9, 1_790_000_100 * 10**9, DAY_NS])  # fmt: skip
        con.execute("UPDATE runs SET attention = 'eager' WHERE run_id = ?", [eager.run_id])
        con.execute("UPDATE runs SET torch_version = '2.14.0' WHERE run_id >= ?", [run_name(CHANGED_AT)])
    return path


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src", "srcset", "action", "data")]


def links(page: Path) -> list[str]:
    parser = _Links()
    parser.feed(page.read_text())
    return parser.found


def texts(site: Path) -> dict[str, str]:
    """Every file of the site as text, Parquet by its rows."""
    found = {}
    for path in sorted(site.rglob("*")):
        if path.is_file():
            parquet = path.suffix == ".parquet"
            found[path.relative_to(site).as_posix()] = (
                str(pyarrow.parquet.read_table(path).to_pylist()) if parquet else path.read_text()
            )
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    publish(folder / "site", site_store(folder / "s.duckdb"), title="Nightly <runs>")
    return folder / "site"


def test_every_link_is_relative_and_leads_to_a_file(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        for link in links(page):
            assert not re.match(r"[a-z]+:|/", link), f"{page}: {link}"
            target = link.split("#")[0]
            assert not target or (page.parent / target).is_file(), f"{page}: {link}"


def test_no_page_may_request_anything(site):
    for page in site.rglob("*.html"):
        assert 'http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;;' in page.read_text()


def test_the_index_names_every_run(site):
    text = (site / "index.html").read_text()
    assert "<title>Nightly &lt;runs&gt;</title>" in text
    assert text.count('<tr data-words="') == 15
    index = json.loads((site / "data/index.json").read_text())
    assert index["schema_version"] == 1
    assert [run["run_id"] for run in index["runs"]][-1] == run_name(0)
    for run in index["runs"]:
        assert (site / run["page"]).is_file()
    newest = next(run for run in index["runs"] if run["run_id"] == run_name(20))
    assert newest["prompt_tokens"] == 128
    assert newest["kv_bytes_per_token"] == 23_040


def test_tables_are_there_as_parquet(site):
    runs = pyarrow.parquet.read_table(site / "data/runs.parquet")
    assert runs.num_rows == 15
    assert not {"manifest", "source", "source_sha256"} & set(runs.column_names)
    ops = pyarrow.parquet.read_table(site / f"data/runs/{run_name(20)}/ops.parquet")
    assert ops.num_rows > 0
    assert "args" not in ops.column_names
    index = json.loads((site / "data/index.json").read_text())
    for table in index["tables"]:
        assert pyarrow.parquet.read_metadata(site / table["file"]).num_rows == table["rows"]
        assert (site / table["file"]).stat().st_size == table["size_bytes"]


def test_the_change_in_a_history_is_marked_where_it_is(site):
    index = json.loads((site / "data/index.json").read_text())
    [found] = index["histories"]
    assert found["runs"] == [run_name(number) for number in range(12)]
    [change] = found["changes"]
    assert change["run_id"] == run_name(CHANGED_AT)
    assert 1.2 < change["ratio"] < 1.3
    page = (site / found["page"]).read_text()
    assert "Decode step slower by 2" in page
    assert "torch 2.13.0 → 2.14.0" in page


def test_pairs_are_compared(site):
    index = json.loads((site / "data/index.json").read_text())
    pairs = {(pair["a"], pair["b"]): pair for pair in index["comparisons"]}
    assert (run_name(10), run_name(11)) in pairs
    assert pairs[run_name(20), run_name(25)]["why"] == "sdpa → eager"
    assert run_name(20) in (site / pairs[run_name(20), run_name(25)]["page"]).read_text()


def test_scaling_studies_have_a_page(site):
    index = json.loads((site / "data/index.json").read_text())
    studies = [study for study in index["scaling"] if study["attention"] == "sdpa"]
    assert [(study["lengths"], study["shortest"], study["longest"]) for study in studies] == [(3, 64, 256)]
    assert "Exponent with which prefill grows" in (site / studies[0]["page"]).read_text()


def test_nothing_private_is_published(tmp_path):
    publish(tmp_path / "site", private_store(tmp_path / "s.duckdb"))
    found = texts(tmp_path / "site")
    assert f"runs/{BUNDLE}.html" in found
    assert len([name for name in found if name.startswith("runs/run-")]) == 1
    assert not any(TRACE in name for name in found)
    for name, text in found.items():
        for secret in SECRETS:
            assert secret.lower() not in text.lower(), f"{secret} in {name}"
    # What is public of the same rows is there.
    assert "aten::linear" in found[f"data/runs/{BUNDLE}/ops.parquet"]
    assert "layers.py(12): forward" in found[f"data/runs/{BUNDLE}/ops.parquet"]
    assert "(withheld)" in found[f"data/runs/{BUNDLE}/ops.parquet"]


def test_more_words_can_be_hidden(tmp_path):
    store = build(tmp_path / "s.duckdb", Synthetic(run_id=BUNDLE, model="acme/roadrunner-7b", **SMALL))
    publish(tmp_path / "site", store)
    assert "roadrunner" in (tmp_path / "site/index.html").read_text()
    publish(tmp_path / "site", store, hide=["roadrunner", "ACME"])
    for name, text in texts(tmp_path / "site").items():
        assert "roadrunner" not in text, name
        assert "acme" not in text, name


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    runs = [Synthetic(run_id=run_name(n), seed=n, traced=False, **SMALL) for n in (1, 2)]
    return tmp_path / "site", build(tmp_path / "s.duckdb", *runs)


def stamps(site: Path) -> dict[str, int]:
    return {p.relative_to(site).as_posix(): p.stat().st_mtime_ns for p in site.rglob("*") if p.is_file()}


def test_nothing_is_made_again_when_nothing_changed(small):
    first = publish(*small)
    before = stamps(small[0])
    second = publish(*small)
    assert first.kept == []
    assert second.built == second.removed == []
    assert sorted(second.kept) == sorted(first.built)
    after = stamps(small[0])
    assert {n: t for n, t in before.items() if not n.endswith("-site.json")} == {
        n: t for n, t in after.items() if not n.endswith("-site.json")
    }


def test_only_the_pages_of_a_changed_run_are_made_again(small):
    publish(*small)
    with writable_store(small[1]) as con:
        con.execute("UPDATE phases SET dur_ns = dur_ns + 1000000 WHERE run_id = ? AND pass = 'clean'", [run_name(2)])
    again = publish(*small)
    assert f"runs/{run_name(2)}.html" in again.built
    assert f"runs/{run_name(1)}.html" in again.kept
    assert "index.html" in again.built
    assert "data/samples.parquet" in again.kept


def test_another_program_makes_all_again(small, monkeypatch):
    publish(*small)
    monkeypatch.setattr(publish_module, "program_digest", lambda: "another version")
    assert f"runs/{run_name(1)}.html" in publish(*small).built


def test_a_page_that_was_lost_or_changed_by_hand_is_made_again(small):
    publish(*small)
    (small[0] / "index.html").write_text("changed")
    (small[0] / f"runs/{run_name(1)}.html").unlink()
    assert sorted(publish(*small).built) == ["index.html", f"runs/{run_name(1)}.html"]
    assert (small[0] / "index.html").read_text() != "changed"


def test_a_run_that_left_the_store_leaves_the_site(small, tmp_path):
    publish(*small)
    only = build(tmp_path / "only.duckdb", Synthetic(run_id=run_name(1), traced=False, **SMALL))
    result = publish(small[0], only)
    assert f"runs/{run_name(2)}.html" in result.removed
    assert not (small[0] / f"runs/{run_name(2)}.html").exists()
    assert run_name(2) not in (small[0] / "index.html").read_text()


def test_files_of_others_stay(small):
    small[0].mkdir()
    (small[0] / "CNAME").write_text("runs.example.org")
    publish(*small)
    publish(*small)
    assert (small[0] / "CNAME").read_text() == "runs.example.org"


def test_an_index_that_is_not_ours_is_not_replaced(small):
    small[0].mkdir()
    (small[0] / "index.html").write_text("my page")
    with pytest.raises(PhasescopeError, match=r"index\.html is there and not ours"):
        publish(*small)
    assert (small[0] / "index.html").read_text() == "my page"


def test_a_page_that_fails_leaves_what_was_there(small, monkeypatch):
    publish(*small)
    before = texts(small[0])
    monkeypatch.setattr(publish_module, "program_digest", lambda: "another version")

    def stop(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger_module.os, "replace", stop)
    with pytest.raises(PhasescopeError, match="No space left on device"):
        publish(*small, title="new title")
    assert texts(small[0]) == before


def test_an_interrupted_publication_goes_on_where_it_was(small, monkeypatch):
    made = []

    def stop_at_second(text: str) -> None:
        made.append(text)
        if len(made) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(*small, on_progress=stop_at_second)
    assert not (small[0] / "index.html").exists()
    again = publish(*small)
    assert made[0].endswith(again.kept[1].removeprefix("runs/").removesuffix(".html"))


def test_a_damaged_ledger_is_one_sentence(small):
    publish(*small)
    (small[0] / ledger_module.LEDGER_NAME).write_text("{")
    with pytest.raises(PhasescopeError, match="no ledger of a site; remove it"):
        publish(*small)


def test_a_ledger_cannot_remove_files_outside_the_site(small, tmp_path):
    publish(*small)
    (tmp_path / "precious").write_text("mine")
    path = small[0] / ledger_module.LEDGER_NAME
    ledger = json.loads(path.read_text())
    ledger["files"]["../precious"] = {"made_from": "x", "sha256": "x"}
    path.write_text(json.dumps(ledger))
    publish(*small)
    assert (tmp_path / "precious").read_text() == "mine"


def test_an_empty_store_is_one_sentence(tmp_path):
    store = build(tmp_path / "s.duckdb", Synthetic(**SMALL))
    with writable_store(store) as con:
        con.execute("DELETE FROM runs")
    with pytest.raises(PhasescopeError, match="holds no run"):
        publish(tmp_path / "site", store)
    with pytest.raises(PhasescopeError, match="no store there"):
        publish(tmp_path / "site", tmp_path / "nowhere.duckdb")


@pytest.mark.parametrize(
    ("folders", "code"), [(["site"], 0), (["--out", "site"], 0), ([], 2), (["site", "--out", "other"], 2)]
)
def test_the_command_takes_the_folder_once_by_either_name(tmp_path, monkeypatch, folders, code):
    store = build(tmp_path / "s.duckdb", Synthetic(run_id="one", **SMALL))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, [*folders, "--store", str(store)])
    assert done.exit_code == code, done.output
    assert (tmp_path / "site" / "index.html").is_file() == (code == 0)
    assert ("folder once: phasescope publish SITE_DIR" in done.stderr) == (code == 2)


def test_the_index_marks_runs_whose_times_are_not_to_be_quoted(tmp_path):
    path = site_store(tmp_path / "s.duckdb", histories=1)
    with writable_store(path) as con:
        con.execute("UPDATE phases SET cpu_ns = dur_ns // 2 WHERE pass = 'clean' AND run_id = ?", [run_name(20)])
    publish(tmp_path / "site", path)
    index = json.loads((tmp_path / "site/data/index.json").read_text())
    marked = {run["run_id"]: run["disturbed"] for run in index["runs"]}
    assert marked == {run_name(0): None, run_name(20): "busy machine", run_name(21): None, run_name(25): None}
    text = (tmp_path / "site/index.html").read_text()
    assert text.count('<strong class="mark" title="busy machine">do not quote these times</strong>') == 1
    assert "do not quote the times of 1</strong>" in text
    [study] = [study for study in index["scaling"] if study["attention"] == "sdpa"]
    assert study["disturbed"] == 1
    assert "Do not quote the times of 1 run of 2" in (tmp_path / "site" / study["page"]).read_text()
