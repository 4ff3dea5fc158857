"""The grid of workloads that a sweep goes through."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from capture.errors import UsageError


@dataclass(frozen=True)
class Point:
    """One workload of the grid."""

    prompt_tokens: int
    new_tokens: int
    batch_size: int
    dtype: str
    attention: str
    cache: str

    @property
    def name(self) -> str:
        """Name of its bundle; holds every value, so that a grid may grow and keep what it has."""
        words = (re.sub(r"[^\w.]+", "_", word) for word in (self.dtype, self.attention, self.cache))
        return "-".join([f"p{self.prompt_tokens}", f"n{self.new_tokens}", f"b{self.batch_size}", *words])

    @property
    def tokens(self) -> int:
        """Tokens that one generation handles over the batch."""
        return self.batch_size * (self.prompt_tokens + self.new_tokens)


@dataclass(frozen=True)
class Grid:
    """Values of each axis; the points are their product."""

    prompt_tokens: Sequence[int] = (512,)
    new_tokens: Sequence[int] = (32,)
    batch_size: Sequence[int] = (1,)
    dtype: Sequence[str] = ("auto",)
    attention: Sequence[str] = ("auto",)
    cache: Sequence[str] = ("dynamic",)

    def axes(self) -> dict[str, list[Any]]:
        return {each.name: list(getattr(self, each.name)) for each in dataclasses.fields(self)}

    def points(self) -> list[Point]:
        """Raises UsageError for an axis without a value, or with one that is named twice."""
        axes = self.axes()
        for name, values in axes.items():
            option = "--" + name.replace("_", "-")
            if not values:
                raise UsageError(f"{option} has no value; give one or more, with commas between them.")
            if len(set(values)) != len(values):
                raise UsageError(f"{option} names a value twice: {', '.join(map(str, values))}.")
        # Lengths innermost: the points that share a dtype and an attention follow each other.
        order = ("dtype", "attention", "cache", "batch_size", "new_tokens", "prompt_tokens")
        product = itertools.product(*(axes[name] for name in order))
        points = [Point(**dict(zip(order, values, strict=True))) for values in product]
        if len({point.name for point in points}) != len(points):
            raise UsageError("Two values of the grid look the same in a file name; sweep them one after the other.")
        return points
