"""What a source is, by its content and not by its name."""

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from analyze.errors import PhasescopeError
from capture.bundle import is_bundle

Kind = Literal["bundle", "chrome_json", "perfetto", "instruments"]
Opener = Callable[[], BinaryIO]
_HEAD = 4096
_GZIP, _ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
_NOT_SOURCES = ("README", "LICENSE", "sweep.json")
_CHROME = "export a Chrome trace (torch.profiler's export_chrome_trace) and load that"


@dataclass(frozen=True)
class Source:
    """A file (or bundle) and how to read it. `open` gives uncompressed bytes; `path` is for bundles."""

    name: str
    kind: Kind
    open: Opener
    path: Path


def sniff(path: Path) -> list[Source]:
    """The sources at `path`: one for a file or bundle, one a trace for a folder or a zip of traces.

    Raises PhasescopeError that says what the file looks like where it is nothing that can be loaded.
    """
    if not path.exists():
        raise PhasescopeError(f"{path}: no such file or folder")
    if is_bundle(path):
        return [Source(path.name, "bundle", _no_stream, path)]
    if path.is_dir():
        sources = _folder(path)
        if not sources:
            raise PhasescopeError(f"{path}: no trace and no bundle in this folder")
        return sources
    try:
        head = path.open("rb").read(_HEAD)
    except OSError as error:
        raise PhasescopeError(f"{path}: cannot be read ({error.strerror}); check its permissions") from error
    if head.startswith(_ZIP):
        return _zip(path, head)
    return [_file(path.name, path, head, lambda: path.open("rb"))]


def _no_stream() -> BinaryIO:
    raise PhasescopeError("a bundle is read through its manifest")


def _folder(path: Path) -> list[Source]:
    """Every trace and bundle in the folder; a bundle inside it is one source, its files are not looked at."""
    sources: list[Source] = []
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or entry.name in _NOT_SOURCES or entry.suffix in (".md", ".log", ".txt"):
            continue
        if entry.is_dir() and entry.is_symlink():  # it may lead back here
            continue
        try:
            sources.extend(_folder(entry) if entry.is_dir() and not is_bundle(entry) else sniff(entry))
        except PhasescopeError as error:
            sources.append(Source(entry.name, "chrome_json", _raiser(error), entry))
    return sources


def _raiser(error: PhasescopeError) -> Opener:
    def raise_error() -> BinaryIO:
        raise error

    return raise_error


def _zip(path: Path, head: bytes) -> list[Source]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX/")]
    except zipfile.BadZipFile as error:
        raise PhasescopeError(f"{path}: a damaged zip file ({error}); copy it again") from error
    if any(name.endswith("/data.pkl") for name in names):
        raise PhasescopeError(f"{path}: a PyTorch checkpoint, not a trace; {_CHROME}")
    if not names:
        raise PhasescopeError(f"{path}: an empty zip file")

    def opener(name: str) -> Opener:
        return lambda: io.BytesIO(zipfile.ZipFile(path).read(name))

    return [_file(name, path, opener(name)().read(_HEAD), opener(name)) for name in names]


def _file(name: str, path: Path, head: bytes, opener: Opener) -> Source:
    if head.startswith(_GZIP):
        packed = opener

        def unpacked() -> BinaryIO:
            # Python's reader goes on through several members of one file.
            return gzip.GzipFile(fileobj=packed())  # type: ignore[return-value]

        try:
            head = unpacked().read(_HEAD)
        except (OSError, EOFError) as error:
            raise PhasescopeError(f"{name}: a damaged gzip file ({error}); copy it again") from error
        opener = unpacked
    kind = kind_of_content(name, head)
    return Source(name, kind, opener, path)


