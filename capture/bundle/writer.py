"""Writing a bundle, pass by pass, and packing it."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

from capture.bundle.files import no_space, sha256_of, write_then_rename
from capture.bundle.manifest import MANIFEST_NAME, Manifest, PassRecord
from capture.bundle.reader import is_bundle, open_bundle
from capture.errors import PhasescopeError

_NOT_COMPLETE = "The capture ended before this pass was complete."


class BundleWriter:
    """Writes a bundle's manifest; the passes write their own files with `write_then_rename`."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = Path(folder)
        self.manifest = manifest

    @classmethod
    def create(cls, folder: Path, manifest: Manifest, *, force: bool = False) -> BundleWriter:
        """Make the bundle's folder, with the manifest in it from its first moment.

        Raises PhasescopeError where something is there, unless force is set and it is a bundle or empty.
        """
        folder = Path(folder)
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            if not force:
                raise PhasescopeError(
                    f"Will not overwrite {folder}; give another --out, or --force if it may be replaced."
                )
            if not is_bundle(folder):
                raise PhasescopeError(f"Will not replace {folder}: it is not a bundle; give another --out.")
        partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
        try:
            partial.mkdir(parents=True)
            (partial / MANIFEST_NAME).write_bytes(manifest.to_json())
            if folder.is_dir():
                shutil.rmtree(folder)
            elif folder.exists():
                folder.unlink()
            partial.rename(folder)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise no_space(folder, error) from error
        return cls(folder, manifest)

    def write_manifest(self) -> None:
        with write_then_rename(self.folder / MANIFEST_NAME) as stream:
            stream.write(self.manifest.to_json())

    def begin(self, name: str) -> PassRecord:
        """Note that the pass has begun; until `record` is called it counts as failed."""
        return self.record(PassRecord(name=name, status="failed", reason=_NOT_COMPLETE))

    def record(self, record: PassRecord) -> PassRecord:
        """Put the pass's record into the manifest, with the sha256 of every whole file in its folder."""
        pass_folder = self.folder / record.name
        record.files = {}
        for path in sorted(pass_folder.rglob("*")) if pass_folder.is_dir() else []:
            relative = path.relative_to(self.folder)
            if path.is_file() and not any(part.endswith(".partial") for part in relative.parts):
                with path.open("rb") as stream:
                    record.files[relative.as_posix()] = sha256_of(stream)
        names = [each.name for each in self.manifest.passes]
        if record.name in names:
            self.manifest.passes[names.index(record.name)] = record
        else:
            self.manifest.passes.append(record)
        self.write_manifest()
        return record


def zip_bundle(folder: Path, out: Path, *, force: bool = False) -> Path:
    """Write the bundle in `folder` as one zip: the manifest first, then only files that it names."""
    if out.exists() and not force:
        raise PhasescopeError(f"Will not overwrite {out}; give another --out, or --force if it may be replaced.")
    with (
        open_bundle(folder) as bundle,
        write_then_rename(out) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        archive.writestr(zipfile.ZipInfo(MANIFEST_NAME), bundle.manifest_bytes, zipfile.ZIP_DEFLATED)
        for name in bundle.files:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
            with bundle.open(name) as source, archive.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, 1 << 20)
    return out
