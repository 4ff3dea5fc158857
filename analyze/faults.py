"""What was mended in a trace and what was left out of it."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Faults:
    """What was mended and what was left out, with the place of the first of each kind."""

    repaired: Counter[str] = field(default_factory=Counter)
    excluded: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def mend(self, reason: str, events: int, where: str) -> None:
        """Count `events` mended for `reason`."""
        self.repaired[reason] += events
        self.first.setdefault(reason, where)

    def exclude(self, reason: str, events: int, where: str) -> None:
        """Count `events` left out for `reason`."""
        self.excluded[reason] += events
        self.first.setdefault(reason, where)

    def cut_short(self, where: str) -> None:
        """Note, once, that the file ends before the trace does."""
        if not self.truncated:
            self.mend("truncated", 1, where)

    @property
    def truncated(self) -> bool:
        """Whether the file ends before the trace does."""
        return self.repaired["truncated"] > 0
