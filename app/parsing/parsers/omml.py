"""Formulas of Office files (ECMA-376 part 1, 22.1) in one line: `x^2`, `a/(b+c)`, `√(x)`."""

from collections.abc import Callable, Sequence

from lxml import etree

from app.parsing.parsers.xml_tree import attribute, children, first, local_name


def grouped(part: str) -> str:
    """In brackets, where it is more than one name or number."""
    return part if len(part) == 1 or part.isalnum() else f"({part})"


def formula_text(node: etree._Element) -> str:
    """An `oMath`, or any part of one. libxml2 bounds their depth."""
    name = local_name(node)
    if name == "t":
        return node.text or ""
    if name.endswith("Pr"):
        return ""
    write = _WRITTEN.get(name)
    if write is not None:
        return write(node)
    separator = {"m": "; ", "eqArr": "; ", "mr": " "}.get(name, "")
    return separator.join(filter(None, map(formula_text, children(node))))


def _argument(node: etree._Element, name: str) -> str:
    found = first(node, name)
    return formula_text(found) if found is not None else ""


def _with_signs(base: str, *signs: tuple[str, str]) -> Callable[[etree._Element], str]:
    def write(node: etree._Element) -> str:
        written = ((sign, _argument(node, name)) for sign, name in signs)
        return _argument(node, base) + "".join(sign + grouped(part) for sign, part in written if part)

    return write


def _fraction(node: etree._Element) -> str:
    bar = "¦" if _property(node, "fPr", "type", "") == "noBar" else "/"
    return f"{grouped(_argument(node, 'num'))}{bar}{grouped(_argument(node, 'den'))}"


def _root(node: etree._Element) -> str:
    degree, inner = _argument(node, "deg"), grouped(_argument(node, "e"))
    return f"{inner}^(1/{degree})" if degree else f"√{inner}"


def _big_operator(node: etree._Element) -> str:
    sign = _property(node, "naryPr", "chr", "∫")
    limits = ((mark, _argument(node, name)) for mark, name in (("_", "sub"), ("^", "sup")))
    return sign + "".join(mark + grouped(limit) for mark, limit in limits if limit) + " " + _argument(node, "e")


def _delimited(node: etree._Element) -> str:
    begin, end, between = (
        _property(node, "dPr", name, default) for name, default in (("begChr", "("), ("endChr", ")"), ("sepChr", "|"))
    )
    inner: Sequence[str] = [formula_text(child) for child in children(node) if local_name(child) == "e"]
    return begin + between.join(inner) + end


def _property(node: etree._Element, properties: str, name: str, default: str) -> str:
    found = first(node, properties, name)
    return default if found is None else attribute(found, "val")


_WRITTEN: dict[str, Callable[[etree._Element], str]] = {
    "f": _fraction,
    "rad": _root,
    "nary": _big_operator,
    "d": _delimited,
    "sSup": _with_signs("e", ("^", "sup")),
    "sSub": _with_signs("e", ("_", "sub")),
    "sSubSup": _with_signs("e", ("_", "sub"), ("^", "sup")),
    "limLow": _with_signs("e", ("_", "lim")),
    "limUpp": _with_signs("e", ("^", "lim")),
}
