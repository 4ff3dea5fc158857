"""A store full of what nobody else may read, in every place where a capture or a foreign trace could leave it."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from analyze.derived import derive
from analyze.store import writable_store
from tests.unit.reports.builder import Synthetic, build

HOST, USER, PROMPT, PROGRAM = "hal-9000-lab", "ulyssesgrant", "Dear Penelope, the merger closes", "SecretWriter"
HOME = f"/home/{USER}/clients/acme"
# None of these may be found anywhere in a published site.
SECRETS = (HOST, USER, "Penelope", "merger", PROGRAM, "acme", "clients")

BUNDLE = "20270101T120000Z-0badcafe"
TRACE = f"{HOST}_4711-01234567"
SMALL = {"layers": 2, "new_tokens": 4, "prompt_tokens": 16, "repeats": 2}


def private_store(path: Path) -> Path:
    """A bundle and a foreign trace with private texts in their rows."""
    build(
        path,
        Synthetic(run_id=BUNDLE, claims=True, device="cuda", kernels=True, **SMALL),
        Synthetic(
            run_id=TRACE, source_kind="chrome_json", clean=False, samples=False, device=None, weights=None, **SMALL
        ),
    )
    with writable_store(path) as con:
        _taint(con)
        for run_id in (BUNDLE, TRACE):
            derive(con, run_id)
    return path


def _taint(con: duckdb.DuckDBPyConnection) -> None:
    manifest = {
        "workload": {"warmup": 1, "repeat": 2, "prompt": PROMPT},
        "machine": {"cores": 8, "host": HOST, "processor": "made-up processor"},
        "software": {"torch": "2.13.0", "editable": f"{HOME}/torch"},
        "passes": [{"argv": ["python", f"{HOME}/run.py", "--prompt", PROMPT]}],
    }
    detail = {"prompt": PROMPT, "prompt_sha256": "ab" * 32, "conditions": {"power": "mains", "folder": HOME}}
    updates = {
        "UPDATE runs SET source = ?": [f"{HOST}_4711.1700000.pt.trace.json"],
        "UPDATE runs SET label = ?": [f"on {HOST} by {USER}, {HOME}/notes.txt"],
        "UPDATE runs SET manifest = ?": [json.dumps(manifest)],
        "UPDATE passes SET detail = ?": [json.dumps(detail)],
        "UPDATE passes SET reason = ? WHERE reason IS NOT NULL": [f"could not open {HOME}/model.bin on {HOST}"],
        "UPDATE threads SET process_name = ?, thread_name = ?, pid = ?": [f"{PROGRAM} (812)", f"{USER}'s thread", HOST],
        "UPDATE ops SET args = ?": [json.dumps({"Concrete Inputs": [PROMPT], "file": f"{HOME}/x.py"})],
        "UPDATE ops SET name = ? WHERE op_id % 5 = 0": [f"{HOME}/layers.py(12): forward"],
        "UPDATE kernels SET args = ?, process = ?": [json.dumps({"prompt": PROMPT}), f"{PROGRAM} (812)"],
        "UPDATE claims SET sql = replace(sql, 'x', 'x') || ?": [f" -- {TRACE} in {HOME}/store.duckdb"],
        "UPDATE phases SET name = ? WHERE phase = 'decode'": [f"answer: {PROMPT}"],
    }
    for sql, values in updates.items():
        con.execute(sql, values)
    for run in (BUNDLE, TRACE):
        con.execute(
            "INSERT INTO ops SELECT * REPLACE (-1 AS op_id, 'annotation' AS layer, NULL AS role, ? AS name) "
            "FROM ops WHERE run_id = ? LIMIT 1",
            [PROMPT, run],
        )
        con.execute(
            "INSERT INTO quality VALUES (?, 0, 'cut_off', 'note', 1, ?)", [run, f"ends in {PROMPT} of {HOME}/t"]
        )
        con.execute("INSERT INTO trace_metadata VALUES (?, 'trace', 0, 'hostname', ?)", [run, json.dumps(HOST)])
        con.execute("INSERT INTO trace_metadata VALUES (?, 'trace', 0, 'metadata', ?)", [run, json.dumps({"u": USER})])
        con.execute("INSERT INTO trace_metadata VALUES (?, 'trace', 0, 'cuda_runtime_version', '12')", [run])
        con.execute(
            "INSERT INTO spans VALUES (?, 'trace', 0, 0, 'async', ?, ?, ?, 0, 1, ?)",
            [run, PROMPT, f"{HOME}/c", f"{PROGRAM} (812)", PROMPT],
        )
        con.execute("INSERT INTO instants VALUES (?, 'trace', 0, ?, 'c', ?, 0, ?)", [run, PROMPT, PROGRAM, PROMPT])
        con.execute("INSERT INTO counters VALUES (?, 'trace', 0, ?, 0, 1, 'count')", [run, f"{HOME}/memory of {HOST}"])
        con.execute(
            "INSERT INTO signposts (run_id, pass, rank, source_table, status, name, subsystem, process, thread, "
            "message, redacted) VALUES (?, 'metal', 0, 'os-signpost', 'event', ?, 'PyTorchMPS', ?, ?, ?, false)",
            [run, PROMPT, f"{PROGRAM} (812)", USER, PROMPT],
        )
