"""The passes: one execution of the workload for one kind of evidence, each in a process of its own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from capture.spec import ALL_PASSES

if TYPE_CHECKING:
    from capture.passes.common import PassContext, PassOutcome


def run_pass(name: str, context: PassContext) -> PassOutcome:
    """Run the pass in this process; its module, and so a profiler, is imported only now."""
    if name not in ALL_PASSES:
        raise ValueError(f"there is no pass {name}")
    return importlib.import_module(f"capture.passes.{name}").run(context)
