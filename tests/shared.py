"""Where the real traces of other tools lie beside the checkout, for the tests that read them."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("PHASESCOPE_SHARED", Path(__file__).resolve().parents[2] / "shared"))

needs_shared = pytest.mark.skipif(
    not (SHARED / "traces").is_dir(),
    reason="the folder of other tools' traces (../shared) is not beside this checkout",
)
