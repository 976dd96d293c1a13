"""What ingestion would make of a file: parsed in the sandbox, chunked, told, and forgotten."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from app.chunking.chunk import DraftChunk
from app.chunking.registry import chunk
from app.chunking.settings import ChunkingSettings
from app.chunks.schemas import PreviewedChunk, PreviewForm, PreviewOut
from app.core.errors import TooManyRequests
from app.core.slots import TenantSlots
from app.documents.uploads import Received
from app.ingestion.embedding_in_threads import embedding_in_threads
from app.models import KnowledgeBase
from app.parsing.document import ParsedDocument
from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure
from app.parsing.sandbox import parse_file
from app.parsing.settings import ParsingSettings
from app.ports.parts import Parts

MOST_BYTES = 32 * 1024**2
PARSE_SECONDS = 60.0
WHOLE_SECONDS = 120.0
MOST_SHOWN = 500
AT_ONCE = 2
WAIT_SECONDS = 20.0


class Previews:
    """Some previews at a time, in fair turns: they take the processor from ingestion, and a person waits for each."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._turns = TenantSlots(AT_ONCE)

    async def preview(self, kb: KnowledgeBase, form: PreviewForm, file: Received) -> PreviewOut:
        """Raises `ParseFailed`, `InvalidInput`, and `TooManyRequests` where others take too long."""
        async with AsyncExitStack() as turn:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await turn.enter_async_context(self._turns.slot(kb.tenant_id))
            except TimeoutError as error:
                raise TooManyRequests("Other previews are being made. Try again in a moment.", code="busy") from error
            try:
                async with asyncio.timeout(WHOLE_SECONDS):
                    return await self._preview(kb, form, file)
            except TimeoutError as error:
                raise parse_failure("timed_out") from error

    async def _preview(self, kb: KnowledgeBase, form: PreviewForm, file: Received) -> PreviewOut:
        settings = form.settings or ChunkingSettings.model_validate(kb.settings["chunking"])
        limits = ParseLimits(
            wall_seconds=min(PARSE_SECONDS, self._parts.settings.parse_timeout_seconds),
            memory_bytes=self._parts.settings.parse_memory_bytes,
        )
        parsed = await parse_file(
            file.path,
            file_name=form.name,
            limits=limits,
            password=form.password.get_secret_value() if form.password else None,
            settings=ParsingSettings.model_validate(kb.settings.get("parsing", {})),
        )
        if not parsed.has_text:
            raise parse_failure("no_text")
        title = parsed.title or Path(form.name).stem
        with embedding_in_threads(self._parts.embedder) as embed:
            drafts = chunk(parsed, settings, self._parts.embedder.tokens, title, embed=embed)
            made = await asyncio.to_thread(list, drafts)
        return await asyncio.to_thread(_told, parsed, settings, title, made)


def _told(parsed: ParsedDocument, settings: ChunkingSettings, title: str, drafts: list[DraftChunk]) -> PreviewOut:
    searched = [draft for draft in drafts if draft.level == 0]
    return PreviewOut(
        media_type=parsed.media_type,
        parser=parsed.parser,
        title=title,
        page_count=parsed.page_count,
        element_count=len(parsed.elements),
        elements=dict(Counter(element.kind.value for element in parsed.elements)),
        warnings=parsed.warnings,
        settings=settings,
        chunk_count=len(searched),
        parent_count=len(drafts) - len(searched),
        token_count=sum(draft.token_count for draft in searched),
        chunks=[PreviewedChunk.of(ordinal, draft, title) for ordinal, draft in enumerate(drafts[:MOST_SHOWN])],
        truncated=len(drafts) > MOST_SHOWN,
    )
