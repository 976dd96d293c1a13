"""PowerPoint files written by hand."""

from tests.parsing.office_files import archive

_MAIN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_NAMESPACES = (
    f'xmlns:a="{_MAIN}" xmlns:p="{_SLIDES}" xmlns:r="{_RELATION}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)
EMU = 12_700
"""In a point."""

Members = dict[str, bytes | str]


def pptx(
    *slides: str,
    layout: str = "",
    master: str = "",
    text_styles: str = "",
    notes: dict[int, str] | None = None,
    parts: dict[int, dict[str, tuple[str, str]]] | None = None,
    extra: Members | None = None,
) -> bytes:
    """A presentation of slides given by their shapes.

    `notes` are shapes by slide number (from 1); `parts` are further parts by slide: relationship id to kind and XML.
    """
    members: Members = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": relations({"r1": ("officeDocument", "ppt/presentation.xml")}),
        "ppt/presentation.xml": _root("presentation", _slide_list(len(slides))),
        "ppt/_rels/presentation.xml.rels": relations(
            {f"s{number}": ("slide", f"slides/slide{number}.xml") for number in range(1, len(slides) + 1)}
        ),
        "ppt/slideLayouts/slideLayout1.xml": _root("sldLayout", tree(layout)),
        "ppt/slideLayouts/_rels/slideLayout1.xml.rels": relations({"r1": ("slideMaster", "../slideMasters/m.xml")}),
        "ppt/slideMasters/m.xml": _root("sldMaster", f"{tree(master)}<p:txStyles>{text_styles}</p:txStyles>"),
    }
    for number, shapes in enumerate(slides, start=1):
        targets = {"layout": ("slideLayout", "../slideLayouts/slideLayout1.xml")}
        if number in (notes or {}):
            targets["notes"] = ("notesSlide", f"../notesSlides/n{number}.xml")
            members[f"ppt/notesSlides/n{number}.xml"] = _root("notes", tree((notes or {})[number]))
        for identity, (kind, content) in (parts or {}).get(number, {}).items():
            targets[identity] = (kind, f"../parts/{identity}.xml")
            members[f"ppt/parts/{identity}.xml"] = content
        members[f"ppt/slides/slide{number}.xml"] = _root("sld", tree(shapes))
        members[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(targets)
    return archive({**members, **(extra or {})})


def shape(
    *paragraphs: str, at: tuple[int, int, int, int] | None = None, placeholder: str | None = None, hidden: bool = False
) -> str:
    """A shape with DrawingML paragraphs; `at` is left, top, width, height in points."""
    mark = f"<p:ph {placeholder}/>" if placeholder is not None else ""
    place = frame(at) if at else ""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"{" hidden=" + chr(34) + "1" + chr(34) if hidden else ""}/>'
        f"<p:cNvSpPr/><p:nvPr>{mark}</p:nvPr></p:nvSpPr><p:spPr>{place}</p:spPr>"
        f"<p:txBody><a:bodyPr/><a:lstStyle/>{''.join(paragraphs)}</p:txBody></p:sp>"
    )


def line(text: str, properties: str = "") -> str:
    return f"<a:p><a:pPr {properties}/><a:r><a:t>{text}</a:t></a:r></a:p>"


def bullet(text: str, level: int = 0) -> str:
    return f'<a:p><a:pPr lvl="{level}"><a:buChar char="•"/></a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>'


def frame(at: tuple[int, int, int, int]) -> str:
    left, top, width, height = (value * EMU for value in at)
    return f'<a:xfrm><a:off x="{left}" y="{top}"/><a:ext cx="{width}" cy="{height}"/></a:xfrm>'


def graphic(content: str, at: tuple[int, int, int, int]) -> str:
    place = frame(at).replace("a:xfrm", "p:xfrm")
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="5" name="t"/><p:cNvGraphicFramePr/><p:nvPr/>'
        f"</p:nvGraphicFramePr>{place}<a:graphic><a:graphicData>{content}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def tree(shapes: str) -> str:
    return f"<p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>{shapes}</p:spTree></p:cSld>"


def part(name: str, content: str) -> str:
    """A part of its own: a chart (`c:chartSpace`) or the data of a diagram (`dgm:dataModel`)."""
    return f"<{name} {_NAMESPACES}>{content}</{name}>"


def relations(targets: dict[str, tuple[str, str]]) -> str:
    items = (
        f'<Relationship Id="{identity}" Type="{_RELATION}/{kind}" Target="{target}"/>'
        for identity, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}">{"".join(items)}</Relationships>'


def _slide_list(count: int) -> str:
    entries = (f'<p:sldId id="{255 + number}" r:id="s{number}"/>' for number in range(1, count + 1))
    return f"<p:sldIdLst>{''.join(entries)}</p:sldIdLst>"


def _root(name: str, content: str) -> str:
    return f"<p:{name} {_NAMESPACES}>{content}</p:{name}>"
