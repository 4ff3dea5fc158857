"""The energy pass: the chip's own energy counters over windows of at least five seconds, no profiler at work.

The counters are of the whole chip and are estimates to compare within one machine only. Decode cannot be had in a
window of its own (every decode needs a prefill before it), so it is the generation less the prefill, `derived`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from capture.bundle import write_then_rename
from capture.clock import now_ns, read_clocks
from capture.passes.common import PassContext, PassOutcome, start_clock
from capture.recorder import Recorder

WINDOW_S = 5.0
FIELDS = (
    "cpu_total_mj", "efficiency_cores_mj", "performance_cores_mj", "dram_mj", "gpu_mj", "gpu_sram_mj", "ane_mj",
)  # fmt: skip


@dataclass
class Window:
    """Energy over a window in which something ran `runs` times. A counter that the chip lacks is None, never 0."""

    name: str
    runs: int
    dur_ns: int
    energy_mj: dict[str, float | None]


def open_monitor() -> Any:
    """zeus-apple-silicon's monitor. Raises ImportError or RuntimeError where there is none."""
    from zeus_apple_silicon import AppleEnergyMonitor

    return AppleEnergyMonitor()


def run(context: PassContext) -> PassOutcome:
    """Writes energy.json with the windows idle, prefill and generation."""
    clock = start_clock()
    try:
        monitor = open_monitor()
    except ImportError:
        return PassOutcome(
            "unsupported", clock, "zeus-apple-silicon is not installed; pip install 'phasescope[capture]' on a Mac."
        )
    except Exception as error:
        return PassOutcome("unsupported", clock, f"The chip's energy counters do not open: {str(error)[:200]}")
    context.warm_up(context.spec.warmup + 3)
    recorder = Recorder(context.device)
    engine = context.engine(recorder)
    steps: list[tuple[str, Callable[[], object]]] = [
        ("idle", lambda: time.sleep(0.5)),
        ("prefill", lambda: engine.run_prefill(context.prompt_ids)),
        ("generation", lambda: engine.generate(context.prompt_ids, context.spec.new_tokens)),
    ]
    windows = []
    for number, (name, step) in enumerate(steps):
        context.report(context.spec.warmup + number, context.spec.warmup + 3, f"energy of {name}")
        windows.append(measure(monitor, name, step, context.device.synchronize))
    clock.end = read_clocks()
    content = {"windows": [asdict(window) for window in windows], "decode_derived": decode_energy(*windows[1:])}
    with write_then_rename(context.folder / "energy.json") as stream:
        stream.write(json.dumps(content, indent=1).encode() + b"\n")
    if all(value is None for window in windows for value in window.energy_mj.values()):
        return PassOutcome("empty", clock, "The chip told no energy at all.", content)
    return PassOutcome("measured", clock, detail={"window_s": WINDOW_S, **content})


def measure(monitor: Any, name: str, step: Callable[[], object], synchronize: Callable[[], None]) -> Window:
    """Repeat `step` for at least WINDOW_S seconds inside one window of the monitor."""
    synchronize()
    monitor.begin_window(name)
    start_ns = now_ns()
    runs = 0
    while now_ns() - start_ns < WINDOW_S * 1e9:
        step()
        synchronize()
        runs += 1
    dur_ns = now_ns() - start_ns
    metrics = monitor.end_window(name)
    return Window(name, runs, dur_ns, {field: _number(getattr(metrics, field, None)) for field in FIELDS})


def decode_energy(prefill: Window, generation: Window) -> dict[str, float | None]:
    """Energy of one generation's decode steps in mJ, by counter; None where either side is, or where noise wins."""
    out: dict[str, float | None] = {}
    for field in FIELDS:
        whole, part = generation.energy_mj[field], prefill.energy_mj[field]
        difference = None if whole is None or part is None else whole / generation.runs - part / prefill.runs
        out[field] = difference if difference is not None and difference >= 0 else None
    return out


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
