"""The pages a newcomer reads: no placeholder is left, and every relative link leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_placeholders(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "@@" not in text
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text)
    assert [target for target in targets if not (page.parent / target).exists()] == []
