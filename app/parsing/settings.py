"""How a knowledge base wants its files read. JSON both ways, since it is stored with every generation."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

PdfMode = Literal["auto", "fast", "layout", "ocr"]
HtmlContent = Literal["everything", "main"]


class ParsingSettings(BaseModel):
    """Applies to what is ingested from now on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pdf: PdfMode = Field(
        "auto",
        description="How pages of PDFs are read: `fast` by their text layer, `layout` by a model of page layout, `ocr` "
        "by recognising the text in their picture, `auto` by whichever of them a page needs.",
    )
    html_content: HtmlContent = Field(
        "everything",
        description="`main` keeps what an HTML page is about and drops menus, asides and footers.",
    )
