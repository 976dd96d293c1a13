"""What both text engines store of a chunk and ask for, so that they answer alike.

Imports nothing of either engine.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import UUID

from app.adapters.vector_payload import metadata_token
from app.core.errors import EngineRejected
from app.core.scope import TenantScope
from app.ports.indexes import ChunkSource
from app.ports.text_index import MAX_QUERY_TERMS

LAYOUT_VERSION = "2"
"""Of the stored fields. An index of another layout, or another version of the analyzer, is another index."""

LONGEST_TERM = 255
"""In characters: the `whitespace` tokenizer of Lucene cuts what is longer."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def entry_key(scope: TenantScope, chunk_id: UUID) -> str:
    """Identity of an entry. Holds the tenant: naming another's chunk id addresses an entry of one's own."""
    return f"{scope.tenant_id}:{chunk_id}"


def joined_terms(terms: Sequence[str]) -> str:
    """A text that a whitespace tokenizer cuts into exactly these terms. `EngineRejected` if there is none."""
    joined = " ".join(terms)
    if joined.split() != list(terms) or max(map(len, terms), default=0) > LONGEST_TERM or _SURROGATE.search(joined):
        raise EngineRejected("A term must be 1 to 255 characters of Unicode without white space.", code="wrong_term")
    return joined


def term_count(joined: str) -> int:
    """How many terms a joined text holds: the chunk's `length`."""
    return joined.count(" ") + 1 if joined else 0


def weighted_terms(terms: Sequence[str]) -> dict[str, int]:
    """Distinct terms in order with how often each is given, bounded. What no index can hold is left out."""
    distinct = ((term, weight) for term, weight in Counter(terms).items() if term and not _SURROGATE.search(term))
    return dict(islice(distinct, MAX_QUERY_TERMS))


def microseconds(moment: datetime) -> int:
    """Since 1970, whole: exact where floats and the millisecond dates of engines are not."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def tag_token(tag: str) -> str:
    """A keyword equal exactly when the tag is, whatever its characters and length."""
    return metadata_token("", tag)


def source_tokens(source: ChunkSource) -> tuple[list[str], list[str]]:
    """Keywords of the tags and of the metadata of a chunk."""
    tags = [tag_token(tag) for tag in source.tags]
    return tags, [metadata_token(key, value) for key, value in source.metadata.items()]
