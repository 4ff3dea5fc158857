"""The errors of capture, under the name that analyze and reports use."""

from capture.bundle import GateRefused, PhasescopeError, UsageError

__all__ = ["GateRefused", "PhasescopeError", "UsageError"]
