"""Which phase host slices and device rows belong to, and by what means that is known."""

from __future__ import annotations

import duckdb

from analyze.sql_text import sql_text

# In this order: the first means that knows a device row's launch settles it.
_STEPS = (
    "windows", "ops", "marks", "correlation", "flow", "launch_roles", "external_id", "blocking_copies", "containment",
    "whole_trace", "notes",
)  # fmt: skip


def attribute(con: duckdb.DuckDBPyConnection, run_id: str, pass_: str) -> None:
    """Fill role, repeat, phase and step of `ops`, and launch and phase of `kernels`, for one pass.

    Host slices belong to the phase in whose range they start, on its thread. Slices of other threads belong to it
    by time where the loop allows that (attribute/windows.sql says where). Device rows belong to the phase of the
    call that launched them, wherever in time they ran. Notes go to `quality`. The rows of `phases` must be there.
    """
    for step in _STEPS:
        text = sql_text(f"attribute/{step}.sql")
        names = {name: value for name, value in (("run_id", run_id), ("pass", pass_)) if f"${name}" in text}
        con.execute(text, names)
    con.execute("DROP TABLE phase_windows")
