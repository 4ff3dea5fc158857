"""The pages a newcomer reads: no placeholder, no dead link, and outputs that are what the shown commands give."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import phasescope

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


def test_outputs_of_the_sample_bundle_are_what_the_commands_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"^```\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    shown = [block for block in blocks if block.startswith("$ phasescope") and "capture" not in block]
    calls = [call.split("\n", 1) for block in shown for call in block.removeprefix("$ ").split("\n$ ")]
    assert [command.split()[1] for command, _ in calls] == ["load", "query", "query", "query"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")
    for command, output in calls:
        done = CliRunner().invoke(phasescope.cli, shlex.split(command)[1:])
        assert [line.rstrip() for line in done.stdout.splitlines()] == output.splitlines(), command
