"""Phase grammars: which names in a trace mark a phase, and what they say of it. The rules are data (TOML)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from analyze.errors import PhasescopeError

_PARTS = ("sequences", "tokens", "cached_tokens")
_COUNTS = frozenset([*_PARTS, *(f"{side}_{part}" for side in ("prefill", "decode") for part in _PARTS)])
_GROUPS = _COUNTS | {"mode", "keys"}
_KEY = re.compile(r"(\w+)=(\d+)")
# A count with more digits is none: it would not fit its column.
_DIGITS, _SEQUENCE_DIGITS = 18, 9


@dataclass(frozen=True)
class Mark:
    """What a name says: the phase, and the counts of table `phases`, None where it does not state them.

    cached_tokens are summed over the sequences.
    """

    phase: str
    rule: str
    sequences: int | None = None
    tokens: int | None = None
    cached_tokens: int | None = None
    prefill_tokens: int | None = None
    decode_tokens: int | None = None


@dataclass(frozen=True)
class Rule:
    """One rule of a grammar; the head of grammars.toml says what its fields mean."""

    name: str
    pattern: str
    phase: str | None = None
    phases: dict[str, str] = field(default_factory=dict)
    ignore_case: bool = False
    key_columns: dict[str, str] = field(default_factory=dict)
    tokens_are_sequences: list[str] = field(default_factory=list)
    yields_to_inner: bool = False
    engine_steps: bool = False
    fallback: bool = False
    argument: str | None = None
    note: str | None = None

    def match(self, text: str) -> Mark | None:
        """The mark in a name (or, with `argument`, in that argument's value); None where it is none."""
        found = re.fullmatch(self.pattern, text, re.IGNORECASE if self.ignore_case else 0)
        if found is None:
            return None
        groups = found.groupdict()
        mode, keys = groups.pop("mode", None), groups.pop("keys", None)
        stated = {name: value for name, value in groups.items() if value is not None}
        if keys:
            found_keys = dict(_KEY.findall(keys))
            for key, column in self.key_columns.items():
                if key in found_keys:
                    stated.setdefault(column, found_keys[key])
        counts = {name: int(value) for name, value in stated.items() if len(value) <= _digits(name)}
        if mode in self.tokens_are_sequences and "sequences" in counts:
            counts.setdefault("tokens", counts["sequences"])
        return self._mark(mode, counts)

    def _mark(self, mode: str | None, counts: dict[str, int]) -> Mark:
        if self.phase is not None:
            phase = self.phase
        elif mode is not None:
            phase = self.phases.get(mode.lower() if self.ignore_case else mode, "unknown")
        else:
            phase = _by_counts(counts)
        totals = {part: _total(counts, part) for part in _PARTS}
        sides = {f"{side}_tokens": counts.get(f"{side}_tokens") for side in ("prefill", "decode")}
        if phase in ("prefill", "decode") and totals["tokens"] is not None:
            other = "decode" if phase == "prefill" else "prefill"
            sides = {f"{phase}_tokens": totals["tokens"], f"{other}_tokens": 0}
        return Mark(phase, self.name, **totals, **sides)


def _digits(column: str) -> int:
    return _SEQUENCE_DIGITS if column.endswith("sequences") else _DIGITS


def _by_counts(counts: dict[str, int]) -> str:
    """Phase by the numbers of sequences on each side, or of tokens where a rule states only those."""
    sides = [counts.get(f"{side}_sequences", counts.get(f"{side}_tokens", 0)) for side in ("prefill", "decode")]
    match [count > 0 for count in sides]:
        case [True, True]:
            return "mixed"
        case [True, False]:
            return "prefill"
        case [False, True]:
            return "decode"
    return "idle"


def _total(counts: dict[str, int], part: str) -> int | None:
    """The count as stated, else the sum of both sides; a side that is not stated is 0 only without sequences."""
    if part in counts:
        return counts[part]
    total = None
    for side in ("prefill", "decode"):
        value = counts.get(f"{side}_{part}")
        if value is not None:
            total = (total or 0) + value
        elif counts.get(f"{side}_sequences") != 0:
            return None
    return total


@dataclass(frozen=True)
class Grammar:
    """Rules in the order in which they are tried."""

    rules: tuple[Rule, ...]

    @cached_property
    def _sieve(self) -> re.Pattern[str]:
        """One pattern that lets every mark through and most other names not: traces hold millions of names."""
        patterns = []
        for rule in self.rules:
            if rule.argument is None:
                if "(?P=" in rule.pattern:
                    return re.compile("")
                pattern = re.sub(r"\(\?P<\w+>", "(?:", rule.pattern)
                patterns.append(f"(?i:{pattern})" if rule.ignore_case else f"(?:{pattern})")
        try:
            return re.compile("|".join(patterns))
        except re.error:  # a user's pattern with flags of its own inside
            return re.compile("")

    def find(self, name: str) -> tuple[Rule, Mark] | None:
        """The first rule that knows this name, with what it says; None where none does."""
        if self._sieve.match(name) is None:
            return None
        for rule in self.rules:
            if rule.argument is None and (mark := rule.match(name)) is not None:
                return rule, mark
        return None

    def argument_rules(self) -> list[Rule]:
        """The rules that look at an argument of the event instead of its name."""
        return [rule for rule in self.rules if rule.argument is not None]

    def rule(self, name: str) -> Rule:
        """The rule of this name. Raises KeyError where there is none."""
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)


