"""What a model is told of the conversation so far."""

import re
from collections.abc import Sequence

from app.agent.markers import MARKER_GROUP
from app.chats.schemas import MessageOut
from app.models import MessageRole
from app.ports.chat_models import ChatMessage
from app.ports.embedder import TokenCounter

HISTORY_MESSAGES = 12
HISTORY_TOKENS = 1_500
"""As the embedding model counts, which is near enough to what chat models count."""


def history_of(messages: Sequence[MessageOut], tokens: TokenCounter, budget: int = HISTORY_TOKENS) -> list[ChatMessage]:
    """The last messages that fit the budget whole, the oldest first; empty answers are left out.

    Markers are taken out of answers: they count the sources of another turn.
    """
    kept: list[ChatMessage] = []
    for message in reversed(messages[-HISTORY_MESSAGES:]):
        text = message.content
        if message.role is MessageRole.ASSISTANT:
            text = re.sub(rf"[ \t]*{MARKER_GROUP.pattern}", "", text)
        if not text.strip():
            continue
        budget -= tokens.count(text)
        if budget < 0:
            break
        kept.append(ChatMessage("user" if message.role is MessageRole.USER else "assistant", text))
    return kept[::-1]
