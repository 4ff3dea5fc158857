"""Files that cost something to make, in the user's cache folder, checked before they are trusted."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from capture.bundle import write_then_rename

_MAGIC = b"phasescope cache file 1\n"
_START = len(_MAGIC) + hashlib.sha256().digest_size


def cache_folder() -> Path:
    """PHASESCOPE_CACHE, else phasescope's folder among the user's caches of this platform."""
    if own := os.environ.get("PHASESCOPE_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "phasescope"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "phasescope"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "phasescope"
    return Path.home() / ".cache" / "phasescope"


def read_intact(path: Path) -> bytes | None:
    """What `write_intact` wrote there; None where there is nothing or its checksum disagrees.

    A compiled module is native code: damaged bytes must reach nobody.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return None
    payload = content[_START:]
    return payload if content[:_START] == _MAGIC + hashlib.sha256(payload).digest() else None


def write_intact(path: Path, payload: bytes) -> None:
    """Write with a checksum, whole or not at all; raises PhasescopeError where it cannot be written."""
    with write_then_rename(path) as file:
        file.write(_MAGIC + hashlib.sha256(payload).digest())
        file.write(payload)
