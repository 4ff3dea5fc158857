"""The ids of one exported document: one space for all tags and all depths.

Any later element may refer to any id, so all of them are kept until the document ends; hence the compact
form: twelve bytes for a number, an object more for anything else.
"""

from array import array

from analyze.instruments.values import Value

MAX_TAGS = 30_000
_NUMBER, _OBJECT, _OPEN = 0, 1, 2
_INT64 = range(-(2**63), 2**63)


class IdFault(Exception):
    """A reference that cannot be resolved, or an id that cannot be taken; its text says which."""


class IdTable:
    """Values by id. Ids count up from 1 in every export seen, so an id is its own place until one is skipped."""

    def __init__(self) -> None:
        self._tags: dict[str, int] = {}
        self._tag_names: list[str] = []
        self._codes = array("I", [_OPEN])  # 4 * tag + state
        self._values = array("q", [0])  # the number itself, or its index among the objects
        self._objects: list[Value] = []
        self._places: dict[int, int] | None = None  # id → place, once they differ

    def open(self, text: str, tag: str) -> int:
        """Take an id for an element that has begun; returns its place. Raises IdFault when it is taken."""
        number = _number(text)
        place = len(self._codes)
        if self._places is None and number != place:
            if 0 < number < place:
                raise IdFault(f"id {number} is defined twice")
            self._places = {known: known for known in range(1, place)}
        if self._places is not None and self._places.setdefault(number, place) != place:
            raise IdFault(f"id {number} is defined twice")
        code = self._tags.get(tag)
        if code is None:
            if len(self._tags) >= MAX_TAGS:
                raise IdFault(f"there are over {MAX_TAGS} kinds of element")
            code = self._tags[tag] = len(self._tag_names)
            self._tag_names.append(tag)
        self._codes.append(4 * code + _OPEN)
        self._values.append(0)
        return place

    def close(self, place: int, value: Value) -> None:
        """Give the value of an element that has ended."""
        if type(value) is int and value in _INT64:
            self._values[place] = value
            self._codes[place] += _NUMBER - _OPEN
            return
        self._values[place] = len(self._objects)
        self._objects.append(value)
        self._codes[place] += _OBJECT - _OPEN

    def get(self, text: str, tag: str) -> Value:
        """The value that a `ref` of a `tag` element stands for. Raises IdFault."""
        number = _number(text)
        place = number if self._places is None else self._places.get(number, 0)
        if not 0 < place < len(self._codes):
            raise IdFault(f"ref {number} points to an id that was not defined before it")
        code = self._codes[place]
        state = code & 3
        if state == _OPEN:
            raise IdFault(f"ref {number} stands inside the element that it points to")
        if self._tag_names[code >> 2] != tag:
            raise IdFault(f"<{tag}> refers to id {number}, which is a <{self._tag_names[code >> 2]}>")
        value = self._values[place]
        return value if state == _NUMBER else self._objects[value]


def _number(text: str) -> int:
    if len(text) <= 18 and text.isdigit() and text.isascii():
        return int(text)
    raise IdFault(f"id {text[:40]!r} is not a number")