def kind_of_content(name: str, head: bytes) -> Kind:
    """Kind of the (uncompressed) content that begins with `head`; raises PhasescopeError that names what it is."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        raise PhasescopeError(f"{name}: an empty file; export the trace again")
    if not text:
        raise PhasescopeError(f"{name}: nothing but white space; export the trace again")
    if _is_perfetto(head):
        return "perfetto"
    if text.startswith(b"version https://git-lfs"):
        raise PhasescopeError(f"{name}: a Git LFS pointer, not the file itself; run `git lfs pull` and load it again")
    if text.startswith(b"<"):
        if b"<trace-query-result" in text or b"<trace-toc" in text or text.startswith(b"<?xml"):
            return "instruments"
        if re.match(rb"<!doctype html|<html", text, re.IGNORECASE):
            raise PhasescopeError(f"{name}: a web page, not a trace; download the trace itself")
        raise PhasescopeError(f"{name}: markup, but no xctrace export; export tables with `xctrace export`")
    if text[:1] in b"[{":
        _refuse_other_json(name, text)
        return "chrome_json"
    raise PhasescopeError(f"{name}: {_looks_like(head)}; {_CHROME}")


def _is_perfetto(head: bytes) -> bool:
    """Whether these are packets of a Perfetto trace: field 1 with a length, one behind the other.

    Field 1 is the byte of a line feed and a length may be that of `{` or `<`, so that text can begin alike; but a
    packet holds bytes that no text does.
    """
    if not re.search(rb"[\x00-\x08\x0e-\x1f]", head[:256]):
        return False
    at = packets = 0
    while at < len(head):
        if head[at] != 0x0A:
            return False
        at += 1
        length = shift = 0
        while at < len(head):
            byte = head[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if shift > 35:
            return False
        at += length
        packets += 1
    return packets > 0


def _refuse_other_json(name: str, text: bytes) -> None:
    keys = text[:_HEAD]
    if b"rocprofiler-sdk-tool" in keys:
        raise PhasescopeError(
            f"{name}: rocprofiler's own JSON, not a Chrome trace; run rocprofv3 with --output-format pftrace"
        )
    if b'"device_traces"' in keys and b'"segments"' in keys:
        raise PhasescopeError(f"{name}: a PyTorch memory snapshot, not a trace; {_CHROME}")
    if re.match(rb'\{\s*"schema"\s*:\s*"[^"]*PyTorch ET', keys) or (b'"schema": "1.' in keys and b'"nodes"' in keys):
        raise PhasescopeError(f"{name}: a PyTorch execution trace, which has no times; {_CHROME}")
    if (b'"traceEvents"' not in keys and b'"op_map"' in keys) or b'"debug_handle"' in keys:
        raise PhasescopeError(f"{name}: an operator map, which has no times; {_CHROME}")


def _looks_like(head: bytes) -> str:
    signatures = (
        (b"\x80", "a Python pickle (a PyTorch memory snapshot is one)"),
        (b"SQLite format 3", "an SQLite file (Nsight Systems and rocprof export these)"),
        (b"\x7fELF", "a program, not a trace"),
        (b"\xcf\xfa\xed\xfe", "a program, not a trace"),
        (b"(\xb5/\xfd", "zstandard-compressed data; unpack it first"),
        (b"BZh", "bzip2-compressed data; unpack it first"),
        (b"\xfd7zXZ", "xz-compressed data; unpack it first"),
        (b"\x89HDF", "an HDF5 file"),
        (b"PAR1", "a Parquet file"),
        (b"ED12", "an ExecuTorch .etdp file"),
        (b"\x89PNG", "a picture"),
        (b"%PDF", "a PDF document"),
    )
    for magic, what in signatures:
        if head.startswith(magic):
            return what
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it first"
    if b"DUCK" in head[:16]:
        return "a DuckDB file; give it to --store instead"
    try:
        start = head[:40].decode()
    except UnicodeDecodeError:
        return f"bytes of no kind that phasescope knows (they begin with {head[:8].hex(' ')})"
    return f"text of no kind that phasescope knows (it begins with {start.splitlines()[0]!r})"
