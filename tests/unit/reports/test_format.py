"""Numbers as people read them."""

import pytest

from reports import format as fmt

T = fmt.THIN


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"), (0.000412, "0.000412"), (0.4123, "0.412"), (1.0, "1.00"), (48.66, "48.7"), (123.4, "123"),
        (1930, f"1{T}930"), (9.996, "10.0"), (999.9, f"1{T}000"), (-5.25, "−5.25"), (1_234_567, f"1{T}230{T}000"),
        (None, "–"),
    ],
)  # fmt: skip
def test_three_significant_digits(value, shown):
    assert fmt.significant(value) == shown


def test_counts_keep_every_digit():
    assert fmt.count(14_680_064) == f"14{T}680{T}064"
    assert fmt.count(-28_672) == f"−28{T}672"
    assert fmt.count(None) == "–"


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (999, f"999{T}ns"),
        (1_500, f"1.50{T}µs"),
        (48_700_000, f"48.7{T}ms"),
        (1_930_000_000, f"1.93{T}s"),
        (0, f"0{T}ns"),
    ],
)
def test_durations_choose_their_unit(ns, shown):
    assert fmt.duration(ns) == shown


def test_sizes_are_binary_and_missing_is_not_zero():
    assert fmt.size(14_680_064) == f"14.0{T}MiB"
    assert fmt.size(512) == f"512{T}B"
    assert fmt.size(None) == fmt.duration(None) == fmt.percent(None) == fmt.moment(None) == "–"


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (0, 3, "0"), (0.00001, 3, f"<{T}0.1"), (0.0042, 3, "0.420"), (0.6134, 3, "61.3"), (1, 3, "100"),
        (0.99951, 3, "99.9"), (0.998, 2, "99.8"), (1.5, 3, "150"),
    ],
)  # fmt: skip
def test_percent_never_rounds_up_to_all(share, digits, shown):
    assert fmt.percent(share, digits) == ("100" if share == 1 else shown) + f"{T}%"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/me/site-packages/torch/nn/module.py(12): forward", "module.py(12): forward"),
        (r"C:\Users\me\model.py(3): f", "model.py(3): f"),
        ("file:///home/me/trace.json, event 4", "trace.json, event 4"),
        ("cannot open /a/b/c.json", "cannot open c.json"),
        ("torch/nn/modules/module.py(1): x", "torch/nn/modules/module.py(1): x"),
        ("HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M"),
        ("aten::div(a / b)", "aten::div(a / b)"),
    ],
)
def test_folders_stay_out(text, shown):
    assert fmt.without_folders(text) == shown


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_not_known(value):
    shown = (fmt.significant, fmt.count, fmt.rate, fmt.duration, fmt.milliseconds, fmt.size, fmt.percent)
    assert {show(value) for show in shown} == {fmt.MISSING}
    assert fmt.scaled(value, "FLOP") == fmt.MISSING
    assert fmt.time_unit([value, 1_500]) == ("µs", 1_000)
