"""Excel workbooks of the old format (BIFF in an OLE container).

A sheet has at most 65,536 rows of 256 cells there, so its rectangle fits in memory whatever it holds. What calamine
can't read, as files older than Excel 97 may be, is converted by LibreOffice where it is installed.
"""

import dataclasses

from app.core.errors import ParseFailed
from app.parsing.archives import check_archive
from app.parsing.document import ParsedDocument
from app.parsing.parsers.xlsx import XlsxParser, read_workbook
from app.parsing.parsers.xlsx_extent import Extent
from app.parsing.source import Source


class XlsParser:
    def parse(self, source: Source) -> ParsedDocument:
        try:
            return read_workbook(source, Extent())
        except ParseFailed as failed:
            if failed.error_code != "damaged":
                raise
            return _converted(source, failed)


def _converted(source: Source, failed: ParseFailed) -> ParsedDocument:
    """Raises `failed` where there is no converter, or it can't read the file either."""
    try:
        path = source.convert(source.path, "xls", "xlsx")
    except ParseFailed as error:
        raise failed from error
    check_archive(path, source.limits)
    document = XlsxParser().parse(dataclasses.replace(source, path=path))
    return document.model_copy(update={"parser": f"{document.parser}, libreoffice"})
