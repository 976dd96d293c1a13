"""Everything that features are built on, made once per process by `app.runtime` and handed in."""

from dataclasses import dataclass

from app.core.database import Database
from app.core.ledger import Ledger
from app.core.outbox import Broker, Outbox
from app.core.question_vectors import QuestionVectors
from app.core.settings import Settings
from app.core.slots import TenantSlots
from app.ports.blob_store import BlobStore
from app.ports.cache import Cache
from app.ports.chat_models import ChatModels
from app.ports.embedder import Embedder
from app.ports.reranker import Reranker
from app.ports.text_index import TextIndex
from app.ports.vector_index import VectorIndex


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    database: Database
    database_url: str
    """`postgresql://` of the application role, for what brings its own driver (the graph's checkpointer)."""
    broker_url: str
    """As Celery writes it."""
    secret_key: bytes
    cache: Cache
    broker: Broker
    outbox: Outbox
    ledger: Ledger
    parsers: TenantSlots
    """For operations that read a file: parsers need a core each, and may need much memory."""
    blobs: BlobStore
    vectors: VectorIndex
    texts: TextIndex
    embedder: Embedder
    question_vectors: QuestionVectors
    chat_models: ChatModels
    reranker: Reranker | None
    """None where none is configured."""
