"""Citation markers in text that a model streams. The server owns them: `[n]` stays if n is a source of this turn.

Models write markers in many ways: `[1]`, `[1, 2]`, `【1】`, `［1］`, `[^1]`, `[source 1]`. All become `[1]`, `[1][2]`.
Not markers are brackets in code, and numbers of four digits or more, which are years (国发[2024]5号) and not sources.
"""

import re
from collections.abc import Container

_OPEN, _CLOSE = "[\\[【［]", "[\\]】］]"
_WORD = "(?:sources?|passages?|来源|资料|段落)"
_INNER = rf"\s{{0,3}}\^?\s{{0,2}}(?:{_WORD}\s{{0,2}}:?\s{{0,2}})?"
_DAGGER = r"(?:†[^\]】］\n]{0,20})"  # 【1†source】
_NUMBER = rf"\d{{1,3}}{_DAGGER}?"
_MORE = rf"(?:\s{{0,2}}[,，、;；]\s{{0,2}}\^?{_NUMBER}){{0,9}}"

_TOKEN = re.compile(
    rf"(?P<marker>(?P<space>[ \t]{{0,8}}){_OPEN}{_INNER}(?P<numbers>{_NUMBER}{_MORE})\s{{0,3}}{_CLOSE})"
    r"|(?P<fence>```)|(?P<tick>`)|(?P<text>[^\[【［`\s]+|.)",
    re.DOTALL | re.IGNORECASE,
)
_UNFINISHED = re.compile(
    rf"[ \t]{{0,8}}(?:{_OPEN}[\s^]{{0,5}}[a-z来源资料段落]{{0,8}}[\s:]{{0,4}}[\d\s,，、;；^]{{0,60}}{_DAGGER}?)?"
    "|`{1,2}",
    re.IGNORECASE,
)
MARKER_GROUP = re.compile(r"\[\d{1,3}\](?:\[\d{1,3}\])*")
"""One or more markers in a row, as this module writes them."""


class MarkerFilter:
    """Passes streamed text on, with markers brought into one form and invented ones taken out.

    What may turn out to be a marker is held back until it is known, at most some ninety characters.
    """

    def __init__(self, sources: Container[int]) -> None:
        self._sources = sources
        self._held = ""
        self._in_fence = False
        self._in_code = False

    def feed(self, piece: str) -> str:
        return self._run(self._held + piece, final=False)

    def finish(self) -> str:
        """What was held back, at the end of the text."""
        return self._run(self._held, final=True)

    def _run(self, text: str, *, final: bool) -> str:
        out: list[str] = []
        position = 0
        while position < len(text):
            if not final and _UNFINISHED.fullmatch(text, position):
                break
            token = _TOKEN.match(text, position)
            assert token is not None  # noqa: S101 - the last alternative matches any character
            out.append(self._token(token))
            position = token.end()
        self._held = text[position:]
        return "".join(out)

    def _token(self, token: re.Match[str]) -> str:
        kind, text = token.lastgroup, token.group()
        if kind == "fence":
            self._in_fence, self._in_code = not self._in_fence, False
        elif kind == "tick" and not self._in_fence:
            self._in_code = not self._in_code
        elif text == "\n":
            self._in_code = False
        elif token["marker"] and not (self._in_fence or self._in_code):
            numbers = map(int, re.findall(r"\d{1,3}", re.sub(_DAGGER, "", token["numbers"])))
            valid = [number for number in dict.fromkeys(numbers) if number in self._sources]
            return token["space"] + "".join(f"[{number}]" for number in valid) if valid else ""
        return text


def marked_segments(text: str) -> list[tuple[list[int], str]]:
    """Each group of markers with the words before it, back to the group before. Brackets in code don't count."""
    plain = re.sub(r"```.*?(?:```|\Z)|`[^`\n]*`", lambda code: "\0" * len(code.group()), text, flags=re.DOTALL)
    segments: list[tuple[list[int], str]] = []
    start = 0
    for group in MARKER_GROUP.finditer(plain):
        segments.append(([int(number) for number in re.findall(r"\d+", group.group())], text[start : group.start()]))
        start = group.end()
    return segments
