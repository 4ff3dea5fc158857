"""What has been written to a site and from what, so that only what changed is written again."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from importlib import metadata, resources
from pathlib import Path, PurePosixPath

from analyze.errors import PhasescopeError

LEDGER_NAME = "phasescope-site.json"
SCHEMA_VERSION = 1


def digest(*parts: str) -> str:
    """One digest of several texts, order and borders included."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def program_digest() -> str:
    """A digest of this version: its number, its templates and all else that can change a page."""
    found = [metadata.version("phasescope")]
    for package, kinds in (("reports", (".py", ".html", ".css", ".js", ".sql")), ("analyze", (".py", ".sql", ".toml"))):
        root = Path(str(resources.files(package)))
        for path in sorted(root.rglob("*")):
            if path.suffix in kinds:
                found += [path.relative_to(root).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
    return digest(*found)


class Ledger:
    """The files of a site by name, each with the digest of what it was made from and of its bytes.

    Files that the ledger does not know are never replaced or removed, so a site may live beside a README or a CNAME.
    """

    def __init__(self, folder: Path) -> None:
        """Raises PhasescopeError where the ledger in `folder` cannot be read."""
        self.folder = folder
        self.built: list[str] = []
        self.kept: list[str] = []
        self._entries: dict[str, dict[str, str]] = {}
        self._before: dict[str, dict[str, str]] = {}
        path = folder / LEDGER_NAME
        if path.exists():
            try:
                self._before = json.loads(path.read_bytes())["files"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise PhasescopeError(
                    f"{path} is no ledger of a site; remove it to build the site anew, or publish to another folder"
                ) from error

    def put(self, name: str, made_from: str, make: Callable[[], str | bytes]) -> None:
        """Write the file `name` unless it is there already, made from the same and unchanged since."""
        path = self.folder / name
        before = self._before.get(name)
        if before is None and path.exists():
            raise PhasescopeError(f"{path} is there and not ours; move it away, or publish to another folder")
        if before and before["made_from"] == made_from and _sha256(path) == before["sha256"]:
            self._entries[name] = before
            self.kept.append(name)
            return
        made = make()
        data = made if isinstance(made, bytes) else made.encode()
        sha256 = hashlib.sha256(data).hexdigest()
        if _sha256(path) != sha256:
            write_whole(path, data)
        self._entries[name] = {"made_from": made_from, "sha256": sha256}
        self.built.append(name)
        self._write({**self._before, **self._entries})

    def finish(self) -> list[str]:
        """Remove files that were ours and are not part of the site any more; their names."""
        gone = sorted(set(self._before) - set(self._entries))
        for name in gone:
            if _inside(name):
                (self.folder / name).unlink(missing_ok=True)
        self._write(self._entries)
        return gone

    def _write(self, entries: dict[str, dict[str, str]]) -> None:
        text = json.dumps({"schema_version": SCHEMA_VERSION, "files": dict(sorted(entries.items()))}, indent=1)
        write_whole(self.folder / LEDGER_NAME, text.encode() + b"\n")


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that the file is there whole or not at all; its folder is made where it is missing."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's file is for its owner alone; a web server reads it too
        os.replace(temporary, path)
    except OSError as error:
        raise PhasescopeError(f"{path} cannot be written ({error.strerror}): publish to another folder") from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
