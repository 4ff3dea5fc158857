"""A store in memory with all tables, views and reference facts, and a made-up run in it."""

from __future__ import annotations

import json
from typing import Any

from analyze import reference
from analyze.sql_text import sql_text
from analyze.store import _creation_order, _view_texts
from tests.unit.analyze.rows import RUN, Store


def without_comments(sql: str) -> str:
    """The statements without COMMENT ON, which take most of the time of making a store."""
    return "\n".join(line for line in sql.splitlines() if not line.startswith("COMMENT ON"))


class Answers(Store):
    """Everything is there, nothing is in it but the reference facts."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("schema_instruments.sql", "schema_mac.sql", "schema_derived.sql", "schema_reference.sql"):
            self.con.execute(without_comments(sql_text(name)))
        texts = _view_texts()
        for name in _creation_order(texts):
            self.con.execute(without_comments(texts[name]))
        reference.refresh(self.con)
        self._derives = True

    def run(
        self, *, architecture: dict[str, Any] | None = None, machine: dict[str, Any] | None = None, **values: Any
    ) -> None:
        """A row of runs; machine goes into its manifest."""
        row = {"run_id": RUN, "batch_size": 1, "logits": "all", "device": "cpu", "dtype": "float32", **values}
        if architecture is not None:
            row["architecture"] = json.dumps(architecture)
        row["manifest"] = json.dumps({"machine": machine or {}})
        self.add("runs", **row)

    def phase(self, phase: str, step: int, start: int, dur: int, **values: Any) -> None:
        self.add("phases", **{"phase": phase, "step": step, "start_ns": start, "dur_ns": dur, **values})

    def dicts(self, sql: str) -> list[dict[str, Any]]:
        self.derive()
        cursor = self.con.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def decoder(
    *,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    intermediate: int,
    vocabulary: int,
    parameters: int,
    element_bytes: int,
    tied: bool = True,
    **layer: Any,
) -> dict[str, Any]:
    """Architecture facts as a bundle's manifest has them, all layers alike."""
    kind = {
        "kind": "full",
        "kv_heads": kv_heads,
        "key_dim": head_dim,
        "value_dim": head_dim,
        "window": None,
        "capacity": None,
    }
    return {
        "model_type": "made_up", "layers": layers, "hidden_size": hidden, "heads": heads, "kv_heads": kv_heads,
        "head_dim": head_dim, "intermediate_size": intermediate, "vocab_size": vocabulary, "parameters": parameters,
        "weight_bytes": parameters * element_bytes, "tied_embeddings": tied, "kv_element_bytes": element_bytes,
        "kv_layers": [{**kind, **layer}] * layers,
    }  # fmt: skip


# Sizes from the models' public config.json; parameters as transformers counts them.
QWEN = decoder(
    layers=28, hidden=1536, heads=12, kv_heads=2, head_dim=128, intermediate=8960, vocabulary=151_936,
    parameters=1_543_714_304, element_bytes=2,
)  # fmt: skip
SMOLLM2 = decoder(
    layers=30, hidden=576, heads=9, kv_heads=3, head_dim=64, intermediate=1536, vocabulary=49_152,
    parameters=134_515_008, element_bytes=4,
)  # fmt: skip
