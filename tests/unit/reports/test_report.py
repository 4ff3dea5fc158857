"""The report built from rows: what it says, what it leaves unsaid, what it never lets through."""

import dataclasses
import json
import re

import duckdb
import pytest
from click.testing import CliRunner

from analyze.errors import PhasescopeError
from analyze.query import open_store
from reports import charts, provenance
from reports.collect import collect
from reports.commands.report import command
from reports.format import THIN
from reports.queries import Result
from reports.report import ReportData, render, report
from reports.sections import audit, claims, glance, operators, quality
from reports.sections.names import Names
from reports.tables import Table
from tests.unit.reports.builder import NASTY, Synthetic, build

FOREIGN = {"source_kind": "chrome_json", "clean": False, "samples": False, "device": None, "weights": None}
MARKED = {"nasty": True, "weights": "random", "excluded": 12, "repaired": 3, "claims": True}
RUNS = {
    "cpu": Synthetic(run_id="cpu"),
    "cuda": Synthetic(run_id="cuda", device="cuda", kernels=True, **MARKED),
    "mps": Synthetic(run_id="mps", device="mps", batch_size=2),
    "foreign": Synthetic(run_id="foreign", kernels=True, **FOREIGN),
    "unknown": Synthetic(run_id="unknown", phases=False, **FOREIGN),
    "clean_only": Synthetic(run_id="clean_only", traced=False, samples=False),
    "killed": Synthetic(run_id="killed", clean=False, traced=False, samples=False),
    "open_kv": Synthetic(run_id="open_kv", kv_known=False, repeats=1),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return build(tmp_path_factory.mktemp("store") / "s.duckdb", *RUNS.values())


@pytest.fixture(scope="module")
def data(store):
    with open_store(store) as connection:
        return {name: ReportData.from_results(collect(connection, name)) for name in RUNS}


@pytest.fixture(scope="module")
def html(data):
    return {name: render(item) for name, item in data.items()}


def plain(text):
    return text.replace(THIN, " ")


def test_answer_quotes_clean_latencies(data):
    text = plain(data["cpu"].answer.text)
    assert re.match(r"16 tokens took 1\.1\d s: prefill 4\d\d ms \(35 %\), then 15 decode steps of 4\d\.\d ms", text)
    assert (
        "Most of a decode step, 79 %, is operators (elementwise alone: 34 %); 21 % is host work between operators"
        " (in the profiled pass)." in text
    )


def test_answer_speaks_of_the_device_where_it_was_traced(data):
    assert "The device is busy 30 % of a decode step." in plain(data["cuda"].answer.text)


def test_answer_on_mps_says_encode_time(data):
    text = plain(data["mps"].answer.text)
    assert text.startswith("16 tokens for each of 2 sequences took")
    assert "encoding operators on the CPU" in text
    assert "GPU time is not in this trace" in text


def test_answer_says_what_is_not_known(data):
    assert plain(data["foreign"].answer.text).startswith(
        "How long a token takes without a profiler is not known: no clean pass was measured. What the trace shows spans"
    )
    assert "1 prefill call and 15 decode calls" in plain(data["foreign"].answer.text)
    assert "no phase of generation was recognised" in data["unknown"].answer.text
    assert data["clean_only"].answer.text.endswith(
        "What that time is made of is not known: no pass recorded operators."
    )
    assert "the worker was ended by signal 9" in data["killed"].answer.text


def test_profiled_times_are_never_quoted(store, data):
    with open_store(store) as connection:
        profiled = [row["profiled_ns"] for row in collect(connection, "cpu")["steps"] if row["phase"] == "decode"]
    slowest_clean = max(cell.sort for cell in (row[2] for row in data["cpu"].steps.summary.rows[1:]))
    assert min(profiled) > slowest_clean  # the two can be told apart here
    tile = data["cpu"].glance.tiles[1]
    assert float(tile.value) * 1e6 < min(profiled)


def test_parts_of_a_call_sum_to_the_whole(data):
    for item in data.values():
        for bar in item.budget.bars if item.budget else ():
            assert sum(segment.share for segment in bar.segments) == pytest.approx(1)
            assert all(segment.ns >= 0 for segment in bar.segments)


def test_budget_names_kinds_of_operators(data):
    host = [bar for bar in data["cuda"].budget.bars if bar.side == "host"]
    labels = [segment.label for segment in host[1].segments]
    assert [bar.phase for bar in host] == ["prefill", "decode"]
    assert labels[:2] == ["linear", "attention"]
    assert {"launch", "between operators"} <= set(labels)
    assert not any(bar.side == "device" for bar in data["cpu"].budget.bars)


def test_roofline_needs_peaks_for_its_chart_and_says_so(data):
    assert "no peaks" in data["cpu"].roofline.reason.lower()
    assert data["cpu"].roofline.figure is None
    assert len(data["cpu"].roofline.table.rows) == 3  # prefill, the first decode step, the last
    roof = data["cuda"].roofline.figure.data["roof"]
    assert roof[1]["rate"] == roof[2]["rate"] == 1.95e13
    assert roof[1]["intensity"] == pytest.approx(1.95e13 / 2.039e12)
    assert data["cuda"].roofline.peaks[0].startswith(f"2.04{THIN}TB/s, published (A100 SXM 80 GB")
    assert data["foreign"].roofline is None


def test_kv_is_compared_or_left_open(data):
    assert data["cpu"].kv.verdict == "equal"
    assert data["cpu"].kv.finding.startswith("Every one of 16 measured points")
    assert data["open_kv"].kv.verdict == "not established"
    assert "layer 3" in data["open_kv"].kv.formula
    assert data["open_kv"].kv.difference is None
    assert data["foreign"].kv is None


def test_memory_counters_that_are_not_there_say_so(data):
    assert [panel.title for panel in data["cpu"].memory.panels] == ["KV storage", "Resident set"]
    assert "Not available here: tensor allocations, driver or reserved pool (on the CPU" in data["cpu"].memory.lead
    assert [panel.title for panel in data["mps"].memory.panels][-1] == "Physical footprint"


def test_outlier_is_named(data):
    rows = [[cell.text for cell in row] for row in data["cpu"].steps.outliers.rows]
    assert [(step, repeats) for step, _, _, _, repeats, *_ in rows] == [("decode 7", "3 of 3")] * 3
    assert data["cpu"].steps.outliers.caption.startswith("3 calls of 45 stand out")
    assert "ran the same operators as most" in data["cpu"].steps.outliers.note
    ringed = [row["step"] for row in data["cpu"].steps.clean.data["steps"] if row["outlier"]]
    assert ringed == [7]


def test_trend_is_a_sentence_and_a_line(data):
    text = plain(data["cpu"].steps.trend)
    assert re.match(
        r"From 130 to 143 cached tokens no trend is seen: .*µs for each cached token more \(95 % interval", text
    )
    assert "times the median of the others" in text
    first, last = data["cpu"].steps.clean.data["trend"]
    assert (first["step"], last["step"], last["verdict"]) == (2, 15, "no trend is seen")
    assert 40 < first["fit_ms"] < 60


def test_audit_is_a_sentence_and_a_table_of_the_rest(store, tmp_path):
    with open_store(store) as connection:
        results = collect(connection, "cpu")
    alike = audit.build(results, Names())
    assert "All 45 decode steps ran the same 240 operators." in plain(" ".join(alike.sentences))
    assert alike.others is None
    rows = [dict(row) for row in results["step_audit"]]
    rows[5] |= {"verdict": "differs", "extra": "2 × aten::nonzero", "operators": 242}
    changed = {**results, "step_audit": Result("step_audit", "", (), tuple(rows))}
    found = audit.build(changed, Names())
    assert any("44 of 45 decode steps ran the same" in plain(text) for text in found.sentences)
    assert [[cell.text for cell in row] for row in found.others.rows] == [
        [f"decode {rows[5]['step']}, repeat {rows[5]['repeat'] + 1}", "242", "0", "2 × aten::nonzero", "–"]
    ]
    for row in rows:
        row |= {"verdict": "no majority", "graph_launches": 0}
    undecided = audit.build({**results, "step_audit": Result("step_audit", "", (), tuple(rows))}, Names())
    assert all(text.startswith("No set of operators") for text in undecided.sentences)


def test_a_graph_replay_claims_no_idle(data):
    row = {
        "pass": "profiled", "rank": 0, "repeat": 0, "phase": "decode", "verdict": "as most", "operators": 9,
        "device_rows": 425, "extra": None, "missing": None, "graph_launches": 1, "graph_kernels": 425,
    }  # fmt: skip
    rows = tuple({**row, "step": step} for step in (1, 2))
    window = Result("timeline_window", "", ("pass",), ({"pass": "profiled"},))
    breakdown = Result("breakdown", "", (), ({"pass": "profiled"},))
    built = audit.build(
        {"step_audit": Result("", "", (), rows), "timeline_window": window, "breakdown": breakdown}, Names()
    )
    assert "1 launch in each replay a graph" in built.sentences[0]
    assert "no idle is claimed" in built.sentences[0]


def test_rows_of_a_recording_of_the_machine_name_their_processes(tmp_path):
    store = build(tmp_path / "s.duckdb", Synthetic(run_id="mac", device="cuda", kernels=True, new_tokens=3))
    with duckdb.connect(str(store)) as con:
        [(shared,), (own,)] = con.execute("SELECT DISTINCT name FROM kernels ORDER BY name LIMIT 2").fetchall()
        con.execute("UPDATE kernels SET process = 'WindowServer (420)' WHERE name = ? AND kernel_id % 2 = 0", [shared])
        con.execute(
            "UPDATE kernels SET process = 'python (7)' WHERE name IN (?, ?) AND kernel_id % 2 = 1", [shared, own]
        )
    with open_store(store) as con:
        results = collect(con, "mac")
    table = operators.build_kernels(results, Names())
    assert [column.head for column in table.columns][:3] == ["name", "kind", "process"]
    found = {row[0].text: row[2].text for row in table.rows}
    assert (found[shared], found[own]) == ("WindowServer (420), python (7)", "python (7)")
    assert set(found.values()) == {"WindowServer (420), python (7)", "python (7)", ""}
    assert len(table.rows) == len({(row["name"], row["kind"]) for row in results["kernels"]})


def test_memory_says_of_which_pass_it_is(data):
    def peak(name):
        return plain(next(tile for tile in data[name].glance.tiles if tile.label == "Peak memory").note)

    assert peak("cpu") == "resident set of the process, in pass profiled, the profiler's own included"
    assert peak("cuda") == "peak of tensor allocations, in pass profiled"
    assert data["cpu"].memory.lead.startswith(
        "Pass profiled, so the profiler's own memory is in what the process holds. "
    )
    assert data["cuda"].memory.lead.startswith("Pass profiled")


def test_peak_memory_is_of_the_pass_that_held_it(tmp_path):
    store = build(tmp_path / "s.duckdb", Synthetic(run_id="both", device="cuda"))
    with duckdb.connect(str(store)) as con:
        con.execute(
            "INSERT INTO samples SELECT * REPLACE ('memory' AS pass, "
            "resident_bytes // 2 AS resident_bytes) FROM samples"
        )
    with open_store(store) as con:
        peaks = {row["counter"]: row["pass"] for row in collect(con, "both")["peak_memory"]}
    # as much in both: no profiler ran in pass memory; half of it there: the other pass
    assert (peaks["peak"], peaks["resident"]) == ("memory", "profiled")


def test_memory_grows_in_words_and_allocations_share_the_axis(data):
    memory = data["cuda"].memory
    assert "Decode: KV storage +338 KiB" in plain(memory.table.caption)
    titles = [panel.title for panel in memory.panels]
    assert titles == [
        "KV storage", "Tensor allocations", "Driver or reserved pool", "Resident set", "Allocations, cuda:0",
    ]  # fmt: skip
    domains = set()
    for panel in memory.panels:
        spec = json.dumps(panel.figure.spec())
        domains |= set(re.findall(r'"scale": \{"domain": (\[[^]]*\])', spec))
    assert len(domains) == 1  # one axis of time
    assert "the allocator reserves up to 700 MiB" in plain(memory.panels[-1].summary)
    shown = [row[0].text for row in memory.table.rows]
    assert shown[-1] == "allocated since the trace began, cuda:0"  # 8 bytes on the CPU are not worth a row


def test_overhead_by_phase_and_nothing_where_it_cannot_be(data):
    rows = {row[0].text: row for row in data["cpu"].steps.overhead.rows}
    assert 1.2 < rows["decode"][3].sort < 1.4
    tile = next(tile for tile in data["cpu"].glance.tiles if tile.label == "Profiler's own cost")
    assert plain(tile.note).startswith("median call, profiled over clean: prefill × 1.")
    assert rows["prefill"][4].text.count(" to ") == 1
    assert data["cpu"].steps.overhead.note == ""
    assert data["clean_only"].steps.overhead is None
    slow = Result("profiler_cost", "", (), ({"phase": "decode", "ratio": 0.2, "least_ratio": 0.1, "most_ratio": 0.3},))
    tile = glance._profiler({"profiler_cost": slow})
    assert tile.value is None
    assert "busier in the clean pass" in tile.note


def test_counters_stand_beside_the_roofline(data):
    rows = [[cell.text for cell in row] for row in data["cuda"].counters.rows]
    assert ["GPU 0 Counters HBM BW (%)", "decode", "memory", "88.0", "88.0", "45"] in rows
    assert data["cpu"].counters is None


def tables(item):
    if isinstance(item, Table):
        yield item
    elif isinstance(item, tuple):
        for part in item:
            yield from tables(part)
    elif dataclasses.is_dataclass(item) and not isinstance(item, Result):
        for field in dataclasses.fields(item):
            yield from tables(getattr(item, field.name))


@pytest.mark.parametrize("name", RUNS)
def test_every_number_says_how_it_came_to_be(data, html, name):
    for table in tables(data[name]):
        if table.id == "roofline-terms":
            assert table.columns[-1].head == "provenance"  # a word a row
            continue
        for column in table.columns:
            assert not column.numeric or column.how in provenance.WORDS, (table.id, column.head)
    for tile in data[name].glance.tiles:
        assert tile.value is None or tile.how in provenance.WORDS
    assert '<span class="how">' in html[name]


def test_words_are_those_of_the_store(store, data):
    with open_store(store) as connection:
        known = provenance.words(collect(connection, "cpu")["provenance"])
    summary = {column.head: column.how for column in data["cpu"].steps.summary.columns}
    assert summary["least"] == known["step_latency.min_ns"] == "measured"
    assert summary["median"] == known["step_latency.median_ns"] == "derived"
    kv = {column.head: column.how for column in data["cpu"].kv.table.columns}
    assert (kv["in the cache"], kv["computed"]) == ("measured", "derived")


def test_what_a_run_does_not_tell_is_one_line_each(data, html):
    assert data["cpu"].absent == ()
    told = dict(data["foreign"].absent)
    assert {"Latencies", "KV cache", "Memory", "Roofline"} <= set(told)
    assert 'id="kv"' not in html["foreign"]
    assert 'href="#kv"' not in html["foreign"]
    assert html["foreign"].count(told["KV cache"]) == 1
    assert "the worker was ended by signal 9" in dict(data["killed"].absent)["Latencies"]


def test_the_banner_names_the_way_to_quality(html, data):
    banner = re.search(r'<p class="banner".*?</p>', html["cuda"], re.S)[0]
    assert '<a href="#quality">Quality</a>' in banner
    assert "<code>quality</code>" in banner
    assert 'class="banner"' not in html["cpu"]
    repaired = {"kind": "repaired", "reason": "cut off", "events": 0, "detail": None}
    run = Result("run", "", (), ({"excluded_events": 0, "raw_events": 5},))
    assert quality._banner({"run": run, "quality": Result("quality", "", (), (repaired,))}) == "the source was repaired"


def test_one_repeat_has_no_band(data):
    assert data["open_kv"].steps.band.startswith("One repeat")


def test_random_weights_and_exclusions_are_marked(data, html):
    assert data["cuda"].random_weights
    assert "random weights" in html["cuda"]
    assert "random weights" not in html["cpu"]
    assert plain(data["cuda"].quality.banner) == "12 events of 17 292 (< 0.1 %) left out and 3 events repaired"
    assert data["cpu"].quality.banner is None


def test_claims_show_numbers_with_units_and_how_they_came_to_be():
    row = {
        "claim_id": "calls", "claim": "It holds", "verdict": "holds", "evidence": "rows", "sql": "SELECT 1",
        "settled_by": None,
        "numbers": '{"median_gap_ns": 743000, "busy_share": 0.952, "cpu_percent": 43.8, "points": 16}',
        "provenance": json.dumps(dict.fromkeys(("median_gap_ns", "busy_share", "cpu_percent", "points"), "derived")),
    }  # fmt: skip
    open_row = {**row, "verdict": "not established", "numbers": "no numbers", "provenance": None}
    results = {"claims": Result("claims", "", tuple(row), (row, open_row))}
    shown, open_one = claims.build(results, Names())
    assert [(name, plain(value)) for name, value in shown.numbers] == [
        ("median gap", "743 µs"), ("busy", "95.2 %"), ("cpu", "43.8 %"), ("lengths measured", "16"),
    ]  # fmt: skip
    assert (shown.sign, shown.provenance) == ("✓", "derived")
    assert (open_one.sign, open_one.tone, open_one.numbers) == ("○", "open", (("", "no numbers"),))
    mixed = {**row, "numbers": json.dumps(dict.fromkeys("abcdefgh", 1))}
    mixed["provenance"] = json.dumps({**dict.fromkeys("abcdefg", "derived"), "h": "measured"})
    (claim,) = claims.build({"claims": Result("claims", "", (), (mixed,))}, Names())
    assert (len(claim.numbers), [name for name, _ in claim.more]) == (6, ["g", "h"])
    assert claim.provenance == "derived; h measured"


def test_claims_keep_their_order_and_open_ones_come_last():
    row = {"evidence": "rows", "sql": "", "settled_by": None, "numbers": None, "provenance": None}
    given = [
        ("copies", "not established"),
        ("kv_linear", "does not hold"),
        ("steps_alike", "holds"),
        ("calls", "holds"),
    ]
    rows = tuple({**row, "claim_id": key, "claim": key, "verdict": verdict} for key, verdict in given)
    shown = claims.build({"claims": Result("claims", "", (), rows)}, Names())
    assert [claim.statement for claim in shown] == ["calls", "steps_alike", "kv_linear", "copies"]


@pytest.mark.parametrize("name", RUNS)
def test_every_run_renders_whole(html, name):
    page = html[name]
    assert page.rstrip().endswith("</html>")
    assert "None" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert len(re.findall(r"<h1\b", page)) == 1


def test_names_are_never_markup(html):
    outside = re.sub(r"<script.*?</script>", "", html["cuda"], flags=re.S)
    data = "".join(re.findall(r'<script type="application/json".*?</script>', html["cuda"], flags=re.S))
    assert "<img" not in outside
    assert "<img" not in data
    assert data.count("</script") == len(re.findall("<script type", data))
    assert "onload=alert" not in re.sub(r"&#34;&gt;&lt;svg onload=alert\(2\)&gt;", "", outside)
    assert "{{ 7 * 7 }}" in outside  # not evaluated


def test_folders_stay_out_unless_asked(store, html):
    assert "somebody" not in html["cuda"]
    assert "model.py(12): forward" in html["cuda"]
    with open_store(store) as connection:
        shown = render(ReportData.from_results(collect(connection, "cuda"), include_paths=True))
    assert NASTY[-1] in shown
    assert "/data/somebody/trace.json" in shown


def test_no_address_in_the_page_but_names_of_standards(html):
    markup = re.sub(r"<script.*?</script>", "", html["cuda"], flags=re.S)
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", markup)
    assert "@import" not in markup
    assert "url(" not in markup


def test_same_rows_same_text(data, html):
    assert render(data["cpu"]) == html["cpu"]


def test_size_of_a_small_run(html):
    assert len(html["cpu"].encode()) < 1_500_000
    assert len(html["killed"].encode()) < 100_000  # no chart, so no chart library


def test_figures_are_objects_for_a_notebook(data):
    for figure in data["cuda"].figures():
        spec = figure.standalone().to_dict(validate=False)
        assert "var(--" not in json.dumps({key: value for key, value in spec.items() if key != "datasets"})
        assert set(figure.data) <= set(spec["datasets"])


def test_file_is_whole_and_not_replaced_unasked(store, tmp_path):
    out = tmp_path / "r.html"
    assert report(store, "cpu", out) == out
    before = out.read_bytes()
    with pytest.raises(PhasescopeError, match="--force"):
        report(store, "cuda", out)
    assert out.read_bytes() == before
    report(store, "cuda", out, force=True)
    assert out.read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_errors_are_sentences(store, tmp_path):
    with pytest.raises(PhasescopeError, match="phasescope load"):
        report(tmp_path / "none.duckdb", None, tmp_path / "r.html")
    with pytest.raises(PhasescopeError, match="no-such-run"):
        report(store, "no-such-run", tmp_path / "r.html")
    with pytest.raises(PhasescopeError, match="give another --out"):
        report(store, "cpu", tmp_path / "no" / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_command_is_the_same_function(store, tmp_path):
    out = tmp_path / "r.html"
    result = CliRunner().invoke(command, ["--store", str(store), "--run", "cpu", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert result.output == f"Wrote {out}\n"
    assert out.stat().st_size > 500_000


@pytest.mark.parametrize(("ends", "dy"), [((40.0, 42.0), -9), ((42.0, 40.0), 15)])
def test_the_name_of_a_trend_stands_off_its_line(ends, dy):
    row = {"step": 1, "p5_ms": 1, "p95_ms": 2, "median_ms": 1.5, "outlier": False}
    trend = [{"step": step, "fit_ms": ms, "verdict": "t"} for step, ms in zip((2, 15), ends, strict=True)]
    layers = charts.step_latency([row], "step", trend).spec()["layer"]
    names = [layer["mark"] for layer in layers if layer["mark"]["type"] == "text"]
    assert [mark["dy"] for mark in names] == [dy, dy]
    assert "stroke" in names[0]  # lines of the data end at its edge, too
