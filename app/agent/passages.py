"""What was retrieved in a turn, numbered as the answer cites it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.agent.rendering import ShownChunk
from app.agent.sentences import row_spans, sentence_spans
from app.chunking.chunk import ChunkKind, Provenance
from app.retrieval.schemas import Hit


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved chunk. Its text is data: it goes into prompts between delimiters and into quotes, nowhere else."""

    number: int
    """From 1, in the order of retrieval."""
    chunk_id: UUID
    document_id: UUID
    document_name: str
    ordinal: int
    page: int | None
    heading_path: tuple[str, ...]
    text: str
    neutral: float | None
    """Likeness to the question whatever their languages, see `app.agent.neutral`; None where no vector could tell."""
    matched_terms: frozenset[str]
    """Terms of the question that the chunk, its title or its headings hold."""
    is_reranked: bool = False
    """Whether a reranker, which reads both languages, has put it where it stands."""
    provenance: Sequence[Provenance] = ()
    is_verbatim: bool = True
    """Whether its text is the document's own: that of a table's description is not, and is no quote."""
    is_table: bool = False

    @classmethod
    def of(cls, number: int, hit: Hit, neutral: float | None) -> "Passage":
        return cls(
            number=number,
            chunk_id=hit.chunk_id,
            document_id=hit.document_id,
            document_name=hit.document_name,
            ordinal=hit.ordinal,
            page=hit.page,
            heading_path=tuple(hit.heading_path),
            text=hit.text,
            neutral=neutral,
            matched_terms=frozenset(hit.matched_terms),
            is_reranked=hit.scores.rerank is not None,
            provenance=hit.provenance,
            is_verbatim=hit.kind is not ChunkKind.TABLE_SUMMARY,
            is_table=hit.kind is ChunkKind.TABLE,
        )

    @property
    def sentences(self) -> list[tuple[int, int]]:
        """Spans of what may be quoted alone: the rows of a table, the sentences of anything else."""
        return row_spans(self.text) if self.is_table else sentence_spans(self.text)

    @property
    def shown(self) -> ShownChunk:
        return ShownChunk(
            document_name=self.document_name,
            page=self.page,
            provenance=list(self.provenance),
            heading_path=list(self.heading_path),
            text=self.text,
        )


Passages = Mapping[int, Passage]
