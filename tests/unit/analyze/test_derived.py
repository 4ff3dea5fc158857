"""Derived tables: filled for one run, again when asked, and the list of them is the same everywhere."""

import re
from pathlib import Path

import duckdb
import pytest

from analyze import derived
from analyze.errors import PhasescopeError
from analyze.sql_text import sql_text
from analyze.store import writable_store
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


def test_operators_on_lanes_of_different_depth_are_one_union() -> None:
    """Depth counts on a lane: of two that overlap in part, the deeper one is inside nothing of the phase."""
    store = Answers()
    store.phase("prefill", 0, 10, 105, thread_id=1)
    inside = {"phase": "prefill", "step": 0, "repeat": 0, "role": "operator"}
    store.op("aten::x", 20, 5, depth=1, **inside)
    store.op("aten::y", 40, 65, depth=2, **inside)
    assert store.rows("SELECT operator_ns, between_operators_ns FROM phase_breakdown") == [(70, 35)]


def test_a_full_disk_while_a_store_is_brought_to_date_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.duckdb"
    row = "('r', 's', 'bundle', '0', 1, 0, '0', 0, 0, 0)"
    with writable_store(path) as con:
        con.execute(
            "INSERT INTO runs (run_id, source, source_kind, source_sha256, ranks, loaded_unix_ns, phasescope_version, "
            f"raw_events, loaded_events, excluded_events) VALUES {row}"
        )
        con.execute("UPDATE store_info SET value = 'older' WHERE key = 'views_sha256'")

    def full(*_: object) -> None:
        raise duckdb.IOException("IO Error: Could not write file: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(derived, "derive", full)
        with pytest.raises(PhasescopeError, match=r"s\.duckdb: the store could not be written .*No space left"):
            writable_store(path).__enter__()
    with writable_store(path) as con:
        assert con.execute("SELECT count(*) FROM phase_breakdown").fetchall() == [(0,)]
        assert con.execute("SELECT run_id FROM runs").fetchall() == [("r",)]
