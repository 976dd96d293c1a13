"""XML from strangers, and short ways through it.

Elements are compared by local name: the namespaces of office formats differ by version and in nothing else that
matters here. Entities are never expanded, nothing is fetched, and libxml2's own bounds on depth and text stay on.
"""

from collections.abc import Callable, Iterator

from lxml import etree

from app.parsing.reasons import parse_failure


def parse_xml(content: bytes) -> etree._Element:
    """The root element.

    Raises `lxml.etree.XMLSyntaxError`; `ParseFailed` (`too_complex`) beyond libxml2's bounds: 256 levels, 10 MB of
    one text, and entities that multiply.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        if getattr(error, "code", None) == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
            raise parse_failure("too_complex") from error
        raise


def local_name(node: etree._Element) -> str:
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(node: etree._Element) -> Iterator[etree._Element]:
    return node.iterchildren("*")


def first(node: etree._Element | None, *names: str) -> etree._Element | None:
    """The first child of that local name, the first child of that one by the next name, and so on."""
    for name in names:
        if node is None:
            return None
        node = next(node.iterchildren("{*}" + name), None)
    return node


def attribute(node: etree._Element | None, name: str) -> str:
    """The value of an attribute in any namespace, empty where it is missing."""
    return "" if node is None else _value(node, lambda key: key.rpartition("}")[2] == name)


def qualified_attribute(node: etree._Element, name: str) -> str:
    """The value of an attribute in any namespace but none, empty where it is missing."""
    return _value(node, lambda key: key.endswith("}" + name))


def _value(node: etree._Element, is_wanted: Callable[[str], bool]) -> str:
    # By keys: libxml2 looks for a value from the first attribute on, and for all of them in time by their square.
    key = next((key for key in map(str, node.attrib) if is_wanted(key)), None)
    return "" if key is None else str(node.get(key))


def number(text: str, default: int = 0) -> int:
    """A whole number as attributes hold it; `default` where it is none, or of more digits than any real one."""
    digits = text.strip()
    bare = digits.removeprefix("-")
    return int(digits) if bare.isascii() and bare.isdecimal() and len(bare) <= 12 else default
