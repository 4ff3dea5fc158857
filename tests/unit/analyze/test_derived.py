"""Derived tables: filled for one run, again when asked, and the list of them is the same everywhere."""

import re

from analyze import derived
from analyze.store import sql_text
from tests.unit.analyze.answers import Answers
from tests.unit.analyze.rows import PASS, RUN


def test_deriving_again_replaces_and_leaves_other_runs_alone() -> None:
    store = Answers()
    store.phase("prefill", 0, 0, 100, thread_id=1)
    store.op("aten::mm", 10, 50, phase="prefill", step=0, repeat=0, role="operator")
    store.con.execute(
        "INSERT INTO phase_breakdown (run_id, pass, rank, repeat, phase, step, wall_ns) "
        "VALUES ('other', 'trace', 0, 0, 'decode', 1, 5)"
    )
    for _ in range(2):
        derived.derive(store.con, RUN)
    found = store.con.execute("SELECT run_id, pass, phase, wall_ns, operator_ns FROM phase_breakdown ORDER BY ALL")
    assert found.fetchall() == [("other", "trace", "decode", 5, None), (RUN, PASS, "prefill", 100, 50)]
    parts = store.con.execute("SELECT part, ns FROM time_budget WHERE run_id = ? ORDER BY ALL", [RUN]).fetchall()
    assert parts == [("between operators", 50), ("linear", 50)]


def test_nothing_of_the_work_stays_behind() -> None:
    store = Answers()
    store.phase("prefill", 0, 0, 100, thread_id=1)
    derived.derive(store.con, RUN)
    assert store.con.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall() == []


def test_the_tables_are_the_same_everywhere() -> None:
    made = set(re.findall(r"CREATE TABLE (\w+)", sql_text("schema_derived.sql")))
    assert made == set(derived.TABLES)
    computed = sql_text("views/provenance.sql").split("c.table_name IN (", 1)[1].split(")", 1)[0]
    assert set(re.findall(r"'(\w+)'", computed)) == made
