"""One word beside a number for how it came to be, out of the store's view `provenance`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from reports.queries import Result

WORDS = ("measured", "derived", "published", "estimated")

T = TypeVar("T")


def words(provenance: Result) -> dict[str, str]:
    """`relation.column` to its word."""
    return {f"{row['relation']}.{row['column']}": row["provenance"] for row in provenance}


def stamped(item: T, known: Mapping[str, str]) -> T:
    """`item` with the `how` of everything in it (columns of tables, tiles) turned from a column's name into its word.

    A name that the store does not have, because an older version loaded the run, becomes no word.
    """
    found: Any = item
    if isinstance(found, tuple):
        return tuple(stamped(part, known) for part in found) if any(map(_is_part, found)) else found  # type: ignore[return-value]
    if not _is_part(found):
        return item
    changed = {}
    for field in dataclasses.fields(found):
        before = getattr(found, field.name)
        after = stamped(before, known)
        if field.name == "how":
            after = before if before in WORDS else known.get(before, "")
        if after is not before:
            changed[field.name] = after
    return dataclasses.replace(found, **changed) if changed else item


def _is_part(item: object) -> bool:
    return dataclasses.is_dataclass(item) and not isinstance(item, Result)
