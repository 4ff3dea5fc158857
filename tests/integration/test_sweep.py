"""A real sweep of a tiny model: killed, resumed, with points that fail, loaded, and read through the scaling views."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analyze.load import load
from analyze.query import open_store
from capture.bundle import open_bundle

pytest.importorskip("torch", reason="capturing needs the extra `capture`")

ROOT = Path(__file__).resolve().parents[2]
FIRST, SECOND = "p8-n3-b1-auto-sdpa-dynamic", "p24-n3-b1-auto-sdpa-dynamic"


def command(out: Path, *more: str) -> list[str]:
    return [
        sys.executable, str(ROOT / "phasescope.py"), "sweep", "random:llama-tiny", "--prompt-tokens", "8,24",
        "--new-tokens", "3", "--attention", "sdpa", "--warmup", "1", "--repeat", "1", "--device", "cpu",
        "--out", str(out), *more,
    ]  # fmt: skip


def kill_in_second_point(out: Path) -> None:
    """Start the sweep and end it without a word as soon as its second bundle appears."""
    process = subprocess.Popen(command(out), start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while not (out / SECOND / "manifest.json").exists():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.slow
def test_a_killed_sweep_resumes_and_loads(tmp_path):
    out = tmp_path / "sweep"
    kill_in_second_point(out)
    described = json.loads((out / "sweep.json").read_text())
    assert [point["outcome"] for point in described["points"]] == ["complete", "pending"]
    with open_bundle(out / FIRST) as bundle:
        first_run = bundle.manifest.run_id
        assert bundle.missing() == []
    with open_bundle(out / SECOND) as bundle:
        assert bundle.missing() != []

    again = subprocess.run(command(out, "--attention", "sdpa,no_such_attention"), capture_output=True, text=True)
    assert again.returncode == 1, again.stderr
    assert f"1/4 {FIRST}: complete already" in again.stderr
    assert f"2/4 {SECOND}: complete" in again.stderr
    assert "2 points failed: p8-n3-b1-auto-no_such_attention-dynamic: " in again.stderr
    assert "Traceback" not in again.stderr
    assert again.stdout == f"Wrote {out}: 2 of 4 points complete\n"
    with open_bundle(out / FIRST) as bundle:
        assert bundle.manifest.run_id == first_run
    assert str(tmp_path) not in (out / "sweep.json").read_text()

    store = tmp_path / "phases.duckdb"
    result = load([out], store)
    assert result.failed == []
    assert len(result.loaded) == 2
    con = open_store(store)
    try:
        kv = con.execute(
            "SELECT points, lengths, linear_in_length, linear_in_batch, bytes_per_token, equal_to_computed "
            "FROM scaling_kv"
        ).fetchall()
        # 2 layers x 2 heads x (16 K + 16 V) x 4 bytes = 512; 8, 9, 10 and 24, 25, 26 cached tokens.
        assert kv == [(6, 6, "holds", "not established", 512, 6)]
        prefill = con.execute("SELECT lengths, exponent IS NOT NULL, standard_error FROM scaling_prefill").fetchall()
        assert prefill == [(2, True, None)]
        headroom = con.execute("SELECT DISTINCT longest_context_tokens FROM scaling_headroom").fetchall()
        assert headroom == [(None,)]
    finally:
        con.close()
