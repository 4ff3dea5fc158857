"""Taking out of a table of contents (TOC) what is nobody's business: owners, ids, arguments, environments, programs.

It is rebuilt from what is known to be harmless, so that what a later Xcode adds stays out too.
"""

import re
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from capture.safe_xml import xml_parser

# Elements that may stay, each with the attributes that may.
_KEPT: dict[str, tuple[str, ...]] = {
    "trace-toc": (),
    "run": ("number",),
    "info": (),
    "target": (),
    "device": ("model", "os-version", "platform"),
    "process": ("type", "name", "pid", "return-exit-status", "termination-reason"),
    "summary": (),
    "start-date": (),
    "end-date": (),
    "duration": (),
    "end-reason": (),
    "instruments-version": (),
    "template-name": (),
    "recording-mode": (),
    "time-limit": (),
    "intruments-recording-settings": (),  # sic
    "instrument": ("name",),
    "array": (),
    "dictionary": (),
    "key": ("name",),
    "value": (),
    "data": (),
    "table": ("schema", "target-pid", "target", "counter-profile", "shader-profiler", "counter-device", "frequency"),
    "tracks": (),
}
_TEXTS = ("start-date", "end-date", "duration", "end-reason", "instruments-version", "recording-mode", "time-limit")
_TEMPLATES = ("Metal System Trace", "Game Performance", "Time Profiler", "Blank")
_SETTINGS = ("Counter Set:", "Shader Timeline:", "Induced GPU Performance State:", "Performance Limiters")
_CHOICES = ("SINGLE", "ALL")
_HIDDEN = "[redacted]"
_SAFE_TEXT = re.compile(r"[\w .,:()+>-]{1,80}", re.ASCII)


def redact_toc(xml: bytes) -> bytes:
    """The TOC with only what the analysis needs. Raises ValueError when it is not a whole TOC.

    Kept: model and system of the machine, name, pid and end of the recorded process, the summary, whether counters
    were on, and the schemas on offer. Dropped: owner's names, device ids, arguments, environments, the list of
    processes, paths, and everything unknown.
    """
    out: list[str] = ['<?xml version="1.0"?>\n']
    path: list[str] = []
    hidden_depth = 0
    texts: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal hidden_depth
        if not path and tag != "trace-toc":
            raise ValueError(f"the root is <{tag}>, not <trace-toc>")
        listed = tag == "process" and "target" not in path
        path.append(tag)
        texts.clear()
        if hidden_depth or tag not in _KEPT or listed or len(path) > 60:
            hidden_depth += 1
            return
        kept = {name: attributes[name] for name in _KEPT[tag] if name in attributes}
        out.append(f"<{tag}" + "".join(f" {n}={quoteattr(_attribute(tag, n, v))}" for n, v in kept.items()) + ">")

    def end(tag: str) -> None:
        nonlocal hidden_depth
        path.pop()
        text = "".join(texts).strip()
        texts.clear()
        if hidden_depth:
            hidden_depth -= 1
            return
        out.append(escape(_text(tag, text)) + f"</{tag}>\n")

    parser = xml_parser(start, end, texts.append, "the table of contents")
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        raise ValueError(f"not a whole table of contents: {error}") from None
    return "".join(out).encode()


def _attribute(tag: str, name: str, value: str) -> str:
    if name in ("target-pid", "target") and value not in _CHOICES:
        return _HIDDEN
    return value if _SAFE_TEXT.fullmatch(value) else _HIDDEN


def _text(tag: str, text: str) -> str:
    if tag == "template-name":
        return text if text in _TEMPLATES else _HIDDEN
    if tag == "value":
        return text if text.startswith(_SETTINGS) and _SAFE_TEXT.fullmatch(text) else ""
    if tag in _TEXTS:
        return text if _SAFE_TEXT.fullmatch(text) else _HIDDEN
    return ""
