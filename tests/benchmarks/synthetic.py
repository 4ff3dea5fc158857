"""Traces that the benchmarks make: of the form that PyTorch's profiler writes, of any size, the same for one size."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

_EVENTS_A_UNIT = 6
_UNITS_A_STEP = 200


def gpu_trace(path: Path, events: int) -> Path:
    """Decode steps of operators, launches and kernels, `events` of them; made once, by way of a temporary name."""
    if not path.exists():
        part = path.with_name(path.name + ".part")
        with part.open("w") as file:
            file.write('{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[\n')
            file.writelines(_lines(events))
            file.write("],\n")
            file.write('"traceName":"synthetic","displayTimeUnit":"ms","baseTimeNanoseconds":0}\n')
        os.replace(part, path)
    return path


def _lines(events: int) -> Iterator[str]:
    yield '{"ph":"M","name":"process_name","pid":100,"tid":0,"ts":0,"args":{"name":"python"}},\n'
    yield '{"ph":"M","name":"process_labels","pid":0,"tid":0,"ts":0,"args":{"labels":"GPU 0"}}'
    at, written, unit, step = 1_000_000_000, 2, 0, 0
    while written < events:
        begin, rows = at, []
        for _ in range(min(_UNITS_A_STEP, max(1, (events - written) // _EVENTS_A_UNIT))):
            rows += _unit(unit, at)
            unit += 1
            at += 30_000
        name = "inference.prefill" if step == 0 else "inference.decode_step"
        rows.append(
            f'{{"ph":"X","cat":"user_annotation","name":"{name}","pid":100,"tid":100,'
            f'"ts":{_us(begin - 1000)},"dur":{_us(at - begin)},'
            f'"args":{{"External id":{10_000_000 + step},"Ev Idx":{step}}}}}'
        )
        at += 50_000
        written += len(rows)
        step += 1
        yield ",\n" + ",\n".join(rows)


def _unit(n: int, at: int) -> list[str]:
    """One linear layer: an operator in an operator, its launch, the kernel 8 us later, and the arrow between them."""
    host = '"pid":100,"tid":100'
    dims = '"Concrete Inputs":["","",""],"Input type":["c10::BFloat16","c10::BFloat16","c10::BFloat16"]'
    shape = '"Input Strides":[[1536,1536,1],[1,1536],[1]],"Input Dims":[[1,1,1536],[1536,1536],[1536]]'
    kernel = f"ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x{n % 40}_tn"
    launched, ran = at + 6_000, at + 14_000
    arrow = f'"id":{n},"cat":"ac2g","name":"ac2g"'
    return [
        f'{{"ph":"X","cat":"cpu_op","name":"aten::linear",{host},"ts":{_us(at)},"dur":{_us(20_000)},'
        f'"args":{{"External id":{2 * n + 1},"Record function id":0,{dims},{shape},"Ev Idx":{2 * n}}}}}',
        f'{{"ph":"X","cat":"cpu_op","name":"aten::addmm",{host},"ts":{_us(at + 2_000)},"dur":{_us(15_000)},'
        f'"args":{{"External id":{2 * n + 2},"Record function id":0,{dims},{shape},"Ev Idx":{2 * n + 1}}}}}',
        f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel",{host},"ts":{_us(launched)},"dur":{_us(4_000)},'
        f'"args":{{"External id":{2 * n + 2},"cbid":211,"correlation":{n + 1}}}}}',
        f'{{"ph":"X","cat":"kernel","name":{json.dumps(kernel)},"pid":0,"tid":7,"ts":{_us(ran)},"dur":{_us(12_345)},'
        f'"args":{{"External id":{2 * n + 2},"queued":0,"device":0,"context":1,"stream":7,"correlation":{n + 1},'
        f'"registers per thread":154,"shared memory":73728,"blocks per SM":0.88,"warps per SM":3.5,'
        f'"grid":[24,1,4],"block":[128,1,1],"est. achieved occupancy %":6}}}}',
        f'{{"ph":"s",{arrow},{host},"ts":{_us(launched)}}}',
        f'{{"ph":"f",{arrow},"pid":0,"tid":7,"ts":{_us(ran)},"bp":"e"}}',
    ]


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
