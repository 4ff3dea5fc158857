"""Comparing runs: what differs, what changed, and what may be said of it."""

from analyze.compare.comparison import Comparison, MetricChange, Options, compare_sides
from analyze.compare.sides import Side, read_side

__all__ = ["Comparison", "MetricChange", "Options", "Side", "compare_sides", "read_side"]
