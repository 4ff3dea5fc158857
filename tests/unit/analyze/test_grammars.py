"""Every form in which engines mark phases, and rules that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyze.errors import PhasescopeError
from analyze.grammars import builtin_grammar, load_grammar

GRAMMAR = builtin_grammar()
#  name: (rule, phase, sequences, tokens, cached_tokens, prefill_tokens, decode_tokens)
FORMS = {
    "inference.prefill": ("annotation", "prefill", None, None, None, None, None),
    "inference.decode_step": ("annotation", "decode", None, None, None, None, None),
    # vLLM 0.11.1 to 0.13
    "execute_new_2_cached_0": ("vllm_new_cached", "prefill", 2, None, None, None, None),
    "execute_new_0_cached_7": ("vllm_new_cached", "decode", 7, None, None, None, None),
    "execute_new_2_cached_3": ("vllm_new_cached", "mixed", 5, None, None, None, None),
    "execute_new_0_cached_0": ("vllm_new_cached", "idle", 0, None, None, None, None),
    # vLLM 0.14 and on
    "execute_context_2(512)_generation_0(0)": ("vllm", "prefill", 2, 512, None, 512, 0),
    "execute_context_0(0)_generation_32(64)": ("vllm", "decode", 32, 64, None, 0, 64),
    "execute_context_1(512)_generation_3(3)": ("vllm", "mixed", 4, 515, None, 512, 3),
    "execute_context_0(0)_generation_0(0)": ("vllm", "idle", 0, 0, None, 0, 0),
    # vLLM's detailed form
    "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)": (
        "vllm_detailed", "decode", 32, 32, 55086, 0, 32,
    ),
    "execute_515_context_1(sq512sk900sqsq262144sqsk460800)_generation_3(sq3sk3000sqsq3sqsk3000)": (
        "vllm_detailed", "mixed", 4, 515, 3900, 512, 3,
    ),
    # SGLang
    "step[EXTEND bs=2 toks=100]": ("sglang", "prefill", 2, 100, None, 100, 0),
    "step[DECODE bs=32]": ("sglang", "decode", 32, 32, None, 0, 32),
    "step[MIXED bs=4]": ("sglang", "mixed", 4, None, None, None, None),
    "step[MIXED bs=4 g_sq=3 c_sq=100 c=1 g=3 c_sk=100 g_sk=900]": ("sglang", "mixed", 4, 103, 1000, 100, 3),
    "step[DECODE bs=4 forward_id=17 c_sq=0 c_sk=0 g_sq=4 g_sk=77]": ("sglang", "decode", 4, 4, 77, 0, 4),
    "step[IDLE bs=0]": ("sglang", "idle", 0, None, None, None, None),
    "step[TARGET_VERIFY bs=3]": ("sglang", "decode", 3, None, None, None, None),
    "step[VERIFY bs=3]": ("sglang", "decode", 3, None, None, None, None),
    "step[DRAFT_EXTEND bs=3]": ("sglang", "draft", 3, None, None, None, None),
    "step[DRAFT_EXTEND_V2 bs=3]": ("sglang", "draft", 3, None, None, None, None),
    "step[DRAFT bs=3]": ("sglang", "draft", 3, None, None, None, None),
    "step[DRAFT_LOOP raw_bs=3 bs=4 topk=2]": ("sglang", "draft", 3, None, None, None, None),
    "step[PREBUILT bs=1]": ("sglang", "idle", 1, None, None, None, None),
    "step[SPLIT_PREFILL bs=1]": ("sglang", "prefill", 1, None, None, None, None),
    "step[DLLM_EXTEND bs=1]": ("sglang", "mixed", 1, None, None, None, None),
    "step[SOMETHING_NEW bs=1]": ("sglang", "unknown", 1, None, None, None, None),
    # ATOM
    "prefill[bs=2 tok=14721 ctx=[7803, 6918]]": ("atom", "prefill", 2, 14721, None, 14721, 0),
    "decode[bs=117/128 tok=117 d=117]": ("atom", "decode", 117, 117, None, 0, 117),
    # TensorRT-LLM
    "[Executor] _forward_step 12: 1 ctx reqs, 33 ctx tokens, 5 gen reqs": (
        "tensorrt_llm", "mixed", 6, None, None, 33, None,
    ),
    "[Executor] _forward_step 3: 2 ctx reqs, 70 ctx tokens, 0 gen reqs": (
        "tensorrt_llm", "prefill", 2, 70, None, 70, 0,
    ),
    "[Executor] _forward_step 4: 0 ctx reqs, 5 gen reqs": ("tensorrt_llm", "decode", 5, None, None, None, None),
    # by hand, in any case
    "prefill": ("hand_written", "prefill", None, None, None, None, None),
    "Prefill": ("hand_written", "prefill", None, None, None, None, None),
    "decode": ("hand_written", "decode", None, None, None, None, None),
    "DECODE_STEP": ("hand_written", "decode", None, None, None, None, None),
    "decode_step_17": ("hand_written", "decode", None, None, None, None, None),
    "incremental_gen": ("hand_written", "decode", None, None, None, None, None),
    # the rest
    "prefill (3)": ("mlc", "prefill", None, None, None, None, None),
    "decode (3)": ("mlc", "decode", None, None, None, None, None),
    "forward_eager": ("lmdeploy", "prefill", None, None, None, None, None),
    "forward_cudagraph": ("lmdeploy", "decode", None, None, None, None, None),
    "StepInputs.step_decode": ("lmdeploy", "decode", None, None, None, None, None),
    "ProfilerStep#17": ("profiler_step", "unknown", None, None, None, None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str) -> None:
    found = GRAMMAR.find(name)
    assert found is not None
    mark = found[1]
    counts = (mark.sequences, mark.tokens, mark.cached_tokens, mark.prefill_tokens, mark.decode_tokens)
    assert (mark.rule, mark.phase, *counts) == FORMS[name]


@pytest.mark.parametrize(
    "name",
    [
        "aten::mm",
        "",
        "prefilled",
        "decoder",
        "xprefill",
        "step[",
        "execute_context_1(1)",
        "nccl:all_reduce",
        "step[decode]",
    ],
)
def test_other_names_mark_nothing(name: str) -> None:
    assert GRAMMAR.find(name) is None


def test_counts_too_large_for_a_column_are_not_taken() -> None:
    found = GRAMMAR.find(f"execute_context_{10**12}({10**30})_generation_0(0)")
    assert found is not None
    assert (found[1].sequences, found[1].tokens) == (None, None)
    assert GRAMMAR.find(f"step[DECODE bs={'9' * 5000}]") is not None


@pytest.mark.parametrize(
    ("value", "phase"),
    [
        ("jit_prefill", "prefill"), ("jit__prefill_fn", "prefill"), ("jit_model_decode_step", "decode"),
        ("jit_prefill(1234567)", "prefill"), ("jit_train", None),
    ],
)  # fmt: skip
def test_jax_modules(value: str, phase: str | None) -> None:
    mark = GRAMMAR.rule("jax_hlo_module").match(value)
    assert (mark.phase if mark else None) == phase
    assert GRAMMAR.find(value) is None


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    return path


def test_the_users_rules_come_first(tmp_path: Path) -> None:
    rules = _write(
        tmp_path,
        """
        [[rule]]
        name = "mine"
        pattern = '(?P<mode>prefill|warmup) of (?P<sequences>\\d+)'
        phases = { prefill = "prefill", warmup = "warm-up" }

        [[rule]]
        name = "hand_written"
        pattern = 'decode'
        phase = "generation"
        """,
    )
    grammar = load_grammar(rules)
    mine, decode = grammar.find("warmup of 3"), grammar.find("decode")
    assert mine is not None
    assert decode is not None
    assert (mine[1].rule, mine[1].phase, mine[1].sequences) == ("mine", "warm-up", 3)
    assert decode[1].phase == "generation"
    # a rule of the same name replaces the built-in one, the others stay
    assert grammar.find("prefill") is None
    assert grammar.find("step[DECODE bs=1]") is not None


def test_a_users_rule_with_flags_or_back_references_works(tmp_path: Path) -> None:
    rules = _write(tmp_path, "[[rule]]\nname = 'twice'\npattern = '(?i)go (?P<mode>a|b) (?P=mode)'\nphases = {a = 'x'}")
    found = load_grammar(rules).find("GO a a")
    assert found is not None
    assert found[1].phase == "x"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rule = [", "no valid TOML"),
        ("", "must hold [[rule]] tables"),
        ("rule = 3", "must hold [[rule]] tables"),
        ("x = 1\n[[rule]]\nname = 'a'\npattern = 'a'\nphase = 'p'", "nothing else"),
        ("[[rule]]\npattern = 'a'\nphase = 'p'", "Rule 1 of the phase rules"),
        ("[[rule]]\nname = 'a'\nphase = 'p'", "Rule 'a' of the phase rules {path} has no pattern"),
        ("[[rule]]\nname = 'a'\npattern = '('\nphase = 'p'", "no regular expression"),
        ("[[rule]]\nname = 'a'\npattern = '(?P<toks>x)'\nphase = 'p'", "unknown group 'toks'"),
        ("[[rule]]\nname = 'a'\npattern = 'a'", "does not tell a phase"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\nphases = {a = 'p'}", "no group (?P<mode>...)"),
        ("[[rule]]\nname = 'a'\npattern = '(?P<mode>a)'\nphase = 'p'\nphases = {a = 'p'}", "both phase and phases"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\nphase = 3", "phase must be a text"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\nphase = 'p'\nfallback = 'yes'", "fallback must be true or false"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\nphase = 'p'\nprio = 1", "unknown key 'prio'"),
        ("[[rule]]\nname = 'a'\npattern = 'a'\nphase = 'p'\nkey_columns = {a = 'tokens'}", "no group (?P<keys>...)"),
        (
            "[[rule]]\nname = 'a'\npattern = '(?P<keys>a)'\nphase = 'p'\nkey_columns = {a = 'toks'}",
            "key_columns names 'toks'",
        ),
        ("[[rule]]\nname = 'a'\npattern = 'a'\nphase = 'p'\n[[rule]]\nname = 'a'\npattern = 'b'\nphase = 'p'", "twice"),
    ],
)
def test_wrong_rules_name_file_rule_and_fault(tmp_path: Path, text: str, says: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(PhasescopeError) as caught:
        load_grammar(path)
    assert says.replace("{path}", str(path)) in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_rules_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PhasescopeError, match=r"nothing\.toml: No such file"):
        load_grammar(tmp_path / "nothing.toml")
