"""Texts from outside, cut to what may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from reports.format import without_folders


@dataclass(frozen=True)
class Names:
    """Shows texts that come from a trace or a bundle. Folders stay out unless they are asked for."""

    include_paths: bool = False

    @overload
    def __call__(self, text: str) -> str: ...
    @overload
    def __call__(self, text: None) -> None: ...
    def __call__(self, text: str | None) -> str | None:
        return text if text is None or self.include_paths else without_folders(text)
