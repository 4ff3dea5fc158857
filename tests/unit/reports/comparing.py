"""Stores for tests of comparisons: synthetic runs that say which tokens they generated."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from tests.unit.reports.builder import Synthetic, build

DIGESTS = {"prompt_sha256": "a" * 64, "generated_sha256": "b" * 64, "cpu_threads": 2}


def store(
    path: Path, *runs: Synthetic, tokens: dict[str, str] | None = None, labels: dict[str, str] | None = None
) -> Path:
    """A store with these runs; `tokens` and `labels` by run id, where a run's are not the same as the others'."""
    build(path, *runs)
    with duckdb.connect(str(path)) as connection:
        for run in runs:
            digests = {**DIGESTS, "generated_sha256": (tokens or {}).get(run.run_id, DIGESTS["generated_sha256"])}
            values = [json.dumps(digests), run.run_id]
            connection.execute("UPDATE passes SET detail = ? WHERE run_id = ? AND pass = 'clean'", values)
            connection.execute(
                "UPDATE runs SET label = ? WHERE run_id = ?", [(labels or {}).get(run.run_id, run.run_id), run.run_id]
            )
    return path
