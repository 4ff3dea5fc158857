"""Reading a bundle, a folder or a zip: nothing is handed out whose sha256 is not the manifest's."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, cast

from capture.bundle.files import sha256_of
from capture.bundle.manifest import MANIFEST_NAME, PassRecord, decode_manifest
from capture.errors import PhasescopeError


class Bundle:
    """A bundle opened for reading; a context manager. `sha256` is the same for a folder and for its zip."""

    def __init__(self, path: Path, root: Path | zipfile.ZipFile, prefix: str, manifest_bytes: bytes) -> None:
        self.path = path
        self.manifest_bytes = manifest_bytes
        self.sha256 = hashlib.sha256(manifest_bytes).hexdigest()
        self.manifest = decode_manifest(path, manifest_bytes)
        self._root = root
        self._prefix = prefix
        self._verified: set[str] = set()

    @property
    def passes(self) -> list[PassRecord]:
        return self.manifest.passes

    @property
    def files(self) -> dict[str, str]:
        """Every file that the manifest names, with its sha256."""
        return {name: digest for each in self.passes for name, digest in each.files.items()}

    def measured(self, name: str) -> PassRecord | None:
        """The record of the pass if it was measured, else None."""
        return next((each for each in self.passes if each.name == name and each.status == "measured"), None)

    def missing(self) -> list[str]:
        """One sentence for each pass that has no complete measurement."""
        return [
            f"pass {each.name} is {each.status}: {each.reason}" for each in self.passes if each.status != "measured"
        ]

    def open(self, name: str) -> BinaryIO:
        """Open a file of the bundle after checking its sha256.

        Raises PhasescopeError for a name that the manifest does not know, a file that is not there, and one
        whose bytes are not those that were captured.
        """
        digest = self.files.get(name)
        if digest is None:
            raise PhasescopeError(f"{self.path} has no file {name}; its manifest names {len(self.files)} files.")
        if name not in self._verified:
            with self._open(name) as stream:
                if sha256_of(stream) != digest:
                    raise PhasescopeError(
                        f"{name} in {self.path} is not the file that was captured (its sha256 differs from "
                        "the manifest's); copy the bundle again or capture it anew."
                    )
            self._verified.add(name)
        return self._open(name)

    def _open(self, name: str) -> BinaryIO:
        try:
            if isinstance(self._root, zipfile.ZipFile):
                return cast(BinaryIO, self._root.open(self._prefix + name))
            return (self._root / name).open("rb")
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise PhasescopeError(
                f"{self.path} lacks {name}, which its manifest names; copy the bundle again."
            ) from error

    def read_jsonl(self, name: str) -> list[dict[str, Any]]:
        """The objects of a file of JSON lines."""
        rows = []
        with self.open(name) as stream:
            for number, line in enumerate(stream.read().splitlines(), 1):
                try:
                    rows.append(json.loads(line))
                except ValueError as error:
                    raise PhasescopeError(
                        f"{name} in {self.path} is not JSON at line {number}; capture the run anew."
                    ) from error
        return rows

    def close(self) -> None:
        if isinstance(self._root, zipfile.ZipFile):
            self._root.close()

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def is_bundle(path: str | Path) -> bool:
    """Whether `path` is a folder or zip with a manifest.json of ours in it; reads no more than that."""
    path = Path(path)
    try:
        if path.is_dir():
            return b'"schema_version"' in (path / MANIFEST_NAME).read_bytes()
        with zipfile.ZipFile(path) as archive:
            name = _manifest_in_zip(archive)
            return name is not None and b'"schema_version"' in archive.read(name)
    except (OSError, zipfile.BadZipFile):
        return False


def open_bundle(path: str | Path) -> Bundle:
    """Open the bundle at `path`, a folder or a zip.

    Raises PhasescopeError where it is no bundle, of a newer schema, or names files outside itself. Each
    file's sha256 is checked when it is opened.
    """
    path = Path(path)
    if path.is_dir():
        try:
            data = (path / MANIFEST_NAME).read_bytes()
        except OSError as error:
            raise PhasescopeError(f"{path} is not a bundle: it has no readable {MANIFEST_NAME}.") from error
        return Bundle(path, path, "", data)
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise PhasescopeError(f"{path} does not exist.") from error
    except (OSError, zipfile.BadZipFile) as error:
        raise PhasescopeError(f"{path} is not a bundle: neither a folder nor a readable zip.") from error
    try:
        name = _manifest_in_zip(archive)
        if name is None:
            raise PhasescopeError(f"{path} is not a bundle: it has no {MANIFEST_NAME}.")
        return Bundle(path, archive, name.removesuffix(MANIFEST_NAME), archive.read(name))
    except zipfile.BadZipFile as error:
        archive.close()
        raise PhasescopeError(f"{path} is a damaged zip; copy the bundle again.") from error
    except PhasescopeError:
        archive.close()
        raise


def _manifest_in_zip(archive: zipfile.ZipFile) -> str | None:
    """Name of the manifest in the zip: at its top, or in its only folder (as the Finder packs a folder)."""
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    found = [name for name in names if name == MANIFEST_NAME or name.endswith("/" + MANIFEST_NAME)]
    return min((name for name in found if name.count("/") <= 1), key=len, default=None)
