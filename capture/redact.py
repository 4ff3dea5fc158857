"""Taking names of the user, the host and this machine's folders out of what goes into a bundle."""

from __future__ import annotations

import getpass
import os
import platform
import sys
from pathlib import Path


def replacements() -> list[tuple[str, str]]:
    """Texts to replace, longest first, so that a folder inside another is named by the nearer."""
    site = Path(__file__).resolve().parent.parent
    found = {
        str(site): "<phasescope>",
        sys.prefix: "<python>",
        sys.base_prefix: "<python>",
        str(Path.home()): "~",
        os.getcwd(): "<folder>",
        platform.node(): "<host>",
    }
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = ""
    if user not in ("", "root"):  # root names nobody, and is a word of its own
        found[user] = "<user>"
    usable = [(text, mark) for text, mark in found.items() if len(text) > 2]
    return sorted(usable, key=lambda pair: -len(pair[0]))


def redact(text: str) -> str:
    """`text` without names of user, host and this machine's folders."""
    for old, new in replacements():
        text = text.replace(old, new)
    return text
