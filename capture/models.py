"""Where a model comes from: the Hub, a folder, a .gguf file, or random weights in a given shape."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from capture.errors import PhasescopeError

ARCHITECTURES = Path(__file__).with_name("architectures.json")
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


@dataclass(frozen=True)
class ModelSource:
    """A MODEL argument, understood. location: Hub id, absolute path, or a known architecture's name."""

    kind: Literal["hub", "folder", "gguf", "random"]
    name: str
    location: str
    weights: Literal["real", "random"]


def known_architectures() -> dict[str, str]:
    """Names that `random:` knows, with what each is."""
    return {name: entry["note"] for name, entry in json.loads(ARCHITECTURES.read_text()).items()}


def resolve_model(word: str) -> ModelSource:
    """Understand MODEL: a Hub id, a local folder, a .gguf file, or random:<config.json | known architecture>.

    Looks at local files only. Raises PhasescopeError for a name that is none of these.
    """
    if word.startswith("random:"):
        return _resolve_random(word.removeprefix("random:"))
    path = Path(word).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise PhasescopeError(f"{word} is no model: give a Hub id, a folder with a config.json, or a .gguf file.")
        return ModelSource("gguf", path.name, str(path.resolve()), "real")
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise PhasescopeError(
                f"The folder {word} holds no model: it has no config.json; give a folder that has one, a Hub id, "
                "a .gguf file or random:NAME."
            )
        return ModelSource("folder", path.resolve().name, str(path.resolve()), "real")
    if not HUB_ID.fullmatch(word) or word.lower().endswith(".gguf"):
        raise PhasescopeError(f"There is no model at {word}; give a Hub id, a folder or a .gguf file.")
    return ModelSource("hub", word, word, "real")


def _resolve_random(word: str) -> ModelSource:
    if word in known_architectures():
        return ModelSource("random", word, word, "random")
    path = Path(word).expanduser()
    if path.is_dir():
        path = path / "config.json"
    if not path.is_file():
        known = ", ".join(known_architectures())
        raise PhasescopeError(f"random:{word} is neither a config.json nor a known architecture; known are {known}.")
    name = path.parent.resolve().name if path.name == "config.json" else path.stem
    return ModelSource("random", name, str(path.resolve()), "random")


def _random_config(source: ModelSource) -> dict[str, Any]:
    if source.name == source.location:
        return json.loads(ARCHITECTURES.read_text())[source.name]["config"]
    try:
        config = json.loads(Path(source.location).read_text())
        if not isinstance(config, dict) or "model_type" not in config:
            raise ValueError("it names no model_type")
    except (OSError, ValueError) as error:
        raise PhasescopeError(f"{source.location} is no model configuration ({error}).") from error
    return config


def pick_dtype(word: str, device_kind: str, configured: Any) -> Any:
    """The torch dtype for --dtype; auto is float32 on the CPU, else the model's own, else bfloat16."""
    import torch

    if word != "auto":
        dtype = getattr(torch, word, None)
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise PhasescopeError(f"There is no dtype {word}; --dtype takes float32, bfloat16 or float16.")
        return dtype
    if device_kind == "cpu":
        return torch.float32
    if isinstance(configured, str):
        configured = getattr(torch, configured, None)
    return configured if configured not in (None, torch.float32) else torch.bfloat16


def load_model(
    source: ModelSource, *, device_kind: str, dtype: str, attention: str, seed: int, layers: int | None = None
) -> Any:
    """The model on its device, ready to generate; random weights are drawn from `seed`.

    attention: a name that transformers knows, or auto for its own choice. layers: another number of layers, for
    random weights only. Raises PhasescopeError where it cannot be loaded; out of memory is left to the caller.
    """
    import torch

    from capture.memory_errors import is_out_of_memory

    if layers is not None and source.kind != "random":
        raise PhasescopeError("--layers changes the shape of random weights only; leave it out for real ones.")
    torch.manual_seed(seed)
    try:
        model = _load(source, device_kind, dtype, attention, layers)
        return model.to(device_kind).eval()
    except PhasescopeError:
        raise
    except Exception as error:  # transformers, the Hub, safetensors and gguf each have errors of their own
        if is_out_of_memory(error):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        what = lines[0] if lines else type(error).__name__
        if isinstance(error, OSError):  # files that are not there or cannot be had
            what = (
                f"{what.rstrip('.')}; check the name and, for a Hub id, the network, or give a local folder, "
                "a .gguf file or random:NAME."
            )
        raise PhasescopeError(f"Could not load the model {source.name}: {what}") from error


def _load(source: ModelSource, device_kind: str, dtype: str, attention: str, layers: int | None) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    chosen = {} if attention == "auto" else {"attn_implementation": attention}
    if source.kind == "random":
        raw = dict(_random_config(source))
        if layers is not None:
            raw["num_hidden_layers"] = layers
            raw.pop("layer_types", None)
        configured = raw.pop("dtype", None) or raw.pop("torch_dtype", None)
        config = AutoConfig.for_model(raw.pop("model_type"), **raw)
        return AutoModelForCausalLM.from_config(config, dtype=pick_dtype(dtype, device_kind, configured), **chosen)
    if source.kind == "gguf":
        path = Path(source.location)
        return AutoModelForCausalLM.from_pretrained(
            str(path.parent), gguf_file=path.name, dtype=pick_dtype(dtype, device_kind, None), **chosen
        )
    config = AutoConfig.from_pretrained(source.location)
    picked = pick_dtype(dtype, device_kind, getattr(config, "dtype", None))
    return AutoModelForCausalLM.from_pretrained(source.location, dtype=picked, **chosen)


def load_tokenizer(source: ModelSource) -> Any:
    """The model's tokenizer. Raises PhasescopeError where there is none, as for random weights."""
    if source.kind == "random":
        raise PhasescopeError("A model with random weights has no tokenizer; use --prompt-tokens instead of --prompt.")
    from transformers import AutoTokenizer

    try:
        if source.kind == "gguf":
            path = Path(source.location)
            return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
        return AutoTokenizer.from_pretrained(source.location)
    except Exception as error:
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise PhasescopeError(f"Could not load the tokenizer of {source.name}: {first}") from error
