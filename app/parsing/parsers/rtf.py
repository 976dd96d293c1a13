"""Rich Text Format (RTF 1.9.1): paragraphs by style, lists, tables, notes; Chinese by font and by code page.

Read directly: the libraries there are give plain text alone, and know code pages by document and not by font.
"""

import re
from dataclasses import dataclass, field

from app.parsing.document import ElementKind, ParsedDocument
from app.parsing.parsers.docx_styles import ParagraphStyle, style_by_name
from app.parsing.parsers.rtf_body import Body, CellDefinition, RowDefinition
from app.parsing.parsers.rtf_state import State
from app.parsing.parsers.rtf_text import Encodings, joined_units
from app.parsing.parsers.rtf_tokens import Token, tokens
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_MAX_DEPTH = 1000
_MAX_BASES = 20
# Groups whose text is not the document's: tables of properties, pictures, what repeats on every page, numbers that the
# program made up, fallbacks of what was read already, index entries.
_SKIPPED = frozenset(
    (
        *("colortbl", "pict", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"),
        *("pntext", "listtext", "shprslt", "sp", "nonesttables", "xe", "tc", "rxe", "ftnsep", "ftnsepc", "ftncn"),
        *("aftnsep", "aftnsepc", "aftncn", "comment", "nextfile", "template", "filetbl", "private", "mmathPict"),
        *("upr", "bkmkstart", "bkmkend", "objdata", "objclass", "fldinst", "datafield", "annotation"),
    )
)
_TARGETS = {"fonttbl": "fonts", "stylesheet": "styles", "footnote": "note", "info": "info"}
_IS_MATH_PROPERTY = re.compile("m[A-Za-z]+Pr")
_READ_WITH_STAR = frozenset(("shpinst", "moMath", "moMathPara"))
_CHARACTERS = {
    **{"tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "bullet": "•"},
    **{"ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ", "qmspace": " ", "zwj": "\u200d"},
}
_SYMBOLS = {"~": "\u00a0", "_": "-", "\n": "\n", "\r": "\n", "\t": "\t", "{": "{", "}": "}", "\\": "\\"}
_PLAIN = ParagraphStyle()


class RtfParser:
    def parse(self, source: Source) -> ParsedDocument:
        reader = _Reader(Body(source.limits.cells))
        data = source.path.read_bytes()
        reader.read(data)
        if reader.is_cut_off and not reader.body.elements:
            raise parse_failure("damaged")
        cut = ["The file ends early; what follows is missing."] if reader.is_cut_off else []
        comments = ["Comments were left out."] if reader.has_comments else []
        return ParsedDocument(
            media_type=source.media_type,
            parser="rtf 1",
            title=reader.body.title or reader.properties.get("title", ""),
            elements=reader.body.elements,
            metadata={key: value for key, value in reader.properties.items() if key != "title"},
            warnings=[*cut, *comments],
        )


@dataclass(slots=True)
class _Reader:
    body: Body
    properties: dict[str, str] = field(default_factory=dict)
    is_cut_off: bool = False
    has_comments: bool = False
    _state: State = field(default_factory=State)
    _stack: list[State] = field(default_factory=list)
    _encodings: Encodings = field(default_factory=Encodings)
    _styles: dict[int, ParagraphStyle] = field(default_factory=dict)
    _bases: dict[int, int] = field(default_factory=dict)
    _row: RowDefinition = field(default_factory=RowDefinition)
    _merges: set[str] = field(default_factory=set)
    _bytes: bytearray = field(default_factory=bytearray)
    _units: list[int] = field(default_factory=list)
    _captured: list[str] = field(default_factory=list)
    _default_font: int = 0
    _to_skip: int = 0
    _starred: bool = False
    _opened: bool = False
    """The last token opened a group, or marked it with a star: a destination may follow."""

    def read(self, data: bytes) -> None:
        for token in tokens(data):
            if token.kind == "open":
                self._open()
            elif token.kind == "close":
                self._close()
                if not self._stack:
                    break
            else:
                self._content(token)
        self.is_cut_off = bool(self._stack)
        self._flush()
        self.body.end(self._style())

    def _open(self) -> None:
        self._flush()
        if len(self._stack) >= _MAX_DEPTH:
            raise parse_failure("too_complex", "Its groups are nested too deeply.")
        self._stack.append(self._state)
        self._state = self._state.inherited()
        self._opened, self._starred, self._to_skip = True, False, 0

    def _close(self) -> None:
        self._flush()
        if not self._stack:
            return
        closed, self._state = self._state, self._stack.pop()
        self._opened, self._to_skip = False, 0
        if closed.target == self._state.target and closed.target not in ("styles", "fonts"):
            return
        text = "".join(self._captured)
        if closed.target == "note":
            self.body.note(text)
        elif closed.target in ("title", "author") and text.strip():
            self.properties.setdefault(closed.target, text.strip())
        elif closed.target == "styles":
            style = style_by_name(text.strip().rstrip(";").strip())
            if style is None and closed.outline is not None and 0 <= closed.outline < 9:
                style = ParagraphStyle(ElementKind.HEADING, closed.outline + 1)
            if style is not None:
                self._styles[closed.style] = style
            elif closed.based_on is not None:
                self._bases[closed.style] = closed.based_on
        if closed.target not in ("", "body"):
            self._captured.clear()

    def _content(self, token: Token) -> None:
        if token.kind == "word" and self._opened and self._destination(token.name):
            return
        if token.kind == "symbol" and token.name == "*" and self._opened:
            self._starred = True
            return
        self._opened = False
        if self._to_skip and self._skip_fallback(token):
            return
        if token.kind == "word":
            self._word(token.name, token.number)
        elif not self._state.target:
            return
        elif token.kind == "symbol":
            if token.name in "\r\n":
                self._word("par", None)
            else:
                self._emit(_SYMBOLS.get(token.name, ""))
        elif not self._state.hidden:
            if self._units:
                self._flush()
            self._bytes += token.data

    def _skip_fallback(self, token: Token) -> bool:
        """Whether the token was wholly the fallback of a Unicode escape."""
        if token.kind != "text":
            self._to_skip -= 1
            return token.kind in ("hex", "symbol")
        taken, self._to_skip = min(self._to_skip, len(token.data)), max(self._to_skip - len(token.data), 0)
        rest = token.data[taken:]
        if rest and self._state.target and not self._state.hidden:
            self._flush()
            self._bytes += rest
        return True

    def _destination(self, name: str) -> bool:
        """Whether the first word of a group was one that says where its text goes."""
        starred, self._starred, self._opened = self._starred, False, False
        if name == "annotation":
            self.has_comments = True
        # In Unicode what the rest of the group around it, `upr`, says without.
        if name == "ud" and len(self._stack) > 1:
            self._state.target = self._stack[-2].target
            return True
        if not self._state.target:
            return True
        if name in _TARGETS or (self._state.target == "info" and name in ("title", "author")):
            self._state.target = _TARGETS.get(name, name)
            self._captured.clear()
        elif name == "nesttableprops":
            self._state.nested_properties = True
        elif (
            name in _SKIPPED
            or _IS_MATH_PROPERTY.fullmatch(name)
            or (starred and name not in _READ_WITH_STAR and self._state.target != "styles")
        ):
            self._state.target = ""
            if name in ("listtext", "pntext") and self._stack and self._stack[-1].list_level is None:
                self._stack[-1].list_level = 0
        else:
            return False
        return True

    def _word(self, name: str, number: int | None) -> None:
        if name == "u":
            self._unicode(number or 0)
            return
        self._flush()
        if name in _CHARACTERS:
            self._emit(_CHARACTERS[name])
        elif name == "plain":
            self._state.font, self._state.hidden = self._default_font, False
        elif not (self._state.apply(name, number) or self._encoding_word(name, number or 0)):
            if self._state.target == "body":
                self._body_word(name, number or 0)
            elif name in ("par", "sect"):
                self._emit("\n")

    def _encoding_word(self, name: str, value: int) -> bool:
        if name == "fcharset":
            self._encodings.set_font(self._state.font, value)
        elif name in ("ansicpg", "mac"):
            self._encodings.set_document(value if name == "ansicpg" else 10000)
        elif name == "deff":
            self._default_font = self._state.font = value
        else:
            return False
        return True

    def _body_word(self, name: str, value: int) -> None:
        if self._state.nested_properties and name != "nestrow":
            return
        match name:
            case "par" | "sect" | "page":
                self.body.end_paragraph(self._style(), in_table=self._state.in_table)
            case "trowd":
                self._row = RowDefinition()
            case "trhdr":
                self._row.is_header = True
            case "clmrg" | "clvmrg":
                self._merges.add(name)
            case "cellx":
                self._row.cells.append(CellDefinition(value, "clmrg" in self._merges, "clvmrg" in self._merges))
                self._merges.clear()
            case "cell":
                self.body.end_cell()
            case "row":
                self.body.end_row(self._row)
            case "nestcell" | "nestrow":
                self._emit(" | " if name == "nestcell" else "\n")

    def _unicode(self, value: int) -> None:
        if self._bytes:
            self._flush()
        if self._state.target and not self._state.hidden and -32768 <= value <= 65535:
            self._units.append(value & 0xFFFF)
        self._to_skip = self._state.fallback_length

    def _emit(self, text: str) -> None:
        self._flush()
        if not text or self._state.hidden or not self._state.target:
            return
        if self._state.target == "body":
            self.body.write(text)
        else:
            self._captured.append(text)

    def _flush(self) -> None:
        """What was gathered, decoded in the font that holds until here."""
        if not (self._units or self._bytes):
            return
        text = joined_units(self._units) if self._units else ""
        if self._bytes:
            text += self._encodings.decode(bytes(self._bytes), self._state.font)
        self._units.clear()
        self._bytes.clear()
        if text and self._state.target == "body":
            self.body.write(text)
        elif text and self._state.target:
            self._captured.append(text)

    def _style(self) -> ParagraphStyle:
        """Of the paragraph that ends here."""
        state = self._state
        if state.outline is not None and 0 <= state.outline < 9:
            return ParagraphStyle(ElementKind.HEADING, state.outline + 1)
        number = state.style
        for _ in range(_MAX_BASES):
            if number in self._styles or number not in self._bases:
                break
            number = self._bases[number]
        style = self._styles.get(number, _PLAIN)
        if style.kind is ElementKind.PARAGRAPH and state.list_level is not None:
            return ParagraphStyle(ElementKind.LIST_ITEM, min(max(state.list_level, 0), 8) + 1)
        return style
