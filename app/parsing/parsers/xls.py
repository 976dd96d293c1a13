"""Excel workbooks of the old format (BIFF in an OLE container).

A sheet has at most 65,536 rows of 256 cells there, so its rectangle fits in memory whatever it holds.
"""

from app.parsing.document import ParsedDocument
from app.parsing.parsers.xlsx import read_workbook
from app.parsing.source import Source


class XlsParser:
    def parse(self, source: Source) -> ParsedDocument:
        return read_workbook(source, laid_out=0)
