"""Formulas in Markdown, as Pandoc and GitHub have them: `$…$` in a line, `$$…$$` in a line or in lines of its own.

Without that their backslashes and underscores would be read as Markdown.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_FENCE = "$$"
_INLINE = re.compile(r"\$\$[^$]{1,5000}\$\$|\$(?!\s)(?:[^$\\\n]|\\.){1,1000}(?<!\s)\$(?!\d)")
_MOST_LINES = 200


def with_formulas(parser: MarkdownIt) -> MarkdownIt:
    """The parser, which then has tokens `math_block` and `math_inline`; the content of the latter has its signs."""
    parser.block.ruler.before("fence", "math_block", _block, {"alt": ["paragraph", "blockquote", "list"]})
    parser.inline.ruler.before("escape", "math_inline", _inline)
    return parser


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start) or not _line(state, start).startswith(_FENCE):
        return False
    first = _line(state, start)
    last = start
    if len(first) < 2 * len(_FENCE) or not first.endswith(_FENCE):
        below = range(start + 1, min(end, start + _MOST_LINES))
        last = next((number for number in below if _line(state, number).endswith(_FENCE)), start)
        if last == start:
            return False
    if not silent:
        token = state.push("math_block", "math", 0)
        lines = "\n".join(_line(state, number) for number in range(start, last + 1))
        token.content = lines.removeprefix(_FENCE).removesuffix(_FENCE).strip()
        token.map = [start, last + 1]
        state.line = last + 1
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()


def _inline(state: StateInline, silent: bool) -> bool:
    found = _INLINE.match(state.src, state.pos) if state.src[state.pos] == "$" else None
    if found is None:
        return False
    if not silent:
        state.push("math_inline", "math", 0).content = found[0]
    state.pos = found.end()
    return True
