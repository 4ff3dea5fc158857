"""The SQL that is shown is the SQL that was run."""

import re
from importlib import resources

import duckdb
import pytest

from analyze.errors import PhasescopeError
from analyze.query import open_store, run_query
from reports.collect import SLICES, collect
from reports.queries import literal, run, text
from tests.unit.reports.builder import Synthetic, build

RUN = Synthetic(run_id="it's -- a ; run", kernels=True, device="cuda", excluded=2, repaired=1, claims=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return build(tmp_path_factory.mktemp("store") / "s.duckdb", RUN, Synthetic(run_id="other", seed=3))


@pytest.fixture(scope="module")
def results(store):
    with open_store(store) as connection:
        return collect(connection, RUN.run_id)


def test_literals_are_quoted():
    assert literal("it's") == "'it''s'"
    assert literal(5) == "5"
    assert literal(None) == "NULL"


def test_every_query_is_there(results):
    files = {file.name.removesuffix(".sql") for file in (resources.files("reports") / "sql").iterdir()}
    assert set(results) <= files


def test_shown_sql_gives_the_rows_again(store, results):
    for name, result in results.items():
        assert not re.search(r"\$\w", result.sql), name
        with run_query(store, result.sql) as connection:
            columns = tuple(column[0] for column in connection.description)
            rows = [dict(zip(columns, row, strict=True)) for row in connection.fetchall()]
        assert len(rows) == len(result.rows), name
        for got, shown in zip(rows, result.rows, strict=True):
            assert got == {key: _but_for_the_last_bits(value) for key, value in shown.items()}, name


def _but_for_the_last_bits(value):
    """Threads add doubles in any order, so that the last bits of a sum differ from run to run."""
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


def test_every_query_has_rows_here(results):
    """The synthetic run holds everything, so that no query goes untested for want of rows."""
    assert [name for name, result in results.items() if not result] == []


def test_a_store_that_cannot_answer_says_so_in_a_sentence():
    with duckdb.connect() as connection, pytest.raises(PhasescopeError, match="load the run again"):
        run(connection, "run", run_id="x")


def test_timeline_is_merged_in_sql_when_there_is_too_much(tmp_path):
    big = Synthetic(run_id="big", layers=60, ops_per_layer=8, repeats=1)
    store = build(tmp_path / "big.duckdb", big)
    with open_store(store) as connection:
        results = collect(connection, "big")
    slices = results["timeline_slices"]
    every = 16 * 60 * 8 * 2
    assert len(slices.rows) <= SLICES < every
    assert sum(row["merged"] for row in slices) == every
    assert all(0 <= row["covered"] <= 1 and row["dur_ns"] >= 0 for row in slices)
    assert "resolution_ns" in text("timeline_slices", **dict.fromkeys(
        ("run_id", "pass", "rank", "start_ns", "end_ns", "resolution_ns", "fine_ns"), 0))  # fmt: skip
