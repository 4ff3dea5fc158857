import msgspec
import pytest

from capture.errors import UsageError
from capture.models import resolve_model
from capture.spec import CaptureSpec


def spec(**changes):
    return CaptureSpec(model=resolve_model("random:llama-tiny"), **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prompt_tokens": 0}, "--prompt-tokens must be at least 1, not 0"),
        ({"new_tokens": 0}, "--new-tokens must be at least 1, not 0"),
        ({"batch_size": -1}, "--batch-size must be at least 1"),
        ({"warmup": -1}, "--warmup must be at least 0"),
        ({"repeat": 0}, "--repeat must be at least 1"),
        ({"layers": 0}, "--layers must be at least 1"),
        ({"passes": ["clean", "cleaner"]}, "There is no pass cleaner; known are clean, profiled"),
        ({"passes": []}, "There is no pass"),
        ({"passes": ["clean", "clean"]}, "names a pass twice"),
    ],
)
def test_wrong_calls(changes, words):
    with pytest.raises(UsageError, match=words):
        spec(**changes).check()


def test_the_clean_pass_comes_first_whatever_the_order():
    asked = spec(passes=["profiled", "clean"])
    asked.check()
    assert asked.passes == ["clean", "profiled"]


def test_it_travels_as_json():
    asked = spec(prompt="Zażółć", layers=3)
    assert msgspec.json.decode(msgspec.json.encode(asked), type=CaptureSpec) == asked
