import sys

import pytest

from capture.environment import PROFILING_VARIABLES, profiling_variables_set, tracing_hooks


@pytest.mark.parametrize(
    "name",
    [
        "MTL_CAPTURE_ENABLED",
        "PYTORCH_MPS_LOG_PROFILE_INFO",
        "PYTORCH_MPS_TRACE_SIGNPOSTS",
        "KINETO_CONFIG",
        "METAL_DEVICE_WRAPPER_TYPE",
    ],
)
def test_a_variable_counts_whatever_its_value(name):
    assert name in PROFILING_VARIABLES
    assert profiling_variables_set({name: "0", "PATH": "/bin"}) == [name]
    assert profiling_variables_set({name: ""}) == [name]


def test_a_plain_environment_is_clean():
    assert profiling_variables_set({"PATH": "/bin", "OMP_NUM_THREADS": "1"}) == []


def test_python_hooks_are_seen():
    before = sys.getprofile()
    sys.setprofile(lambda *args: None)
    try:
        assert "sys.setprofile" in tracing_hooks()
    finally:
        sys.setprofile(before)
