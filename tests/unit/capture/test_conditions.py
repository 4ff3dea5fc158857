"""Conditions of the machine, out of what it prints."""

from capture.conditions import low_power_mode, over_time, read_conditions, thermal_warning


def test_low_power_mode():
    printed = (
        "System-wide power settings:\nCurrently in use:\n standby              1\n lowpowermode         1\n sleep 1\n"
    )
    assert low_power_mode(printed) == "on"
    assert low_power_mode(printed.replace("mode         1", "mode         0")) == "off"
    assert low_power_mode("Currently in use:\n standby 1\n") is None
    assert low_power_mode(None) is None


def test_thermal_warning():
    calm = "Note: No thermal warning level has been recorded\nNote: No performance warning level has been recorded\n"
    assert thermal_warning(calm) == "none"
    assert thermal_warning("2026-11-30 Thermal Warning Level = 2\n") == "2"
    assert thermal_warning("") is None


def test_what_changed_in_between_is_said():
    assert over_time({"power_source": "mains", "x": "1"}, {"power_source": "battery", "x": "1"}) == {
        "power_source": "mains, then battery",
        "x": "1",
    }
    assert over_time({}, {"x": "1"}) == {"x": "not told, then 1"}


def test_this_machine_tells_texts_only():
    assert all(isinstance(value, str) and value for value in read_conditions().values())
