"""What a cell of an exported table holds once its references are resolved.

A plain decimal is an int and any other text a str (or the `fmt` of an element without text); elements with
elements inside become one of the classes here. `fmt` of numbers is left alone: it is for people and changes
with the locale. A `<sentinel/>` is None.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Process:
    """A process: `label` is its name with the pid, as Instruments shows it; `pid` may be missing."""

    label: str
    pid: int | None


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a process."""

    label: str
    tid: int | None
    process: Process | None


@dataclass(frozen=True, slots=True)
class Composite:
    """Any other element with elements inside: what people are shown, and its parts as (tag, value)."""

    label: str
    parts: tuple[tuple[str, "Value"], ...]

    def part(self, tag: str) -> "Value":
        """The first part of that tag, or None."""
        return next((value for name, value in self.parts if name == tag), None)


Value: TypeAlias = int | str | Process | Thread | Composite | None


def plain(text: str) -> int | str:
    """An int where the text is its canonical decimal form (so that str() gives the text back), else the text."""
    digits = text[1:] if text[0] == "-" else text
    if len(digits) <= 20 and digits.isascii() and digits.isdigit() and (digits[0] != "0" or text == "0"):
        return int(text)
    return text


def compose(tag: str, fmt: str | None, parts: list[tuple[str, Value]]) -> Value:
    """The value of an element with elements inside."""
    if tag == "process":
        pid = _first(parts, "pid")
        return Process(fmt or f"({pid})", pid if isinstance(pid, int) else None)
    if tag == "thread":
        tid, process = _first(parts, "tid"), _first(parts, "process")
        return Thread(
            fmt or f"({tid})",
            tid if isinstance(tid, int) else None,
            process if isinstance(process, Process) else None,
        )
    if tag == "formatted-label" and any(name == "metal-encoder-id" for name, _ in parts):
        # "Compute Command 0 ( llm (42) ) 0x9d58ce60": process and id have columns of their own, and keeping
        # the whole text for each row would make the table of ids as large as the file.
        return text_of(_first(parts, "string")) or ""
    label = fmt if fmt is not None else " ".join(filter(None, (text_of(value) for _, value in parts)))
    return Composite(label, tuple(parts))


def text_of(value: Value) -> str | None:
    """The value as people read it; None stays None."""
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) else value.label


def _first(parts: list[tuple[str, Value]], tag: str) -> Value:
    return next((value for name, value in parts if name == tag), None)
