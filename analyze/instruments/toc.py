"""The table of contents of a recording (`xctrace export --toc`): what was recorded, of whom, and which tables."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

from analyze.errors import PhasescopeError
from analyze.instruments.safe_xml import CHUNK_BYTES, SafeParser, XmlFault

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class TocRun:
    """One recording. What its TOC does not tell is None."""

    number: int | None = None
    target_pid: int | None = None
    target_process: str | None = None
    target_status: str | None = None
    device_model: str | None = None
    os_version: str | None = None
    start_unix_ns: int | None = None
    dur_ns: int | None = None
    template: str | None = None
    instruments_version: str | None = None
    recording_mode: str | None = None
    end_reason: str | None = None
    counter_set: str | None = None
    shader_timeline: str | None = None
    tables: list[str] = field(default_factory=list)

    def offers(self, table: str) -> bool:
        """Whether the recording holds a table of that schema."""
        return table in self.tables


def read_toc(stream: BinaryIO, name: str) -> list[TocRun]:
    """Read a TOC. Raises PhasescopeError when it is not one or is cut off."""
    reader = _Reader()
    try:
        while chunk := stream.read(CHUNK_BYTES):
            reader.parser.feed(chunk)
        reader.parser.feed(b"", last=True)
    except XmlFault as fault:
        raise PhasescopeError(
            f"{name}: not a readable table of contents, line {fault.line} column {fault.column}: {fault}; "
            "write it again with `xctrace export --input RECORDING.trace --toc > toc.xml`"
        ) from None
    return reader.runs


def start_date_ns(text: str) -> int | None:
    """An ISO date with offset as nanoseconds since 1970 UTC, exactly; None when it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


class _Reader:
    def __init__(self) -> None:
        self.parser = SafeParser(self._start, self._end, self._texts_append)
        self.runs: list[TocRun] = []
        self._path: list[str] = []
        self._texts: list[str] = []

    def _texts_append(self, data: str) -> None:
        self._texts.append(data)

    def _start(self, tag: str, attributes: list[str]) -> None:
        if not self._path and tag != "trace-toc":
            self.parser.fail(f"the root is <{tag[:60]}>, not <trace-toc>")
        found = dict(zip(attributes[::2], attributes[1::2], strict=True))
        self._texts.clear()
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        if len(self._path) > 100:
            self.parser.fail("elements stand over 100 deep inside one another")
        if (parent, tag) == ("trace-toc", "run"):
            self.runs.append(TocRun(number=_number(found.get("number"))))
        elif not self.runs:
            return
        elif (parent, tag) == ("target", "device"):
            self.runs[-1].device_model = found.get("model")
            self.runs[-1].os_version = found.get("os-version")
        elif (parent, tag) == ("target", "process"):
            self._target(found)
        elif (parent, tag) == ("data", "table") and "schema" in found:
            self.runs[-1].tables.append(found["schema"])

    def _end(self, tag: str) -> None:
        self._path.pop()
        text = "".join(self._texts).strip()
        self._texts.clear()
        if not self.runs or not text:
            return
        run = self.runs[-1]
        if tag == "start-date":
            run.start_unix_ns = start_date_ns(text)
        elif tag == "duration" and self._path[-1] == "summary":
            run.dur_ns = _seconds_ns(text)
        elif tag == "template-name":
            run.template = text
        elif tag == "instruments-version":
            run.instruments_version = text
        elif tag == "recording-mode":
            run.recording_mode = text
        elif tag == "end-reason":
            run.end_reason = text
        elif tag == "value" and text.startswith("Counter Set:"):
            run.counter_set = text.removeprefix("Counter Set:").strip()
        elif tag == "value" and text.startswith("Shader Timeline:"):
            run.shader_timeline = text.removeprefix("Shader Timeline:").strip()

    def _target(self, found: dict[str, str]) -> None:
        run = self.runs[-1]
        run.target_pid = _number(found.get("pid"))
        run.target_process = found.get("name")
        status = [f"exit status {found['return-exit-status']}"] if "return-exit-status" in found else []
        run.target_status = ", ".join([*status, *filter(None, [found.get("termination-reason")])]) or None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else None


def _seconds_ns(text: str) -> int | None:
    """Seconds with decimals as ns, exactly."""
    match = re.fullmatch(r"(\d{1,9})(?:\.(\d{1,9}))?", text, re.ASCII)
    return int(match[1]) * 1_000_000_000 + int((match[2] or "").ljust(9, "0")) if match else None
