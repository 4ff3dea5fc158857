"""What lies where in a lake.

    _lake.json                              the schema's version; what makes a folder a lake
    <table>/run_id=<run>/<attempt>.parquet  the rows of one run
    _runs/<run>.json                        the marker: this run is complete, and these are its files

A bucket cannot rename, so nothing here needs to: files of an attempt count only once a marker names them, and the
marker is one object, written last. What an attempt that died has left is never read.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from analyze.errors import PhasescopeError
from analyze.store import SCHEMA_VERSION

_HEAD, _RUNS = "_lake.json", "_runs"
# A path object has one slash where an address has two; a drive letter is no protocol.
_URL = re.compile(r"^([a-z][a-z0-9+.-]+):/{1,2}(?!/)", re.IGNORECASE)


class Marker(msgspec.Struct):
    """A complete run. `files`: the file of each table that has rows, relative to the lake."""

    run_id: str
    source: str
    source_url: str
    source_key: str
    source_sha256: str
    raw_events: int
    loaded_events: int
    excluded_events: int
    repaired_events: int
    files: dict[str, str] = {}
    schema_version: str = SCHEMA_VERSION


def address(path: str | Path) -> str:
    """The address of a lake or source: with both slashes of its protocol, which a Path takes one of."""
    return _URL.sub(r"\1://", str(path))


def is_remote(path: str | Path) -> bool:
    """Whether this names something by a protocol (`s3://`, `memory://`)."""
    return bool(_URL.match(str(path)))


def is_lake(path: str | Path) -> bool:
    """Whether this can only be a lake: an address with a protocol, or a folder that is one."""
    return is_remote(path) or (Path(path) / _HEAD).is_file()


def file_system(url: str) -> tuple[Any, str]:
    """fsspec's file system and path for an address; raises PhasescopeError where it cannot be had."""
    try:
        import fsspec
    except ImportError as error:
        raise PhasescopeError(f"{url}: lakes and remote sources need pip install 'phasescope[cluster]'") from error
    try:
        return fsspec.core.url_to_fs(address(url))
    except (ValueError, ImportError) as error:
        raise PhasescopeError(f"{url}: this address cannot be used ({error})") from error


@dataclass
class Lake:
    """A lake at an address."""

    url: str
    fs: Any = field(init=False)
    root: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = address(self.url).rstrip("/")
        self.fs, self.root = file_system(self.url)
        self.root = self.root.rstrip("/")

    def create(self) -> None:
        """Make it a lake where it is none; raises PhasescopeError where it is one of another version."""
        try:
            if self.fs.isfile(self.root):
                raise PhasescopeError(
                    f"{self.url}: a file, and a lake is a folder; name another with --lake, or a store with --store"
                )
            if not self.fs.exists(f"{self.root}/{_HEAD}"):
                self.fs.makedirs(self.root, exist_ok=True)
                self._write(_HEAD, msgspec.json.encode({"schema_version": SCHEMA_VERSION}))
            self.check()
        except OSError as error:
            raise PhasescopeError(f"{self.url}: the lake cannot be written ({error})") from error

    def check(self) -> None:
        """Raise PhasescopeError unless this is a lake of this version."""
        try:
            head = msgspec.json.decode(self.fs.cat_file(f"{self.root}/{_HEAD}"))
        except (OSError, msgspec.DecodeError) as error:
            raise PhasescopeError(
                f"{self.url}: no lake there; make one with `phasescope load SOURCE --lake {self.url}`"
            ) from error
        version = head.get("schema_version")
        if version != SCHEMA_VERSION:
            raise PhasescopeError(
                f"{self.url}: a lake of schema version {version}, and this phasescope reads {SCHEMA_VERSION}; "
                "load the sources again into a new lake"
            )

    def new_file(self, table: str, run_id: str) -> str:
        """A name for the rows of a run, new for every attempt."""
        return f"{table}/run_id={quote(run_id, safe='')}/{uuid.uuid4().hex}.parquet"

    def put(self, local: Path, name: str) -> None:
        """Copy a local file to `name`."""
        path = f"{self.root}/{name}"
        self.fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        self.fs.put_file(str(local), path)

    def remove(self, names: list[str]) -> None:
        """Remove files that no marker names."""
        for name in names:
            self.fs.rm_file(f"{self.root}/{name}")

    def marker(self, run_id: str) -> Marker | None:
        """The marker of a run; None while the run is not complete."""
        try:
            return msgspec.json.decode(self.fs.cat_file(f"{self.root}/{self._marker_name(run_id)}"), type=Marker)
        except FileNotFoundError:
            return None

    def mark(self, marker: Marker) -> None:
        """Make the run appear."""
        self._write(self._marker_name(marker.run_id), msgspec.json.encode(marker))

    def markers(self) -> list[Marker]:
        """The complete runs, by run id."""
        self.fs.invalidate_cache()
        paths = self.fs.glob(f"{self.root}/{_RUNS}/*.json")
        contents = self.fs.cat(paths) if paths else {}
        return sorted((msgspec.json.decode(text, type=Marker) for text in contents.values()), key=lambda m: m.run_id)

    def file_urls(self, names: list[str]) -> list[str]:
        """Where DuckDB reads these files."""
        base = self.fs.unstrip_protocol(self.root) if is_remote(self.url) else self.root
        return [f"{base}/{name}" for name in names]

    @staticmethod
    def _marker_name(run_id: str) -> str:
        return f"{_RUNS}/{quote(run_id, safe='')}.json"

    def _write(self, name: str, content: bytes) -> None:
        path = f"{self.root}/{name}"
        self.fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        if is_remote(self.url):
            self.fs.pipe_file(path, content)  # one object, there whole or not at all
            return
        from capture.bundle import write_then_rename

        with write_then_rename(Path(path)) as file:
            file.write(content)
