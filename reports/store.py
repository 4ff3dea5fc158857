"""The one place in which the reports open a store."""

from __future__ import annotations

from pathlib import Path

import duckdb

from analyze.errors import PhasescopeError


def open_read_only(path: Path) -> duckdb.DuckDBPyConnection:
    """The store at `path`, read-only. Raises PhasescopeError where it is not there or no store."""
    if not path.exists():
        raise PhasescopeError(f"{path} does not exist: make a store with `phasescope load SOURCE --store {path}`")
    try:
        return duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise PhasescopeError(f"{path} cannot be opened as a store ({reason}): close what uses it, or load it again") from error
