"""OOXML files written by hand, so that a test says just what they hold."""

import io
import zipfile

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def archive(members: dict[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def docx(body: str, *, footnotes: str = "", styles: str = "", extra: dict[str, bytes | str] | None = None) -> bytes:
    """A Word file with this body (WordprocessingML with the prefix `w`)."""
    return archive(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": _relations(("officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": _relations(("footnotes", "footnotes.xml"), ("styles", "styles.xml")),
            "word/document.xml": _root("document", f"<w:body>{body}</w:body>"),
            "word/footnotes.xml": _root("footnotes", footnotes),
            "word/styles.xml": _root("styles", styles),
            **(extra or {}),
        }
    )


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def _root(name: str, content: str) -> str:
    return f'<w:{name} xmlns:w="{_WORD}">{content}</w:{name}>'


def _relations(*targets: tuple[str, str]) -> str:
    items = (
        f'<Relationship Id="r{number}" Type="{_TYPES}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets)
    )
    return f'<Relationships xmlns="{_RELATIONS}">{"".join(items)}</Relationships>'
