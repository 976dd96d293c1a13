"""The settings of a knowledge base as one validated document."""

from pydantic import ConfigDict, Field

from app.chunking.settings import ChunkingSettings
from app.core.described import ApiModel
from app.parsing.settings import ParsingSettings
from app.retrieval.settings import RetrievalSettings


class KnowledgeBaseSettings(ApiModel):
    """`retrieval` applies to the next question; `parsing` and `chunking` to what is ingested from now on."""

    model_config = ConfigDict(extra="forbid")

    parsing: ParsingSettings = Field(default_factory=ParsingSettings)
    """How files are read."""
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings)
    """How documents are cut."""
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    """How they are searched, unless a request says otherwise."""
