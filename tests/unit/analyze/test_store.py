"""A new store: it begins as a copy, and comes about without one."""

from pathlib import Path

import pytest

from analyze import store
from analyze.errors import PhasescopeError


@pytest.mark.parametrize("fault", [PhasescopeError("an empty store: no space left"), OSError(28, "No space left")])
def test_a_store_is_made_in_place_where_none_can_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fails() -> bytes:
        raise fault

    monkeypatch.setattr(store, "empty_store", fails)
    path = tmp_path / "s.duckdb"
    with store.writable_store(path) as con:
        assert con.execute("SELECT count(*) FROM time_budget").fetchall() == [(0,)]
        assert con.execute("SELECT count(*) > 0 FROM operator_kinds").fetchall() == [(True,)]
    assert list(tmp_path.iterdir()) == [], "nothing came in: neither store nor draft stays"


def test_a_copy_never_takes_the_place_of_a_store(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(b"made meanwhile")
    store._begin_as_copy(path)
    assert path.read_bytes() == b"made meanwhile"
    assert list(tmp_path.iterdir()) == [path]
