"""The one place where elements are cleaned and tables become Markdown."""

from typing import Any

from app.parsing import tables
from app.parsing.clean import clean_text
from app.parsing.document import Element, ElementKind, ParsedDocument, Table


def finish(document: ParsedDocument) -> ParsedDocument:
    """The document with clean text; elements of which nothing is left are dropped.

    The elements are taken out of the document that is given, so that those of a large one are not in memory twice.
    """
    finished: list[Element] = []
    document.elements.reverse()
    while document.elements:
        element = document.elements.pop()
        cleaned = _clean_element(element)
        if cleaned is not None:
            finished.append(element.model_copy(update=cleaned))
    return document.model_copy(
        update={
            "elements": finished,
            "title": _one_line(document.title),
            "metadata": {key: value for key, raw in document.metadata.items() if (value := _one_line(raw))},
        }
    )


def _clean_element(element: Element) -> dict[str, Any] | None:
    """What changes in it; None where nothing is left of it."""
    if element.kind is ElementKind.PAGE_BREAK:
        return {"text": ""}
    if element.table is not None:
        table = _clean_table(element.table)
        text = tables.markdown(table.rows, table.header_rows)
        return {"text": text, "table": table} if any(any(row) for row in table.rows) else None
    text = clean_text(element.text, verbatim=element.kind is ElementKind.CODE)
    if element.kind is ElementKind.HEADING:
        text = " ".join(text.split())
    return {"text": text} if text else None


def _clean_table(table: Table) -> Table:
    rows = [[clean_text(cell) for cell in row] for row in table.rows]
    return table.model_copy(
        update={
            "rows": rows,
            "header_rows": min(table.header_rows, len(rows)),
            "caption": _one_line(table.caption),
            "sheet": _one_line(table.sheet),
        }
    )


def _one_line(text: str) -> str:
    return " ".join(clean_text(text).split())
