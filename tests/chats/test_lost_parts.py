"""Chats while a part of the platform is down."""

import socket

from app.adapters.redis.cache import RedisCache
from app.core.errors import EngineUnavailable
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, IndexFilter
from app.ports.parts import Parts
from tests.chats.conftest import Swap
from tests.chats.events import events_of
from tests.chats.test_sessions import history, say
from tests.conftest import Person


def nobody_listens() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def test_without_the_cache_everything_comes_from_postgres(
    owner: Person, session_id: str, swap_parts: Swap
) -> None:
    cache = RedisCache(f"redis://127.0.0.1:{nobody_listens()}/0")
    swap_parts(cache=cache)
    assert "25 days" in (await say(owner, session_id)).json()["content"]
    assert len(await history(owner, session_id)) == 2
    await say(owner, session_id, "And why?")
    assert len(await history(owner, session_id)) == 4
    assert (await owner.client.delete(f"/v1/sessions/{session_id}")).status_code == 204
    assert (await owner.client.get(f"/v1/sessions/{session_id}/messages")).status_code == 404
    await cache.close()


async def test_a_copy_that_missed_its_removal_is_not_shown(
    owner: Person, session_id: str, swap_parts: Swap, parts: Parts
) -> None:
    """A write while the cache is down leaves the old copy behind; its revision gives it away."""
    await say(owner, session_id)
    assert len(await history(owner, session_id)) == 2
    cache = RedisCache(f"redis://127.0.0.1:{nobody_listens()}/0")
    swap_parts(cache=cache)
    await say(owner, session_id)
    swap_parts(cache=parts.cache)
    assert len(await history(owner, session_id)) == 4
    await cache.close()


class Down:
    """An index that doesn't answer."""

    async def search(self, scope: TenantScope, query: object, where: IndexFilter, limit: int) -> list[Candidate]:
        raise EngineUnavailable("It is down.")


async def test_without_both_indexes_the_session_is_told_and_free_again(
    owner: Person, session_id: str, swap_parts: Swap, parts: Parts
) -> None:
    swap_parts(vectors=Down(), texts=Down())
    refused = await say(owner, session_id)
    assert refused.status_code == 503
    events = events_of(await say(owner, session_id, accept="text/event-stream"))
    assert [event["type"] for event in events] == ["error", "done"]
    kept = await history(owner, session_id)
    assert [one["status"] for one in kept] == ["complete", "failed"] * 2
    swap_parts(vectors=parts.vectors, texts=parts.texts)
    assert "25 days" in (await say(owner, session_id)).json()["content"]
