"""Mending JSON that profilers write wrongly, only where strict decoding has failed; every mend is counted."""

import re
from collections import Counter

# One token: a string (closed or not), a bare word, a comma that closes nothing, or any other byte run.
_TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\[\s\S])*+"?'
    rb"|[-+]?(?:nan(?:\([^)]*\))?|inf(?:inity)?)\b"
    rb"|,(?=\s*[\]}])",
    re.IGNORECASE,
)
_BAD_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\)')
_CONTROL = re.compile(rb"[\x00-\x1f]")
_LONE_SURROGATE = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
# In one event: a quote opens or closes a string only beside structure.
_OUTER_STRING = re.compile(
    rb'(?<=[{,:\[])(\s*)"((?:[^"\\]|\\[\s\S]|"(?!\s*(?:[:}\]]|,\s*(?:["{\[\d-]|true|false|null))))*)"'
    rb'(?=\s*(?:[:}\]]|,\s*(?:["{\[\d-]|true|false|null)))'
)


def repair(text: bytes) -> tuple[bytes, Counter[str]]:
    """Mend `text`, a piece of JSON, without touching what is legal in it.

    Returns the mended bytes and how often each of these was mended: `invalid_utf8`, `raw_control_character`,
    `lone_backslash`, `lone_surrogate`, `nan_or_inf` (becomes null), `trailing_comma`.
    """
    counts: Counter[str] = Counter()
    try:
        text.decode()
    except UnicodeDecodeError:
        decoded = text.decode(errors="replace")
        counts["invalid_utf8"] += max(1, decoded.count("�") - text.count("�".encode()))
        text = decoded.encode()

    def mend(match: re.Match[bytes]) -> bytes:
        token = match.group()
        if token[:1] == b'"':
            return _mend_string(token, counts)
        if token == b",":
            counts["trailing_comma"] += 1
            return b""
        counts["nan_or_inf"] += 1
        return b"null"

    return _TOKEN.sub(mend, text), counts


def _mend_string(token: bytes, counts: Counter[str]) -> bytes:
    if _CONTROL.search(token):
        token, n = _CONTROL.subn(lambda m: b"\\u%04x" % m.group()[0], token)
        counts["raw_control_character"] += n
    if b"\\" in token:

        def double(match: re.Match[bytes]) -> bytes:
            if match.group(1):
                counts["lone_backslash"] += 1
                return b"\\\\"
            return match.group()

        def replace(match: re.Match[bytes]) -> bytes:
            if match.group(1):
                counts["lone_surrogate"] += 1
                return b"\\ufffd"
            return match.group()

        token = _BAD_ESCAPE.sub(double, token)
        token = _LONE_SURROGATE.sub(replace, token)
    return token


def repair_quotes(event: bytes) -> tuple[bytes, int]:
    """Escape quotes that stand inside strings of one event, such as a Python frame named `{"dev": "x"}(3): go`.

    A guess by what stands beside the quote, so the caller must decode the result. Returns the bytes and the
    number of strings changed.
    """
    changed = 0

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal changed
        body = match.group(2)
        fixed = re.sub(rb'\\[\s\S]|"', lambda m: b'\\"' if m.group() == b'"' else m.group(), body)
        changed += fixed != body
        return match.group(1) + b'"' + fixed + b'"'

    return _OUTER_STRING.sub(mend, event), changed
