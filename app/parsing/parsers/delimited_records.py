"""Records of delimited text: quoted cells, also over several lines, as RFC 4180 has them; other quotes are text.

`csv` alone takes all that follows a quote that nobody closed into one cell, to the end of the file. So it is given
records of which that can't be said: those that are not well formed are read here, and written anew for it.
"""

import csv
import re
from collections.abc import Iterator

_END_OF_LINE = "(?:\r\n?|\n|\\Z)"


class Records:
    """The records of a text."""

    def __init__(self, text: str, delimiter: str) -> None:
        self.lines = text.count("\n") + (not text.endswith("\n"))
        self.lines_read = 0
        self.open_quotes = 0
        """Quotes at the begin of a cell that were taken for text, since none closes them."""
        self._text, self._length, self._position = text, len(text), 0
        self._delimiter = delimiter
        end, quoted = re.escape(delimiter), '"[^"]*+(?:""[^"]*+)*+" *+'
        cell = f' *+(?:{quoted}|[^"{end}\r\n ][^{end}\r\n]*+)?+'
        self._well_formed = re.compile(f'(?:[^"\r\n]*+|{cell}(?:{end}{cell})*+){_END_OF_LINE}')
        self._opening = re.compile(' *+"')
        self._plain = re.compile(f"[^{end}\r\n]*+")
        self._line_end = re.compile(_END_OF_LINE)
        self._quotes = re.compile(f'(?P<begins>(?<=[{end}\r\n]))?(?P<quotes>"++)(?P<ends> *+(?:(?=[{end}\r\n])|\\Z))?')
        self._unclosed_until = 0

    def rows(self) -> Iterator[list[str]]:
        """The cells of each; blanks before a cell are left out."""
        return csv.reader(self._records(), delimiter=self._delimiter, skipinitialspace=True)

    def _records(self) -> Iterator[str]:
        while self._position < self._length:
            start = self._position
            match = self._well_formed.match(self._text, start)
            if match:
                self._position = match.end()
            record = match[0] if match else self._delimiter.join(map(_quoted, self._cells()))
            self.lines_read += self._text.count("\n", start, self._position)
            yield record

    def _cells(self) -> Iterator[str]:
        """Of the record that begins at the position."""
        while True:
            yield self._cell()
            if not self._text.startswith(self._delimiter, self._position):
                break
            self._position += len(self._delimiter)
        line_end = self._line_end.match(self._text, self._position)
        self._position = line_end.end() if line_end else self._length

    def _cell(self) -> str:
        opening = self._opening.match(self._text, self._position)
        closing = self._closing(opening.end()) if opening else None
        if opening and closing:
            self._position = closing.end()
            return self._text[opening.end() : closing.end("quotes") - 1].replace('""', '"')
        self.open_quotes += opening is not None
        plain = self._plain.match(self._text, self._position)
        self._position = plain.end() if plain else self._length
        return plain[0] if plain else ""

    def _closing(self, start: int) -> re.Match[str] | None:
        """The quotes whose last one closes the cell that was opened before `start`; None where none does.

        An even number of quotes stands for half as many. Of an odd number the last one closes the cell where the cell
        ends with it, and opens another one where a cell begins with it: then nobody closed this one. Else it is text.
        """
        for quotes in self._quotes.finditer(self._text, start):
            if len(quotes["quotes"]) % 2 and quotes["ends"] is not None:
                return quotes
            if quotes.start() > start and start < self._unclosed_until:
                return None
            if len(quotes["quotes"]) % 2 and quotes["begins"] is not None:
                self._unclosed_until = quotes.start()
                return None
        self._unclosed_until = self._length
        return None


def _quoted(cell: str) -> str:
    escaped = cell.replace('"', '""')
    return f'"{escaped}"'
