"""The shapes of a slide: where they stand, what their placeholder is, which belong to one group."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from app.parsing.document import BoundingBox
from app.parsing.parsers.xml_tree import attribute, children, first, local_name, number

_EMU_PER_POINT = 12_700
_READ = frozenset(("sp", "graphicFrame", "cxnSp"))
# What a placeholder's type is called on the master (ECMA-376 part 1, 19.7.10).
_ON_MASTER = {"ctrTitle": "title", "subTitle": "body", "obj": "body", "": "body"}


@dataclass(frozen=True, slots=True)
class Placement:
    """Maps a group's own coordinates to the slide's: `x * scale + shift`, in EMU."""

    scale_x: float = 1.0
    shift_x: float = 0.0
    scale_y: float = 1.0
    shift_y: float = 0.0

    def box(self, frame: etree._Element | None) -> BoundingBox | None:
        """The box of an `xfrm` in points, None where it says no place."""
        offset, extent = first(frame, "off"), first(frame, "ext")
        if offset is None or extent is None:
            return None
        x, y = number(attribute(offset, "x")), number(attribute(offset, "y"))
        width, height = number(attribute(extent, "cx")), number(attribute(extent, "cy"))
        if 45 <= number(attribute(frame, "rot")) / 60_000 % 180 < 135:  # turned on its side, about its middle
            x, y, width, height = x + (width - height) // 2, y + (height - width) // 2, height, width
        return BoundingBox(
            left=round((x * self.scale_x + self.shift_x) / _EMU_PER_POINT, 2),
            top=round((y * self.scale_y + self.shift_y) / _EMU_PER_POINT, 2),
            right=round(((x + width) * self.scale_x + self.shift_x) / _EMU_PER_POINT, 2),
            bottom=round(((y + height) * self.scale_y + self.shift_y) / _EMU_PER_POINT, 2),
        )

    def inside(self, frame: etree._Element | None) -> "Placement":
        """For the shapes of a group with this `xfrm`."""
        parts = [first(frame, name) for name in ("off", "ext", "chOff", "chExt")]
        if any(part is None for part in parts):
            return self
        offset, extent, inner_offset, inner_extent = parts
        scale_x = number(attribute(extent, "cx")) / (number(attribute(inner_extent, "cx")) or 1) or 1.0
        scale_y = number(attribute(extent, "cy")) / (number(attribute(inner_extent, "cy")) or 1) or 1.0
        shift_x = number(attribute(offset, "x")) - number(attribute(inner_offset, "x")) * scale_x
        shift_y = number(attribute(offset, "y")) - number(attribute(inner_offset, "y")) * scale_y
        return Placement(
            self.scale_x * scale_x,
            shift_x * self.scale_x + self.shift_x,
            self.scale_y * scale_y,
            shift_y * self.scale_y + self.shift_y,
        )


@dataclass(slots=True)
class Shape:
    """A shape with text, a frame of a table or graphic, or a group of them."""

    node: etree._Element
    box: BoundingBox | None
    placeholder: str | None = None
    """Its type, empty for the general kind; None where it is no placeholder."""
    index: str = ""
    members: list["Shape"] = field(default_factory=list)

    @property
    def is_group(self) -> bool:
        return local_name(self.node) == "grpSp"


@dataclass(slots=True)
class Inherited:
    """What a slide's placeholders take over: those of its layout, then those of the master."""

    layout: list[Shape]
    master: list[Shape]

    def of(self, shape: Shape) -> list[Shape]:
        """The placeholders that this one is based on, nearest first."""
        if shape.placeholder is None:
            return []
        kind = _on_master(shape.placeholder)
        found = next((base for base in self.layout if shape.index and base.index == shape.index), None) or next(
            (base for base in self.layout if not shape.index and _on_master(base.placeholder) == kind), None
        )
        above = next((base for base in self.master if base.placeholder == kind), None)
        return [base for base in (found, above) if base is not None]


def _on_master(placeholder: str | None) -> str | None:
    return _ON_MASTER.get(placeholder, placeholder) if placeholder is not None else None


def placeholders(root: etree._Element | None) -> list[Shape]:
    """Those of a layout or a master."""
    tree = first(root, "cSld", "spTree")
    return [shape for shape in shapes(tree) if shape.placeholder is not None] if tree is not None else []


def shapes(tree: etree._Element, placement: Placement | None = None) -> Iterator[Shape]:
    """What is shown, in the order of the file; hidden shapes and pictures are left out. libxml2 bounds their depth."""
    placement = placement or Placement()
    for node in _shown(tree):
        name = local_name(node)
        if name == "grpSp":
            frame = first(node, "grpSpPr", "xfrm")
            members = list(shapes(node, placement.inside(frame)))
            if members:
                boxes = [member.box for member in members if member.box is not None]
                yield Shape(node, placement.box(frame) or BoundingBox.around(boxes), members=members)
        elif name in _READ:
            frame = first(node, "xfrm") if name == "graphicFrame" else first(node, "spPr", "xfrm")
            mark = _placeholder_mark(node)
            kind = attribute(mark, "type") if mark is not None else None
            yield Shape(node, placement.box(frame), kind, attribute(mark, "idx"))


def _shown(tree: etree._Element) -> Iterator[etree._Element]:
    """Shapes directly inside, the first of alternatives in the place of all."""
    for node in children(tree):
        if local_name(node) == "AlternateContent":
            choice = first(node, "Choice")
            if choice is None:
                choice = first(node, "Fallback")
            if choice is not None:
                yield from _shown(choice)
        elif attribute(_described(node), "hidden") not in ("1", "true"):
            yield node


def _described(node: etree._Element) -> etree._Element | None:
    """`cNvPr`: name, description, and whether it is hidden."""
    head = next((child for child in children(node) if local_name(child).startswith("nv")), None)
    return first(head, "cNvPr")


def _placeholder_mark(node: etree._Element) -> etree._Element | None:
    head = next((child for child in children(node) if local_name(child).startswith("nv")), None)
    return first(head, "nvPr", "ph")
