"""The runs of a site: their lines in the index, and which of them belong together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports import format as fmt
from reports.queries import Row

FILTERS = ("model", "device", "dtype", "attention", "weights")


@dataclass(frozen=True)
class SiteRun:
    """A run as the site knows it: its row of the query `site_runs`."""

    row: Row

    @property
    def run_id(self) -> str:
        return str(self.row["run_id"])

    @property
    def page(self) -> str:
        """Its page, from the top of the site."""
        return f"runs/{self.run_id}.html"

    @property
    def name(self) -> str:
        """Model and label, or what kind of trace it is where nobody told the model."""
        return str(self.row["model"] or f"{self.row['source_kind']} trace")

    @property
    def device(self) -> str:
        return str(self.row["device_name"] or self.row["device"] or "")

    @property
    def lengths(self) -> str:
        """Prompt and new tokens, with the batch where it is not one."""
        if self.row["prompt_tokens"] is None:
            return fmt.MISSING
        batch = self.row["batch_size"]
        text = f"{fmt.count(self.row['prompt_tokens'])} + {fmt.count(self.row['new_tokens'])}"
        return text if batch in (None, 1) else f"{text}, batch {batch}"

    @property
    def words(self) -> str:
        """All that a search in the index looks at."""
        row = self.row
        parts = (self.name, row["label"], row["run_id"], self.device, row["device"], row["dtype"], row["attention"])
        more = (row["cache"], row["weights"], f"torch {row['torch_version']}" if row["torch_version"] else None)
        return " ".join(str(part).lower() for part in (*parts, *more) if part)

    def filter_value(self, name: str) -> str:
        return str(self.row[name] or "")

    def public_json(self) -> dict[str, Any]:
        """The run in the JSON index."""
        return {**self.row, "page": self.page}


@dataclass(frozen=True)
class Filter:
    """A choice in the index: its column, and the values that runs have."""

    name: str
    values: tuple[str, ...]


def filters(runs: Sequence[SiteRun]) -> tuple[Filter, ...]:
    """The filters that can tell runs apart."""
    found = []
    for name in FILTERS:
        values = sorted({run.filter_value(name) for run in runs} - {""})
        if len({run.filter_value(name) for run in runs}) > 1 and values:
            found.append(Filter(name, tuple(values)))
    return tuple(found)


def by_workload(runs: Sequence[SiteRun]) -> dict[str, list[SiteRun]]:
    """Runs of one workload on one kind of machine, oldest first; those with a clean pass only."""
    groups: dict[str, list[SiteRun]] = defaultdict(list)
    for run in runs:
        if run.row["prefill_ns"] is not None and run.row["captured_unix_ns"] is not None:
            groups[run.row["workload"]].append(run)
    return {
        key: sorted(group, key=lambda run: (run.row["captured_unix_ns"], run.run_id)) for key, group in groups.items()
    }


def what_changed(before: SiteRun, after: SiteRun) -> list[str]:
    """Software that is not the same in two runs of one workload."""
    names = {
        "torch_version": "torch",
        "transformers_version": "transformers",
        "python_version": "Python",
        "os": "system",
    }
    return [
        f"{word} {before.row[column] or 'unknown'} → {after.row[column] or 'unknown'}"
        for column, word in names.items()
        if before.row[column] != after.row[column]
    ]