def builtin_grammar() -> Grammar:
    """The grammars that come with phasescope."""
    text = resources.files("analyze").joinpath("grammars.toml").read_text("utf-8")
    return Grammar(tuple(_parse(text, "grammars.toml")))


def load_grammar(user_rules: Path | None = None) -> Grammar:
    """The built-in grammars, with the rules of a TOML file of the same form before them.

    Raises PhasescopeError naming the file, the rule and what is wrong with it.
    """
    builtin = builtin_grammar()
    if user_rules is None:
        return builtin
    try:
        text = user_rules.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PhasescopeError(f"Could not read the phase rules {user_rules}: {reason}.") from error
    rules = _parse(text, str(user_rules))
    own = {rule.name for rule in rules}
    return Grammar((*rules, *(rule for rule in builtin.rules if rule.name not in own)))


def _parse(text: str, source: str) -> list[Rule]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PhasescopeError(f"The phase rules {source} are no valid TOML: {error}.") from error
    tables = data.pop("rule", None)
    if data or not isinstance(tables, list) or not tables:
        raise PhasescopeError(f"The phase rules {source} must hold [[rule]] tables and nothing else.")
    rules: list[Rule] = []
    for number, table in enumerate(tables, 1):
        label = table.get("name") if isinstance(table, dict) else None
        where = f"Rule {label if isinstance(label, str) else number!r} of the phase rules {source}"
        rule = _rule(table, where)
        if any(rule.name == other.name for other in rules):
            raise PhasescopeError(f"{where} is there twice; give each its own name.")
        rules.append(rule)
    return rules


_KINDS = {"str": str, "str | None": str, "bool": bool, "dict[str, str]": dict, "list[str]": list}


def _rule(table: Any, where: str) -> Rule:
    """A checked rule. Raises PhasescopeError beginning with `where`."""
    if not isinstance(table, dict):
        raise PhasescopeError(f"{where} is no table; write [[rule]] above it.")
    known = {item.name: _KINDS[str(item.type)] for item in fields(Rule)}
    for key, value in table.items():
        if key not in known:
            raise PhasescopeError(f"{where} has an unknown key {key!r}; known are {', '.join(known)}.")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if not isinstance(value, known[key]) or not all(isinstance(part, str) for part in inner):
            raise PhasescopeError(f"{where}: {key} must be {_form(known[key])}.")
    for key in ("name", "pattern"):
        if not table.get(key):
            raise PhasescopeError(f"{where} has no {key}.")
    rule = Rule(**table)
    _check(rule, where)
    return rule


def _form(kind: type) -> str:
    return {str: "a text", bool: "true or false", dict: "a table of texts", list: "a list of texts"}[kind]


def _check(rule: Rule, where: str) -> None:
    try:
        groups = set(re.compile(rule.pattern).groupindex)
    except re.error as error:
        raise PhasescopeError(f"{where}: the pattern is no regular expression: {error}.") from error
    if unknown := groups - _GROUPS:
        raise PhasescopeError(
            f"{where}: unknown group {sorted(unknown)[0]!r} in the pattern; known are {', '.join(sorted(_GROUPS))}."
        )
    if rule.phase is not None and rule.phases:
        raise PhasescopeError(f"{where} has both phase and phases; keep one.")
    if rule.phases and "mode" not in groups:
        raise PhasescopeError(f"{where} has phases but no group (?P<mode>...) in its pattern.")
    if (
        rule.phase is None
        and not rule.phases
        and not any(group.startswith(("prefill_", "decode_")) for group in groups)
    ):
        raise PhasescopeError(
            f"{where} does not tell a phase; give phase, or phases with a group (?P<mode>...), or groups "
            "such as (?P<prefill_sequences>...) and (?P<decode_sequences>...)."
        )
    if rule.key_columns and "keys" not in groups:
        raise PhasescopeError(f"{where} has key_columns but no group (?P<keys>...) in its pattern.")
    if unknown := set(rule.key_columns.values()) - _COUNTS:
        raise PhasescopeError(
            f"{where}: key_columns names {sorted(unknown)[0]!r}; known are {', '.join(sorted(_COUNTS))}."
        )
