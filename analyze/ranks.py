"""Which rank each of several traces of one run is, and which ranks are not there."""

import itertools
import re
from collections.abc import Iterator

from analyze.normalised_trace import NormalisedTrace


def ranks_of(traces: list[NormalisedTrace]) -> tuple[list[int], bool]:
    """Ranks that the traces state, where those differ; else the numbers in their names; else the order.

    A file without a number (a server's front end beside its workers) comes after the others. Also returns whether
    any rank is only by order.
    """
    stated = [trace.rank for trace in traces], [_rank_in_name(trace.name) for trace in traces]
    for candidates in sorted(stated, key=lambda ranks: ranks.count(None)):
        known = [rank for rank in candidates if rank is not None]
        if known and len(set(known)) == len(known):
            free = itertools.count(max(known) + 1)
            return [next(free) if rank is None else rank for rank in candidates], len(known) < len(traces)
    return list(range(len(traces))), len(traces) > 1


def rank_notes(
    traces: list[NormalisedTrace], ranks: list[int], guessed: bool
) -> Iterator[tuple[int, str, str, int, str]]:
    """Rows of quality, without the run: where ranks are by order only, and where some are missing."""
    if guessed:
        given = ", ".join(f"{rank} is {trace.name}" for trace, rank in zip(traces, ranks, strict=True))
        sentence = f"not all files state a rank of their own; by their order {given}"
        yield ranks[0], "ranks_by_order", "note", len(traces), sentence
    world = max((trace.world_size or 1 for trace in traces), default=1)
    if world > len(traces):
        there = f"of the {world} ranks that the traces speak of {len(traces)} are here: {', '.join(map(str, ranks))}"
        yield ranks[0], "ranks_missing", "note", world - len(traces), there


def _rank_in_name(name: str) -> int | None:
    found = re.search(r"(?:rank[-_]?|[-_]TP-|-r)(\d{1,9})(?!\d)", name, re.IGNORECASE)
    return int(found.group(1)) if found else None
