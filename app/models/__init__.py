"""SQLAlchemy tables, one subject a file, one metadata. Importing this package registers all of them."""

from app.models.base import Base
from app.models.chat import AnswerKind, ChatSession, Message, MessageRole, MessageStatus
from app.models.chunk import Chunk, ChunkEdit, Embedding
from app.models.document import DeletionReceipt, Document, DocumentStatus, Generation, GenerationState
from app.models.idempotency import IdempotencyKey
from app.models.knowledge_base import KnowledgeBase
from app.models.operation import FENCING, Operation, OperationKind, OperationStage, OperationState
from app.models.outbox import OutboxMessage, OutboxState
from app.models.tenant import Invitation, Membership, Tenant
from app.models.user import RefreshToken, User

__all__ = [
    "FENCING",
    "AnswerKind",
    "Base",
    "ChatSession",
    "Chunk",
    "ChunkEdit",
    "DeletionReceipt",
    "Document",
    "DocumentStatus",
    "Embedding",
    "Generation",
    "GenerationState",
    "IdempotencyKey",
    "Invitation",
    "KnowledgeBase",
    "Membership",
    "Message",
    "MessageRole",
    "MessageStatus",
    "Operation",
    "OperationKind",
    "OperationStage",
    "OperationState",
    "OutboxMessage",
    "OutboxState",
    "RefreshToken",
    "Tenant",
    "User",
]
