"""JSON read piece by piece: the items of an array or the lines of JSON Lines, one in memory at a time.

Numbers stay as they are written: 2.50 is no 2.5, and an id of twenty digits is no float.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

Value = str | bool | None | list["Value"] | dict[str, "Value"]

_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_SEPARATOR = re.compile(r"[ \t\r\n]*([,\]])[ \t\r\n]*")
_LINES_LOOKED_AT = 10
_decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


class NotJson(Exception):
    """The text is no JSON from `position` on; `cut_off` where it only ends too early."""

    def __init__(self, position: int, *, cut_off: bool) -> None:
        super().__init__(position)
        self.position = position
        self.cut_off = cut_off


@dataclass(slots=True)
class JsonText:
    """A whole text of JSON or JSON Lines."""

    text: str
    broken_lines: list[int] = field(default_factory=list)
    """Numbers of the lines that `lines` left out."""

    def value(self) -> Value:
        """The one value that the text is. Raises `NotJson`, `RecursionError`."""
        start = self._start()
        value, end = self._decode(start)
        if self.text[end:].strip(" \t\r\n\0"):
            raise NotJson(end, cut_off=False)
        return value

    def is_array(self) -> bool:
        return self.text.startswith("[", self._start())

    def items(self) -> Iterator[Value]:
        """The items of the array that the text is. Raises `NotJson` where it stops being one."""
        position = _skip(self.text, self._start() + 1)
        if self.text.startswith("]", position):
            return
        while True:
            value, position = self._decode(position)
            yield value
            separator = _SEPARATOR.match(self.text, position)
            if separator is None:
                raise NotJson(position, cut_off=not self.text[position:].strip())
            position = separator.end()
            if separator[1] == "]":
                if self.text[position:].strip(" \t\r\n\0"):
                    raise NotJson(position, cut_off=False)
                return

    def lines(self) -> Iterator[Value]:
        """The values of JSON Lines. Lines that are no JSON are counted and left out."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if not line.strip(" \t\r\0\ufeff"):
                continue
            try:
                yield JsonText(line).value()
            except NotJson:
                self.broken_lines.append(number)

    def is_lines(self) -> bool:
        """Whether of the first lines that hold anything two or more, and half of them, are a value with an inside."""
        lines = (line for line in self.text[: 4 * 1024 * 1024].split("\n") if line.strip())
        looked_at = [_has_inside(line) for line in islice(lines, _LINES_LOOKED_AT)]
        return sum(looked_at) >= max(2, len(looked_at) / 2)

    def _start(self) -> int:
        return _skip(self.text, 0)

    def _decode(self, position: int) -> tuple[Value, int]:
        try:
            return _decoder.raw_decode(self.text, position)
        except json.JSONDecodeError as error:
            rest = len(self.text.rstrip())
            cut_off = error.pos >= rest - 1 or error.msg.startswith("Unterminated string")
            raise NotJson(error.pos, cut_off=cut_off) from error


def _has_inside(line: str) -> bool:
    try:
        return isinstance(JsonText(line).value(), dict | list)
    except NotJson:
        return False


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
