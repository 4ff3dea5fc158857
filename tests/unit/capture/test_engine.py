from types import SimpleNamespace

import pytest
import torch

from capture.caches import cache_factory
from capture.engine import Engine
from capture.errors import PhasescopeError, UsageError
from capture.recorder import Recorder
from tests.unit.capture.tiny import tiny_model, tokens


@pytest.mark.parametrize("model_type", ["llama", "qwen2", "mistral"])
@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("logits", ["all", "last"])
def test_generates_the_tokens_of_transformers_greedy_generate(model_type, batch_size, logits):
    model = tiny_model(model_type)
    ids = tokens(batch_size, 11)
    result = Engine(model, logits=logits).generate(ids, 9)
    theirs = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=9, min_new_tokens=9
    )
    assert torch.equal(result.generated_ids, theirs[:, 11:])
    # Random weights soon repeat one token; the comparison would say little if all were the same.
    assert len(set(result.generated_ids[0].tolist())) > 2


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_the_cache_does_not_change_the_tokens(cache):
    model = tiny_model("llama")
    ids = tokens(2, 8)
    plain = Engine(model).generate(ids, 6).generated_ids
    other = Engine(model, cache_factory=cache_factory(cache, model.config)).generate(ids, 6)
    assert torch.equal(plain, other.generated_ids)
    assert type(other.cache).__name__.lower().startswith(cache)


def test_n_new_tokens_are_one_prefill_and_n_minus_1_decode_calls():
    model = tiny_model()
    recorder = Recorder("cpu")
    result = Engine(model, recorder).generate(tokens(2, 5), 4)
    assert result.generated_ids.shape == (2, 4)
    assert len(result.step_times_ms) == 3
    rows = [(each.phase, each.step, each.tokens, each.cached_tokens) for each in recorder.timings]
    assert rows == [("prefill", 0, 10, 5), ("decode", 1, 2, 6), ("decode", 2, 2, 7), ("decode", 3, 2, 8)]
    assert result.cache.get_seq_length() == 8
    assert [timing.dur_ns / 1e6 for timing in recorder.timings[1:]] == result.step_times_ms
    assert result.prefill_ms == recorder.timings[0].dur_ns / 1e6


def test_one_new_token_needs_no_decode_call():
    result = Engine(tiny_model()).generate(tokens(1, 4), 1)
    assert result.generated_ids.shape == (1, 1)
    assert result.step_times_ms == []


@pytest.mark.parametrize("count", [0, -1])
def test_refuses_to_generate_no_tokens(count):
    with pytest.raises(ValueError, match="max_new_tokens must be above 0"):
        Engine(tiny_model()).generate(tokens(1, 4), count)


def test_prefill_and_step_by_hand_give_the_same_as_generate():
    engine = Engine(tiny_model())
    ids = tokens(2, 6)
    first = engine.run_prefill(ids)
    assert first.next_token.shape == (2, 1)
    assert first.elapsed_ms > 0
    second = engine.run_decode_step(first.next_token, first.cache)
    joined = torch.cat([first.next_token, second.next_token], dim=1)
    assert torch.equal(joined, engine.generate(ids, 2).generated_ids)


class OldModel:
    """Speaks as transformers did before 5.24: past_key_values in, past_key_values out."""

    device = torch.device("cpu")

    def __init__(self):
        self.inner = tiny_model()
        self.calls = 0

    def forward(self, input_ids=None, past_key_values=None, use_cache=None):
        raise NotImplementedError

    def __call__(self, *, input_ids, past_key_values, use_cache):
        self.calls += 1
        output = self.inner(input_ids=input_ids, cache=past_key_values, use_cache=use_cache)
        return SimpleNamespace(logits=output.logits, past_key_values=output.cache)


def test_speaks_past_key_values_where_the_model_knows_no_cache_argument():
    old = OldModel()
    engine = Engine(old)
    assert engine.cache_argument == "past_key_values"
    assert torch.equal(
        engine.generate(tokens(1, 7), 5).generated_ids,
        Engine(old.inner).generate(tokens(1, 7), 5).generated_ids,
    )
    assert old.calls == 5
    assert Engine(old.inner).cache_argument == "cache"
    with pytest.raises(PhasescopeError, match="last logits only; use --logits all"):
        Engine(old, logits="last")


def test_a_model_without_a_kv_cache_is_named():
    class Encoder(OldModel):
        def forward(self, input_ids=None):
            raise NotImplementedError

    with pytest.raises(PhasescopeError, match="Encoder takes no KV cache"):
        Engine(Encoder())


def test_last_logits_are_computed_for_one_position():
    model = tiny_model()
    seen = []
    model.lm_head.register_forward_hook(lambda module, inputs, output: seen.append(output.shape[1]))
    Engine(model, logits="all").generate(tokens(1, 7), 2)
    Engine(model, logits="last").generate(tokens(1, 7), 2)
    assert seen == [7, 1, 1, 1]


def test_unknown_cache_words():
    with pytest.raises(UsageError, match="There is no cache paged"):
        cache_factory("paged", None)
    model = tiny_model("mistral", sliding_window=8)
    with pytest.raises(PhasescopeError, match="cannot use the fp8 cache"):
        Engine(model, cache_factory=cache_factory("fp8", model.config)).generate(tokens(1, 4), 2)
