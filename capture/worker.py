"""The process of one pass: `python -m capture.worker <pass>`.

It reads one JSON line on stdin, the request, and answers with JSON lines on what was its stdout: `facts` when the
model is ready, `progress` between generations, and in the end `done`, `refused` or `error`. Everything that anyone
prints goes to stderr, which the parent keeps as the pass's log. It ends when its parent does.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from capture.clock import read_clocks
from capture.environment import profiling_variables_set
from capture.errors import PhasescopeError
from capture.spec import CLEAN, CaptureSpec


class Channel:
    """The line to the parent; takes over fd 1, so that prints of libraries cannot garble it."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def send(self, event: str, **content: Any) -> None:
        self._stream.write(json.dumps({"event": event, **content}).encode() + b"\n")


def _end_with_parent(stdin: BinaryIO) -> None:
    """End this process when the parent's end of stdin closes, however the parent died. Sleeps until then."""

    def wait() -> None:
        stdin.read()
        os._exit(3)

    threading.Thread(target=wait, name="parent-watch", daemon=True).start()


def main(name: str) -> int:
    channel = Channel()
    request = json.loads(sys.stdin.buffer.readline())
    spec = msgspec.convert(request["spec"], CaptureSpec)
    _end_with_parent(sys.stdin.buffer)
    found = profiling_variables_set(os.environ)
    if name == CLEAN and found:
        channel.send(
            "refused",
            reason=f"{', '.join(found)} is set, and a clean pass runs with no profiling variable; unset it.",
            clock={"start": asdict(read_clocks()), "end": None},
        )
        return 0
    try:
        _run(name, spec, Path(request["folder"]), channel)
    except PhasescopeError as error:
        traceback.print_exc()
        channel.send("error", reason=str(error), exit_code=error.exit_code)
        return 1
    except Exception as error:
        from capture.memory_errors import is_out_of_memory

        traceback.print_exc()
        if is_out_of_memory(error):
            reason = (
                f"Memory ran out with {spec.model.name} ({spec.batch_size} x {spec.prompt_tokens} prompt tokens); "
                "take a smaller model, fewer tokens, or a 2-byte --dtype."
            )
        else:
            first_line = next(iter(str(error).splitlines()), "")
            reason = f"Pass {name} failed with {type(error).__name__}: {first_line}"
        channel.send("error", reason=reason, exit_code=1)
        return 1
    return 0


def _run(name: str, spec: CaptureSpec, folder: Path, channel: Channel) -> None:
    from capture.architecture import architecture_facts, text_config
    from capture.devices import choose_device
    from capture.machine import machine_facts, software_versions
    from capture.models import load_model, load_tokenizer
    from capture.passes import run_pass
    from capture.passes.common import PassContext
    from capture.prompt import random_prompt, text_prompt

    device, said = choose_device(spec.device)
    channel.send("progress", done=0, total=0, what=f"{said}; loading {spec.model.name}")
    model = load_model(
        spec.model,
        device_kind=device.kind,
        dtype=spec.dtype,
        attention=spec.attention,
        seed=spec.seed,
        layers=spec.layers,
    )
    if spec.prompt is not None:
        ids = text_prompt(load_tokenizer(spec.model), spec.prompt, spec.batch_size)
    else:
        vocab_size = text_config(model.config).vocab_size
        ids = random_prompt(vocab_size, spec.batch_size, spec.prompt_tokens, spec.seed)
    prompt_tokens = ids.shape[1]
    machine = machine_facts()
    machine.device_name, machine.gpu_cores = device.name(), device.gpu_cores()
    machine.device_memory_bytes = device.total_memory_bytes()
    channel.send(
        "facts",
        machine=asdict(machine),
        software=software_versions(),
        architecture=asdict(architecture_facts(model, spec.cache, prompt_tokens + spec.new_tokens)),
        device=device.kind,
        dtype=str(model.dtype).removeprefix("torch."),
        attention=getattr(model.config, "_attn_implementation", None) or spec.attention,
        prompt_tokens=prompt_tokens,
    )
    context = PassContext(
        spec=spec,
        model=model,
        device=device,
        prompt_ids=ids.to(device.kind),
        folder=folder,
        report=lambda done, total, what: channel.send("progress", done=done, total=total, what=what),
    )
    folder.mkdir(parents=True, exist_ok=True)
    outcome = run_pass(name, context)
    channel.send(
        "done",
        status=outcome.status,
        reason=outcome.reason,
        clock=asdict(outcome.clock),
        detail=outcome.detail,
    )


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stderr.flush()
    # The parent has all that it needs; tearing torch down can take seconds and, with some backends, crash.
    os._exit(code)
