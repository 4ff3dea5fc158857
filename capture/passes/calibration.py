"""The calibration pass: what this machine reaches, for the roofline. It runs last, so that it heats nobody's chip."""

from __future__ import annotations

from dataclasses import asdict

from capture.calibrate import calibrate
from capture.clock import read_clocks
from capture.passes.common import PassContext, PassOutcome, start_clock


def run(context: PassContext) -> PassOutcome:
    """Copies and multiplies; the numbers are in the detail, and go from there to the manifest's machine."""
    clock = start_clock()
    steps = ["copying", "multiplying"]
    found = calibrate(
        context.device, context.model.dtype, report=lambda what: context.report(steps.index(what), len(steps), what)
    )
    clock.end = read_clocks()
    return PassOutcome("measured", clock, detail=asdict(found))
