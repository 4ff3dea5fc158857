"""A parser for what xctrace writes: it streams, and refuses a DOCTYPE, the way to entities that grow or reach out."""

from __future__ import annotations

from collections.abc import Callable
from xml.parsers import expat


def xml_parser(
    start: Callable[[str, dict[str, str]], object],
    end: Callable[[str], object],
    text: Callable[[str], object],
    what: str,
) -> expat.XMLParserType:
    """An expat parser with these handlers; parsing raises ValueError that `what` holds a DOCTYPE, where it does."""

    def refuse(*_: object) -> None:
        raise ValueError(f"{what} holds a DOCTYPE")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    return parser
