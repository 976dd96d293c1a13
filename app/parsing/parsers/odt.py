"""OpenDocument texts."""

from app.parsing.document import ParsedDocument
from app.parsing.parsers.odf_package import OdfPackage
from app.parsing.parsers.odf_styles import OdfStyles
from app.parsing.parsers.odf_text import OdfReader
from app.parsing.source import Source


class OdtParser:
    def parse(self, source: Source) -> ParsedDocument:
        package = OdfPackage.read(source.path)
        reader = OdfReader(OdfStyles(package.content, package.styles), source.limits.cells, package.objects)
        reader.read(package.body("text"))
        return ParsedDocument(
            media_type=source.media_type,
            parser="odf 1",
            title=reader.title or package.properties.get("title", ""),
            elements=reader.elements,
            metadata={key: value for key, value in package.properties.items() if key != "title"},
            warnings=["Comments were left out."] if reader.has_comments else [],
        )
