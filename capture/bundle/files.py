"""The files of a bundle: there whole or not at all, and known by their sha256."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from capture.errors import PhasescopeError


@contextlib.contextmanager
def write_then_rename(path: Path) -> Iterator[BinaryIO]:
    """Open `path` for writing so that it appears whole or not at all; its folder is made where it is missing.

    Raises PhasescopeError when the disk is full or the place is not writable.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as stream:
            yield stream
        os.replace(partial, path)
    except OSError as error:
        raise no_space(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def no_space(path: Path, error: OSError) -> PhasescopeError:
    """What to say where `path` could not be written."""
    return PhasescopeError(
        f"Could not write {path} ({error.strerror or error}); make room or choose another place with --out."
    )


def sha256_of(stream: BinaryIO) -> str:
    """The digest of all bytes of the stream."""
    return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()
