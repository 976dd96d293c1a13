"""From the markers in a model's answer to the sentences that they rest on."""

from app.agent.markers import marked_segments
from app.agent.passages import Passage, Passages
from app.agent.rendering import CitationReference
from app.agent.sentences import sentence_spans
from app.terms import index_terms, query_terms


def reference(passage: Passage, start: int, end: int) -> CitationReference:
    return CitationReference(
        number=passage.number,
        chunk_id=str(passage.chunk_id),
        document_id=str(passage.document_id),
        start=start,
        end=end,
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
    return [
        reference(passages[number], *_support(passages[number].text, " ".join(said))) for number, said in claims.items()
    ]


def _support(text: str, claim: str) -> tuple[int, int]:
    """The span of the sentence that shares most terms with the claim, relative to its length; the first of equals."""
    spans = sentence_spans(text)
    if not spans:
        return 0, min(len(text), 200)
    claimed = set(query_terms(claim))

    def shared(span: tuple[int, int]) -> float:
        terms = set(index_terms(text[span[0] : span[1]]))
        return len(terms & claimed) / (len(terms) + 5) if terms else 0.0

    return max(spans, key=shared)
