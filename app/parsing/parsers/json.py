"""JSON and JSON Lines: flat records become a table, anything else a text with headings.

What begins like JSON and is none is plain text; what is JSON and only ends too early is damaged.
"""

import re

from app.parsing.decoded import read_text
from app.parsing.document import Element, ParsedDocument
from app.parsing.parsers.json_outline import Outline
from app.parsing.parsers.json_values import JsonText, NotJson
from app.parsing.parsers.text import text_elements
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_STRUCTURE = re.compile(r'\s*(?:\{\s*"(?:[^"\\]|\\.){0,200}"\s*:|\[\s*[\[{"])')


class JsonParser:
    def parse(self, source: Source) -> ParsedDocument:
        text, encoding, warnings = read_text(source)
        content = JsonText(text)
        try:
            elements = _elements(content, source.limits.cells)
            if content.broken_lines:
                warnings.append(_left_out(content.broken_lines))
        except NotJson as failure:
            if failure.cut_off and _STRUCTURE.match(text):
                raise parse_failure("damaged", "It ends in the middle of a value.") from failure
            line = text.count("\n", 0, failure.position) + 1
            warnings.append(f"It is no valid JSON (line {line}); it was read as plain text.")
            elements = list(text_elements(text))
        except RecursionError as error:
            raise parse_failure("too_complex", "Its values are nested too deeply.") from error
        return ParsedDocument(
            media_type=source.media_type,
            parser="json 1",
            elements=elements,
            metadata={"encoding": encoding},
            warnings=warnings,
        )


def _elements(content: JsonText, max_cells: int) -> list[Element]:
    outline = Outline(max_cells)
    if content.is_lines():
        outline.items(content.lines())
    elif content.is_array():
        outline.items(content.items())
    else:
        outline.value(content.value())
    return outline.elements


def _left_out(lines: list[int]) -> str:
    named = ", ".join(map(str, lines[:10])) + (", …" if len(lines) > 10 else "")
    return f"{len(lines)} lines are no valid JSON and were left out: {named}."
