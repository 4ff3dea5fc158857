"""Taking what other programs do, and where this user's files lie, out of exported tables.

Rows of other processes stay in, since their share of the GPU is evidence: with their times, numbers and channels, but
without names, labels and messages. What a row of the recorded process refers to stays readable wherever it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from capture.redact import replacements
from capture.safe_xml import xml_parser

# Programs of macOS itself, whose names tell nothing of the person.
SYSTEM_PROCESSES = frozenset({"WindowServer", "kernel_task", "kernel"})
# Types whose words are Apple's and the same for everybody. Of all others a foreign row keeps numbers only.
_PLAIN = frozenset(
    {
        "gpu-channel-name", "gpu-state", "metal-device-name", "metal-event-name", "gpu-driver-name", "event-type",
        "start-time", "duration", "event-time", "sample-time", "size-in-bytes", "boolean", "uint32", "uint64",
        "metal-command-buffer-id", "metal-nesting-level", "gpu-frame-number", "render-buffer-depth", "pid", "tid",
        "connection-uuid64", "device-session", "fixed-decimal", "percent", "gpu-counter-name", "thermal-state",
        "gpu-performance-state",
    }
)  # fmt: skip
_NUMBER = re.compile(r"\s*(?:[-+]?\d+(?:\.\d+)?|0x[0-9a-fA-F]+)?\s*")
_PROCESS = re.compile(r"(.*) \((\d+)\)", re.DOTALL)
# Of a program's file: where it lies, and a number that names its build.
_NEVER = frozenset({"path", "UUID", "uuid"})
_OTHER = "other"


@dataclass
class _Node:
    tag: str
    attributes: dict[str, str]
    texts: list[str] = field(default_factory=list)
    children: list[_Node] = field(default_factory=list)


def redact_table(raw: Path, out: BinaryIO, own_pid: int) -> None:
    """Write the export in `raw` to `out`, redacted. Raises ValueError when it is not whole XML."""
    survey = _Survey(own_pid)
    _parse(raw, survey)
    _parse(raw, _Writer(out, own_pid, survey))


def _parse(raw: Path, reader: Any) -> None:
    parser = xml_parser(reader.start, reader.end, reader.text, "the export")
    try:
        with raw.open("rb") as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise ValueError(f"not a whole export: {error}") from None


class _Survey:
    """`wanted`: ids that rows of the recorded process refer to. `own_ids`: of its process. `names`: other programs'."""

    def __init__(self, own_pid: int) -> None:
        self.wanted: set[str] = set()
        self.own_ids: set[str] = set()
        self.names: set[str] = set()
        self._pid = str(own_pid)
        self._refs: list[str] = []
        self._own = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        reference = attributes.get("ref")
        if reference is not None:
            self._refs.append(reference)
        if tag == "row":
            self._refs.clear()
            self._own = False
        elif tag == "process":
            found = _PROCESS.fullmatch(attributes.get("fmt", ""))
            if found and found[2] == self._pid and "id" in attributes:
                self.own_ids.add(attributes["id"])
            elif found and found[1] and found[1] not in SYSTEM_PROCESSES:
                self.names.add(found[1])
            self._own = self._own or is_own(attributes, self._pid, self.own_ids)

    def end(self, tag: str) -> None:
        if tag == "row" and self._own:
            self.wanted.update(self._refs)

    def text(self, data: str) -> None:
        pass


def is_own(attributes: dict[str, str], own_pid: str, own_ids: set[str]) -> bool:
    """Whether a process element is the recorded process."""
    found = _PROCESS.fullmatch(attributes.get("fmt", ""))
    return attributes.get("ref") in own_ids or bool(found and found[2] == own_pid)


class _Writer:
    """Writes what it reads, rows one by one, each on a line of its own."""

    def __init__(self, out: BinaryIO, own_pid: int, survey: _Survey) -> None:
        self._out = out
        self._pid = str(own_pid)
        self._survey = survey
        self._open: list[_Node] = []
        self._places = [(re.compile(re.escape(old)), new) for old, new in replacements()]
        names = sorted(survey.names, key=len, reverse=True)
        # As "name (7)" in labels and as "(name, pid: 7)" in threads.
        any_name = "|".join(map(re.escape, names))
        self._names = re.compile(rf"(?<![\w.-])(?:{any_name})(?= \(\d+\)|, pid: \d+)") if names else None
        out.write(b'<?xml version="1.0"?>\n')

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        node = _Node(tag, attributes)
        if self._open:
            self._open[-1].children.append(node)
            self._open.append(node)
        elif tag == "row":
            self._open.append(node)
        else:
            self._write("<" + tag + _attributes(attributes) + ">" + ("\n" if tag == "trace-query-result" else ""))

    def text(self, data: str) -> None:
        if self._open:
            self._open[-1].texts.append(data)
        elif data.strip():
            self._write(escape(data))

    def end(self, tag: str) -> None:
        if not self._open:
            self._write(f"</{tag}>")
            return
        node = self._open.pop()
        if not self._open:
            parts: list[str] = []
            self._serialise(node, self._is_foreign(node), parts)
            self._write("".join(parts) + "\n")

    def _is_foreign(self, row: _Node) -> bool:
        processes = [node for node in _all(row) if node.tag == "process"]
        return bool(processes) and not any(is_own(p.attributes, self._pid, self._survey.own_ids) for p in processes)

    def _serialise(self, node: _Node, foreign: bool, parts: list[str]) -> None:
        hide = foreign and node.attributes.get("id") not in self._survey.wanted
        text = "".join(node.texts)
        attributes = {name: value for name, value in node.attributes.items() if name not in _NEVER}
        if node.tag == "process":
            if "fmt" in attributes:
                attributes["fmt"] = self._process(attributes["fmt"])
        elif hide and node.tag not in _PLAIN:
            text = text if _NUMBER.fullmatch(text) else _OTHER
            attributes = {name: value for name, value in attributes.items() if name in ("id", "ref")} | (
                {"fmt": _OTHER} if "fmt" in attributes else {}
            )
        elif node.tag not in _PLAIN:
            text = self._clean(text)
            attributes = {name: self._clean(value) for name, value in attributes.items()}
        parts.append("<" + node.tag + _attributes(attributes))
        if not node.children and not text:
            parts.append("/>")
            return
        parts.append(">" + escape(text))
        for child in node.children:
            self._serialise(child, hide, parts)
        parts.append(f"</{node.tag}>")

    def _process(self, label: str) -> str:
        found = _PROCESS.fullmatch(label)
        if found is None:
            return _OTHER
        return label if found[2] == self._pid or found[1] in SYSTEM_PROCESSES else f"{_OTHER} ({found[2]})"

    def _clean(self, text: str) -> str:
        if self._names is not None:
            text = self._names.sub(_OTHER, text)
        for place, mark in self._places:
            text = place.sub(mark, text)
        return text

    def _write(self, text: str) -> None:
        self._out.write(text.encode())


def _all(node: _Node) -> list[_Node]:
    return [node, *(deeper for child in node.children for deeper in _all(child))]


def _attributes(attributes: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
