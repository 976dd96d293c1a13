"""Word and PowerPoint files of the old formats: converted by LibreOffice, then read as the formats that followed."""

import dataclasses

from app.parsing.archives import check_archive
from app.parsing.document import ParsedDocument
from app.parsing.parsers.docx import DocxParser
from app.parsing.parsers.pptx import PptxParser
from app.parsing.source import Source


class DocParser:
    def parse(self, source: Source) -> ParsedDocument:
        return _read(source, "doc", "docx", DocxParser())


class PptParser:
    def parse(self, source: Source) -> ParsedDocument:
        return _read(source, "ppt", "pptx", PptxParser())


def _read(source: Source, old: str, new: str, parser: DocxParser | PptxParser) -> ParsedDocument:
    """Raises `ParseFailed`: what the converter raises, and what the parser does."""
    converted = source.convert(source.path, old, new)
    check_archive(converted, source.limits)
    document = parser.parse(dataclasses.replace(source, path=converted))
    return document.model_copy(update={"parser": f"{document.parser}, libreoffice"})
