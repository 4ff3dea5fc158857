"""Traces and bundles by address, on any file system that fsspec knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analyze.errors import PhasescopeError
from analyze.lake.layout import file_system, is_remote

_MANIFEST = "manifest.json"
# As in a local folder (analyze.sniff): what lies beside traces for people.
_FOR_PEOPLE = ("README", "LICENSE", "sweep.json")


@dataclass(frozen=True)
class Item:
    """One source. `key` changes whenever its bytes do; it comes from the file system, nothing is read for it."""

    url: str
    key: str

    @property
    def name(self) -> str:
        return self.url.rstrip("/").rsplit("/", 1)[-1]


def find_items(url: str) -> list[Item]:
    """The sources at an address: one for a file or bundle, one a trace or bundle for a folder, by name."""
    fs, path = file_system(url)
    path = path.rstrip("/")
    try:
        fs.invalidate_cache()
        if not fs.exists(path):
            raise PhasescopeError(f"{url}: no such file or folder")
        items = [Item(_url(fs, path, url), key) for path, key in _find(fs, path)]
    except OSError as error:
        raise PhasescopeError(f"{url}: cannot be read ({error})") from error
    if not items:
        raise PhasescopeError(
            f"{url}: no trace and no bundle in this folder; name one that `phasescope capture` or a profiler wrote"
        )
    return items


def _find(fs: object, path: str) -> list[tuple[str, str]]:
    if not fs.isdir(path):  # type: ignore[attr-defined]
        return [(path, fs.ukey(path))]  # type: ignore[attr-defined]
    if fs.exists(f"{path}/{_MANIFEST}"):  # type: ignore[attr-defined]
        # A bundle's manifest holds the digests of all its files.
        return [(path, fs.ukey(f"{path}/{_MANIFEST}"))]  # type: ignore[attr-defined]
    entries = sorted(fs.ls(path, detail=True), key=lambda entry: entry["name"])  # type: ignore[attr-defined]
    found = []
    for entry in entries:
        name = entry["name"].rstrip("/")
        if name != path and not _is_for_people(name.rsplit("/", 1)[-1]) and not entry.get("islink"):
            found += _find(fs, name)
    return found


def _is_for_people(name: str) -> bool:
    return name.startswith(".") or name in _FOR_PEOPLE or name.endswith((".md", ".log", ".txt"))


def _url(fs: object, path: str, url: str) -> str:
    return fs.unstrip_protocol(path) if is_remote(url) else path  # type: ignore[attr-defined]


def fetch(item: Item, folder: Path) -> Path:
    """The item as a local path: itself where it is local, else a copy in `folder`."""
    fs, path = file_system(item.url)
    if not is_remote(item.url):
        return Path(path)
    local = folder / item.name
    try:
        fs.get(path, str(local), recursive=bool(fs.isdir(path)))
    except OSError as error:
        raise PhasescopeError(f"{item.url}: cannot be read ({error})") from error
    return local
