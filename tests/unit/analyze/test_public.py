"""What of a store is public: every column of text has a rule, and the rules do what they say."""

import pytest

from analyze import derived
from analyze.public import PublicStore, rule_of
from analyze.store import connect, writable_store
from tests.unit.reports.builder import Synthetic, build

SMALL = {"layers": 1, "new_tokens": 2, "repeats": 1}


def test_every_column_of_text_has_a_rule(tmp_path):
    with writable_store(tmp_path / "s.duckdb") as con:
        columns = con.execute(
            "SELECT table_name, column_name FROM duckdb_columns() "
            "WHERE NOT internal AND data_type IN ('VARCHAR', 'JSON') "
            "AND table_name IN (SELECT table_name FROM duckdb_tables()) AND table_name IN "
            "(SELECT table_name FROM duckdb_columns() WHERE column_name = 'run_id')"
        ).fetchall()
    assert len(columns) > 100
    recorded = [(table, column) for table, column in columns if table not in derived.TABLES]
    assert [f"{table}.{column}" for table, column in recorded if rule_of(table, column) is None] == []


def test_a_column_that_this_version_does_not_know_stays_out(tmp_path):
    path = build(tmp_path / "s.duckdb", Synthetic(run_id="r", **SMALL))
    con = connect(path, read_only=False)
    con.execute("ALTER TABLE samples ADD COLUMN remark VARCHAR DEFAULT 'secret'")
    con.close()
    with PublicStore(path) as public:
        assert "secret" not in str(public.con.execute("FROM samples").fetchall())


TEXTS = {
    "nightly 7": "nightly 7",
    "read /opt/models/llama/model.bin twice": "read model.bin twice",
    "/home/jo/x.py and /Users/jo/deep/y.py": "/x.py and y.py",
    "/home/somebody": "",
    r"C:\Users\Jo\models\m.gguf": "m.gguf",
    "file:///srv/data/trace.json": "trace.json",
    "meta/llama at 3/4": "meta/llama at 3/4",
    "https://example.org/a/b": "https://example.org/a/b",
    "~/secret/models/x": "x",
    "Anna's run: anna_anna, savanna, ANNA": "(withheld)'s run: (withheld)_(withheld), savanna, (withheld)",
}


def test_texts_lose_their_folders_and_hidden_words(tmp_path):
    path = build(tmp_path / "s.duckdb", Synthetic(run_id="r", **SMALL))
    with writable_store(path) as con:
        con.executemany(
            "INSERT INTO claims (run_id, claim_id, claim, verdict) VALUES ('r', ?, ?, 'holds')",
            [[str(number), text] for number, text in enumerate(TEXTS)],
        )
    with PublicStore(path, hide=["anna"]) as public:
        found = public.con.execute("SELECT claim FROM claims ORDER BY claim_id::INTEGER").fetchall()
    assert [text for (text,) in found] == list(TEXTS.values())


def test_ids_of_bundles_stay_and_those_made_of_file_names_do_not(tmp_path):
    bundle, trace = "20270101T120000Z-0badcafe", "myhost_123-01234567"
    foreign = Synthetic(run_id=trace, source_kind="chrome_json", clean=False, samples=False, **SMALL)
    path = build(tmp_path / "s.duckdb", Synthetic(run_id=bundle, **SMALL), foreign)
    with PublicStore(path) as public:
        assert public.ids[bundle] == bundle
        assert public.ids[trace].startswith("run-")
        assert set(public.digests()) == set(public.ids.values())


def test_a_run_is_there_with_its_views_only_as_long_as_it_is_asked_for(tmp_path):
    path = build(tmp_path / "s.duckdb", *(Synthetic(run_id=name, **SMALL) for name in ("a", "b")))
    with PublicStore(path) as public:
        first, second = public.ids["a"], public.ids["b"]
        with public.run(first) as con:
            assert con.execute("SELECT DISTINCT run_id FROM op_summary").fetchall() == [(first,)]
            assert con.execute("SELECT count(*) > 0 FROM phase_breakdown WHERE operator_ns > 0").fetchall() == [(True,)]
        with public.run(first, second) as con:
            assert con.execute("SELECT count(DISTINCT run_id) FROM ops").fetchall() == [(2,)]
        assert public.con.execute("SELECT count(*) FROM ops").fetchall() == [(0,)]
        assert public.con.execute("SELECT count(DISTINCT run_id) FROM step_latency").fetchall() == [(2,)]


def test_a_digest_changes_with_any_row(tmp_path):
    path = build(tmp_path / "s.duckdb", *(Synthetic(run_id=name, **SMALL) for name in ("a", "b")))
    with PublicStore(path) as public:
        before, ids = public.digests(), public.ids
    with writable_store(path) as con:
        con.execute("UPDATE ops SET name = name || '!' WHERE run_id = 'a' AND op_id = 0")
    with PublicStore(path) as public:
        after = public.digests()
    assert before[ids["a"]] != after[ids["a"]]
    assert before[ids["b"]] == after[ids["b"]]


def test_nothing_outside_can_be_reached(tmp_path):
    path = build(tmp_path / "s.duckdb", Synthetic(run_id="r", **SMALL))
    with PublicStore(path) as public, pytest.raises(Exception, match="disabled"):
        public.con.execute(f"COPY runs TO '{tmp_path / 'out.csv'}'")
