"""Rows as text: what a table cuts it says, and the other formats hold all of it."""

from __future__ import annotations

import duckdb
import pytest

from analyze.rows_out import write_rows


def shown(sql: str, format_: str = "table", widest: int = 10) -> str | None:
    with duckdb.connect() as con:
        con.execute(sql)
        return write_rows(con, format_, None, widest=widest)


def test_a_table_says_that_text_was_cut_and_how_to_see_it() -> None:
    assert shown("SELECT 'a longer name' AS name, 1 AS n") == (
        "name        n\n"
        "──────────  ─\n"
        "a longer …  1\n"
        "(1 row; … marks text that was cut: --format csv or json shows it all)\n"
    )


@pytest.mark.parametrize("text", ["ten chars.", "two\n\n lines", "ends in …"])
def test_a_table_that_holds_all_says_nothing(text: str) -> None:
    table = shown(f"SELECT '{text}' AS name", widest=11)
    assert table is not None
    assert table.endswith("\n(1 row)\n")


@pytest.mark.parametrize("format_", ["csv", "json", "jsonl", "markdown"])
def test_other_formats_cut_nothing(format_: str) -> None:
    assert "a longer name" in (shown("SELECT 'a longer name' AS name", format_) or "")
