"""The settings of a knowledge base as one validated document."""

from pydantic import BaseModel, ConfigDict, Field

from app.chunking.settings import ChunkingSettings
from app.parsing.settings import ParsingSettings
from app.retrieval.settings import RetrievalSettings


class KnowledgeBaseSettings(BaseModel):
    """`retrieval` applies to the next question; `parsing` and `chunking` to what is ingested from now on."""

    model_config = ConfigDict(extra="forbid")

    parsing: ParsingSettings = Field(default_factory=ParsingSettings)
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings)
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
