import json
from pathlib import Path

import pytest
import torch

from capture.errors import PhasescopeError
from capture.models import ModelSource, known_architectures, load_model, load_tokenizer, pick_dtype, resolve_model
from tests.unit.capture.tiny import tiny_model


def load(source, **changes):
    return load_model(source, **({"device_kind": "cpu", "dtype": "auto", "attention": "auto", "seed": 0} | changes))


def test_words_that_name_a_model(tmp_path: Path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/config.json").write_text("{}")
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    assert resolve_model("Qwen/Qwen2.5-1.5B-Instruct") == ModelSource(
        "hub", "Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct", "real"
    )
    assert resolve_model("gpt2").kind == "hub"
    folder = resolve_model(str(tmp_path / "tiny"))
    assert (folder.kind, folder.name, folder.weights) == ("folder", "tiny", "real")
    gguf = resolve_model(str(tmp_path / "m.gguf"))
    assert (gguf.kind, gguf.name, gguf.weights) == ("gguf", "m.gguf", "real")
    known = resolve_model("random:qwen2.5-1.5b")
    assert (known.kind, known.name, known.weights) == ("random", "qwen2.5-1.5b", "random")
    shape = resolve_model(f"random:{tmp_path}/tiny/config.json")
    assert (shape.kind, shape.name, shape.weights) == ("random", "tiny", "random")
    assert resolve_model(f"random:{tmp_path}/tiny") == shape


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("no/such/folder", "There is no model at no/such/folder"),
        ("./missing.gguf", "There is no model at"),
        ("missing.gguf", "There is no model at"),
        ("random:llama-9", "neither a config.json nor a known architecture; known are qwen2.5-1.5b,"),
        (
            "{tmp}",
            "holds no model: it has no config.json; give a folder that has one, a Hub id, a .gguf file or random:NAME",
        ),
        ("{tmp}/notes.txt", "is no model: give a Hub id, a folder"),
    ],
)
def test_words_that_name_none(tmp_path: Path, word: str, words: str):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(PhasescopeError, match=words):
        resolve_model(word.format(tmp=tmp_path))


def test_qwen_has_its_exact_shapes():
    from capture.models import _random_config

    config = _random_config(resolve_model("random:qwen2.5-1.5b"))
    assert {name: config[name] for name in config if name.startswith(("num_", "hid", "int", "voc", "tie"))} == {
        "num_hidden_layers": 28,
        "hidden_size": 1536,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "intermediate_size": 8960,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
        "hidden_act": "silu",
    }


def test_known_architectures_have_the_published_number_of_parameters():
    from transformers import AutoConfig, AutoModelForCausalLM

    from capture.models import _random_config

    # Model cards: 1.54B, 0.49B, 135M (134,515,008), 1.24B (1,235,814,400), 0.6B, 7.24B.
    published = {
        "qwen2.5-1.5b": 1_543_714_304,
        "qwen2.5-0.5b": 494_032_768,
        "smollm2-135m": 134_515_008,
        "llama-3.2-1b": 1_235_814_400,
        "qwen3-0.6b": 596_049_920,
        "mistral-7b-v0.1": 7_241_732_096,
    }
    for name in known_architectures():
        raw = dict(_random_config(resolve_model(f"random:{name}")))
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model(raw.pop("model_type"), **raw))
        count = sum(parameter.numel() for parameter in model.parameters())
        assert count == published.get(name, count), name
        assert name in published or count < 10_000_000


def test_random_weights_come_from_the_seed():
    source = resolve_model("random:llama-tiny")
    one, same, other = (load(source, seed=seed).lm_head.weight for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_layers_changes_random_shapes_only(tmp_path: Path):
    assert load(resolve_model("random:llama-tiny"), layers=1).config.num_hidden_layers == 1
    tiny_model().save_pretrained(tmp_path / "real")
    with pytest.raises(PhasescopeError, match="--layers changes the shape of random weights only"):
        load(resolve_model(str(tmp_path / "real")), layers=1)


def test_a_local_folder_gives_its_weights(tmp_path: Path):
    model = tiny_model()
    model.save_pretrained(tmp_path / "real")
    loaded = load(resolve_model(str(tmp_path / "real")), attention="eager")
    assert torch.equal(loaded.model.layers[1].mlp.up_proj.weight, model.model.layers[1].mlp.up_proj.weight)
    assert loaded.config._attn_implementation == "eager"
    assert not loaded.training


def test_folders_that_hold_something_else_are_told_in_one_sentence(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, config in {
        "empty": {},
        "unknown": {"model_type": "no-such-type"},
        "weightless": {"model_type": "llama"},
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        with pytest.raises(PhasescopeError, match=f"Could not load the model {name}: ") as caught:
            load(resolve_model(str(tmp_path / name)))
        assert "\n" not in str(caught.value)
    # the last of these lacks its weights: a file that is not there
    assert "; check the name and, for a Hub id, the network, or give a local folder" in str(caught.value)
    (tmp_path / "broken.gguf").write_bytes(b"GGUFgarbage")
    with pytest.raises(PhasescopeError, match=r"Could not load the model broken\.gguf"):
        load(resolve_model(str(tmp_path / "broken.gguf")))
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(PhasescopeError, match="is no model configuration"):
        load(resolve_model(f"random:{tmp_path / 'bad.json'}"))


def test_an_attention_that_does_not_exist_is_told():
    with pytest.raises(PhasescopeError, match="Could not load the model llama-tiny"):
        load(resolve_model("random:llama-tiny"), attention="no-such-attention")


@pytest.mark.parametrize(
    ("word", "device", "configured", "expected"),
    [
        ("auto", "cpu", torch.bfloat16, torch.float32),
        ("auto", "mps", torch.float16, torch.float16),
        ("auto", "cuda", "bfloat16", torch.bfloat16),
        ("auto", "mps", torch.float32, torch.bfloat16),
        ("auto", "cuda", None, torch.bfloat16),
        ("float16", "cpu", torch.bfloat16, torch.float16),
    ],
)
def test_dtype(word, device, configured, expected):
    assert pick_dtype(word, device, configured) is expected


@pytest.mark.parametrize("word", ["int8", "nonsense", "nn"])
def test_dtypes_that_are_none(word):
    with pytest.raises(PhasescopeError, match=f"There is no dtype {word}"):
        pick_dtype(word, "cpu", None)


def test_random_weights_have_no_tokenizer():
    with pytest.raises(PhasescopeError, match="no tokenizer; use --prompt-tokens"):
        load_tokenizer(resolve_model("random:llama-tiny"))


def test_a_gguf_file_gives_its_weights(tmp_path: Path):
    import numpy

    from tests.unit.capture.gguf_file import write_tiny_gguf

    tensors = write_tiny_gguf(tmp_path / "tiny.gguf")
    model = load(resolve_model(str(tmp_path / "tiny.gguf")))
    loaded = model.model.layers[1].mlp.up_proj.weight.detach().numpy()
    assert numpy.array_equal(loaded, tensors["blk.1.ffn_up.weight"])
    assert (model.config.num_hidden_layers, model.config.num_key_value_heads) == (2, 2)
