"""A look at an exported table right after recording: is it whole, and are there rows of the recorded process?

The analyzer reads the rows; this only decides a pass's status, and whether XML is whole that xctrace left behind
when it crashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from capture.safe_xml import xml_parser


@dataclass
class ExportCheck:
    """`whole`: the document is complete. `tables`: nodes in it. `own_rows`: rows whose process has that pid."""

    whole: bool = False
    tables: int = 0
    rows: int = 0
    own_rows: int = 0
    fault: str | None = None


def check_export(path: Path, pid: int | None) -> ExportCheck:
    """Read the export in `path` once; never raises for what is in it."""
    check = ExportCheck()
    if not path.stat().st_size:
        check.fault = "empty file"
        return check
    counter = _Counter(check, pid)
    parser = xml_parser(counter.start, counter.end, counter.text, "it")
    try:
        with path.open("rb") as stream:
            parser.ParseFile(stream)
        check.whole = True
    except (expat.ExpatError, ValueError) as error:
        check.fault = str(error)
    return check


class _Counter:
    """Counts rows; a process is its own id or a ref to one anywhere before it in the document."""

    def __init__(self, check: ExportCheck, pid: int | None) -> None:
        self._check = check
        self._pid = str(pid)
        self._path: list[str] = []
        self._own_ids: set[str] = set()
        self._process_id: str | None = None
        self._own = False
        self._texts: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._path.append(tag)
        self._texts.clear()
        if tag == "node":
            self._check.tables += 1
        elif tag == "row":
            self._own = False
        elif tag == "process":
            self._process_id = attributes.get("id")
            if attributes.get("ref") in self._own_ids:
                self._own = True

    def end(self, tag: str) -> None:
        self._path.pop()
        if tag == "pid" and self._path[-1:] == ["process"] and "".join(self._texts).strip() == self._pid:
            self._own = True
            if self._process_id is not None:
                self._own_ids.add(self._process_id)
        elif tag == "row":
            self._check.rows += 1
            self._check.own_rows += self._own

    def text(self, data: str) -> None:
        self._texts.append(data)
