"""The rungs of memory on a Mac."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

import analyze

SQL = Path(analyze.__path__[0]) / "sql"


def ladder(device: str, computed: int | None, tensor: int, driver: int, footprint: int | None) -> tuple[Any, ...]:
    connection = duckdb.connect()
    connection.execute((SQL / "schema.sql").read_text())
    connection.execute((SQL / "views" / "memory_ladder.sql").read_text())
    connection.execute(
        "INSERT INTO runs BY NAME SELECT 'r' AS run_id, 's' AS source, 'bundle' AS source_kind, 'x' AS source_sha256, "
        "? AS device, 1 AS ranks, 0 AS loaded_unix_ns, '0' AS phasescope_version, 0 AS raw_events, 0 AS loaded_events, "
        "0 AS excluded_events",
        [device],
    )
    connection.execute(
        "INSERT INTO phases BY NAME SELECT 'r' AS run_id, 'memory' AS pass, 0 AS rank, 0 AS repeat, 'decode' AS phase, "
        "3 AS step, 515 AS cached_tokens, 'timer' AS source"
    )
    connection.execute(
        "INSERT INTO samples BY NAME SELECT 'r' AS run_id, 'memory' AS pass, 0 AS repeat, 'after_decode' AS phase, "
        "3 AS step, ? AS tensor_bytes, ? AS driver_bytes, ? AS footprint_bytes",
        [tensor, driver, footprint],
    )
    connection.execute("INSERT INTO kv_expected VALUES ('r', 515, ?, 'formula')", [computed])
    rows = connection.execute("SELECT tensor_bytes, allocator_kept_bytes, verdict FROM memory_ladder").fetchall()
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("mps", 10, 100, 300, 900), (100, 200, "holds")),
        (("mps", 101, 100, 300, 900), (100, 200, "does not hold: KV by architecture is over live tensors")),
        (("mps", 10, 400, 300, 900), (400, -100, "does not hold: live tensors are over driver memory")),
        (("mps", 10, 100, 950, 900), (100, 850, "does not hold: driver memory is over the footprint")),
        (("mps", None, 100, 300, 900), (100, 200, "not established")),
        (("cuda", 10, 100, 300, None), (100, 200, "not established")),
        (("cpu", 10, 0, 0, None), (None, None, "not established")),
    ],
)
def test_rungs(arguments: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert ladder(*arguments) == expected
