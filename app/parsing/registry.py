"""Media type to parser. Adding a format is one file in `parsers` and one line here."""

from importlib import import_module
from typing import Protocol

from app.parsing import media_types
from app.parsing.document import ParsedDocument
from app.parsing.reasons import parse_failure
from app.parsing.source import Source


class Parser(Protocol):
    def parse(self, source: Source) -> ParsedDocument:
        """Elements in reading order, with raw text: `assemble.finish` cleans them.

        Raises `ParseFailed` with a reason code. What a library raises on a broken file is mapped to `damaged` here,
        by type, inside the parser that knows the library.
        """


class ParserRegistry:
    """Parsers by media type, as `module:Class`, imported at first use: importing them all costs most of a second."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}

    def register(self, media_type: str, path: str) -> None:
        self._paths[media_type] = path

    @property
    def media_types(self) -> tuple[str, ...]:
        return tuple(self._paths)

    def parser_for(self, media_type: str) -> Parser:
        """Raises `ParseFailed` (`unsupported_type`)."""
        path = self._paths.get(media_type)
        if path is None:
            label = media_types.LABELS.get(media_type, media_type)
            raise parse_failure("unsupported_type", f"It looks like {label}.")
        module, _, name = path.partition(":")
        parser: Parser = getattr(import_module(module), name)()
        return parser

    def preload(self) -> None:
        """Imports every parser, so that a process forked from this one starts warm."""
        for path in self._paths.values():
            import_module(path.partition(":")[0])


registry = ParserRegistry()
PDF_ENGINES = {
    "pymupdf": "app.parsing.parsers.pdf:PdfParser",
    "pdfium": "app.parsing.parsers.pdfium:PdfiumParser",
}
"""Of which one is registered, so that the other is never imported."""
registry.register(media_types.PDF, PDF_ENGINES["pymupdf"])
for _picture in (
    media_types.PNG,
    media_types.JPEG,
    media_types.TIFF,
    media_types.BMP,
    media_types.WEBP,
    media_types.GIF,
):
    registry.register(_picture, "app.parsing.parsers.image:ImageParser")
registry.register(media_types.DOCX, "app.parsing.parsers.docx:DocxParser")
registry.register(media_types.XLSX, "app.parsing.parsers.xlsx:XlsxParser")
registry.register(media_types.PPTX, "app.parsing.parsers.pptx:PptxParser")
registry.register(media_types.DOC, "app.parsing.parsers.converted:DocParser")
registry.register(media_types.PPT, "app.parsing.parsers.converted:PptParser")
registry.register(media_types.XLS, "app.parsing.parsers.xls:XlsParser")
registry.register(media_types.XLSB, "app.parsing.parsers.xlsb:XlsbParser")
registry.register(media_types.ODS, "app.parsing.parsers.ods:OdsParser")
registry.register(media_types.ODT, "app.parsing.parsers.odt:OdtParser")
registry.register(media_types.ODP, "app.parsing.parsers.odp:OdpParser")
registry.register(media_types.RTF, "app.parsing.parsers.rtf:RtfParser")
registry.register(media_types.EPUB, "app.parsing.parsers.epub:EpubParser")
registry.register(media_types.EML, "app.parsing.parsers.eml:EmlParser")
registry.register(media_types.JSON, "app.parsing.parsers.json:JsonParser")
registry.register(media_types.JSONL, "app.parsing.parsers.json:JsonParser")
registry.register(media_types.CSV, "app.parsing.parsers.delimited:DelimitedParser")
registry.register(media_types.TSV, "app.parsing.parsers.delimited:DelimitedParser")
registry.register(media_types.HTML, "app.parsing.parsers.html:HtmlParser")
registry.register(media_types.MARKDOWN, "app.parsing.parsers.markdown:MarkdownParser")
registry.register(media_types.TEXT, "app.parsing.parsers.text:TextParser")
