"""Passages as a retrieval would give them."""

from app.agent.passages import Passage
from app.core.ids import new_id
from app.terms import index_terms, query_terms


def passage(
    number: int,
    text: str,
    *,
    question: str = "",
    neutral: float | None = None,
    heading: str = "",
    is_reranked: bool = False,
) -> Passage:
    held = set(index_terms(f"{heading}\n{text}"))
    return Passage(
        number=number,
        chunk_id=new_id(),
        document_id=new_id(),
        document_name=f"document {number}.md",
        ordinal=0,
        page=number,
        heading_path=(heading,) if heading else (),
        text=text,
        neutral=neutral,
        matched_terms=frozenset(held & set(query_terms(question))) if question else frozenset(),
        is_reranked=is_reranked,
    )
