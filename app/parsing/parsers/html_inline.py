"""What stands in a line of HTML and is more than its letters: formulas (MathML) and readings of characters (ruby)."""

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from app.parsing.parsers.omml import grouped

_MAX_DEPTH = 50
_SCRIPTS = {
    "msup": ("^",),
    "mover": ("^",),
    "msub": ("_",),
    "munder": ("_",),
    "msubsup": ("_", "^"),
    "munderover": ("_", "^"),
    "mfrac": ("/",),
}
_UNSEEN = frozenset(("annotation", "annotation-xml", "mphantom"))


def element_children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        if child.is_element_node:
            yield child
        child = child.next


def math_text(math: LexborNode) -> str:
    """A formula in one line: as TeX where the page says it, else `x^2`, `a/(b+c)`, `√(x)`."""
    said = (math.attributes.get("alttext") or "").strip()
    for annotation in math.css("annotation"):
        if not said and "tex" in (annotation.attributes.get("encoding") or "").lower():
            said = annotation.text(deep=True).strip()
    return said or _linear(math, 0)


def _linear(node: LexborNode, depth: int) -> str:
    inner = list(element_children(node))
    if not inner or depth > _MAX_DEPTH:
        return "".join(node.text(deep=True).split(" ")).strip() if node.tag != "mtext" else node.text(deep=True)
    parts = [_linear(child, depth + 1) for child in inner if child.tag not in _UNSEEN]
    signs = _SCRIPTS.get(node.tag or "", ())
    if signs and len(parts) == len(signs) + 1:
        base = grouped(parts[0]) if node.tag == "mfrac" else parts[0]
        return base + "".join(sign + grouped(part) for sign, part in zip(signs, parts[1:], strict=True))
    if node.tag == "msqrt":
        return "√" + grouped("".join(parts))
    if node.tag == "mroot" and len(parts) == 2:
        return f"{grouped(parts[0])}^(1/{parts[1]})"
    return {"mtable": "; ", "mtr": " "}.get(node.tag or "", "").join(parts)


def ruby_text(ruby: LexborNode) -> str:
    """The characters, and how they are read after them: `漢字(かんじ)`, so that words are found."""
    base: list[str] = []
    reading: list[str] = []
    stack = [(ruby, base)]
    while stack:
        node, part = stack.pop()
        if node.is_text_node:
            part.append((node.text_content or "").strip())
        child = node.last_child
        while child is not None:
            if child.tag not in ("rp", "script", "style"):
                stack.append((child, reading if child.tag in ("rt", "rtc") else part))
            child = child.prev
    said = "".join(reading)
    return "".join(base) + (f"({said})" if said else "")
