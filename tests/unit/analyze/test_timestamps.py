"""Exact nanoseconds from what traces write as microseconds."""

from decimal import Decimal

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.timestamps import MISSING, OUT_OF_RANGE, UNREADABLE, _one, nanoseconds


def raws(*texts: str) -> list[msgspec.Raw]:
    return [msgspec.Raw(text.encode()) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5185804039281.787", 5185804039281787),
        ("1767189312000123.250", 1767189312000123250),
        ('"1767189312000123.250"', 1767189312000123250),
        ("100", 100_000),
        ("0", 0),
        ("-3.5", -3500),
        ("1e3", 1_000_000),
        ("1.0005", 1000),
        ("1.0015", 1002),
        ("1e-40", 0),
        ("9007199254740993.001", 9007199254740993001 if 9007199254740993001 < 2**62 else None),
    ],
)
def test_exact(text: str, expected: int | None) -> None:
    values, fault = nanoseconds(raws(text))
    if expected is None:
        assert fault.tolist() == [OUT_OF_RANGE]
    else:
        assert fault.tolist() == [0]
        assert values.tolist() == [expected]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", MISSING), ("null", MISSING), ("true", UNREADABLE), ('"soon"', UNREADABLE), ('"nan"', UNREADABLE),
        ('"inf"', UNREADABLE), ("1e999999999", OUT_OF_RANGE), ("1e17", OUT_OF_RANGE), ("[1]", UNREADABLE),
    ],
)  # fmt: skip
def test_faults(text: str, code: int) -> None:
    values, fault = nanoseconds(raws("1.5", text))
    assert fault.tolist() == [0, code]
    assert values.tolist() == [1500, 0]


@given(st.lists(st.integers(min_value=0, max_value=10**18 - 1), min_size=1, max_size=50))
def test_bulk_equals_decimal(values: list[int]) -> None:
    """The quick way over a column of three decimals gives what Decimal gives one by one."""
    texts = [f"{v // 1000}.{v % 1000:03d}" for v in values]
    got, fault = nanoseconds(raws(*texts))
    assert not fault.any()
    assert got.tolist() == [int(Decimal(text) * 1000) for text in texts]


@given(st.lists(st.from_regex(r"-?[0-9]{1,15}(\.[0-9]{1,6})?", fullmatch=True), min_size=1, max_size=20))
def test_mixed_decimals(texts: list[str]) -> None:
    got, fault = nanoseconds(raws(*texts))
    assert not fault.any()
    assert got.tolist() == [round(Decimal(text) * 1000) for text in texts]


ODD = st.sampled_from(
    ["", "null", "-3.5", "1e3", "1.0005", "[1,2]", '["1","2"]', '"12.5"', '"1 2"', "true", ".", "1..2", "1.2.3"]
)
PLAIN = st.decimals(min_value=0, max_value=10**15, places=None, allow_nan=False).map(lambda d: f"{d:f}")


@given(st.lists(st.one_of(PLAIN, ODD, st.integers(0, 10**17).map(str)), min_size=1, max_size=30))
def test_any_column_equals_its_values_one_by_one(texts: list[str]) -> None:
    """Decimals of any number beside what is no number at all."""
    got, fault = nanoseconds(raws(*texts))
    for i, text in enumerate(texts):
        value = _one(text.encode())
        assert (int(fault[i]), int(got[i])) == ((int(value), 0) if isinstance(value, np.int8) else (0, value))
