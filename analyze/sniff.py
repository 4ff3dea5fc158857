"""What a source is, by its content and not by its name."""

import gzip
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, cast

from analyze.errors import PhasescopeError
from analyze.unpacked import Unpacked
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
    if not path.is_file() and not path.is_dir():
        raise PhasescopeError(f"{path}: a pipe or a device, not a file; write it to a file and load that")
    if is_bundle(path):
        return [Source(path.name, "bundle", _no_stream, path)]
    if path.is_dir():
        sources = _folder(path)
        if not sources:
            raise PhasescopeError(
                f"{path}: no trace and no bundle in this folder; name one that `phasescope capture` or a profiler wrote"
            )
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
        if _no_source(entry.name):
            continue
        if entry.is_dir() and entry.is_symlink():  # it may lead back here
            continue
        try:
            sources.extend(_folder(entry) if entry.is_dir() and not is_bundle(entry) else sniff(entry))
        except PhasescopeError as error:
            sources.append(Source(entry.name, "chrome_json", _raiser(error), entry))
    return sources


def _no_source(name: str) -> bool:
    """Whether a file of this name beside traces is meant for people."""
    return name.startswith(".") or name in _NOT_SOURCES or name.endswith((".md", ".log", ".txt"))


def _raiser(error: PhasescopeError) -> Opener:
    def raise_error() -> BinaryIO:
        raise error

    return raise_error


def _zip(path: Path, head: bytes) -> list[Source]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise PhasescopeError(f"{path}: a damaged zip file ({error}); copy it again") from error
    names = [member.filename for member in members]
    if any(name.endswith("/data.pkl") for name in names):
        raise PhasescopeError(f"{path}: a PyTorch checkpoint, not a trace; {_CHROME}")
    names = [name for name in names if not _no_source(name.split("/")[-1])]
    if not names:
        raise PhasescopeError(f"{path}: an empty zip file" if not members else f"{path}: no trace in this zip file")
    sources = []
    for name in names:
        try:
            opener = partial(_open_member, path, name)
            head, _ = _head(f"{path.name}/{name}", opener)
            sources.append(_file(name, path, head, opener))
        except PhasescopeError as error:
            error = error if path.name in str(error) else PhasescopeError(f"{path.name}/{error}")
            if len(names) == 1:
                raise error from None
            sources.append(Source(name, "chrome_json", _raiser(error), path))
    return sources


def _open_member(path: Path, name: str) -> BinaryIO:
    try:
        return cast(BinaryIO, zipfile.ZipFile(path).open(name))
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise PhasescopeError(f"{path}: {name} cannot be unpacked ({error}); unpack the zip file yourself") from error


def _head(name: str, opener: Opener) -> tuple[bytes, str | None]:
    """The first bytes, as far as they are whole, and the damage. Raises PhasescopeError where nothing is whole."""
    with Unpacked(opener()) as stream:
        head = stream.read(_HEAD)
    if not head and stream.damage:
        raise PhasescopeError(f"{name}: a damaged file ({stream.damage}); copy it again")
    return head, stream.damage


def _file(name: str, path: Path, head: bytes, opener: Opener) -> Source:
    damage = None
    if head.startswith(_GZIP):
        packed = opener

        def unpacked() -> BinaryIO:
            # Python's reader goes on through several members of one file.
            return gzip.GzipFile(fileobj=packed())  # type: ignore[return-value]

        head, damage = _head(name, unpacked)
        opener = unpacked
    try:
        kind = kind_of_content(name, head)
    except PhasescopeError as error:
        if damage is None:
            raise
        raise PhasescopeError(f"{name}: a damaged gzip file ({damage}); copy it again") from error
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
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or re.match(rb"\0?[\[{<]\0", head):
        if re.search(rb"<trace-(query-result|toc)", head.replace(b"\0", b"")):
            return "instruments"  # XML says itself what it is encoded in
        raise PhasescopeError(f"{name}: text in UTF-16; write it in UTF-8 (`iconv -f UTF-16 -t UTF-8`) and load that")
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
        (_GZIP, "a gzip file inside another; unpack it once"),
        (_ZIP[0], "a zip file inside another file; unpack it first"),
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
