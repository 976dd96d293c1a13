"""OpenDocument files written by hand."""

from tests.parsing.office_files import archive

_PREFIXES = ("chart", "office", "text", "table", "style", "presentation", "manifest", "meta")
_NAMESPACES = " ".join(
    [
        *(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in _PREFIXES),
        'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"',
        'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"',
        'xmlns:dc="http://purl.org/dc/elements/1.1/"',
    ]
)


def open_document(
    kind: str,
    body: str,
    *,
    styles: str = "",
    meta: str = "",
    manifest: str = "",
    prologue: str = "",
    extra: dict[str, bytes | str] | None = None,
) -> bytes:
    """`kind` is `text`, `spreadsheet` or `presentation`; `styles` are automatic ones of the content."""
    automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    content = f"{automatic}<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": prologue + _root("office:document-content", content),
            "meta.xml": _root("office:document-meta", f"<office:meta>{meta}</office:meta>"),
            "META-INF/manifest.xml": _root("manifest:manifest", manifest),
            **(extra or {}),
        }
    )


def flat_document(kind: str, body: str) -> str:
    """The same as one XML file."""
    mimetype = f'office:mimetype="application/vnd.oasis.opendocument.{kind}" office:version="1.3"'
    content = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    root = f"<office:document {_NAMESPACES} {mimetype}>{content}</office:document>"
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{root}"


def paragraph(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def cell(text: str, attributes: str = "") -> str:
    return f'<table:table-cell office:value-type="string" {attributes}>{paragraph(text)}</table:table-cell>'


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def table(*rows: str, name: str = "t") -> str:
    return f'<table:table table:name="{name}">{"".join(rows)}</table:table>'


def chart(title: str, *rows: str) -> str:
    """The content of a chart that stands in another document."""
    named = f"<chart:title>{paragraph(title)}</chart:title>"
    content = f"<chart:chart>{named}{table(*rows, name='local-table')}</chart:chart>"
    return _root("office:document-content", f"<office:body><office:chart>{content}</office:chart></office:body>")


def _root(name: str, content: str) -> str:
    return f"<{name} {_NAMESPACES}>{content}</{name}>"
