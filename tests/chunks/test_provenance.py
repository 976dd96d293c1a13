"""From what was found to the place on the page where it stands."""

import pymupdf

from tests.chunks.shelf import Shelf
from tests.conftest import Person
from tests.parsing.drawing import grid, pdf

PLACES = {
    "The lighthouse of Skerry was lit in 1871.": (1, 72, 100),
    "Its keeper was called Ingrid Solberg.": (1, 72, 600),
    "The lamp has burned electricity since 1934.": (2, 200, 300),
}
"""Page, and where the text begins on it, in points."""


def pdf_of_two_pages() -> bytes:
    with pymupdf.open() as made:
        for _ in range(2):
            made.new_page()
        for words, (page, left, baseline) in PLACES.items():
            made[page - 1].insert_text((left, baseline), words, fontsize=11)
        content: bytes = made.tobytes()
        return content


async def test_a_chunk_over_pages_leads_to_the_box_of_each_of_its_parts(owner: Person) -> None:
    """In lists, searches and previews, and in a citation to the box of what it quotes alone."""
    shelf = await Shelf.of(owner)
    content = pdf_of_two_pages()
    (chunk,) = await shelf.chunks(await shelf.upload("skerry.pdf", content))
    with pymupdf.open(stream=content) as opened:
        for part, (words, (page, _, _)) in zip(chunk["provenance"], PLACES.items(), strict=True):
            box = pymupdf.Rect(*(part["bbox"][side] for side in ("left", "top", "right", "bottom")))
            assert part["page"] == page
            assert chunk["text"][part["start"] :].startswith(words)
            assert opened[page - 1].get_text(clip=box).strip() == words

    (hit,) = (await shelf.retrieve("lighthouse of Skerry"))["hits"]
    file = {"file": ("skerry.pdf", content)}
    preview = await owner.client.post(f"/v1/knowledge-bases/{shelf.kb_id}/chunks:preview", files=file)
    assert hit["provenance"] == preview.json()["chunks"][0]["provenance"] == chunk["provenance"]

    body = {"question": "Since when has the lamp burned electricity?", "knowledge_base_ids": [shelf.kb_id]}
    citations = (await owner.client.post("/v1/ask", json=body)).json()["citations"]
    (cited,) = [one for one in citations if "electricity" in one["quote"]]
    assert (cited["page"], cited["provenance"]) == (2, chunk["provenance"][2:])


BERTHS = [
    ["Berth", "Length", "Keeper"],
    *([f"Quay {number}", f"{10 + number} m", f"crew {number}"] for number in range(80)),
]


async def test_rows_of_a_table_over_pages_lead_to_their_page(owner: Person) -> None:
    shelf = await Shelf.of(owner, {"max_tokens": 400})
    content = pdf(grid(60, BERTHS[:38]), grid(60, BERTHS[38:]))
    document = await shelf.upload("berths.pdf", content)
    chunks = [chunk for chunk in await shelf.chunks(document) if chunk["kind"] == "table"]
    assert len(chunks) > 2
    for chunk in chunks:
        begins = [part["start"] for part in chunk["provenance"][1:]]
        for part, begin, end in zip(chunk["provenance"], [0, *begins], [*begins, len(chunk["text"])], strict=True):
            numbers = [int(row.split("Quay ")[1].split(";")[0]) for row in chunk["text"][begin:end].splitlines()]
            assert numbers
            assert {1 if number < 37 else 2 for number in numbers} == {part["page"]}
    assert {chunk["page"] for chunk in chunks} == {1, 2}

    (table,) = (await owner.client.get(f"/v1/documents/{document}/tables")).json()["items"]
    (there,) = table["continuations"]
    assert (table["page"], there["page"], there["first_row"]) == (1, 2, 38)
    elements = await owner.client.get(f"/v1/documents/{document}/elements", params={"page": 2})
    assert [element["kind"] for element in elements.json()["items"]] == ["table", "page_break"]
