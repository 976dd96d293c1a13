"""From the markers in an answer to the sentences that they rest on."""

from app.agent.markers import marked_segments
from app.agent.passages import Passage, Passages
from app.agent.rendering import CitationReference, checksum
from app.agent.state import Turn
from app.models import AnswerKind
from app.terms import index_terms, query_terms


def settle_citations(turn: Turn) -> None:
    """Makes the draft's citations out of the words said so far; also where a run ended early."""
    draft = turn.draft
    if draft.kind is not AnswerKind.EXTRACTIVE:
        draft.citations = citations_of(draft.content, turn.passages)
    draft.citations = [found for found in draft.citations if _is_of_this_turn(found, turn)]


def _is_of_this_turn(found: CitationReference, turn: Turn) -> bool:
    passage = turn.passages.get(found["number"])
    return (
        passage is not None
        and found["chunk_id"] == str(passage.chunk_id)
        and 0 <= found["start"] < found["end"] <= len(passage.text)
    )


def reference(passage: Passage, start: int, end: int) -> CitationReference:
    return CitationReference(
        number=passage.number,
        chunk_id=str(passage.chunk_id),
        document_id=str(passage.document_id),
        start=start,
        end=end,
        crc32=checksum(passage.text[start:end]),
    )


def citations_of(text: str, passages: Passages) -> list[CitationReference]:
    """One citation a number that the text names, in the order of their first markers; others are not there.

    Its span is the sentence of the passage that shares most terms with what was said before the markers.
    """
    claims: dict[int, list[str]] = {}
    for numbers, words in marked_segments(text):
        for number in numbers:
            if number in passages:
                claims.setdefault(number, []).append(words)
    return [reference(passages[number], *_support(passages[number], " ".join(said))) for number, said in claims.items()]


def _support(passage: Passage, claim: str) -> tuple[int, int]:
    """The span of the sentence that shares most terms with the claim, relative to its length; the first of equals."""
    text, spans = passage.text, passage.sentences
    if not spans:
        return 0, min(len(text), 200)
    claimed = set(query_terms(claim))

    def shared(span: tuple[int, int]) -> float:
        terms = set(index_terms(text[span[0] : span[1]]))
        return len(terms & claimed) / (len(terms) + 5) if terms else 0.0

    return max(spans, key=shared)
