"""The tokens of RTF 1.9.1: groups, control words, symbols, bytes."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])|([{}])|([^\\{}\r\n]+)", re.DOTALL
)


class Token(NamedTuple):
    kind: Literal["open", "close", "word", "symbol", "hex", "text"]
    name: str = ""
    number: int | None = None
    """A control word's parameter."""
    data: bytes = b""
    """Of text and hex, as written in the file's code page."""


_OPEN, _CLOSE = Token("open"), Token("close")


def tokens(data: bytes) -> Iterator[Token]:
    """All tokens in order; binary data (`\\bin`) is skipped, line ends mean nothing."""
    position = 0
    while match := _TOKEN.search(data, position):
        position = match.end()
        word, number, code, symbol, brace, text = match.groups()
        if brace:
            yield _OPEN if brace == b"{" else _CLOSE
        elif text is not None:
            yield Token("text", data=text)
        elif code is not None:
            yield Token("hex", data=bytes.fromhex(code.decode("ascii")))
        elif symbol is not None:
            yield Token("symbol", name=symbol.decode("latin-1"))
        elif word == b"bin":
            position += max(int(number or b"0"), 0)
        else:
            yield Token("word", word.decode("ascii"), int(number) if number else None)
