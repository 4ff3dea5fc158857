"""What is put into a page cannot get out of the element it stands in."""

import base64
import hashlib
import json

from reports import embed
from tests.unit.reports.builder import NASTY


def test_json_ends_no_script_element():
    text = embed.json_text({"names": [*NASTY, "\u2028", "a & b"]})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"names": [*NASTY, "\u2028", "a & b"]}


def test_columns_share_repeated_texts():
    rows = [{"name": "aten::mm", "t": n} for n in range(5)]
    assert embed.columns(rows) == {"name": {"texts": ["aten::mm"], "rows": [0] * 5}, "t": [0, 1, 2, 3, 4]}
    assert embed.columns([]) == {}


def test_policy_allows_these_scripts_and_no_request():
    policy = embed.policy(["let a = 1;"])
    digest = base64.b64encode(hashlib.sha256(b"let a = 1;").digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_script_holds_no_end_tag():
    assert "</script" not in embed.vega().lower()
    assert "</script" not in embed.static("page.js").lower()
