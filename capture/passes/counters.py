"""The counters pass, inside the process that xctrace records with GPU counters on: the workload as in pass metal."""

from capture.passes.metal import run

__all__ = ["run"]
